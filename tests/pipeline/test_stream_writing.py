"""A batch of a stream is written once: what a task finds when it begins, and what the one that it replaces can still do.
Without a session of Spark: the writer is called as its tasks call it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import types as sql

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import UnstableOffsetError
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.producer.producer import Producer
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.pipeline.spark.errors import CarriedError
from kcli.pipeline.spark.other_checkpoint import position_of
from kcli.pipeline.spark.row_digest import RowDigest
from kcli.pipeline.spark.source_settings import settings_of
from kcli.pipeline.spark.source_stream import StreamReader
from kcli.pipeline.spark.stream_writing import StreamTask, StreamWriter
from tests.fake.cluster import FakeCluster
from tests.lasting import Moment, lasted
from tests.pipeline.test_source_options import write_checkpoint

SCHEMA = sql.StructType().add("value", "string")
Q = "0d1f"


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"written": 1}) as found:
        yield found


def writer(cluster: FakeCluster) -> StreamWriter:
    return StreamWriter(
        settings_of({"bootstrap.servers": cluster.bootstrap, "topic": "written"}, "sink"), SCHEMA
    )


def rows(*values: str) -> Iterator[pa.RecordBatch]:
    for value in values:
        yield pa.record_batch({"value": [value]})


def seen(cluster: FakeCluster) -> list[bytes | None]:
    return cluster.log("written", 0).values(committed=True)


def test_a_batch_that_is_run_again_adds_nothing(cluster: FakeCluster) -> None:
    for batch, values in ((0, ("a", "b")), (0, ("a", "b")), (1, ()), (1, ()), (2, ("c",)), (2, ("c",))):
        sent = writer(cluster).write_part(StreamTask(Q, batch, 0), rows(*values))
        assert sent.records == len(values)
    assert seen(cluster) == [b"a", b"b", b"c"]
    assert cluster.committed_offsets(f"__kcli.stream.{Q}.0") == {TopicPartition("written", 0): 3}
    writer(cluster).write_part(StreamTask(Q, 2, 7), rows("d"))  # a task that earlier batches did not have
    assert seen(cluster) == [b"a", b"b", b"c", b"d"]


def test_what_a_failed_attempt_wrote_is_not_seen(cluster: FakeCluster) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows("a", "b")
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        writer(cluster).write_part(StreamTask(Q, 0, 0), failing())
    assert seen(cluster) == []
    writer(cluster).write_part(StreamTask(Q, 0, 0), rows("a", "b"))
    assert seen(cluster) == [b"a", b"b"]


@pytest.mark.parametrize("batch", [0, 1], ids=["the same batch", "an earlier one"])
def test_an_attempt_that_was_replaced_is_fenced(cluster: FakeCluster, batch: int) -> None:
    """It has its rows half sent while another one writes the batch, and with ``batch`` 1 the next as well."""

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield from rows("a")
        for number in range(batch + 1):
            writer(cluster).write_part(StreamTask(Q, number, 0), rows("a", f"b{number}"))
        yield from rows("b0")

    with pytest.raises(KcliError):
        writer(cluster).write_part(StreamTask(Q, 0, 0), overtaken())
    assert seen(cluster) == [b"a", b"b0", b"a", b"b1"][: 2 * (batch + 1)]


def _set_back(cluster: FakeCluster) -> None:
    writer(cluster).write_part(StreamTask(Q, 5, 0), rows("c"))


def _foreign(cluster: FakeCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        group = StreamTask(Q, 0, 0).group
        admin.commit_offsets({group: {TopicPartition("written", 0): OffsetAndMetadata(3)}})


@pytest.mark.parametrize(
    ("prepare", "batch", "values", "error", "what"),
    [
        (bool, 0, ("a",), DataLossError, "partition 0 has written 2 records, and now has 1"),
        (bool, 0, ("a", "b", "c"), DataLossError, "has written 2 records, and now has 3"),
        (_set_back, 4, ("a",), ConfigError, "batch 4 of query 0d1f comes after batch 5"),
        (bool, 0, ("a", "c"), DataLossError, "has written 2 records, and now has as many others"),
        (_foreign, 0, ("a",), ConfigError, "no position of a stream"),
    ],
)
def test_a_batch_that_may_be_another_one_is_refused(
    cluster: FakeCluster,
    prepare: Callable[[FakeCluster], object],
    batch: int,
    values: tuple[str, ...],
    error: type[KcliError],
    what: str,
) -> None:
    writer(cluster).write_part(StreamTask(Q, 0, 0), rows("a", "b"))
    prepare(cluster)
    before = seen(cluster)
    with pytest.raises(error, match=what) as caught:
        writer(cluster).write_part(StreamTask(Q, batch, 0), rows(*values))
    assert caught.value.do
    assert seen(cluster) == before


def test_a_repeated_batch_may_have_its_rows_in_another_order(cluster: FakeCluster) -> None:
    writer(cluster).write_part(StreamTask(Q, 0, 0), rows("a", "b", "b"))
    batch = pa.record_batch({"value": ["b", "a", "b"]})
    assert writer(cluster).write_part(StreamTask(Q, 0, 0), iter([batch])).records == 3
    assert seen(cluster) == [b"a", b"b", b"b"]


def run_batch(cluster: FakeCluster, run: str, batch: int, *parts: tuple[str, ...], only: int = 99) -> None:
    """All tasks of a batch, of which the first ``only`` run, and Spark's commit if those are all."""
    sent = [
        writer(cluster).write_part(StreamTask(Q, batch, number, run), rows(*values))
        for number, values in enumerate(parts[:only])
    ]
    if only >= len(parts):
        writer(cluster).commit(sent, batch)


