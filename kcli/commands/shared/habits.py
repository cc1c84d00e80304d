"""Flags and commands of Kafka's scripts, kcat and other tools, and what to write instead in kcli. Pure.

They remain unknown, so that a line for another tool fails; only the remedy mentions them.
"""

from kcli.core.options import is_option

_GROUP_VERBS = {
    "--describe": "`kcli groups describe GROUP` does that",
    "--list": "`kcli groups list` does that",
    "--delete": "`kcli groups delete GROUP` does that",
    "--delete-offsets": "`kcli groups delete-offsets GROUP -t TOPIC` does that",
    "--reset-offsets": "`kcli groups rewind GROUP` does that, with --to or Kafka's --to-earliest, --to-datetime, …",
    "--all-groups": "`kcli groups rewind` accepts --all-groups, describe and export accept --all; "
    "`kcli groups lag` and `kcli groups list` show all groups unless some are named",
    "--state": "`kcli groups describe GROUP --state`, or `kcli groups list --state STATE`",
    "--members": "`kcli groups describe GROUP --members`",
    "--offsets": "`kcli groups describe GROUP --offsets`",
    "--verbose": "-v",
}

_TOPIC_VERBS = {
    "--describe": "`kcli topics describe TOPIC` does that",
    "--list": "`kcli topics list` does that",
    "--create": "`kcli topics create TOPIC` does that",
    "--delete": "`kcli topics delete TOPIC` does that",
    "--alter": "`kcli topics alter TOPIC` does that",
    "--topic": "topics are named without a flag: `{path} TOPIC`",
}

_USER_VERBS = {
    "--describe": "`kcli users list NAME` does that",
    "--list": "`kcli users list` does that",
    "--alter": "`kcli users set NAME` does that, and asks for the password",
    "--delete": "`kcli users delete NAME` does that",
    "--add-config": "`kcli users set NAME` sets a password, which it asks for; --mechanism and --iterations choose how",
    "--delete-config": "`kcli users delete NAME --mechanism SCRAM-SHA-512` does that",
    "--entity-name": "users are named without a flag: `kcli users list NAME`, `kcli users set NAME`",
    "--entity-type": "`kcli users` is about users only: leave it out",
    "--user": "users are named without a flag: `kcli users list NAME`, `kcli users set NAME`",
    "--password": "leave it out: `kcli users set NAME` asks for it, or reads it with --password-file FILE",
}

_EVERYWHERE = {
    "--timeout-ms": "--timeout DUR, as in --timeout 5s, bounds the first contact and each request",
    "--property": "-f FORMAT chooses what is printed of a record and what is read, as in -f '%k\\t%v\\n'",
    "--formatter": "-s decodes keys and values, -f FORMAT chooses what is printed of a record",
    "--group-id": "a group is named with -g GROUP in `kcli consume`, and without a flag elsewhere",
    "--broker-list": "brokers are named with -b HOST:PORT",
    "--zookeeper": "brokers are named with -b HOST:PORT; Kafka clients no longer use ZooKeeper",
    "--consumer.config": "a file of client options is given with -F FILE",
    "--producer.config": "a file of client options is given with -F FILE",
    "--consumer-property": "a client option is given with -X KEY=VALUE",
    "--producer-property": "a client option is given with -X KEY=VALUE",
    "-C": "kcat's -C is `kcli consume TOPIC`",
    "-P": "kcat's -P is `kcli produce TOPIC`",
    "-G": "kcat's -G is `kcli consume TOPIC -g GROUP`",
    "-L": "kcat's -L is `kcli topics list` and `kcli topics describe TOPIC`",
    "-Q": "kcat's -Q is `kcli topics offsets TOPIC --time SPEC`",
    "-c": "kcat's -c is -n, --max-messages",
}

_CONSUME = {
    "--timeout-ms": "--idle-timeout DUR, as in --idle-timeout 5s, stops when no record has arrived for that long",
    "--property": "-f FORMAT chooses what is printed of a record, as in -f '%k\\t%v\\n' for key and value",
    "--skip-message-on-error": "--on-corrupt skip leaves out damaged batches",
    "--whitelist": "a topic that begins with ^ is a pattern: `kcli consume '^orders-.*'`",
    "--include": "a topic that begins with ^ is a pattern: `kcli consume '^orders-.*'`",
}

_BY_NOUN = {"groups": _GROUP_VERBS, "topics": _TOPIC_VERBS, "users": _USER_VERBS, "consume": _CONSUME}

_FUTURE: dict[str, dict[str, str]] = {}
"""Commands that kcli does not have yet, by group, and what to use until then: none at present."""

