"""Flags and commands of Kafka's scripts, kcat and other tools, and what to write instead in kcli. Pure.

They remain unknown, so that a line for another tool fails; only the remedy mentions them.
"""

import re
from collections.abc import Iterator, Sequence

from kcli.commands.shared import foreign_lines
from kcli.commands.shared.translation import Translation
from kcli.core.options import is_option

_KCAT_MODE = re.compile("-[eqvuEZJOTU]*([CPGLQ])")  # after flags without a value

_GROUP_VERBS = {
    "--describe": "`kcli groups describe GROUP` does that",
    "--list": "`kcli groups list` does that",
    "--delete": "`kcli groups delete GROUP` does that",
    "--delete-offsets": "`kcli groups delete-offsets GROUP -t TOPIC` does that",
    "--reset-offsets": "`kcli groups rewind GROUP --to SPEC` does that; Kafka's --to-earliest, --to-datetime, … work too",
    "--all-groups": "`kcli groups rewind --all-groups --all-topics --to SPEC`, `kcli groups describe --all`, "
    "`kcli groups export --all`; `kcli groups lag` and `kcli groups list` show all groups unless some are named",
    "--state": "`kcli groups describe GROUP --state`, or `kcli groups list --state STATE`",
    "--members": "`kcli groups describe GROUP --members`",
    "--offsets": "`kcli groups describe GROUP --offsets`",
}

_TOPIC_VERBS = {
    "--describe": "`kcli topics describe TOPIC` does that",
    "--list": "`kcli topics list` does that",
    "--create": "`kcli topics create TOPIC` does that",
    "--delete": "`kcli topics delete TOPIC` does that",
    "--alter": "`kcli topics alter TOPIC --set KEY=VALUE` does that",
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
    "--entity-type": "leave it out: `kcli users list NAME` and the commands beside it are about users only",
    "--user": "users are named without a flag: `kcli users list NAME`, `kcli users set NAME`",
    **dict.fromkeys(("-p", "--set"), "leave it out: `kcli users set NAME` asks for the password"),
    "--del": "`kcli users delete NAME` does that",
    "--password": "leave it out: `kcli users set NAME` asks for it, or reads it with --password-file FILE",
}

_EVERYWHERE = {
    "--timeout-ms": "--timeout DUR, as in --timeout 5s, bounds the first contact and each request",
    "--property": "`kcli consume TOPIC -f FORMAT` chooses what is printed of a record, `kcli produce TOPIC -f PATTERN` "
    "what is read",
    "--formatter": "`kcli consume TOPIC -s SERDE` decodes keys and values, `kcli consume TOPIC -f FORMAT` chooses what "
    "is printed",
    "--group-id": "a group is named with -g in `kcli consume TOPIC -g GROUP`, and without a flag elsewhere",
    "--broker-list": "brokers are named with -b HOST:PORT",
    "--zookeeper": "brokers are named with -b HOST:PORT; Kafka clients no longer use ZooKeeper",
    "--consumer.config": "a file of client options is given with -F FILE",
    "--producer.config": "a file of client options is given with -F FILE",
    "--consumer-property": "a client option is given with -X KEY=VALUE",
    "--producer-property": "a client option is given with -X KEY=VALUE",
    **dict.fromkeys(
        ("--json", "--yaml", "--format", "--output-format"), "-o KIND chooses the format, as in -o json"
    ),
    **dict.fromkeys(
        ("-y", "--force", "--no-confirm", "--noconfirm", "--assume-yes"), "--yes answers every question"
    ),
    **dict.fromkeys(("--dry", "--validate-only", "--validate"), "--dry-run shows what would be done"),
    **dict.fromkeys(
        ("--filter", "--search", "--regex", "-r", "--query"),
        "`kcli topics list --match GLOB` and `kcli groups list --match GLOB` choose names by a shell pattern, "
        "`kcli consume TOPIC --grep v:REGEX` records",
    ),
    **dict.fromkeys(
        (
            "--section",
            "--stable",
            "--human-readable",
            "--detailed",
            "-i",
            "--instance-ID",
            "--consumer-protocol",
        ),
        "leave it out; -o wide shows more columns, -o json everything",
    ),
    "-C": "kcat's -C is `kcli consume TOPIC`",
    "-P": "kcat's -P is `kcli produce TOPIC`",
    "-G": "kcat's -G is `kcli consume TOPIC -g GROUP`",
    "-L": "kcat's -L is `kcli topics list` and `kcli topics describe TOPIC`",
    "-Q": "kcat's -Q is `kcli topics offsets TOPIC --time SPEC`",
    "-c": "kcat's -c is `kcli consume TOPIC -n N`",
}

