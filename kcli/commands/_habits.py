"""Flags of Kafka's scripts and of kcat that mean something else here, or nothing: what to write instead. Pure.

They stay unknown, so that a line for another tool fails loudly; only the remedy knows them.
"""

_GROUP_VERBS = {
    "--describe": "`kcli groups describe GROUP` does that",
    "--list": "`kcli groups list` does that",
    "--delete": "`kcli groups delete GROUP` does that",
    "--delete-offsets": "`kcli groups delete-offsets GROUP -t TOPIC` does that",
    "--reset-offsets": "`kcli groups rewind GROUP` does that, with --to or Kafka's --to-earliest, --to-datetime, …",
    "--all-groups": "`kcli groups lag` and `kcli groups list` show all groups without a name, "
    "describe and export take --all, the other verbs take names",
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
    "--topic": "topics are named without a flag: `{path} TOPIC`",
}

_EVERYWHERE = {
    "--group-id": "a group is named with -g GROUP in `kcli consume`, and without a flag elsewhere",
    "--broker-list": "brokers are named with -b HOST:PORT",
    "--zookeeper": "brokers are named with -b HOST:PORT; Kafka's clients do not ask ZooKeeper any more",
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

_BY_NOUN = {"groups": _GROUP_VERBS, "topics": _TOPIC_VERBS}


def as_client_option(option: str) -> str | None:
    """How what Java clients and librdkafka call by this name is set; None where they have no such option."""
    from kcli.core.options import is_option

    key = option.lstrip("-").replace("-", ".").replace("_", ".")
    name = next(filter(is_option, (key, f"{key}.ms")), None)
    return name and f"that is an option of the client: -X {name}=VALUE"


def instead_of(path: str, option: str) -> str | None:
    """What stands for ``option`` at the command ``path`` (``kcli groups lag``); None where nobody is used to it."""
    noun, _, verb = path.removeprefix("kcli").strip().partition(" ")
    if noun == "groups" and option == "--group":
        return f"groups are named without a flag: `{path if verb else 'kcli groups describe'} GROUP`"
    found = _BY_NOUN.get(noun, {}).get(option) or _EVERYWHERE.get(option)
    return found and found.format(path=path if verb else f"{path} describe")