_OTHER_TOOLS = {
    "kcli": {
        **dict.fromkeys(
            ("cat", "tail", "read", "console-consumer", "sub", "subscribe"), "`kcli consume TOPIC`"
        ),
        **dict.fromkeys(("send", "publish", "pub", "console-producer"), "`kcli produce TOPIC`"),
        **dict.fromkeys(
            ("consumer-groups", "consumer-group", "consumergroups"),
            "`kcli groups list`, `kcli groups describe GROUP`",
        ),
        **dict.fromkeys(
            ("list", "ls", "get", "describe", "create", "delete", "metadata", "misc", "admin"),
            "the noun comes first: `kcli topics list`, `kcli topics create TOPIC`, `kcli groups describe GROUP`",
        ),
        **dict.fromkeys(("lag", "lags"), "`kcli groups lag`"),
        **dict.fromkeys(
            ("reset", "reset-offsets", "reset-offset", "rewind", "seek"), "`kcli groups rewind GROUP`"
        ),
        "offsets": "`kcli topics offsets TOPIC` for a topic's, `kcli groups describe GROUP` for a group's",
        "version": "`kcli --version`",
        **dict.fromkeys(("container", "redpanda", "docker", "start", "up"), "`kcli sandbox up`"),
        **dict.fromkeys(("stop", "down"), "`kcli sandbox down`"),
        **dict.fromkeys(("security", "permissions"), "`kcli acls list`, `kcli acls create`"),
        **dict.fromkeys(("scram", "credentials", "user-scram"), "`kcli users list`, `kcli users set NAME`"),
        **dict.fromkeys(("broker", "brokers", "nodes"), "`kcli cluster describe` shows them"),
        "transact": "`kcli produce TOPIC --transactional-id ID`",
        **dict.fromkeys(("producer-perf-test", "bench", "benchmark"), "`kcli perf produce`"),
        "consumer-perf-test": "`kcli perf consume`",
        **dict.fromkeys(("e2e-latency", "end-to-end-latency"), "`kcli perf e2e`"),
        "attach": "name the brokers with -b HOST:PORT",
    },
    "kcli groups": {
        "offsets": "`{path} describe GROUP` shows what is committed, `{path} lag GROUP` the lag",
        **dict.fromkeys(
            ("reset", "seek", "reset-offsets", "reset-offset", "set-offsets", "set", "commit", "alter"),
            "`{path} rewind GROUP`, with --to earliest, --to @-1h, --to 1200, …",
        ),
        **dict.fromkeys(("ls", "get"), "`{path} list`"),
        **dict.fromkeys(("show", "state"), "`{path} describe GROUP`"),
        "members": "`{path} describe GROUP --members`",
        **dict.fromkeys(("rm", "remove"), "`{path} delete GROUP`"),
        **dict.fromkeys(
            ("offset-delete", "delete-offset", "remove-offsets"), "`{path} delete-offsets GROUP -t TOPIC`"
        ),
        **dict.fromkeys(("clone", "duplicate"), "`{path} copy A B`"),
        **dict.fromkeys(("dump", "backup", "save"), "`{path} export GROUP`"),
        **dict.fromkeys(("restore", "load"), "`{path} import FILE`"),
        **dict.fromkeys(("kick", "evict"), "`{path} remove-members GROUP`"),
    },
    "kcli users": {
        **dict.fromkeys(("ls", "get", "show", "describe"), "`{path} list`"),
        **dict.fromkeys(
            ("add", "new", "create", "alter", "update", "upsert", "passwd", "password"), "`{path} set NAME`"
        ),
        **dict.fromkeys(("rm", "remove", "drop"), "`{path} delete NAME`"),
    },
    "kcli topics": {
        **dict.fromkeys(("ls", "get"), "`{path} list`"),
        **dict.fromkeys(("show", "info", "partitions"), "`{path} describe TOPIC`"),
        **dict.fromkeys(("add", "new"), "`{path} create TOPIC`"),
        **dict.fromkeys(("rm", "remove", "drop"), "`{path} delete TOPIC`"),
        **dict.fromkeys(("consume", "cat", "tail", "read"), "`kcli consume TOPIC`"),
        **dict.fromkeys(("produce", "send"), "`kcli produce TOPIC`"),
        **dict.fromkeys(("watermarks", "get-offsets", "offset"), "`{path} offsets TOPIC`"),
        **dict.fromkeys(
            ("alter-config", "set-config", "configs", "config", "add-partitions", "add-config"),
            "`{path} alter TOPIC` changes settings with --set, the number of partitions with --partitions",
        ),
        **dict.fromkeys(
            ("trim-prefix", "delete-records", "truncate", "empty"), "`{path} trim TOPIC --before OFFSET|TIME`"
        ),
    },
}
"""Words of Kafka's scripts, kcl, rpk and kafkactl, by the group of commands in which they are tried."""


def instead_of_command(path: str, name: str) -> tuple[str, str] | None:
    """Why there is no command ``name`` in the group at ``path`` (``kcli groups``), and what does the same; None for
    unknown words.
    """
    later = _FUTURE.get(path, {}).get(name)
    if later is not None:
        return f"`{path} {name}` is not available in this version", later
    found = _OTHER_TOOLS.get(path, {}).get(name)
    return None if found is None else ("other tools use that name; nothing was run", found.format(path=path))


def as_client_option(option: str) -> str | None:
    """How to set the client option that Java clients or librdkafka call by this name; None if there is none."""
    key = option.lstrip("-").replace("-", ".").replace("_", ".")
    name = next(filter(is_option, (key, f"{key}.ms")), None)
    return name and f"that is an option of the client: -X {name}=VALUE"


def instead_of(path: str, option: str) -> str | None:
    """What replaces ``option`` at the command ``path`` (``kcli groups lag``); None for unknown options."""
    noun, _, verb = path.removeprefix("kcli").strip().partition(" ")
    if noun == "groups" and option == "--group":
        return f"groups are named without a flag: `{path if verb else 'kcli groups describe'} GROUP`"
    found = _BY_NOUN.get(noun, {}).get(option) or _EVERYWHERE.get(option)
    return found and found.format(path=path if verb else f"{path} describe")