_FIRST_RECORDS = "-n N, --max-messages N, stops after that many records, as in -n 10"
_CONSUME = {
    "-c": "kcat's -c is -n, --max-messages",
    **dict.fromkeys(
        ("--limit", "--max", "--num", "--number", "--head", "--limit-messages", "--num-records"),
        _FIRST_RECORDS,
    ),
    "-l": _FIRST_RECORDS,
    **dict.fromkeys(
        ("--share-group", "--share-ack-type"),
        "kcli has no member of share groups; `kcli groups describe GROUP` shows one",
    ),
    "--balancer": "-X partition.assignment.strategy=range chooses the assignor of -g GROUP",
    "-i": "--isolation-level LEVEL; of a static member -X group.instance.id=ID",
    "--instance-id": "-X group.instance.id=ID makes a static member of -g GROUP",
    "--num-per-partition": "kcli has no such limit; `kcli consume TOPIC --offset -10 -e` reads the last ten of each",
    **dict.fromkeys(
        ("-r", "--regex"), "a topic that begins with ^ is a pattern: `kcli consume '^orders-.*'`"
    ),
    "--fetch-max-partition-bytes": "-X max.partition.fetch.bytes=BYTES",
    "--read-uncommitted": "--isolation-level read_uncommitted",
    "--read-committed": "leave it out: only committed records are read, unless --isolation-level says otherwise",
    "--print-control-records": "--print-control",
    **dict.fromkeys(
        (
            "--proto-file",
            "--proto-message",
            "--proto-type",
            "--key-proto-type",
            "--value-proto-type",
            "--proto-include",
            "--proto-exclude",
            "--proto-import-path",
            "--protoset-file",
            "--proto-marshal-option",
        ),
        "-s value=protobuf:file=FILE,message=NAME decodes Protobuf",
    ),
    **dict.fromkeys(
        ("--use-schema-registry", "--print-schema"), "-s value=avro decodes by the schema registry"
    ),
    "--decode-msgpack": "kcli has no MessagePack; -s value=hex prints bytes",
    **dict.fromkeys(
        (
            "--print-partitions",
            "--print-timestamps",
            "--print-topics",
            "--print-headers",
            "--print-all",
            "--print-offset",
        ),
        "-o table prints all of a record, -f FORMAT what it names, as in -f '%t %p %o %T %k %v %h\\n'",
    ),
    "--meta-only": "-f FORMAT prints what it names, as in -f '%t %p %o %T %k %S\\n'",
    "--pretty-print": "-o ndjson prints a line for each record, -o json one document",
    **dict.fromkeys(
        ("--from-timestamp", "--to-timestamp", "--start", "--end"), "--since TIME and --until TIME"
    ),
    **dict.fromkeys(("--separator", "-S"), "-f FORMAT has any text between, as in -f '%k,%v\\n'"),
    **dict.fromkeys(("--key-encoding", "--value-encoding"), "-s key=hex, -s value=base64 and the like"),
    "--filter-key": "--grep k:REGEX; --key KEY reads only the partition that has the key",
    "--filter-value": "--grep v:REGEX, or --where EXPR for JSON",
    "--filter-header": "--grep h:NAME=REGEX",
    "-G": "kcat's -G is `kcli consume TOPIC -g GROUP`; kcl's is --grep FIELD:REGEX",
    **dict.fromkeys(
        ("--filter", "--search", "--query"),
        "--grep FIELD:REGEX searches keys, values and headers, --where EXPR is an expression on JSON values",
    ),
    **dict.fromkeys(
        ("--header", "--headers"),
        "-f '%h\\n' prints the headers, -o ndjson all of a record; --grep h:NAME=REGEX filters by one",
    ),
    "-k": "-f FORMAT prints keys, as in -f '%k:%v\\n'; --key KEY filters by one",
    "-a": "-o table prints all of a record",
    "-K": "-f FORMAT prints keys, as in -f '%k:%v\\n'; -o ndjson prints records whole",
    **dict.fromkeys(
        ("--print-key", "--print-keys", "--keys", "--key-delimiter"),
        "-f FORMAT prints keys, as in -f '%k:%v\\n'",
    ),
    **dict.fromkeys(
        ("--key-deserializer", "--value-deserializer", "--decode", "--schema-registry"),
        "-s SERDE decodes keys and values, as in -s value=avro",
    ),
    "--timeout-ms": "--idle-timeout DUR, as in --idle-timeout 5s, stops when no record has arrived for that long",
    "--property": "-f FORMAT chooses what is printed of a record, as in -f '%k\\t%v\\n' for key and value",
    "--formatter": "-s SERDE decodes keys and values, -f FORMAT chooses what is printed of a record",
    "--skip-message-on-error": "--on-corrupt skip leaves out damaged batches",
    "--whitelist": "a topic that begins with ^ is a pattern: `kcli consume '^orders-.*'`",
    "--include": "a topic that begins with ^ is a pattern: `kcli consume '^orders-.*'`",
}

