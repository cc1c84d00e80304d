"""A batch of a stream is written once: what a task finds when it begins, and what the one that it replaces can still do.
Without a session of Spark: the writer is called as its tasks call it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import types as sql

from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.pipeline.spark.errors import CarriedError
from kcli.pipeline.spark.other_checkpoint import position_of
from kcli.pipeline.spark.source_settings import settings_of
from kcli.pipeline.spark.source_stream import StreamReader
from kcli.pipeline.spark.stream_writing import StreamTask, StreamWriter
from tests.fake.cluster import FakeCluster
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