def test_a_batch_with_fewer_tasks_than_an_earlier_run_began_is_refused(cluster: FakeCluster) -> None:
    run_batch(cluster, "first", 0, ("a",), ("b",))
    writer(cluster).write_part(StreamTask(Q, 1, 1, "first"), rows("d"))  # task 0 and the driver are killed
    for run in ("second", "third"):
        with pytest.raises(CarriedError, match=r"1 partition \(1\) had written records of it") as caught:
            run_batch(cluster, run, 1, ("c", "d"))
        assert isinstance(caught.value.__cause__, DataLossError)
        assert "it has only 1 partition now" in str(caught.value)


def test_a_batch_that_is_divided_anew_is_refused_by_a_task_that_has_others(cluster: FakeCluster) -> None:
    run_batch(cluster, "first", 0, ("a", "b"), ("c", "d"), ("e", "f"), only=2)
    before = seen(cluster)
    with pytest.raises(DataLossError, match="partition 0 has written 2 records, and now has as many others"):
        run_batch(cluster, "second", 0, ("a", "c"), ("b", "d"), ("e", "f"))
    assert seen(cluster) == before
    run_batch(cluster, "third", 0, ("b", "a"), ("c", "d"), ("e", "f"))
    assert sorted(seen(cluster)) == [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_only_the_first_batch_of_a_run_asks_for_parts_of_another_one(cluster: FakeCluster) -> None:
    def lists() -> int:
        return len(cluster.seen(ListGroupsRequest))

    run_batch(cluster, "first", 0, ("a",), ("b",))
    assert lists() == 1
    run_batch(cluster, "first", 1, ("c",), ("d",), ("e",))
    run_batch(cluster, "first", 2, ("f",))
    assert lists() == 1
    run_batch(cluster, "second", 3, ("g",))
    assert lists() == 2
    assert len(seen(cluster)) == 7


def test_a_task_does_not_wait_for_the_transaction_of_another_one(cluster: FakeCluster) -> None:
    """Partition 0 was killed between its position and the end of its transaction, and has no slot."""
    run_batch(cluster, "first", 0, ("a",))
    producer = Producer(
        bootstrap_servers=cluster.bootstrap, transactional_id=StreamTask(Q, 1, 0).group, linger_ms=0
    )
    with producer, suppress(KcliError):
        producer.connect(["written"], 10)
        producer.init_transactions(10)
        producer.begin_transaction()
        offset = OffsetAndMetadata(2, "{}")
        producer.send_offsets_to_transaction(
            {TopicPartition("written", 0): offset}, StreamTask(Q, 1, 0).group, 10
        )
        with Admin(bootstrap_servers=cluster.bootstrap) as admin:  # brokers let a reader of it wait
            key = TopicPartition("written", 0)
            group = StreamTask(Q, 1, 0).group
            found = admin.fetch_offsets({group: [key]}, require_stable=True, timeout=0.2)[group]
            assert isinstance(found, dict)
            assert isinstance(found[key], UnstableOffsetError)
        began = Moment.now()
        writer(cluster).write_part(StreamTask(Q, 1, 1, "second"), rows("b"))
        assert lasted(began) < 10
    writer(cluster).write_part(StreamTask(Q, 1, 0, "second"), rows("c"))
    assert seen(cluster) == [b"a", b"b", b"c"]


# --- the digest -------------------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "key": pa.array([b"k1", None, b"", b"k" * 300], pa.binary()),
        "value": pa.array(["v1", "v2", None, "v" * 3000], pa.string()),
        "timestamp": pa.array([1, 2, None, 4], pa.int64()),
        "headers": pa.array(
            [None, [("h", b"x")], [("h", None), ("h", b"")], [("i", b"x")]],
            pa.map_(pa.string(), pa.binary()),
        ),
        "partition": pa.array([0, 1, None, 1], pa.int32()),
    }
)