_VALUES = (
    "--value VALUE sends one record; others are read from stdin or from files: `kcli produce TOPIC FILE`"
)
_PRODUCE = {
    **dict.fromkeys(("-m", "--message", "--data", "--file"), _VALUES),
    "--property": "-K DELIM splits lines into key and value, -f PATTERN reads records by a pattern",
    **dict.fromkeys(
        ("--parse-key", "--key-separator", "--separator"),
        "-K DELIM splits lines into key and value, as in -K :",
    ),
    **dict.fromkeys(("--codec", "--compression-codec"), "-z CODEC, --compression CODEC, as in -z zstd"),
    **dict.fromkeys(("--request-required-acks", "--required-acks"), "--acks all|1|0"),
    **dict.fromkeys(
        ("--key-serializer", "--value-serializer", "--schema-registry"),
        "-s SERDE encodes keys and values, as in -s value=avro",
    ),
    "-S": "-K DELIM splits lines into key and value, as in -K :",
    **dict.fromkeys(("-L", "--lineSeparator", "--line-separator"), "-D DELIM ends records, as in -D ';'"),
    "--retries": "leave it out: kcli retries until -X delivery.timeout.ms=MS has passed",
    "--null-value": "--tombstone, as in -k k1 --tombstone; of lines, -Z makes empty values null",
    "--max-message-bytes": "-X max.request.size=BYTES",
    **dict.fromkeys(
        (
            "--schema-id",
            "--schema-key-id",
            "--avro-schema-id",
            "--avro-key-schema-id",
            "--key-schema-version",
            "--value-schema-version",
            "--schema-type",
        ),
        "-s value=avro:subject=NAME,version=N chooses the schema, -s key=avro that of keys",
    ),
    **dict.fromkeys(("--output-format",), "-o json prints a report with the offsets of each partition"),
    **dict.fromkeys(
        ("--input-format", "--input-mode"),
        "-i FORMAT says what the input is: lines, ndjson, csv, raw, file (each file is one record)",
    ),
    **dict.fromkeys(("--key-encoding", "--value-encoding"), "-s key=hex, -s value=base64 and the like"),
    **dict.fromkeys(
        (
            "--proto-file",
            "--proto-type",
            "--key-proto-type",
            "--value-proto-type",
            "--proto-include",
            "--proto-exclude",
            "--proto-import-path",
            "--protoset-file",
        ),
        "-s value=protobuf:file=FILE,message=NAME encodes Protobuf",
    ),
    "--silent": "-q is silent",
    "-r": "--rate RATE limits records, or bytes as in --rate 10MB/s",
    "--raw-key": "leave it out: -k KEY and -K DELIM send keys as they are",
    **dict.fromkeys(
        ("-n", "--repeat"),
        "kcli has no repetition; `kcli perf produce -t TOPIC --num-records N` loads a topic",
    ),
    "--timestamp": "-i ndjson keeps the timestamps that `kcli consume TOPIC -o ndjson` wrote",
    "--line-length-limit": "leave it out: lines have no limit but -X max.request.size=BYTES",
    "--template": "kcli has no templates here; `kcli perf produce -t TOPIC --num-records N` makes values up",
    "-P": "kcat's -P is `kcli produce TOPIC`; kafkactl's is --partitioner NAME",
    "--headers": "-H NAME=VALUE, once for each header",
    "--throughput": "--rate RATE limits records, or bytes as in --rate 10MB/s",
}

_PARTITIONS = "--partitions N is the number of partitions"
_REPLICAS = "--replication-factor N is the number of replicas"
_SET = "--set KEY=VALUE sets a key, as in --set retention.ms=3600000"
_UNSET = "--unset KEY restores the default of a key"
_ADD_CONFIG = {
    **dict.fromkeys(("--config", "--add-config"), _SET),
    **dict.fromkeys(("--delete-config", "--remove-config"), _UNSET),
}
_BY_KIND = "kind and name are given without a flag: `{path} topics orders`"
_CONFIGS = {
    **dict.fromkeys(("--entity-type", "--entity-name", "--topic", "-t", "--type"), _BY_KIND),
    **dict.fromkeys(
        ("--with-docs", "--with-types"),
        "leave it out; `kcli configs describe topics TOPIC --all --origin` has defaults, and where each value is set",
    ),
}
_ENTITY = (
    "`kcli quotas alter --user NAME --set producer_byte_rate=1MB/s` says whose, as --client-id and --ip do"
)

