"""What people and networks do wrong, a row each: exit code, and cause and remedy in the words of the error.

Each row is one run of kcli against the world of ``error_world``, in this process where its stdout is no file. A row's
``what``, ``why`` and ``do`` are parts of the three lines of an error; what somebody has to type next is in ``do``, or
there is no remedy. The commands in it are typed too. More rows are in ``errors``.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import split
from unittest.mock import patch

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.version import __version__
from tests.cli.error_world import World, world
from tests.cli.errors import admin, habits, local
from tests.cli.errors.row import Row, fails, member, silent
from tests.cli.errors.typing_remedies import command_lines, type_lines, type_remedy
from tests.fake.codes import Code
from tests.run import environment, kcli_as_set_up, start

FULL = "/dev/full"


# --- 2: what is typed makes no sense --------------------------------------------------------------------------

SPELLING = [
    Row("topcis", 2, "there is no command 'topcis'", "never abbreviated", "did you mean `kcli topics`?"),
    Row("groups lst", 2, "groups: there is no command 'lst'", "nothing was run", "`kcli groups list`?"),
    Row("groups lag --max-lagg 5", 2, "no option --max-lagg", "nothing was run", "did you mean --max-lag?"),
    Row("groups lag -w5s", 2, "no option -w5s", "nothing was run", "did you mean -w=5s?"),
    Row(
        "groups lag --timeout soon",
        2,
        "--timeout is not valid",
        "not a duration such as 90s, 1h30m",
        "--help`",
    ),
    Row("groups lag --by topics", 2, "--by is not valid", "not one of 'group', 'topic'", "--help`"),
    Row("groups lag -o xml", 2, "no output format 'xml'", "this command prints table, plain", "-o table"),
    Row(
        "topics list", 2, "KCLI_TIMEOUT=soon", "not a duration", "10s, 500ms", env=(("KCLI_TIMEOUT", "soon"),)
    ),
    Row("groups describe ''", 2, "GROUP is not valid", "name is empty", "--help`"),
    Row(
        "produce 'my topic'",
        2,
        "is not a valid topic name",
        "letters, digits, dots",
        "`kcli topics list` lists the topics",
    ),
    Row(
        "topics create orders/eu",
        2,
        "is not a valid topic name",
        "letters, digits, dots",
        "write orders.eu or orders-eu",
    ),
    Row("produce", 2, "missing argument TOPIC", "it is required", "name one: `kcli produce TOPIC`, or"),
    Row("consume", 2, "missing argument TOPIC", "it is required", "name one: `kcli consume TOPIC`, or"),
]

HABITS = [
    Row("groups describe --group billing", 2, "no option --group", "", "`kcli groups describe billing`"),
    Row("groups --describe --group billing", 2, "no option --describe", "", "`kcli groups describe billing`"),
    Row(
        "groups lag --reset-offsets",
        2,
        "no option --reset-offsets",
        "",
        "`kcli groups rewind GROUP --to SPEC`",
    ),
    Row("groups describe --all-groups", 2, "no option --all-groups", "", "`kcli groups describe --all`"),
    Row("topics --create --topic x", 2, "no option --create", "", "`kcli topics create x`"),
    Row("topics list --zookeeper zk:2181", 2, "no option --zookeeper", "", "-b HOST:PORT"),
    Row("consume orders --consumer.config f", 2, "no option --consumer.config", "", "-F FILE"),
    Row("-C -t orders", 2, "no option -C", "nothing was run", "`kcli consume orders`"),
    Row("produce orders -P", 2, "no option -P", "nothing was run", "`kcli produce orders`"),
    Row(
        "consume orders -G billing", 2, "no option -G", "nothing was run", "`kcli consume orders -g billing`"
    ),
    Row("consume orders -c 5", 2, "no option -c", "nothing was run", "-n, --max-messages"),
    Row("consume orders --limit 5", 2, "no option --limit", "nothing was run", "-n N, --max-messages N"),
    Row("consume orders -K :", 2, "no option -K", "nothing was run", "-f FORMAT prints keys"),
    Row("topics create orders -p 3", 2, "no option -p", "nothing was run", "--partitions N"),
    Row("profile create prod", 2, "no command 'create'", "other tools", "`kcli profile add NAME"),
    Row(
        "consume orders -o beginning",
        2,
        "-o beginning is not an output format",
        "kcat's -o is --from-beginning",
        "--from-beginning or --offset beginning",
    ),
    Row("consume orders -o -5", 2, "-o -5 is not an output format", "kcat's -o is --offset", "--offset -5"),
]

NOT_OURS = [
    Row("groups offsets billing", 2, "no command 'offsets'", "other tools", "`kcli groups describe billing`"),
    Row("group offsets", 2, "no command 'offsets'", "other tools", "`kcli groups lag GROUP`"),
    Row(
        "groups reset billing",
        2,
        "no command 'reset'",
        "nothing was run",
        "`kcli groups rewind billing --to SPEC`",
    ),
    Row(
        "groups seek billing",
        2,
        "no command 'seek'",
        "nothing was run",
        "`kcli groups rewind billing --to SPEC`",
    ),
    Row(
        "mirror a b",
        2,
        "there is no command 'a'",
        "nothing was run",
        "`kcli mirror --help` lists the commands",
    ),
    Row(
        "schema Grup",
        2,
        "no kind 'Grup'",
        "no JSON that kcli prints is of this kind",
        "did you mean `kcli schema Group`? ",
    ),
    Row("top", 2, "needs a terminal", "stdin is not one", "`kcli groups lag --watch` needs none"),
    Row("topics delete-records orders", 2, "no command", "other tools", "`kcli topics trim orders --before"),
    Row(
        "topics set-config orders",
        2,
        "no command",
        "other tools",
        "`kcli topics alter orders --set KEY=VALUE`",
        then="7 topics alter orders --partitions: it has more already",
    ),
    Row("topics --alter", 2, "no option --alter", "", "`kcli topics alter TOPIC --set KEY=VALUE`"),
    Row("get topics", 2, "no command 'get'", "other tools", "`kcli topics list`"),
    Row("consume orders --timeout-ms 500", 2, "no option --timeout-ms", "", "--idle-timeout DUR"),
    Row(
        "consume orders --property print.key=true",
        2,
        "no option --property",
        "",
        "-f FORMAT chooses what is printed",
    ),
    Row(
        "topics list --profile prod",
        2,
        "no profile 'prod' (from --profile)",
        "there are none",
        "`kcli profile add NAME -b HOST:PORT` makes one",
    ),
    Row(
        "topics list --context prod",
        2,
        "no profile 'prod' (from --profile)",
        "there are none",
        "`kcli profile add NAME -b HOST:PORT` makes one",
    ),
]

COUNTS = [
    Row("consume orders -n 0", 2, "--max-messages is not valid", "must be at least 1, got 0", "--help`"),
    Row(
        "consume orders --tail 10x",
        2,
        "--tail is not valid",
        "'10x' is not a whole number such as 100, 10k or 1M",
        "--help`",
    ),
    Row(
        "consume orders --since 3x", 2, "--since is not valid", "none of the units w, d", "`kcli help times`"
    ),
    Row(
        "consume orders --offset first", 2, "--offset is not valid", "earliest, latest", "`kcli help offsets`"
    ),
    Row("topics offsets orders --time -2", 2, "--time must be", "by an offset", "--time earliest"),
    Row("topics offsets orders --time -1", 2, "--time must be", "by an offset", "--time latest"),
    Row(
        "configs describe orders", 2, "'orders' is not topics", "kind comes before", "describe topics orders`"
    ),
    Row(
        "configs describe topcs orders",
        2,
        "'topcs' is not topics",
        "kind comes before",
        "did you mean topics?",
    ),
    Row("completion powershell", 2, "no script for 'powershell'", "bash, zsh and fish", "echo $SHELL"),
    Row("sandbox up --port 70k", 2, "--port is not valid", "must be at most 65,535, got 70k", "--help`"),
]

NOT_YET = [
    Row(
        "topics list -X sasl.mechanism=PLAIN", 2, "sasl.mechanism (-X) has no effect",
        "security.protocol is PLAINTEXT: the connections do not authenticate", "security.protocol=SASL_SSL",
    ),
    Row(
        "topics list -X sasl.mechanis=PLAIN", 2, "unknown option 'sasl.mechanis' in -X",
        f"no option of a client has this name in kcli {__version__}", "did you mean 'sasl.mechanism'?",
    ),
    Row(
        "topics list -X security.protocol=SSL -X sasl.mechanism=PLAIN", 2, "sasl.mechanism (-X) has no effect",
        "security.protocol is SSL", "security.protocol=SASL_SSL",
    ),
    Row(
        "topics list -F {dir}/sasl.conf", 2, "sasl.username ({dir}/sasl.conf:2) has no effect",
        "do not authenticate", "out of that file",
    ),
    Row(
        "topics list", 2, "sasl.jaas.config cannot be read (from KCLI_X_SASL_JAAS_CONFIG)", "control flag is missing",
        "MODULE required", env=(("KCLI_X_SASL_JAAS_CONFIG", "x"),),
    ),
    Row(
        "groups list", 2, "sasl.mechanism (KAFKA_SASL_MECHANISM)", "do not authenticate",
        "unset KAFKA_SASL_MECHANISM", env=(("KAFKA_SASL_MECHANISM", "PLAIN"),),
    ),
    Row(
        "groups delete billing", 2, "no profile 'prod' (from KCLI_PROFILE)", "there are none",
        "`kcli profile add NAME -b HOST:PORT` makes one", env=(("KCLI_PROFILE", "prod"),),
    ),
    Row(
        "groups list", 2, "no profile 'prod' (from current in {dir}/xdg/kcli/config.toml:1)",
        "test, locked, guarded, pinned", "`kcli profile use test`", env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "groups list --profile tset", 2, "no profile 'tset' (from --profile)", "test, locked, guarded, pinned",
        "did you mean 'test'?", env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "groups list --profile test", 2, "unknown option 'linger.mss' in {dir}/xdg/kcli/config.toml:5", "no option",
        "did you mean 'linger.ms'?", env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "topics create new --profile locked", 7, "`kcli topics create` is refused: profile locked is read-only",
        "nothing was done", "another profile", env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "topics delete orders --yes --profile guarded", 2, "confirmation by name required", "Profile guarded is",
        "--confirm orders", env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "topics list --profile pinned", 7, "belong to cluster", "cluster.id pins the cluster", "change cluster_id",
        env=(("XDG_CONFIG_HOME", "{dir}/xdg"),),
    ),
    Row(
        "topics list -X sasl.password_file=/no/pw -X security.protocol=SASL_SSL -X sasl.mechanism=PLAIN", 2,
        "cannot read sasl.password from the file /no/pw (from -X)", "No such file", "mode 0600",
    ),
    Row(
        "topics list -X sasl.password_command=false -X security.protocol=SASL_SSL", 2,
        "cannot read sasl.password from the output of false (from -X)", "exit status 1", "run it by hand",
    ),
    Row(
        "topics list -X security.protocol=SASL_SSL -X sasl.mechanism=PLAIN -X sasl.username=me", 2,
        "there is no password for user me", "there is no terminal to ask at", "sasl.password_file",
    ),
    Row(
        "topics list -X read_only=true", 2, "read_only (-X) is no option of a client", "it marks a profile",
        "`kcli profile add NAME -b HOST:PORT -X KEY=VALUE` does",
    ),
    Row(
        "topics list -X ssl.cipher.suites=x", 2, "ssl.cipher.suites (-X) is not supported yet", "1.2 and newer",
        "leave it out",
    ),
    Row("topics list -X ssl_key=x", 2, "ssl_key (-X) is not supported yet", "from files or text", "ssl.key.location"),
]  # fmt: skip

UNUSED = [
    Row("topics list -X linger.ms=1", 2, "linger.ms has no effect", "producer option", "`kcli produce TOPIC` takes it"),
    Row("consume orders -X share.acquire.mode=record_limit", 2, "share.acquire.mode has no effect", "share groups",
        "`kcli consume TOPIC -g GROUP --group-type share` takes it"),
    Row("produce orders -X group.id=g", 2, "group.id has no effect", "consumer option", "`kcli consume TOPIC` takes it"),
    Row("consume orders -X session.timeout.ms=1", 2, "session.timeout.ms has no effect", "members", "give -g GROUP"),
    Row("consume orders -X max.poll.records=1", 2, "max.poll.records has no effect", "whole batches", "-n N stops"),
    Row(
        "consume orders -X auto.offset.reset=none", 2, "auto.offset.reset=none (-X) without",
        "forbids", "--from-beginning",
    ),
    Row(
        "consume orders -X auto.offset.reset=soon", 2, "auto.offset.reset='soon'",
        "none of earliest", "by_duration:PT12H",
    ),
    Row(
        "consume orders --merge -X group.id=g", 2, "-X group.id=g and --merge together",
        "the group determines", "use one",
    ),
    Row(
        "produce orders -X transaction.timeout.ms=9", 2, "transaction.timeout.ms has no",
        "transactions", "--transactional-id",
    ),
    Row(
        "topics list -X ssl.ca.location=/ca", 2, "ssl.ca.location has no effect",
        "is PLAINTEXT", "security.protocol=SSL",
    ),
    Row(
        "topics list -X schema.registry.url=http://h", 2, "schema.registry.url has no effect",
        "no schema registry", "add -s",
    ),
    *(
        Row(
            f"{line} -X schema.registry.url=http://h", 2, "schema.registry.url has no effect",
            "no schema registry", "add -s",
        )
        for line in (
            "consume orders -e", "consume orders -e -s value=str", "consume orders -s str -g g --group-type share",
            "produce orders", "produce orders -s long", "pipeline profile orders", "pipeline profile orders -s json",
            "pipeline query orders --sql select", "pipeline query orders --sql select -s value=hex",
            "pipeline replay orders --to x",
        )
    ),
    Row(
        "produce orders -X batch.num.messages=9", 2, "batch.num.messages (-X) has no effect",
        "librdkafka", "batch.size",
    ),
    Row(
        "consume orders -X key.deserializer=x", 2, "key.deserializer (-X) has no effect",
        "Java's clients", "-s decodes",
    ),
    Row(
        "topics list -F {dir}/near.conf", 2, "unknown option 'queue.buffering.max.m'",
        "no option", "queue.buffering.max.ms",
    ),
]  # fmt: skip

CONFIGURATION = [
    Row("topics list", 2, "no broker is named", "kcli never guesses",
        "or in a profile: `kcli profile add NAME -b HOST:PORT`; or start one here: `kcli sandbox up`", at=""),
    Row("topics list -b ''", 2, "-b names no broker", "perhaps a variable is not set", "give HOST:PORT"),
    Row("topics list -b h:99999", 2, "not the address of a broker", "from 1 to 65535", "-b broker1:9092"),
    Row("topics list -b fe80::1:9092", 2, "not the address", "must be in brackets", "write [fe80::1]:9092"),
    Row("topics list -X linger.mss=1", 2, "unknown option 'linger.mss'", "no option", "'linger.ms'"),
    Row("topics list -X linger", 2, "-X 'linger' is not KEY=VALUE", "no = in it", "`kcli help options`"),
    Row("topics list -X request.timeout.ms=soon", 2, "is not a valid value", "a whole number", "request.timeout.ms"),
    Row("topics list -X security.protocol=TLS", 2, "not a valid value", "one of PLAINTEXT, SSL", "did you mean SSL?"),
    Row("topics list -F /no/such", 2, "cannot read /no/such", "No such file", "names a file of client options"),
    Row("topics list -F {dir}", 2, "{dir} is no file", "it is a folder", "names a file of client options"),
    Row("topics list -F {dir}/typo.properties", 2, "'linger.mss'", "no option", "did you mean 'linger.ms'?"),
    Row(
        "topics list -X security.protocol=SSL -X ssl.ca.location=/no/ca.pem", 2, "cannot read the CA certificates",
        "No such file", "must name a PEM or PKCS12 file",
    ),
    Row("consume orders -s value=avrro", 2, "no serde 'avrro'", "known are str, json", "did you mean avro?"),
    Row("consume orders -s value=avro", 2, "no schema registry is named", "from a registry", "schema.registry.url="),
    Row(
        "consume orders -s value=avro -X schema.registry.url=http://{closed}", 2, "needs a library",
        "no fastavro here", "pip install 'kcli-kafka[avro]'", env=(("PYTHONPATH", "{dir}/without:{root}"),),
    ),
]  # fmt: skip

CONSUME = [
    Row("consume orders --grep 'v:('", 2, "is not a filter", "missing ), unterminated", "--grep v:error"),
    Row("consume orders --grep value", 2, "is not a filter", "names no field: k:REGEX", "--grep v:error"),
    Row(
        "consume orders --where 'value.['",
        2,
        "is not valid at column 8",
        "expected a field",
        "as in --where 'value.status == 500 and key'; `kcli help filters` has more",
    ),
    Row(
        "consume orders --where 'value.n = 1'",
        2,
        "is not valid at column 9",
        "or the end, not '='",
        "written ==",
    ),
    Row(
        "consume orders --where 'status == `5`'",
        2,
        "is not valid at column 1",
        "no field status; it has key, value",
        "value.status",
    ),
    Row("consume '^('", 2, "not a regular expression", "missing )", "'^orders-.*'"),
    Row("consume orders --offset 5x", 2, "--offset is not valid", "earliest, latest, stored, N", "--help`"),
    Row(
        "consume orders --since 2999-01-01",
        2,
        "is in the future",
        "no record is that new",
        "before now; `kcli consume TOPIC --offset latest` begins",
    ),
    Row("consume orders --since yestrday", 2, "--since is not valid", "3h (ago), now, today", "--help`"),
    Row(
        "consume orders --from-beginning --tail 3",
        2,
        "together",
        "each specifies where to start",
        "use one of them",
    ),
    Row("consume orders --commit", 2, "--commit without -g", "committed for a group", "give -g GROUP"),
    Row("consume orders --offset stored", 2, "stored is for groups", "committed offsets", "give -g GROUP"),
    Row("consume orders -f %q", 2, "-f '%q' is not a valid format", "no verb '%q'", "`kcli consume --help`"),
]

PRODUCE = [
    Row("produce orders -z lzma", 2, "--compression is not valid", "none, gzip, snappy, lz4, zstd", "--help`"),
    Row("produce orders -z gzip:99", 2, "--compression is not valid", "gzip has levels 1 to 9", "--help`"),
    Row("produce orders /no/such", 2, "cannot read /no/such", "no such file", "check the name; nothing was sent"),
    Row("produce orders --acks 2", 2, "--acks is not valid", "not one of 'all', '1', '0'", "--help`"),
    Row(
        "produce orders --transaction-every 9", 2, "--transaction-every without --transactional-id", "needs an id",
        "--transactional-id import-1",
    ),
    Row("produce orders --partitioner manual", 2, "without partitions", "no field for the partition", "give -p N"),
]  # fmt: skip

GROUPS = [
    Row("groups rewind billing", 2, "no target given", "it is required", "--to earliest, --to @-1h"),
    Row("groups rewind billing --to yestrday", 2, "is not a target", "earliest, latest", "--to 2026-11-21T10:00Z"),
    Row(
        "groups rewind billing --to 2026-11-21T10:00 --yes", 2, "has no time zone", "without a terminal",
        "append Z or an offset",
    ),
    Row(
        "groups rewind billing --to earliest", 2, "confirmation required, and there is no terminal",
        "nothing was done", "give --yes to confirm",
    ),
    Row("groups rewind mixed --to earliest", 2, "ambiguous: group mixed has commits on 2 topics", "orders, payments",
        "--all-topics"),
    Row(
        "groups rewind billing --to-earliest --to-latest", 2, "more than one target given",
        "cannot be used together", "--to earliest",
    ),
    Row("groups rewind --journal --to earliest", 2, "--journal with --to", "only lists", "leave it out"),
    Row("groups rewind billing --from-file {dir}/broken.csv", 2, "line 1", "it has 2 columns", "correct it"),
    Row("groups rewind billing --from-file /no/such", 2, "cannot read /no/such", "no such file", "check the name"),
    Row("groups import {dir}/one.csv", 2, "does not name its group", "", "--group"),
    Row("groups export", 2, "missing argument GROUP", "required without --all", "or give --all; `kcli groups list`"),
    Row("groups describe --all billing", 2, "--all with names", "--all means all groups", "leave out --all"),
    Row("groups list --state stabel", 2, "no group state 'stabel'", "PreparingRebalance, ", "did you mean Stable?"),
    Row("groups delete billing", 2, "confirmation required", "nothing was done", "give --yes to confirm"),
    Row("groups delete billing --confirm biling", 2, "does not name", "nothing was done", "--confirm billing"),
    Row("topics create x --partitions 5G", 2, "--partitions is not valid", "at most 2,147,483,647", "--help`"),
    Row("topics create x --config retention.ms", 2, "is not KEY=VALUE", "no = in it", "--config retention.ms=3600000"),
]  # fmt: skip

# --- 1: it is not there, or could not be done -------------------------------------------------------------------

NOT_THERE = [
    Row("consume ordrs -e", 1, "topic ordrs does not exist", "", "did you mean orders?"),
    Row("topics describe ordrs", 1, "topic ordrs does not exist", "", "did you mean orders?"),
    Row("topics describe ord*", 1, "looking up topic ord* failed", "the topic name is not valid",
        "`kcli topics list` lists the topics"),
    Row("produce ordrs", 1, "topic ordrs does not exist", "", "did you mean orders?"),
    Row("produce shipments", 1, "shipments does not exist", "no topic of", "`kcli topics create shipments` creates"),
    Row("produce shipments", 1, "shipments does not exist", "", "--allow-auto-topic-creation has the brokers"),
    Row("sandbox up x --kafka-version 9.9", 2, "'9.9' is not a Kafka version", "three numbers", "--kafka-version 4.4.0"),
    Row("consume orders -p 9 -e", 1, "has no partition 9", "has 3 partitions",
        "`kcli topics describe orders` shows its partitions"),
    Row("produce orders -p 9", 1, "has no partition 9", "has 3 partitions",
        "`kcli topics describe orders` shows its partitions"),
    Row("consume '^nothing' -e", 1, "no topic matches ^nothing", "or none that this client may describe",
        "`kcli topics list` lists the topics"),
    Row("groups describe biling", 1, "group biling does not exist", "", "did you mean billing?"),
    Row("groups lag biling", 1, "group biling does not exist", "", "did you mean billing?"),
    Row("groups rewind biling --to 1 --topic orders --yes", 1, "biling does not exist", "", "did you mean billing?"),
    Row("groups reset-app biling --yes", 1, "application biling does not exist", "neither a group",
        "did you mean billing?"),
    Row("groups reset-app billing --internal-topic orders --yes", 7, "orders is no internal topic of billing",
        "these are named billing-", "`kcli topics delete orders` deletes any topic"),
    Row("groups delete biling --yes", 1, "group biling does not exist", "", "did you mean billing?"),
    Row("groups copy biling x --yes", 1, "group biling does not exist", "", "did you mean billing?"),
    Row("groups delete-offsets billing -t ordrs --yes", 1, "no committed offset", "of orders",
        "`kcli groups describe billing` shows its offsets"),
    Row("groups remove-members billing ann --yes", 1, "has no member ann", "instance id",
        "`kcli groups describe billing --members` lists the members"),
    Row("groups rewind billing --to 1 --topic orders:9 --yes", 1, "no partition 9", "has 3 partitions", "describe"),
    Row("groups rewind mixed --to 1 --exclude-topic paymets", 1, "excludes nothing", "", "did you mean payments?"),
    Row("groups rewind billing --undo=nope --yes", 1, "no journal nope", "the journals are in",
        "`kcli groups rewind --journal` lists the rewinds"),
    Row("undo 20261121-091403-3fa9c1 --yes", 1, "no journal 20261121", "the journals of this machine are in",
        "`kcli undo` lists those of the cluster"),
    Row("groups lag billing --topic ordrs", 1, "for topic ordrs", "other topics", "without --topic"),
    Row("sandbox down nope", 1, "there is no sandbox nope", "of that name",
        "`kcli sandbox up nope` starts it, `kcli sandbox status`"),
    Row("consume orders -e", 1, "No space left on device", "ENOSPC", "free space", out=FULL),
    Row(
        "topics list", 1, "cannot write output: No space left", "ENOSPC",
        "free space, or write to another file", out=FULL,
    ),
    Row(
        "topics create full --partitions 1 --yes -o csv", 1, "cannot write output: No space left", "ENOSPC",
        "what was changed stays", out=FULL,
    ),
    Row("produce orders -i ndjson", 1, "1 of 1 input lines", "JSON is malformed", "--failed FILE", stdin=b"no json\n"),
    Row(
        "produce orders -z zstd", 1, "not stored", "UNSUPPORTED_COMPRESSION_TYPE", "another codec with -z",
        fails(ProduceRequest, Code.UNSUPPORTED_COMPRESSION_TYPE),
    ),
    Row(
        "topics create x", 1, "could not create topic x", "INVALID_REPLICATION_FACTOR", "number of brokers",
        fails(CreateTopicsRequest, Code.INVALID_REPLICATION_FACTOR),
    ),
]  # fmt: skip

# --- 3: nobody answers, or not in time ---------------------------------------------------------------------------

QUICK = "--timeout 1s"
SHORT = "-X delivery.timeout.ms=2000 -X request.timeout.ms=1000 -X linger.ms=0"
UNTIL = "no response from {cluster} (node 1) in time"

UNREACHABLE = [
    Row(f"topics list -b {{closed}} {QUICK}", 3, "cannot connect to {closed}", "refused", "check the host and port"),
    Row(f"topics list -b {{silence}} {QUICK}", 3, "no reply to ApiVersions", "does not respond", "is a Kafka broker"),
    Row("topics list -b {http}", 3, "does not speak Kafka", "looks like HTTP", "check the port"),
    Row("topics list -b {tls}", 3, "does not speak Kafka", "looks like TLS", "security.protocol"),
    Row("topics list -b {ssh}", 3, "does not speak Kafka", "looks like SSH", "check the port"),
    Row("topics list -X security.protocol=SSL", 3, "does not speak TLS", "reset", "needs PLAINTEXT"),
    Row(f"topics list -b b.invalid {QUICK}", 3, "cannot resolve b.invalid", "not known", "check the name"),
    Row(
        f"consume orders -e {QUICK}", 3, "gave up after", "advertises {closed}, unreachable", "advertised.listeners",
        lambda here: here.advertise(here.words["closed"]),
    ),
    Row(f"groups list {QUICK}", 3, "listing the groups", UNTIL, "--timeout", silent(ListGroupsRequest)),
    Row(f"groups describe billing {QUICK}", 3, "describing", UNTIL, "--timeout", silent(DescribeGroupsRequest)),
    Row(f"groups lag billing {QUICK}", 3, "gave up", UNTIL, "--timeout", silent(OffsetFetchRequest)),
    Row(f"groups lag mixed {QUICK}", 3, "gave up", UNTIL, "--timeout", silent(FindCoordinatorRequest)),
    Row(f"topics offsets orders {QUICK}", 3, "offsets of orders-0,1,2", UNTIL, "--timeout", silent(ListOffsetsRequest)),
    Row(f"topics list {QUICK}", 3, "listing topics", UNTIL, "--timeout", silent(MetadataRequest, after=1)),
    Row(
        f"groups rewind billing --to 9 --yes {QUICK}", 3, "partitions of group billing are not confirmed", UNTIL,
        "or may yet be: `kcli groups describe GROUP` shows it, --undo", silent(OffsetCommitRequest),
    ),
    Row(
        f"topics create x {QUICK}", 3, "could not create topic x: gave up after", "REQUEST_TIMED_OUT (7)", "overloaded",
        fails(CreateTopicsRequest, Code.REQUEST_TIMED_OUT),
    ),
    Row(
        f"topics create x {QUICK}", 3, "topic x: gave up", "no reply to CreateTopics", "overloaded",
        silent(CreateTopicsRequest),
    ),
    Row(
        f"topics delete orders --yes {QUICK}", 3, "topic orders: gave up", "no reply to DeleteTopics", "overloaded",
        silent(DeleteTopicsRequest),
    ),
    Row(
        f"consume orders -g new -e {QUICK}", 3, "the coordinator of group new", "COORDINATOR_NOT_AVAILABLE",
        "__consumer_offsets", fails(FindCoordinatorRequest, Code.COORDINATOR_NOT_AVAILABLE),
    ),
    Row(
        f"groups lag billing {QUICK}", 3, "gave up", "COORDINATOR_LOAD_IN_PROGRESS", "try again",
        fails(OffsetFetchRequest, Code.COORDINATOR_LOAD_IN_PROGRESS),
    ),
    Row(
        "topics offsets orders --timeout 2s", 6, "offsets of orders-0", "has no leader",
        "`kcli topics describe orders` shows its replicas",
        lambda here: here.without_leader("orders"), then="6: the offsets of that partition remain unknown",
    ),
    Row(
        f"produce orders {SHORT}", 3, "not stored", "NOT_ENOUGH_REPLICAS (19)",
        "records can be lost; `kcli topics describe TOPIC` shows which replicas are in sync",
        fails(ProduceRequest, Code.NOT_ENOUGH_REPLICAS),
    ),
    Row(
        f"produce orders {SHORT}", 3, "may or may not be stored", "no reply to Produce from {cluster}",
        "check that this broker is running",
        silent(ProduceRequest),
    ),
    Row(
        f"produce orders -s value=avro:subject=x -X schema.registry.url=http://{{closed}} {QUICK}", 3,
        "schema registry does not answer", "{closed}: Connection refused", "check schema.registry.url",
    ),
]  # fmt: skip

# --- 4: not allowed ---------------------------------------------------------------------------------------------

TOPIC, GROUP, CLUSTER = (
    Code.TOPIC_AUTHORIZATION_FAILED,
    Code.GROUP_AUTHORIZATION_FAILED,
    Code.CLUSTER_AUTHORIZATION_FAILED,
)
NO_TOPIC, NO_GROUP = "TOPIC_AUTHORIZATION_FAILED (29)", "GROUP_AUTHORIZATION_FAILED (30)"
NO_CLUSTER, TRANSACTION = "CLUSTER_AUTHORIZATION_FAILED (31)", Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
READ, WRITE = "--operation read --topic orders", "--operation write --topic orders"
READ_BILLING, SEE_BILLING = "--operation read --group billing", "--operation describe --group billing"

FORBIDDEN = [
    Row("consume orders -e", 4, "fetch of orders", NO_TOPIC, READ, fails(FetchRequest, TOPIC)),
    Row("topics describe orders", 4, "topic orders", NO_TOPIC, "describe --topic orders",
        fails(DescribeTopicPartitionsRequest, TOPIC)),
    Row("produce orders", 4, "not stored", NO_TOPIC, WRITE, fails(ProduceRequest, TOPIC)),
    Row("produce orders", 4, "not stored", NO_CLUSTER, "idempotent_write", fails(InitProducerIdRequest, CLUSTER)),
    Row(
        "produce orders --transactional-id t", 4, "producer id", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53)",
        "--operation write --transactional-id t", fails(InitProducerIdRequest, TRANSACTION),
    ),
    Row("groups describe billing", 4, "group billing", NO_GROUP, SEE_BILLING, fails(DescribeGroupsRequest, GROUP)),
    Row("groups lag billing", 4, "group billing", NO_GROUP, SEE_BILLING, fails(OffsetFetchRequest, GROUP)),
    Row("groups rewind billing --to 9 --yes", 4, "billing", NO_GROUP, READ_BILLING, fails(OffsetCommitRequest, GROUP)),
    Row("consume orders -g new -e", 4, "group new", NO_GROUP, "group new", fails(FindCoordinatorRequest, GROUP)),
    Row("consume orders -g new -e", 4, "group new", NO_GROUP, "read --group new", fails(JoinGroupRequest, GROUP)),
    Row(
        "groups list", 4, "listing the groups", NO_CLUSTER,
        "--operation describe --cluster", fails(ListGroupsRequest, CLUSTER),
    ),
    Row(
        "topics create x", 4, "could not create topic x", NO_CLUSTER,
        "--operation create --cluster", fails(CreateTopicsRequest, CLUSTER),
    ),
]  # fmt: skip

# --- 5, 6, 7, 8 -------------------------------------------------------------------------------------------------

DATA = [
    Row("consume orders --offset 99 -e", 5, "offset 99 is out of range", "0 to 20", "--on-out-of-range"),
    Row(
        "consume cut -e --offset 1", 5, "offset 1 is out of range", "4 offsets are gone", "--on-out-of-range"
    ),
    Row("consume cut -g old -e", 5, "offset 1 is out of range", "4 offsets are gone", "--on-out-of-range"),
    Row(
        "consume orders -e",
        5,
        "record batch at offsets 0 to 19",
        "checksum",
        "is damaged",
        lambda here: here.damage(),
    ),
]

PARTLY = [
    Row("groups describe billing bilng", 6, "group bilng does not exist", "", "did you mean billing?"),
    Row("topics describe orders ordrs", 6, "topic ordrs does not exist", "", "did you mean orders?"),
    Row(
        "produce payments {dir}/bad.ndjson -i ndjson",
        6,
        "1 of 2 input lines",
        "the JSON is cut off",
        "--failed FILE",
    ),
    Row(
        "produce small {dir}/two.txt",
        6,
        "1 of 2 records",
        "MESSAGE_TOO_LARGE (10)",
        "raise max.message.bytes",
    ),
]

REFUSED = [
    Row(
        "groups rewind billing --to 9 --yes", 7, "has members (1)",
        "its 1 member would overwrite the new offsets: reader at 127.0.0.1 (member", "--wait", member,
    ),
    Row("groups reset-app billing --yes", 7, "has members (1)", "would overwrite the new offsets: reader at 127.0.0.1",
        "`kcli groups remove-members billing` removes members that have died", member),
    Row("groups delete billing --yes", 7, "was not deleted", "NON_EMPTY_GROUP (68)",
        "`kcli groups remove-members billing MEMBER` removes one that has died", member),
    Row(
        "groups delete-offsets billing -t orders --yes", 7, "were not deleted", "GROUP_SUBSCRIBED_TO_TOPIC",
        "stop them first", member,
    ),
    Row(
        "groups rewind billing --to 9 --yes", 7, "partitions of group billing", "the group became live",
        "rewind it as it runs with --live", fails(OffsetCommitRequest, Code.UNKNOWN_MEMBER_ID),
    ),
    Row(
        "groups rewind billing --to 9 --yes", 7, "partitions of group billing", "REBALANCE_IN_PROGRESS",
        "rewind it as it runs with --live", fails(OffsetCommitRequest, Code.REBALANCE_IN_PROGRESS),
    ),
    Row("topics create orders", 7, "could not create topic orders", "TOPIC_ALREADY_EXISTS",
        "use --if-not-exists to accept a topic that already exists; `kcli topics describe orders` shows it"),
    Row("groups create billing -t orders --from 1 --yes", 7, "already exists", "committed",
        "`kcli groups rewind billing --to SPEC` moves them"),
    Row("groups rewind billing --to -1 --topic orders:1 --yes", 7, "orders-1: there is no committed offset", "", "--to"),
    Row(
        "consume orders -g g -X group.instance.id=i -e", 7, "taken over group.instance.id i", "FENCED_INSTANCE_ID",
        "an instance id of its own", fails(JoinGroupRequest, Code.FENCED_INSTANCE_ID),
    ),
    Row(
        "consume orders -g g -e", 7, "cannot join group g", "INCONSISTENT_GROUP_PROTOCOL",
        "`kcli groups list` shows the type of the group: members of a share group have --group-type share",
        fails(JoinGroupRequest, Code.INCONSISTENT_GROUP_PROTOCOL),
    ),
    Row(
        "consume orders -g g -e", 7, "cannot join group g", "GROUP_MAX_SIZE_REACHED", "group.max.size",
        fails(JoinGroupRequest, Code.GROUP_MAX_SIZE_REACHED),
    ),
    Row(
        "produce orders --transactional-id t", 7, "was fenced", "INVALID_PRODUCER_EPOCH", "run it again",
        fails(ProduceRequest, Code.INVALID_PRODUCER_EPOCH),
    ),
    Row(
        "groups list --state stable", 7, "cannot filter groups by state", "the broker offers only 3", "do without it",
        lambda here: here.cap(ListGroupsRequest, 3),
    ),
]  # fmt: skip

CHECKS = [
    Row(
        "groups lag billing --max-lag 1",
        8,
        "10 records behind",
        "--max-lag allows at most 1",
        "`kcli groups lag billing --watch` shows",
    ),
    Row("groups lag billing --max-lag-time 5m", 8, "behind", "at most 5m", "--watch`"),
]

TABLE = [
    *SPELLING, *HABITS, *NOT_OURS, *COUNTS, *NOT_YET, *UNUSED, *CONFIGURATION,
    *CONSUME, *PRODUCE, *GROUPS, *NOT_THERE, *UNREACHABLE, *FORBIDDEN, *DATA,
    *PARTLY, *REFUSED, *CHECKS, *habits.ROWS, *local.ROWS, *admin.ROWS,
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("world")) as found:
        yield found


@pytest.mark.case("R15")
@pytest.mark.parametrize("row", TABLE, ids=str)
def test_code_cause_and_remedy(here: World, row: Row, tmp_path: Path) -> None:
    if row.script is not None:
        row.script(here)
    try:
        code, said = run(here, row, tmp_path)
        check_remedy(here, row, tmp_path, said)
    finally:
        here.tidy()
    assert code == row.code, said
    assert "Traceback" not in said
    what, why, do = (part.format(**here.words) for part in (row.what, row.why, row.do))
    assert any(what in e[0] and why in e[1] and do in e[2] for e in errors(said)), said
    assert all(all(lines) for lines in errors(said)), f"an error lacks a line: {said}"
    assert row.do, "what is to be done?"


def test_a_note_names_a_command_that_works(here: World, tmp_path: Path) -> None:
    _, said = run(here, Row("sandbox status", 0, "", "", ""), tmp_path)
    type_remedy("there is no sandbox; `kcli sandbox up` starts one", said, here.words["cluster"])


@pytest.mark.case("R15")
def test_sixty_rows_and_every_code() -> None:
    assert len(TABLE) >= 60
    assert {row.code for row in TABLE} == set(range(1, 9))
    assert len({(row.line, row.why, row.do, row.script, row.env) for row in TABLE}) == len(TABLE)


def check_remedy(here: World, row: Row, folder: Path, said: str) -> None:
    """Types each command of what is to be done, in the same situation."""
    if row.first is not None:
        row.first(here)
    lines = [line for _, _, do in errors(said) for line in command_lines(do)]
    type_lines(lines, here.words, variables_of(here, row, folder), folder, then=row.then, mend=row.mends)
    if row.mends:
        assert lines
    if row.mends or row.adds:
        code, answer = run(here, replace(row, line=f"{row.line} {row.adds}"), folder)
        assert code == 0, answer


def variables_of(here: World, row: Row, folder: Path) -> dict[str, str]:
    variables = {name: value.format(**here.words) for name, value in row.env}
    return environment(row.at.format(**here.words), XDG_STATE_HOME=str(folder / "state")) | variables


def run(here: World, row: Row, folder: Path) -> tuple[int, str]:
    """The command of a row to its end: exit status and stderr."""
    arguments = [word.format(**here.words) for word in split(row.line)]
    variables = variables_of(here, row, folder)
    if row.out or "PYTHONPATH" in dict(row.env):
        with open(row.out or os.devnull, "wb") as out:
            process = start(*arguments, stdout=out, env=variables)
            _, err = process.communicate(row.stdin)
            return process.returncode, err.decode()
    with patch.dict(os.environ, variables, clear=True):
        done = kcli_as_set_up(*arguments, stdin=row.stdin)
    return done.code, done.err


def errors(text: str) -> list[tuple[str, str, str]]:
    """What, why and do of each error on stderr; an error may lack the second line or the third."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("kcli: "):
            found.append([line, "", ""])
        elif found and line.startswith("  why: "):
            found[-1][1] = line
        elif found and line.startswith("  do: "):
            found[-1][2] = line
    return [(what, why, do) for what, why, do in found]