def digest(*tables: pa.Table) -> tuple[int, str]:
    found = RowDigest()
    for table in tables:
        for batch in table.to_batches():
            found.add(batch)
    return found.records, found.value


def test_the_digest_of_rows_knows_neither_their_order_nor_their_tables() -> None:
    expected = digest(TABLE)
    assert expected[0] == 4
    assert digest(TABLE.take([3, 1, 0, 2])) == expected
    assert digest(TABLE.slice(1), TABLE.slice(0, 1)) == expected


@pytest.mark.parametrize("name", TABLE.column_names)
def test_the_digest_of_rows_sees_records_that_exchange_a_part(name: str) -> None:
    for one, other in combinations(range(TABLE.num_rows), 2):
        order = list(range(TABLE.num_rows))
        order[one], order[other] = other, one
        column = TABLE.column(name).take(order)
        changed = TABLE.set_column(TABLE.column_names.index(name), name, column)
        assert (digest(changed) == digest(TABLE)) == (changed.to_pylist() == TABLE.to_pylist())


def test_the_digest_of_rows_sees_one_that_is_there_more_often() -> None:
    a, b = (pa.table({"value": [text]}) for text in "ab")
    assert len({digest(*each) for each in product([a, b], repeat=3)}) == 4


def test_a_row_that_is_larger_than_what_is_encoded_at_once_is_digested() -> None:
    large = pa.table({"value": [bytes(9 << 20), b"x", bytes(9 << 20)]})
    assert digest(large)[0] == 3
    assert digest(large.slice(0, 1), large.slice(1)) == digest(large)


def test_a_later_batch_without_a_position_is_not_written(cluster: FakeCluster) -> None:
    for partition in (0, 1):
        with pytest.raises(DataLossError, match="it is not known what of it is in topic written"):
            writer(cluster).write_part(StreamTask(Q, 3, partition), rows("a"))
    assert seen(cluster) == []


def test_a_stream_is_written_to_the_topic_of_the_option(cluster: FakeCluster) -> None:
    settings = settings_of({"bootstrap.servers": cluster.bootstrap}, "sink")
    with pytest.raises(ConfigError, match="a stream is written to one topic"):
        StreamWriter(settings, sql.StructType().add("value", "string").add("topic", "string"))


def test_without_a_batch_nothing_is_written(cluster: FakeCluster) -> None:
    with pytest.raises(CarriedError, match="needs micro-batches"):
        writer(cluster).write(rows("a"))
    assert seen(cluster) == []


def test_the_position_of_a_stream_needs_a_group_without_members(cluster: FakeCluster) -> None:
    options = {"bootstrap.servers": cluster.bootstrap, "topic": "written", "commitOffsets": "mine"}
    reader = StreamReader(settings_of(options, "stream"))
    try:
        start = reader.initialOffset()
        assert cluster.committed_offsets("mine") == {}
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="mine") as member:
            member.subscribe(["written"])
            while not cluster.group_members("mine"):
                member.poll(0.1)
            with pytest.raises(CarriedError, match="the group has members"):
                reader.commit(start)
        reader.commit(start)
        assert cluster.committed_offsets("mine") == {TopicPartition("written", 0): 0}
    finally:
        reader.stop()


def test_the_checkpoint_of_another_query_has_to_have_a_batch_of_these_topics(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "none", ['{"orders":{"0":2}}'], 0)
    with pytest.raises(ConfigError) as caught:
        position_of(str(tmp_path / "none"), ["orders"])
    assert caught.value.why.startswith("commits/ has no batch")
    write_checkpoint(tmp_path / "found", ['{"logOffset":3}\n-\n{"orders":{"0":2,"11":5}}'], 1)
    found = position_of(str(tmp_path / "found"), ["orders", "more"])
    assert (found.batch, found.offsets) == (
        0,
        {TopicPartition("orders", 0): 2, TopicPartition("orders", 11): 5},
    )
    write_checkpoint(tmp_path / "two", ['{"orders":{"0":2}}\n{"orders":{"0":3}}'], 1)
    for folder, topic, why in (
        ("found", "other", "no source"),
        ("two", "orders", "2 sources"),
        ("gone", "orders", "no batch"),
    ):
        with pytest.raises(ConfigError) as caught:
            position_of(str(tmp_path / folder), [topic])
        assert why in caught.value.why