_LOAD = {
    **dict.fromkeys(("--messages", "--count", "--num-messages", "-n"), "--num-records N"),
    **dict.fromkeys(
        ("--producer-props", "--consumer-props", "--props"), "a client option is given with -X KEY=VALUE"
    ),
    **dict.fromkeys(
        ("--size", "--message-size"),
        "--record-size SIZE, as in `kcli perf produce -t TOPIC --num-records N --record-size 1KiB`",
    ),
    "--threads": "--processes N sends or reads from several processes",
}

_ACL_PRODUCER = "`kcli acls create --principal User:NAME --producer --topic TOPIC`"
_ACL_CONSUMER = "`kcli acls create --principal User:NAME --consumer --topic TOPIC --group GROUP`"
_ACLS = {
    "--allow-principal": "--principal TYPE:NAME, as in User:alice",
    "--deny-principal": "`kcli acls create --principal User:NAME --operation read --topic TOPIC --deny`",
    **dict.fromkeys(("--allow-host", "--deny-host"), "--host ADDRESS"),
    **dict.fromkeys(("--op",), "--operation OPERATION"),
    "-t": "--topic TOPIC",
    "-g": "--group GROUP",
    **dict.fromkeys(
        ("--type", "--name", "--resource-name", "--resource-type"),
        "--topic TOPIC, --group GROUP, --transactional-id ID or --cluster says of what",
    ),
    "--resource-pattern-type": "--pattern literal|prefixed",
    **dict.fromkeys(
        ("--perm", "--permission", "--allow"),
        "leave it out; `kcli acls create --principal User:NAME --operation read --topic TOPIC --deny` denies",
    ),
    "--idempotent": "leave it out: since Kafka 2.8 an idempotent producer needs write on its topics only",
}
_IN_FULL = "leave it out: partitions, offsets and settings are shown; `kcli topics offsets TOPIC` has the offsets alone"
_BY_NAME = "topics are named, or chosen by --match GLOB, as in --match 'test-*'"
_OF_PARTITIONS = "-t TOPIC:0,2 names partitions"
_REWIND = {
    "--to-file": "--from-file FILE",
    "--offset-map": "--from-file FILE has an offset for each partition",
    **dict.fromkeys(("--topics", "-t"), "--topic TOPIC, or --topic TOPIC:0,2 for some partitions"),
    **dict.fromkeys(("-p", "--partition", "--partitions"), "--topic TOPIC:0,2 names partitions"),
    **dict.fromkeys(("--offset",), "--to SPEC, as in --to 1200"),
    "--oldest": "--to earliest",
    "--newest": "--to latest",
    "-e": "--yes, or --execute",
    "--allow-new-topics": "`kcli groups create GROUP -t TOPIC --from SPEC` commits for a topic without commits",
    "--all-partitions": "leave it out: --topic TOPIC means all partitions",
}

_SANDBOX = {
    **dict.fromkeys(("--nodes", "-n"), "--brokers N is the number of brokers"),
    "-p": "--port PORT is the port of the first broker",
}

