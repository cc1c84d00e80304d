"""The table of options of ``format("kcli")``: each has an effect on what it is for, and is refused for the rest. Without
a session of Spark: its readers and writers are called as Spark calls them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from pyspark.sql import types as sql

from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import Record
from kcli.pipeline.spark.source import KcliSource
from kcli.pipeline.spark.source_columns import spark_schema
from kcli.pipeline.spark.source_options import OPTIONS, WRITE, Use
from kcli.pipeline.spark.source_reading import BatchReader
from kcli.pipeline.spark.source_settings import CONNECTOR_COLUMNS, settings_of
from kcli.pipeline.spark.source_stream import StreamReader
from kcli.pipeline.spark.source_writing import RecordWriter
from kcli.pipeline.spark.stream_writing import StreamTask, StreamWriter
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster

COUNT = 10
START = 1_700_000_000_000
USES: tuple[Use, ...] = get_args(Use)


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """``orders`` with ten records in each of two partitions, ``orders-late`` with one, ``written`` without any."""
    with FakeCluster(1, topics={"orders": 2, "orders-late": 1, "written": 1}) as found:
        for partition in range(2):
            append(found, "orders", partition, 0, COUNT)
        append(found, "orders-late", 0, 0, 1)
        yield found


def append(cluster: FakeCluster, topic: str, partition: int, first: int, last: int) -> None:
    made = [
        Record(topic, partition, n, START + n * 1000, 0, b"k%d" % n, b'{"n":%d}' % n, (("h", b"x"),))
        for n in range(first, last)
    ]
    cluster.append(topic, partition, bytes(batch_of(made).raw))


# --- what a use makes of options --------------------------------------------------------------------------


@dataclass
class Outcome:
    """``rows``: (topic, partition, offset) of a batch, or of the first batch of a stream; ``more`` those of the second
    one, for which each partition got a record. ``parts``: tasks. ``written``: key, value and headers.
    """

    columns: tuple[str, ...] = ()
    rows: list[tuple[str, int, int]] = field(default_factory=list)
    more: list[tuple[str, int, int]] = field(default_factory=list)
    parts: int = 0
    values: list[dict[str, Any]] = field(default_factory=list)
    written: list[tuple[Any, ...]] = field(default_factory=list)
    clients: set[str] = field(default_factory=set)
    error: str = ""
    accepted: int = 0
    kept: dict[str, set[int]] = field(default_factory=dict)


def outcome(cluster: FakeCluster, use: Use, options: Mapping[str, str], frame: Any = None) -> Outcome:
    """What happens; an error of kcli is an outcome too."""
    found = Outcome()
    try:
        {"batch": _batch, "stream": _stream, "write": _write, "sink": _sink}[use](
            cluster, options, found, frame
        )
    except Exception as error:
        cause = error if isinstance(error, KcliError) else error.__cause__
        if not isinstance(cause, KcliError):
            raise
        found.error = str(cause)
    found.clients = {each.client_id for each in cluster.requests}
    found.kept = {group: set(cluster.committed_offsets(group).values()) for group in ("mine", "other")}
    return found


def _batch(_cluster: FakeCluster, options: Mapping[str, str], found: Outcome, _frame: Any) -> None:
    reader = BatchReader(settings_of(options, "batch"))
    found.columns = tuple(name for name, _ in _types(options))
    filters = [EqualTo(("partition",), 1)]
    found.accepted = len(filters) - len(list(reader.pushFilters(filters)))
    _rows(reader, reader.partitions(), found, found.rows)


def _stream(cluster: FakeCluster, options: Mapping[str, str], found: Outcome, _frame: Any) -> None:
    reader = StreamReader(settings_of(options, "stream"))
    found.columns = tuple(name for name, _ in _types(options))
    try:
        position = reader.initialOffset()
        for rows in (found.rows, found.more):
            end = reader.latestOffset(position, reader.getDefaultReadLimit())
            _rows(reader, reader.partitions(position, end), found, rows)
            position = end
            for partition in range(2):
                append(cluster, "orders", partition, COUNT, COUNT + 1)
    finally:
        reader.stop()


def _rows(reader: Any, parts: list[Any], found: Outcome, rows: list[tuple[str, int, int]]) -> None:
    found.parts = max(found.parts, len(parts))
    for part in parts:
        for batch in reader.read(part):
            for row in batch.to_pylist():
                found.values.append(row)
                rows.append((row.get("topic", ""), row.get("partition", -1), row.get("offset", -1)))
    rows.sort()


def _types(options: Mapping[str, str]) -> list[tuple[str, str]]:
    text = spark_schema(settings_of(options)).removeprefix("`")
    return [tuple(each.split("` ", 1)) for each in text.split(", `")]  # type: ignore[misc]


FRAME = pa.record_batch(
    {
        "key": ["1"],
        "value": ["5"],
        "headers": pa.array(
            [[{"key": "h", "value": b"x"}]],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        ),
    }
)
_HEADERS = sql.ArrayType(sql.StructType().add("key", "string").add("value", "binary"))


def _write(cluster: FakeCluster, options: Mapping[str, str], found: Outcome, frame: Any) -> None:
    batch = FRAME if frame is None else frame
    RecordWriter(settings_of(options, "write"), schema_of(batch)).write(iter([batch]))
    found.written = [(r.key, r.value, r.headers) for r in cluster.log("written", 0).records()]


def schema_of(batch: pa.RecordBatch) -> sql.StructType:
    schema = sql.StructType()
    for name in batch.schema.names:
        schema = schema.add(name, _HEADERS if name == "headers" else sql.StringType())
    return schema


def _sink(cluster: FakeCluster, options: Mapping[str, str], found: Outcome, frame: Any) -> None:
    batch = FRAME if frame is None else frame
    writer = StreamWriter(settings_of(options, "sink"), schema_of(batch))
    for _again in range(2):
        writer.write_part(StreamTask("query", 0, 0), iter([batch]))
    found.written = [(r.key, r.value, r.headers) for r in cluster.log("written", 0).records()]


@dataclass(frozen=True)
class EqualTo:
    attribute: tuple[str, ...]
    value: Any


# --- the effect of each option ----------------------------------------------------------------------------

ALL_ROWS = [("orders", p, n) for p in range(2) for n in range(COUNT)]
MS = START + 4000  # of the record at offset 4
FROM_4 = [row for row in ALL_ROWS if row[2] >= 4]
BEFORE_4 = [row for row in ALL_ROWS if row[2] < 4]
TIMES = json.dumps({"orders": {"0": MS, "1": MS}})
LATER = json.dumps({"orders": {"0": MS, "1": START * 2}})
THEIRS = CONNECTOR_COLUMNS
Effect = Callable[[Outcome], bool]


class Case(dict[str, Any]):
    """``value`` of the option, ``also`` other options (None: without), ``effect`` on the outcome, ``prepare`` the
    cluster, ``frame`` to write.
    """


def case(value: str, effect: Effect, **more: Any) -> Case:
    return Case(value=value, effect=effect, **more)


NAMED = {"topic": None}
READING: dict[str, Case] = {
    "kafka.bootstrap.servers": case("BOOT", lambda o: o.rows == ALL_ROWS, also={"bootstrap.servers": None}),
    "profile": case("mine", lambda o: o.rows == ALL_ROWS, also={"bootstrap.servers": None}),
    "command.config": case("FILE", lambda o: o.rows == ALL_ROWS, also={"bootstrap.servers": None}),
    "topic": case("orders-late", lambda o: o.rows == [("orders-late", 0, 0)]),
    "pattern": case("orders", lambda o: {row[0] for row in o.rows} == {"orders", "orders-late"}, also=NAMED),
    "subscribe": case(
        "orders",
        lambda o: o.rows == ALL_ROWS and o.columns == THEIRS,
        also=NAMED | {"startingOffsets": "earliest"},
    ),
    "subscribePattern": case(
        "order.",
        lambda o: o.rows == ALL_ROWS and o.columns == THEIRS,
        also=NAMED | {"startingOffsets": "earliest"},
    ),
    "assign": case(
        '{"orders":[1]}',
        lambda o: o.rows == ALL_ROWS[COUNT:] and o.columns == THEIRS,
        also=NAMED | {"startingOffsets": "earliest"},
    ),
    "partitions": case("1", lambda o: o.rows == ALL_ROWS[COUNT:]),
    "since": case(str(MS), lambda o: o.rows == FROM_4),
    "until": case(str(MS), lambda o: o.rows == BEFORE_4),
    "offset": case("4", lambda o: o.rows == FROM_4),
    "startingOffsets": case('{"orders":{"0":4,"1":-2}}', lambda o: o.rows == FROM_4[:6] + ALL_ROWS[COUNT:]),
    "commitOffsets": case("mine", lambda o: o.kept["mine"] == {COUNT}),
    "startingCheckpoint": case("CHECKPOINT", lambda o: o.rows == FROM_4[:6] + ALL_ROWS[COUNT:]),
    "startingTimestamp": case(str(MS), lambda o: o.rows == FROM_4),
    "startingOffsetsByTimestamp": case(TIMES, lambda o: o.rows == FROM_4),
    "startingOffsetsByTimestampStrategy": case(
        "latest", lambda o: o.rows == FROM_4[:6], also={"startingOffsetsByTimestamp": LATER}
    ),
    "endingOffsets": case('{"orders":{"0":4,"1":-1}}', lambda o: o.rows == BEFORE_4[:4] + ALL_ROWS[COUNT:]),
    "endingTimestamp": case(str(MS), lambda o: o.rows == BEFORE_4),
    "endingOffsetsByTimestamp": case(TIMES, lambda o: o.rows == BEFORE_4),
    "failOnDataLoss": case(
        "false",
        lambda o: o.rows == FROM_4[:6] + ALL_ROWS[COUNT:],
        also={"startingOffsets": '{"orders":{"0":0,"1":0}}'},
        prepare=lambda cluster: cluster.delete_records("orders", 0, 4),
    ),
    "columns": case("offset,value_text", lambda o: o.columns == ("offset", "value_text")),
    "headers": case("unpacked", lambda o: o.values[0]["headers"] == [{"key": "h", "value": b"x"}]),
    "includeHeaders": case("true", lambda o: o.values[0]["headers"] == [{"key": "h", "value": b"x"}]),
    "key.serde": case("str", lambda o: o.values[0]["key_json"] == '"k0"'),
    "value.serde": case("json", lambda o: o.values[0]["value_json"] == '{"n":0}'),
    "pushdown": case("true", lambda o: o.accepted == 1 and o.rows == ALL_ROWS[COUNT:]),
    "minPartitions": case("4", lambda o: o.parts == 4, small=True),
    "maxRecordsPerPartition": case("4", lambda o: o.parts == 6),
    "maxOffsetsPerTrigger": case("4", lambda o: len(o.rows) == 4),
    "minOffsetsPerTrigger": case("3", lambda o: o.rows == ALL_ROWS and not o.more),
    "maxTriggerDelay": case("0ms", lambda o: len(o.more) == 2, also={"minOffsetsPerTrigger": "3"}),
    "kafka.group.id": case("billing", lambda o: o.clients == {"consumer-billing"}),
    "groupIdPrefix": case("billing", lambda o: o.clients == {"consumer-billing"}),
    "kafkaConsumer.pollTimeoutMs": case(
        "200", lambda o: "in 0.2 s" in o.error, prepare=lambda cluster: cluster.pause(1)
    ),
}
WRITING: dict[str, Case] = {
    "kafka.bootstrap.servers": case("BOOT", lambda o: len(o.written) == 1, also={"bootstrap.servers": None}),
    "profile": case("mine", lambda o: len(o.written) == 1, also={"bootstrap.servers": None}),
    "command.config": case("FILE", lambda o: len(o.written) == 1, also={"bootstrap.servers": None}),
    "topic": case("written", lambda o: len(o.written) == 1, also={"topics": None}),
    "includeHeaders": case("false", lambda o: o.written == [(b"1", b"5", ())]),
    "key.serde": case("short", lambda o: o.written[0][0] == b"\0\1"),
    "value.serde": case("int", lambda o: o.written[0][1] == b"\0\0\0\5"),
}
BASE = {
    "batch": {"topic": "orders"},
    "stream": {"topic": "orders"},
    "write": {"topics": "written"},
    "sink": {"topics": "written"},
}


def write_checkpoint(folder: Path, offsets: list[str], committed: int) -> None:
    """What a query of the connector leaves: where each batch ends, and which have run."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    for batch, line in enumerate(offsets):
        metadata = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"spark.sql.shuffle.partitions":"2"}}'
        (folder / "offsets" / str(batch)).write_text(f"v1\n{metadata}\n{line}")
        (folder / "offsets" / f".{batch}.crc").write_text("")
        if batch < committed:
            (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def options_of(case: Case, name: str, use: Use, cluster: FakeCluster, folder: Path) -> dict[str, str]:
    given = {"bootstrap.servers": cluster.bootstrap, **BASE[use], **case.get("also", {})}
    if name == "topic":
        given.pop("topic", None)
    value = case["value"]
    if value == "BOOT":
        value = cluster.bootstrap
    if value == "FILE":
        value = str(folder / "client.properties")
        Path(value).write_text(f"bootstrap.servers={cluster.bootstrap}\n")
    if value == "CHECKPOINT":
        value = str(folder / "checkpoint")
        write_checkpoint(Path(value), ['{"orders":{"0":2}}', '{"orders":{"0":4}}', '{"orders":{"0":8}}'], 2)
    if name == "profile":
        (folder / "kcli").mkdir(exist_ok=True)
        (folder / "kcli" / "config.toml").write_text(
            f'[profiles.mine]\n"bootstrap.servers" = "{cluster.bootstrap}"\n'
        )
    return {key: text for key, text in {**given, name: value}.items() if text is not None}


USED = [(one.name, use) for one in OPTIONS for use in one.uses]


@pytest.mark.parametrize(("name", "use"), USED)
def test_each_option_has_an_effect_that_is_absent_without_it(
    name: str, use: Use, cluster: FakeCluster, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = (WRITING if use in WRITE else READING)[name]
    if case.get("small"):
        monkeypatch.setattr("kcli.pipeline.plan.SMALLEST_SLICE", 1)
        monkeypatch.setattr("kcli.pipeline.plan.split.__defaults__", (1,))
        monkeypatch.setattr("kcli.pipeline.spark.source_reading._SLOTS", 1)
    case.get("prepare", lambda _cluster: None)(cluster)
    options = options_of(case, name, use, cluster, own_folders)
    without = {key: text for key, text in options.items() if key != name}
    spelled = {
        key.upper() if key == name else key: text for key, text in options.items()
    }  # Spark's have no case
    assert case["effect"](outcome(cluster, use, spelled)), outcome(cluster, use, spelled)
    if "pollTimeout" not in name:  # it would wait for 30 s
        assert not _holds(case["effect"], _another(case, use, without))


def _another(case: Case, use: Use, options: dict[str, str]) -> Outcome:
    """What happens without the option, on a cluster that is equal."""
    with FakeCluster(1, topics={"orders": 2, "orders-late": 1, "written": 1}) as found:
        for partition in range(2):
            append(found, "orders", partition, 0, COUNT)
        append(found, "orders-late", 0, 0, 1)
        case.get("prepare", lambda _cluster: None)(found)
        if "bootstrap.servers" in options:
            options = {**options, "bootstrap.servers": found.bootstrap}
        return outcome(found, use, options)


def _holds(effect: Effect, found: Outcome) -> bool:
    try:
        return effect(found)
    except (KeyError, IndexError):
        return False


@pytest.mark.parametrize(
    ("name", "use"), [(one.name, use) for one, use in product(OPTIONS, USES) if use not in one.uses]
)
def test_an_option_without_an_effect_is_refused_by_its_name(name: str, use: Use) -> None:
    value = {**READING, **WRITING}.get(name, Case(value="1"))["value"]
    also = {"minOffsetsPerTrigger": "1"} if name == "maxTriggerDelay" and use == "stream" else {}
    with pytest.raises(ConfigError) as caught:
        settings_of({"bootstrap.servers": "h:1", name.upper(): value, **also}, use)
    assert f"the option {name} " in str(caught.value)
    assert caught.value.why
    assert caught.value.do


@pytest.mark.parametrize(
    ("options", "use", "what"),
    [
        ({"kafka.acks": "1"}, "batch", "the option acks has no effect on spark.read"),
        ({"fetch.min.bytes": "1"}, "write", "the option fetch.min.bytes has no effect on DataFrame.write"),
        ({"group.id": "g"}, "stream", "the option group.id has no effect on spark.readStream"),
        ({"kafka.auto.offset.reset": "earliest"}, "batch", "the option auto.offset.reset has no effect"),
        ({"kafka.enable.auto.commit": "true"}, "stream", "the option enable.auto.commit has no effect"),
        ({"kafka.transactional.id": "t"}, "write", "the option transactional.id has no effect"),
        ({"kafka.transactional.id": "t"}, "sink", "the option transactional.id has no effect"),
        ({"startingCheckpoint": "d", "since": "1h"}, "stream", "startingCheckpoint and since were both"),
        ({"startingCheckpoint": "gone://d"}, "stream", "there is no store gone://"),
        ({"commitOffsets": " "}, "stream", "commitOffsets is empty"),
        ({"schema.registry.url": "http://h:1"}, "batch", "the option schema.registry.url has no effect"),
        ({"schema.registry.url": "http://h:1"}, "write", "the option schema.registry.url has no effect"),
        ({"kafka.sasl.username": "me"}, "batch", "sasl.username has no effect"),
        ({"kafka.sasl.jaas.config": "x"}, "batch", "the option kafka.sasl.jaas.config holds a secret"),
        ({"kafka.sasl.passwort": "x"}, "batch", "there is no option kafka.sasl.passwort"),
        ({"subscribe": "a", "topic": "a"}, "batch", "topic and subscribe were both given"),
        (
            {"kafka.bootstrap.servers": "i:1"},
            "batch",
            "bootstrap.servers and kafka.bootstrap.servers were both",
        ),
        (
            {"since": "1h", "startingOffsets": "earliest"},
            "batch",
            "since was given together with startingOffsets",
        ),
        ({"startingOffsets": "latest"}, "batch", "startingOffsets: latest leaves nothing to read"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "batch", "endingOffsets: earliest leaves nothing to read"),
        ({"startingOffsets": "{"}, "batch", "startingOffsets={: it does not name partitions in JSON"),
        ({"startingOffsets": '{"a":{"0":-3}}'}, "stream", "does not name partitions in JSON"),
        ({"assign": '{"a":0}'}, "batch", 'assign={"a":0}: it does not name partitions'),
        (
            {"startingOffsetsByTimestampStrategy": "latest"},
            "batch",
            "the option startingOffsetsByTimestampStrategy has no",
        ),
        ({"maxTriggerDelay": "1m"}, "stream", "the option maxTriggerDelay has no effect"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "stream",
            "is more than maxOffsetsPerTrigger=8",
        ),
        ({"offset": "1:5"}, "stream", "offset=1:5 has an end"),
        ({"columns": "key", "includeHeaders": "true"}, "batch", "columns and includeHeaders were both given"),
        ({"value.serde": "consumer_offsets"}, "write", "consumer_offsets"),
    ],
)
def test_what_has_no_effect_or_two_meanings_is_refused(options: dict[str, str], use: Use, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of({"bootstrap.servers": "h:1", **options}, use)
    assert what in str(caught.value)
    assert caught.value.do
    assert "-X" not in f"{caught.value}{caught.value.do}"  # this is no command line


def test_a_read_only_profile_is_read_and_not_written(own_folders: Path) -> None:
    (own_folders / "kcli").mkdir(exist_ok=True)
    (own_folders / "kcli" / "config.toml").write_text(
        '[profiles.ro]\n"bootstrap.servers" = "h:1"\nread_only = true\n'
    )
    asked = {"profile": "ro", "topic": "t"}
    assert settings_of(asked, "batch").cluster.servers == "h:1"
    for use, more in (("write", {}), ("sink", {}), ("stream", {"commitOffsets": "g"})):
        with pytest.raises(KcliError, match="profile ro is read-only"):
            settings_of(asked | more, use)


def test_options_of_a_profile_that_have_no_effect_are_passed_over(own_folders: Path) -> None:
    (own_folders / "kcli").mkdir()
    (own_folders / "kcli" / "config.toml").write_text(
        '[profiles.mine]\n"bootstrap.servers" = "h:1"\n"group.id" = "g"\nacks = "1"\n"schema.registry.url" = "http://h:2"\n'
    )
    for use in USES:
        assert settings_of({"profile": "mine"}, use).cluster.servers == "h:1"


def test_a_reader_whose_use_is_not_known_takes_the_options_of_both() -> None:
    for options in ({"until": "1h"}, {"maxOffsetsPerTrigger": "1"}, {"endingOffsets": "latest"}):
        settings_of({"bootstrap.servers": "h:1", **options})
    assert KcliSource(
        {"bootstrap.servers": "h:1", "subscribe": "orders", "includeHeaders": "true"}
    ).schema() == (
        "`key` binary, `value` binary, `topic` string, `partition` int, `offset` bigint, `timestamp` timestamp, "
        "`timestampType` int, `headers` array<struct<key: string, value: binary>>"
    )


def test_a_stream_that_is_named_as_the_connector_does_begins_at_the_end(cluster: FakeCluster) -> None:
    found = outcome(cluster, "stream", {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "orders"})
    assert (found.rows, found.more) == ([], [("orders", 0, COUNT), ("orders", 1, COUNT)])
    assert {row["timestampType"] for row in found.values} == {0}


def test_positions_name_all_partitions_and_no_others(cluster: FakeCluster) -> None:
    for text, what in (
        ('{"orders":{"0":1}}', "startingOffsets: orders-1 is missing"),
        ('{"orders":{"0":1,"1":1,"2":1}}', "startingOffsets: orders-2 is too many"),
        (
            '{"orders":{"0":1,"1":99}}',
            "orders-1: the range begins at offset 99, and the log goes from 0 to 10",
        ),
    ):
        found = outcome(
            cluster,
            "batch",
            {"bootstrap.servers": cluster.bootstrap, "topic": "orders", "startingOffsets": text},
        )
        assert what in found.error, found
    late = {"bootstrap.servers": cluster.bootstrap, "topic": "orders", "startingTimestamp": str(START * 2)}
    assert f"orders-0 has no record from {START * 2} on" in outcome(cluster, "batch", late).error
    missing = {"bootstrap.servers": cluster.bootstrap, "assign": '{"orders":[0,7]}'}
    assert "7" in outcome(cluster, "batch", missing).error


# --- what is lost -----------------------------------------------------------------------------------------


class Losing:
    """A stream over ``orders``, as Spark drives it; ``said`` is what is left out."""

    def __init__(self, cluster: FakeCluster, **options: str) -> None:
        self.cluster = cluster
        given = {
            "bootstrap.servers": cluster.bootstrap,
            "topic": "orders",
            "columns": "partition,offset",
        } | options
        self.settings = settings_of(given, "stream")
        self.reader = StreamReader(self.settings)
        self.position = self.reader.initialOffset()

    def batch(self, *, lose: Callable[[], object] = bool, restart: bool = False) -> list[tuple[int, int]]:
        """The rows of a batch. ``lose`` runs when it is planned, before it is read."""
        if restart:
            self.reader.stop()
            self.reader = StreamReader(self.settings)
        end = self.reader.latestOffset(self.position, self.reader.getDefaultReadLimit())
        lose()
        parts = self.reader.partitions(self.position, end)
        self.position = end
        rows = [row for part in parts for batch in self.reader.read(part) for row in batch.to_pylist()]
        return sorted((row["partition"], row["offset"]) for row in rows)


def of(partition: int, first: int, last: int) -> list[tuple[int, int]]:
    return [(partition, offset) for offset in range(first, last)]


EVERYTHING = [*of(0, 0, COUNT), *of(1, 0, COUNT)]


@pytest.fixture
def stream(cluster: FakeCluster) -> Iterator[Losing]:
    found = Losing(cluster, failOnDataLoss="false")
    yield found
    found.reader.stop()


def test_a_topic_that_was_created_anew_is_read_from_its_beginning(
    stream: Losing, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert stream.batch() == EVERYTHING
    cluster.recreate_topic("orders", 2)
    append(cluster, "orders", 0, 0, 3)
    assert stream.batch() == of(0, 0, 3)
    assert "topic orders was deleted and created again" in caplog.text
    append(cluster, "orders", 0, 3, 4)
    assert stream.batch(restart=True) == of(0, 3, 4)


def test_a_deleted_topic_has_nothing_and_is_continued_when_it_is_there_again(
    stream: Losing, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert stream.batch() == EVERYTHING
    cluster.delete_topic("orders")
    assert stream.batch() == []
    assert stream.batch(restart=True) == []
    assert "the checkpoint belongs to topic orders, which is not read now" in caplog.text
    assert json.loads(json.dumps(stream.position))["orders"] == {"0": COUNT, "1": COUNT}
    cluster.create_topic("orders", 2)
    append(cluster, "orders", 1, 0, 2)
    assert stream.batch() == of(1, 0, 2)


def test_a_truncated_partition_continues_at_its_end(
    stream: Losing, cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert stream.batch() == EVERYTHING
    cluster.delete_records("orders", 1, 4)
    stream.position["orders"]["0"] = 50
    assert stream.batch() == []
    assert "the checkpoint is at offset 50, and the log ends at 10" in caplog.text
    append(cluster, "orders", 0, COUNT, COUNT + 1)
    assert stream.batch() == of(0, COUNT, COUNT + 1)


@pytest.mark.parametrize(
    ("lose", "rows"),
    [
        (lambda cluster: cluster.delete_records("orders", 0, 6), [*of(0, 6, COUNT), *of(1, 0, COUNT)]),
        (lambda cluster: cluster.recreate_topic("orders", 2), []),
        (lambda cluster: cluster.delete_topic("orders"), []),
    ],
)
def test_what_is_lost_between_plan_and_reading_of_a_batch_is_left_out(
    stream: Losing, cluster: FakeCluster, lose: Callable[[FakeCluster], object], rows: list[tuple[int, int]]
) -> None:
    assert stream.batch(lose=lambda: lose(cluster)) == rows


def test_the_same_loss_is_an_error_by_default(cluster: FakeCluster) -> None:
    stream = Losing(cluster)
    with pytest.raises(Exception, match="orders-0: offsets 0 to 5 are no longer there"):
        stream.batch(lose=lambda: cluster.delete_records("orders", 0, 6))
    cluster.recreate_topic("orders", 2)
    append(cluster, "orders", 0, 0, COUNT + 5)  # as long as the former one, and longer
    with pytest.raises(Exception, match="topic orders was deleted and created again"):
        stream.batch()
    stream.reader.stop()


@pytest.mark.parametrize("fails", ["true", "false"])
def test_what_retention_takes_while_a_task_waits_is_left_out_of_a_batch_too(
    cluster: FakeCluster, fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"bootstrap.servers": cluster.bootstrap, "topic": "orders", "failOnDataLoss": fails}
    reader = BatchReader(settings_of(options, "batch"))
    parts = reader.partitions()
    cluster.delete_records("orders", 0, 6)
    cluster.delete_records("orders", 1, COUNT)

    def rows() -> int:
        return sum(batch.num_rows for part in parts for batch in reader.read(part))

    if fails == "true":
        with pytest.raises(Exception, match="out of range"):
            rows()
    else:
        assert rows() == 4
        assert "orders-1: offset 0 is out of range" in caplog.text


# --- what is written --------------------------------------------------------------------------------------


def test_a_writer_encodes_text_structs_and_nulls(cluster: FakeCluster) -> None:
    options = {
        "bootstrap.servers": cluster.bootstrap,
        "topic": "written",
        "value.serde": "json",
        "key.serde": "long",
    }
    frame = pa.record_batch({"key": [1, None], "value": pa.array([{"a": [1, 2]}, None])})
    found = outcome(cluster, "write", options, frame)
    assert [each[:2] for each in found.written] == [((1).to_bytes(8, "big"), b'{"a":[1,2]}'), (None, None)]
    wrong = outcome(cluster, "write", options, pa.record_batch({"key": ["one"], "value": ["{}"]}))
    assert "key" in wrong.error
    no_key = outcome(cluster, "write", options, pa.record_batch({"value": ["{}"]}))
    assert no_key.error.startswith("the option key.serde has no effect")
    without = {"bootstrap.servers": cluster.bootstrap, "topic": "written", "includeHeaders": "true"}
    assert "no column headers" in outcome(cluster, "write", without, pa.record_batch({"value": ["x"]})).error


def test_what_was_read_with_the_connectors_columns_can_be_written(cluster: FakeCluster) -> None:
    rows = outcome(
        cluster, "batch", {"bootstrap.servers": cluster.bootstrap, "subscribe": "orders-late"}
    ).values
    frame = pa.Table.from_pylist(rows).to_batches()[0]
    options = {"kafka.bootstrap.servers": cluster.bootstrap, "topic": "written"}
    assert [each[:2] for each in outcome(cluster, "write", options, frame).written] == [(b"k0", b'{"n":0}')]
