"""The table of the options of ``format("kcli")``: what each means for batches, streams and writers, and what Spark's own
Kafka connector means by it. From it options are read, the page of the connector is made, and the tests are.

Spark's options have no case. An option that has no effect on what is asked for is refused by name. Nothing here needs
pyspark.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.core.options import is_option, spellings
from kcli.profiles.secret_keys import holds_secret, is_registry_key, source_key

Use = Literal["batch", "stream", "write", "sink"]
BATCH: tuple[Use, ...] = ("batch",)
STREAM: tuple[Use, ...] = ("stream",)
READ: tuple[Use, ...] = ("batch", "stream")
WRITE: tuple[Use, ...] = ("write", "sink")
ALL: tuple[Use, ...] = (*READ, *WRITE)
USED_BY = {
    "batch": "spark.read",
    "stream": "spark.readStream",
    "write": "DataFrame.write",
    "sink": "DataFrame.writeStream",
}
_SPARKS_OWN = ("checkpointlocation", "queryname")
"""Options of any streaming query, which Spark passes on to its sink."""

OF_KAFKA = "kafka."
"""Before the name of a client option, as the connector has it."""


class SourceOption(NamedTuple):
    """``uses``: where it has an effect. ``connector``: what differs from the connector's option of this name, None where
    it has none. ``refused``: why nothing takes it, and what to do; such a row has no uses.
    """

    name: str
    uses: tuple[Use, ...]
    meaning: str
    connector: str | None = None
    refused: tuple[str, str] | None = None


def _refused(name: str, why: str, do: str, connector: str | None = None) -> SourceOption:
    return SourceOption(name, (), why, connector, (why, do))


SAME = ""
_SERIALIZER = (
    "keys and values are bytes in both; here `key.serde` and `value.serde` decode and encode them",
    'leave it out, or .option("value.serde", "json"), avro, protobuf, jsonschema, str',
)
_ASKED_AGAIN = (
    "requests about offsets are repeated until default.api.timeout.ms has passed",
    "leave it out; default.api.timeout.ms is the limit",
)

OPTIONS: tuple[SourceOption, ...] = (
    # which cluster
    SourceOption(
        "kafka.bootstrap.servers", ALL, "as `bootstrap.servers`; a profile can take its place", SAME
    ),
    SourceOption("profile", ALL, "a profile, as `--profile`"),
    SourceOption("command.config", ALL, "a file of client options, as `-F`"),
    # which topics
    SourceOption(
        "topic",
        ALL,
        "names, separated by commas; a writer has one, which a column `topic` can replace, but not in a stream",
        "of writers only; here `subscribe` and `topic` both name what is read",
    ),
    SourceOption("pattern", READ, "a regular expression that the beginning of a topic's name matches"),
    SourceOption("subscribe", READ, "names, separated by commas, and the connector's columns", SAME),
    SourceOption(
        "subscribePattern",
        READ,
        "a regular expression that a topic's whole name matches, and the connector's columns",
        "Python's syntax, and no internal topics",
    ),
    SourceOption(
        "assign", READ, 'partitions: `{"orders":[0,1]}`, and the connector\'s columns', "each must exist"
    ),
    SourceOption("partitions", READ, "numbers of partitions of each topic: `0,2-4`"),
    # which records
    SourceOption("since", READ, "records from that time on: `1h`, `2026-11-21`"),
    SourceOption("until", BATCH, "records before that time"),
    SourceOption("offset", READ, "as `--offset`: `earliest`, `-1000`, `1000:2000`; a stream has no end"),
    SourceOption(
        "startingOffsets",
        READ,
        '`earliest`, `latest`, or `{"orders":{"0":17,"1":-2}}` (-2 earliest, -1 latest) for all partitions; of a stream '
        "only where it has no checkpoint",
        "the default of batches is earliest; of streams latest where subscribe, subscribePattern or assign is given, as "
        "there, else earliest",
    ),
    SourceOption(
        "startingTimestamp",
        READ,
        "ms since the epoch; before startingOffsetsByTimestamp and startingOffsets",
        SAME,
    ),
    SourceOption(
        "startingOffsetsByTimestamp",
        READ,
        '`{"orders":{"0":1700000000000}}`, for all partitions; before startingOffsets',
        SAME,
    ),
    SourceOption(
        "startingOffsetsByTimestampStrategy",
        READ,
        "`error`, or `latest`: where a partition has no record from the time on",
        SAME,
    ),
    SourceOption(
        "endingOffsets",
        BATCH,
        '`latest`, or `{"orders":{"0":50,"1":-1}}`, for all partitions',
        "an end beyond the log is an error when the query is planned; with failOnDataLoss=false the log's end",
    ),
    SourceOption(
        "endingTimestamp",
        BATCH,
        "ms since the epoch; before endingOffsetsByTimestamp and endingOffsets",
        SAME,
    ),
    SourceOption(
        "endingOffsetsByTimestamp",
        BATCH,
        '`{"orders":{"0":1700000000000}}`, for all partitions; before endingOffsets',
        SAME,
    ),
    SourceOption(
        "startingCheckpoint",
        STREAM,
        "the checkpoint of another query, a folder or a URL: where the query has none of its own, it begins behind the "
        'last batch that the other one committed, a query of `format("kafka")` or `format("kcli")`',
    ),
    SourceOption(
        "failOnDataLoss",
        READ,
        "`false`: what retention, a truncation or a deletion took is left out, and said on stderr, where it is an error "
        "otherwise; a topic that was created anew is read from its beginning",
        "a topic that is not there when a batch is planned is an error in any case",
    ),
    # columns
    SourceOption("columns", READ, "names of columns, by default those of a record"),
    SourceOption(
        "headers",
        READ,
        "`packed`, the default: bytes; `unpacked`: `array<struct<key: string, value: binary>>`",
    ),
    SourceOption(
        "includeHeaders",
        ALL,
        "`true`: the column `headers` as an array; `false`: without it. A writer with `true` needs it, with `false` it "
        "does not write it",
        "no headers are an empty array, not null; the connector's writer writes the column in any case",
    ),
    SourceOption(
        "key.serde", ALL, "how keys are decoded to the column `key_json`; a writer encodes the column `key`"
    ),
    SourceOption(
        "value.serde", ALL, "how values are decoded to `value_json`; a writer encodes the column `value`"
    ),
    # tasks
    SourceOption("pushdown", BATCH, "`true`: conditions become ranges; for a frame that is used once"),
    SourceOption(
        "minPartitions",
        READ,
        "how many tasks at least",
        "partitions with fewer than 75,000 offsets are not divided",
    ),
    SourceOption("maxRecordsPerPartition", READ, "how many offsets one task reads at most", SAME),
    SourceOption("maxOffsetsPerTrigger", STREAM, "how many offsets a batch of a stream has at most", SAME),
    SourceOption(
        "minOffsetsPerTrigger",
        STREAM,
        "a batch waits until there are so many, at most maxTriggerDelay",
        "with Trigger.AvailableNow nothing waits",
    ),
    SourceOption("maxTriggerDelay", STREAM, "how long a batch waits for minOffsetsPerTrigger: `15m`", SAME),
    SourceOption(
        "commitOffsets",
        STREAM,
        "a group without members, for which the position is committed when Spark has committed a batch; the checkpoint "
        "stays what counts",
    ),
    # names and limits
    SourceOption(
        "kafka.group.id",
        READ,
        "brokers know the client as `consumer-ID`, unless client.id is given",
        "in both nothing joins a group or commits; no permission on the group is needed here",
    ),
    SourceOption(
        "groupIdPrefix",
        READ,
        "brokers know the client as `consumer-PREFIX`, unless client.id is given",
        "without the random part; kafka.group.id comes before it in both",
    ),
    SourceOption(
        "kafkaConsumer.pollTimeoutMs",
        READ,
        "as default.api.timeout.ms: how long a task waits for records",
        "default 30 s, there 120 s",
    ),
    # what nothing takes
    _refused("fetchOffset.numRetries", *_ASKED_AGAIN, SAME),
    _refused("fetchOffset.retryIntervalMs", *_ASKED_AGAIN, SAME),
    _refused("kafka.key.deserializer", *_SERIALIZER, "refused there too"),
    _refused("kafka.value.deserializer", *_SERIALIZER, "refused there too"),
    _refused("kafka.key.serializer", *_SERIALIZER, "refused there too"),
    _refused("kafka.value.serializer", *_SERIALIZER, "refused there too"),
    _refused(
        "kafka.interceptor.classes", "classes of Java are not loaded", "leave it out", "refused there too"
    ),
    _refused(
        "path",
        "topics are no files",
        'load() and save() without a path; .option("topic", "orders") names the topic',
    ),
)
"""Beside these any option of a client, with or without ``kafka.``, and of the schema registry."""

_BY_NAME = {one.name.lower(): one for one in OPTIONS}
_ALSO = {"topics": "topic"}

_DIALECT = ("subscribe", "subscribePattern", "assign")
"""What names topics as the connector does: then columns and defaults are its too."""


class Given(NamedTuple):
    """``own``: options of the table, ``client``: of clients and the registry, each by its name. ``dialect``: topics are
    named as the connector does it.
    """

    own: Mapping[str, str]
    client: Mapping[str, str]
    dialect: bool


def given_options(options: Mapping[str, str], use: Use | None) -> Given:
    """The options by name; ConfigError for one that is unknown, given twice, holds a secret, or has no effect on ``use``
    (None: a reader of which is not known yet whether it is a stream).
    """
    own: dict[str, str] = {}
    client: dict[str, str] = {}
    for key, text in ((key.lower(), text) for key, text in options.items()):
        row = _BY_NAME.get(_ALSO.get(key, key))
        if use == "sink" and key in _SPARKS_OWN:
            continue
        if row is None or row.name == "kafka.bootstrap.servers":
            name = _client_key(key, text)
            if name in client:
                raise _twice(name, f"{OF_KAFKA}{name}")
            client[name] = text
            continue
        _check_use(row, use)
        if row.name in own:
            raise _twice(row.name, key)
        own[row.name] = text
    for name in ("columns", "headers"):
        if name in own and "includeHeaders" in own:
            raise _twice(name, "includeHeaders")
    topics = [name for name in ("topic", "pattern", *_DIALECT) if own.get(name)]
    if len(topics) > 1:
        raise _twice(*topics[:2])
    return Given(own, _with_names(own, client), any(name in own for name in _DIALECT))


def _with_names(own: Mapping[str, str], client: dict[str, str]) -> dict[str, str]:
    """The options of clients that follow from others."""
    group = own.get("kafka.group.id") or own.get("groupIdPrefix")
    if group and "client.id" not in client:
        client["client.id"] = f"consumer-{group}"
    limit = own.get("kafkaConsumer.pollTimeoutMs")
    if limit is not None:
        if "default.api.timeout.ms" in client:
            raise _twice("kafkaConsumer.pollTimeoutMs", "default.api.timeout.ms")
        client["default.api.timeout.ms"] = limit
    return client


def _check_use(row: SourceOption, use: Use | None) -> None:
    if row.refused is not None:
        why, do = row.refused
        raise ConfigError(f"the option {row.name} is not taken", why=why.replace("`", ""), do=do)
    if (use in row.uses) if use is not None else (set(row.uses) & set(READ)):
        return
    effect = " and ".join(USED_BY[each] for each in row.uses)
    raise ConfigError(
        f"the option {row.name} has no effect on {USED_BY[use or 'batch']}",
        why=f"it is an option of {effect}",
        do="leave it out",
    )


def _client_key(key: str, text: str) -> str:
    """The option of a client, or of the registry, that ``key`` names, if it holds no secret."""
    name = key.removeprefix(OF_KAFKA)
    if holds_secret(name, text):
        raise ConfigError(
            f"the option {key} holds a secret in plain text",
            why="options become part of the query's plan, which Spark passes to other processes and shows",
            do=_reference(key, name),
        )
    if not (is_option(name) or is_registry_key(name) or source_key(name)):
        near = _near(key, name)
        raise ConfigError(
            f"there is no option {key}",
            why='it is neither an option of format("kcli") nor of a client',
            do=f"did you mean {near}?"
            if near
            else f"options: {', '.join(one.name for one in OPTIONS if one.uses)}",
        )
    return name


def _reference(key: str, name: str) -> str:
    if not source_key(f"{name}_file"):  # such as sasl.jaas.config, which is a password among other things
        return 'give sasl.mechanism, sasl.username and a reference to the password: .option("sasl.password_file", FILE)'
    return (
        f'use a reference: .option("{key}_file", FILE), "{key}_command", keyring:SERVICE/USER as its value, a '
        f"profile, or the variable KCLI_X_{name.upper().replace('.', '_')} in place of the option"
    )


def _near(key: str, name: str) -> str:
    known = {one.lower(): one for one in _taken()}
    prefix = key[: len(key) - len(name)]
    if not prefix:
        known |= {one: one for one in spellings()}
    if near := near_names(key, known):
        return known[near[0]]
    near = near_names(name, spellings()) if prefix else []
    return prefix + near[0] if near else ""


def _taken() -> Iterable[str]:
    return (one.name for one in OPTIONS if one.uses)


def _twice(one: str, other: str) -> ConfigError:
    return ConfigError(
        f"{one} and {other} were both given", why="one of them would be ignored", do="give one"
    )