_PAGE_USERS = {
    "--users": "--web-config FILE has them below basic_auth_users, with hashes of bcrypt (`htpasswd -nBC 10 NAME`)"
}
_OPTIONS = {
    "groups": _GROUP_VERBS,
    "topics": _TOPIC_VERBS,
    "topics describe": {
        **dict.fromkeys(
            (
                "-a",
                "--print-all",
                "-p",
                "--print-partitions",
                "--print-configs",
                "-s",
                "--print-summary",
                "--section",
            ),
            _IN_FULL,
        ),
        "--under-min-isr-partitions": "--under-min-isr",
        "--at-min-isr-partitions": "--at-min-isr",
        "--topics-with-overrides": "--with-overrides",
        "--topic-id": "--id ID",
        "--under-replicated-partitions": "--under-replicated",
        "--unavailable-partitions": "--unavailable",
    },
    "topics delete": dict.fromkeys(("--ids", "-r", "--regex"), _BY_NAME),
    "topics trim": {
        **dict.fromkeys(("--offset", "--to"), "--before SPEC, as in --before 1200"),
        "--offset-json-file": "--from-file FILE",
        "-f": "--before SPEC with -p LIST; --from-file FILE takes a file of kafka-delete-records.sh",
    },
    "groups list": {
        **dict.fromkeys(("-f", "--filter", "--states"), "--state STATE; --match GLOB chooses names"),
        "--type-filter": "--type TYPE",
    },
    "groups describe": {
        **dict.fromkeys(("-c", "--committed", "--print-commits", "--no-members"), "--offsets"),
        **dict.fromkeys(("-t", "--print-lag-per-topic"), "`kcli groups lag GROUP --by topic`"),
        **dict.fromkeys(("-s", "--print-summary"), "--state"),
        **dict.fromkeys(("-r", "--regex"), "--match GLOB, a shell pattern"),
        **dict.fromkeys(
            ("--topic", "--topics", "-p", "--partitions", "--partition"),
            "`kcli groups lag GROUP` has a line for each partition",
        ),
    },
    "groups rewind": _REWIND,
    "groups delete-offsets": {
        **dict.fromkeys(
            ("-f", "--from-file", "--offset-map"), f"kcli has no file of offsets here: {_OF_PARTITIONS}"
        ),
        **dict.fromkeys(("-p", "--partition", "--partitions"), _OF_PARTITIONS),
        "--all-partitions": "leave it out: -t TOPIC means all partitions",
    },
    **{
        verb: {**_ACLS, "--producer": _ACL_PRODUCER, "--consumer": _ACL_CONSUMER}
        for verb in ("acls list", "acls delete")
    },
    "acls create": _ACLS,
    "txn list": dict.fromkeys(
        ("--state", "--producer-id"),
        "kcli has no filter for it; --topic TOPIC and --older-than DUR choose transactions",
    ),
    "elect-leaders": {
        "--all-partitions": "leave it out: all partitions are meant unless --topic names some",
        "--all-topic-partitions": "leave it out: all partitions are meant unless --topic names some",
        "--path-to-json-file": "--from-file FILE",
    },
    "query": dict.fromkeys(
        ("-k", "--key", "--grep"),
        "`kcli consume TOPIC --key KEY -e` finds a key, `kcli consume TOPIC -e --grep v:REGEX` a text",
    ),
    "exporter": _PAGE_USERS,
    "mirror run": _PAGE_USERS,
    "pipeline profile": {
        "--batches": "leave it out: all records are read, or those that --since TIME and --until TIME limit",
        "--time-range": "--since TIME and --until TIME",
    },
    "topics list": {
        "-a": "-o wide shows more columns",
        "--ids": "`kcli topics describe TOPIC -o json` shows the id",
        "-i": "--internal",
        "--regex": "--match GLOB, a shell pattern",
        "-r": "--match GLOB, a shell pattern",
        "--filter": "--match GLOB, a shell pattern",
        "--search": "--match GLOB, a shell pattern",
        "--topic": "`kcli topics describe TOPIC`, or `kcli topics list --match GLOB`",
    },
    "topics create": {
        **dict.fromkeys(("-p", "--num-partitions"), _PARTITIONS),
        **dict.fromkeys(("-r", "--replicas"), _REPLICAS),
        **dict.fromkeys(
            ("-c", "--set", "-k", "--kv", "--topic-config"),
            "--config KEY=VALUE sets a key, as in --config retention.ms=3600000",
        ),
        "--compact": "--config cleanup.policy=compact",
        "--replica-assignment": "kcli has no placement at creation; `kcli reassign plan --topic TOPIC` moves replicas",
    },
    "topics alter": {
        **dict.fromkeys(("-p", "-n", "--num"), _PARTITIONS),
        **_ADD_CONFIG,
        "-s": _SET,
        "--delete": _UNSET,
        "--subtract": "--remove KEY=VALUE",
        "-t": "topics are named without a flag: `{path} TOPIC --partitions 12`",
        "-f": "--yes answers every question",
        "--partition-assignments": "kcli has no placement here; `kcli reassign run FILE` moves replicas",
    },
    "users": _USER_VERBS,
    "consume": _CONSUME,
    "produce": _PRODUCE,
    "configs": _CONFIGS,
    "configs list": dict.fromkeys(
        ("--entity-type", "--entity-name", "--topic", "-t", "--type"),
        "a kind is given without a flag: `kcli configs list client-metrics`, `kcli configs describe topics TOPIC`",
    ),
    "configs alter": {
        **_ADD_CONFIG,
        "--delete": _UNSET,
        "-s": _SET,
        "-k": _SET,
        "--subtract": "--remove KEY=VALUE",
    },
    "quotas": dict.fromkeys(
        ("--entity-type", "--entity-name", "--name", "--default", "--any", "--strict"), _ENTITY
    ),
    "quotas alter": {**_ADD_CONFIG, "--add": _SET, "--delete": "--unset KEY removes a quota"},
    "perf produce": _LOAD,
    "perf consume": {key: _LOAD[key] for key in _LOAD if "size" not in key},
    "sandbox up": _SANDBOX,
}
"""By command, or group of commands: the words of its path without ``kcli``."""

_FUTURE: dict[str, dict[str, str]] = {}
"""Commands that kcli does not have yet, by group, and what to use until then: none at present."""

_OTHER_TOOLS = {
    "kcli": {
        **dict.fromkeys(("cat", "read", "console-consumer", "sub", "subscribe"), "`kcli consume TOPIC`"),
        **dict.fromkeys(("send", "publish", "pub", "console-producer"), "`kcli produce TOPIC`"),
        **dict.fromkeys(
            ("consumer-groups", "consumer-group", "consumergroups"),
            "`kcli groups list`, `kcli groups describe GROUP`",
        ),
        **dict.fromkeys(
            ("list", "ls", "get", "describe", "create", "delete", "alter", "update", "add", "misc", "admin"),
            "the noun comes first: `kcli topics list`, `kcli topics create TOPIC`, `kcli groups describe GROUP`",
        ),
        **dict.fromkeys(("lag", "lags"), "`kcli groups lag`"),
        **dict.fromkeys(
            ("reset", "reset-offsets", "reset-offset", "rewind", "seek"),
            "`kcli groups rewind GROUP --to SPEC`",
        ),
        "offsets": "`kcli topics offsets TOPIC` for a topic's, `kcli groups describe GROUP` for a group's",
        "version": "`kcli --version`",
        **dict.fromkeys(("container", "redpanda", "docker", "start", "up"), "`kcli sandbox up`"),
        **dict.fromkeys(("stop", "down"), "`kcli sandbox down`"),
        **dict.fromkeys(
            ("security", "permissions"),
            "`kcli acls list`, `kcli acls create --principal User:NAME --operation read --topic TOPIC`",
        ),
        **dict.fromkeys(("scram", "credentials", "user-scram"), "`kcli users list`, `kcli users set NAME`"),
        "nodes": "`kcli brokers list`, `kcli brokers describe 1`",
        "transact": "`kcli produce TOPIC --transactional-id ID`",
        **dict.fromkeys(
            ("producer-perf-test", "bench", "benchmark"), "`kcli perf produce -t TOPIC --num-records N`"
        ),
        "consumer-perf-test": "`kcli perf consume -t TOPIC`",
        **dict.fromkeys(("e2e-latency", "end-to-end-latency"), "`kcli perf e2e -t TOPIC`"),
        "attach": "name the brokers with -b HOST:PORT",
        **dict.fromkeys(
            ("dtoken", "token", "delegation-token", "delegation-tokens"),
            "`kcli tokens list`",
        ),
        "client-metrics": "`kcli configs list client-metrics`",
        **dict.fromkeys(
            ("loggers", "broker-loggers", "log-level"),
            "`kcli configs describe broker-loggers 1`; `kcli configs alter broker-loggers 1 --set root=DEBUG`",
        ),
    },
    "kcli groups": {
        "offsets": "`{path} describe GROUP` shows what is committed, `{path} lag GROUP` the lag",
        **dict.fromkeys(
            ("reset", "seek", "reset-offsets", "reset-offset", "set-offsets", "set", "commit", "alter"),
            "`{path} rewind GROUP --to SPEC`, as in --to earliest, --to @-1h, --to 1200",
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
        "peek": "`{path} describe GROUP --peek 2`",
        **dict.fromkeys(("kick", "evict"), "`{path} remove-members GROUP MEMBER`"),
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
            ("compare", "diff", "verify"),
            "`kcli pipeline verify --from HOST:PORT --to HOST:PORT -t TOPIC` compares clusters; --map-topic A=B compares "
            "topic A with topic B, --level records says in what",
        ),
        **dict.fromkeys(
            ("alter-config", "set-config", "configs", "config", "add-partitions", "add-config"),
            "`{path} alter TOPIC --set KEY=VALUE` changes settings, `{path} alter TOPIC --partitions N` adds partitions",
        ),
        **dict.fromkeys(
            ("update", "edit", "rm-config"),
            "`{path} alter TOPIC --set KEY=VALUE`, `{path} alter TOPIC --unset KEY`",
        ),
        **dict.fromkeys(("describe-storage", "size", "sizes"), "`{path} list --with-size`"),
        "lag": "`kcli groups lag --topic TOPIC`",
        "count": "`kcli consume TOPIC --count`",
        **dict.fromkeys(("cp", "clone", "duplicate"), "`{path} copy A B`"),
        "analyze": "`kcli pipeline profile TOPIC`",
        **dict.fromkeys(("mount", "unmount"), "kcli has no such thing"),
        **dict.fromkeys(
            ("trim-prefix", "delete-records", "truncate", "empty", "purge", "clear"),
            "`{path} trim TOPIC --before SPEC`",
        ),
    },
    "kcli cluster": {
        **dict.fromkeys(
            (
                "info",
                "status",
                "health",
                "metadata",
                "list",
                "show",
                "ls",
                "get",
                "describe-cluster",
            ),
            "`{path} describe`",
        ),
        "brokers": "`kcli brokers list`",
        **dict.fromkeys(("quorum", "describe-quorum"), "`kcli quorum describe`"),
        **dict.fromkeys(("cluster-id", "id"), "`{path} describe`"),
        **dict.fromkeys(("logdirs", "log-dirs", "disks", "storage"), "`{path} describe --log-dirs`"),
        "features": "`kcli features list`",
        **dict.fromkeys(("txn", "transactions"), "`kcli txn list`, `kcli txn describe ID`"),
        **dict.fromkeys(
            ("quotas", "quota"),
            "`kcli quotas list`, `kcli quotas alter --user NAME --set producer_byte_rate=1MB/s`",
        ),
        "partitions": "`kcli topics describe TOPIC`, `kcli reassign plan --topic TOPIC`, `kcli elect-leaders`",
        "elect-leaders": "`kcli elect-leaders`",
        **dict.fromkeys(
            ("config", "configs"),
            "`kcli configs describe brokers 1 --all`",
        ),
        **dict.fromkeys(
            (
                "maintenance",
                "selftest",
                "license",
                "connections",
                "add-controller",
                "remove-controller",
                "decommission",
            ),
            "kcli has no such thing",
        ),
    },
    "kcli configs": {
        **dict.fromkeys(("ls", "get", "show", "view"), "`{path} describe topics TOPIC`"),
        **dict.fromkeys(("set", "edit", "update", "add"), "`{path} alter topics TOPIC --set KEY=VALUE`"),
        **dict.fromkeys(("delete", "unset", "remove"), "`{path} alter topics TOPIC --unset KEY`"),
    },
    "kcli acls": {
        **dict.fromkeys(("ls", "get", "show", "describe"), "`{path} list`"),
        **dict.fromkeys(
            ("add", "new", "grant", "allow", "set"),
            "`{path} create --principal User:NAME --operation read --topic TOPIC`",
        ),
        **dict.fromkeys(("rm", "remove", "revoke"), "`{path} delete --principal User:NAME`"),
        "user": "`kcli users list`, `kcli users set NAME`",
        "deny": "`{path} create --principal User:NAME --operation read --topic TOPIC --deny`",
    },
    "kcli quotas": {
        **dict.fromkeys(("ls", "get", "show", "describe"), "`{path} list`"),
        **dict.fromkeys(
            ("set", "add", "create", "update"), "`{path} alter --user NAME --set producer_byte_rate=1MB/s`"
        ),
        **dict.fromkeys(
            ("rm", "remove", "delete", "unset"), "`{path} alter --user NAME --unset producer_byte_rate`"
        ),
    },
    "kcli reassign": {
        "generate": "`{path} plan FILE`",
        "alter": "`{path} plan FILE`, then `{path} run FILE`",
        **dict.fromkeys(("execute", "start", "apply", "exec"), "`{path} run FILE`"),
        **dict.fromkeys(("verify", "list", "ls", "describe", "show"), "`{path} status`"),
        **dict.fromkeys(("abort", "stop"), "`{path} cancel --topic TOPIC`"),
    },
    "kcli txn": {
        "describe-producers": "`{path} describe --topic TOPIC`",
        **dict.fromkeys(("ls", "find-hanging", "hanging"), "`{path} list`"),
        **dict.fromkeys(("show", "get", "info"), "`{path} describe ID`"),
        **dict.fromkeys(("kill", "cancel", "stop", "fence"), "`{path} abort ID`"),
    },
    "kcli perf": {
        **dict.fromkeys(("producer", "write", "send"), "`{path} produce -t TOPIC --num-records N`"),
        **dict.fromkeys(("consumer", "read"), "`{path} consume -t TOPIC`"),
        **dict.fromkeys(("latency", "end-to-end", "e2e-latency"), "`{path} e2e -t TOPIC`"),
        "diff": "`{path} compare BEFORE AFTER`",
    },
    "kcli profile": {
        **dict.fromkeys(("ls", "get-contexts"), "`{path} list`"),
        **dict.fromkeys(("create", "new", "set", "save"), "`{path} add NAME -b HOST:PORT`"),
        **dict.fromkeys(("edit", "update", "alter"), "`{path} add NAME -b HOST:PORT --replace`"),
        **dict.fromkeys(("rm", "delete", "drop"), "`{path} remove NAME`"),
        **dict.fromkeys(("print", "dump"), "`{path} show`"),
        **dict.fromkeys(("rename-to", "mv", "move"), "`{path} rename A B`"),
        **dict.fromkeys(("cp", "clone", "duplicate"), "`{path} copy A B`"),
        **dict.fromkeys(("check", "verify", "ping"), "`{path} test NAME`"),
        **dict.fromkeys(("view", "get", "describe"), "`{path} show`"),
        "current": "`{path} list` marks the one in use, and `{path} show` has its options",
        **dict.fromkeys(("switch", "select", "use-context", "activate"), "`{path} use NAME`"),
    },
    "kcli config": {
        **dict.fromkeys(("view", "list", "ls", "get", "cat", "print", "describe"), "`{path} show`"),
        **dict.fromkeys(("validate", "test", "lint", "verify"), "`{path} check`"),
        **dict.fromkeys(
            ("set", "add", "add-cluster", "create", "edit", "add-eventhub", "remove-cluster"),
            "`kcli profile add NAME -b HOST:PORT` keeps the options of a cluster",
        ),
        **dict.fromkeys(
            ("use", "use-context", "use-cluster", "select-cluster", "switch"), "`kcli profile use NAME`"
        ),
        **dict.fromkeys(("alter",), "`kcli configs alter topics TOPIC --set KEY=VALUE`"),
        "import": "`kcli profile import rpk`",
        **dict.fromkeys(("get-contexts", "get-clusters", "current-context"), "`kcli profile list`"),
    },
    "kcli sandbox": {
        **dict.fromkeys(("start", "run", "create", "new", "launch"), "`{path} up`"),
        **dict.fromkeys(("stop", "kill", "shutdown"), "`{path} down`"),
        **dict.fromkeys(("rm", "remove", "delete", "destroy", "purge"), "`{path} down --delete`"),
        **dict.fromkeys(("list", "ls", "ps", "show", "info", "describe"), "`{path} status`"),
        "restart": "`{path} down`, then `{path} up`",
        "log": "`{path} logs`",
    },
    "kcli pipeline": {
        **dict.fromkeys(("sql", "select"), "`{path} query TOPIC --sql SQL`"),
        **dict.fromkeys(("backup", "dump"), "`{path} export TOPIC DIR`"),
        **dict.fromkeys(("restore", "load"), "`{path} import DIR`"),
        **dict.fromkeys(("copy", "replicate"), "`{path} mirror --from HOST:PORT --to HOST:PORT -t TOPIC`"),
        **dict.fromkeys(("compare", "diff"), "`{path} verify --from HOST:PORT --to HOST:PORT -t TOPIC`"),
        "redrive": "`{path} replay TOPIC --to TOPIC`",
    },
}
"""Words of Kafka's scripts, kcl, rpk and kafkactl, by the group of commands in which they are tried."""


def kcat_mode(words: Sequence[str]) -> str | None:
    """The option of a line for kcat that says what it does, as in ``-t T -C -e`` or ``-t T -eC``; None without one."""
    return next((f"-{mode[1]}" for word in words if (mode := _KCAT_MODE.match(word))), None)


def instead_of_kcat(mode: str, words: Sequence[str]) -> tuple[str, str]:
    """Why a line for kcat was not run, and the line that does the same."""
    return _shown(foreign_lines.of_kcat(mode, words), "kcat")


def instead_of_command(path: str, name: str, words: Sequence[str] = ()) -> tuple[str, str] | None:
    """Why there is no command ``name`` in the group at ``path`` (``kcli groups``), and what does the same; None for
    unknown words. ``words`` follow the name.
    """
    line = None
    if path == "kcli":
        line = foreign_lines.of_script(name, words) or foreign_lines.of_words(name, words)
    elif path == "kcli cluster":
        line = foreign_lines.of_cluster(name, words)
    if line is not None:
        return _shown(line, name)
    later = _FUTURE.get(path, {}).get(name)
    if later is not None:
        return f"`{path} {name}` is not available in this version", later
    found = _OTHER_TOOLS.get(path, {}).get(name)
    return None if found is None else ("other tools use that name; nothing was run", found.format(path=path))


def _shown(line: Translation, name: str) -> tuple[str, str]:
    if not line.line:
        return (
            "kcli has no such thing; nothing was run",
            f"use {name} itself; `kcli help tasks` shows what kcli does",
        )
    lacking = f"; kcli has nothing for {', '.join(line.lacking)}" if line.lacking else ""
    return f"other tools have such lines; nothing was run{lacking}", f"`{line.line}`"


def as_client_option(option: str) -> str | None:
    """How to set the client option that Java clients or librdkafka call by this name; None if there is none."""
    key = option.lstrip("-").replace("-", ".").replace("_", ".")
    name = next(filter(is_option, (key, f"{key}.ms")), None)
    return name and f"that is an option of the client: -X {name}=VALUE"


def instead_of(path: str, option: str) -> str | None:
    """What replaces ``option`` at the command ``path`` (``kcli groups lag``); None for unknown options."""
    command = path.removeprefix("kcli").strip()
    noun, _, verb = command.partition(" ")
    if noun == "groups" and option == "--group":
        return f"groups are named without a flag: `{path if verb else 'kcli groups describe'} GROUP`"
    found = next((table[option] for table in _tables(command, noun) if option in table), None)
    return found and found.format(path=path if verb else f"{path} describe")


def _tables(command: str, noun: str) -> Iterator[dict[str, str]]:
    """The tables of a command, its own first."""
    yield _OPTIONS.get(command, {})
    yield _OPTIONS.get(noun, {})
    yield _EVERYWHERE
