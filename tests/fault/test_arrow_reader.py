"""Ranges of offsets as batches of Arrow: what they hold, how large they are, and that no row is ever silently missing."""

import gzip
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import kcli
from kcli.core import ArrowReader, RecordFilter, TopicRecords, read_topic
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ClosedError,
    ConfigError,
    CorruptRecordsError,
    DataLossError,
    KcliError,
    NotFoundError,
    TimedOutError,
)
from kcli.core.kernels.active import crc32c
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.records.batch import CRC_START, HEADER_SIZE, LENGTH_END
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fault.fetching import T0, T1, quick_reader
from tests.unit.sandbox.states import make_state, remember, this_process

NOW = 1_700_000_000_000


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 3}) as made:
        yield made


def records(count: int, first: int = 0, **how: Any) -> list[Record]:
    wishes: dict[str, Any] = {"timestamp": NOW, "timestamp_type": 0, "key": None, **how}
    return [
        Record("t", 0, **{**wishes, "offset": n, "timestamp": wishes["timestamp"] + n, "value": b"v%d" % n})
        for n in range(first, first + count)
    ]


def append(cluster: FakeCluster, tp: TopicPartition, rows: list[Record]) -> None:
    cluster.append(*tp, bytes(batch_of(rows).raw))


def compressed(rows: list[Record]) -> bytes:
    """The same batch with gzip."""
    raw = bytes(batch_of(rows).raw)
    data = gzip.compress(raw[HEADER_SIZE:])
    out = bytearray(raw[:HEADER_SIZE] + data)
    out[8:12] = (len(out) - LENGTH_END).to_bytes(4, "big")
    out[22] |= 1
    out[CRC_START - 4 : CRC_START] = crc32c(bytes(out[CRC_START:])).to_bytes(4, "big")
    return bytes(out)


def read(cluster: FakeCluster, spans: dict[TopicPartition, Span], **how: Any) -> list[Any]:
    with quick_reader(cluster) as consumer, ArrowReader(consumer, spans, **how) as reader:
        return list(reader)


def values(batches: list[Any]) -> list[bytes]:
    return [row["value"] for batch in batches for row in pa.record_batch(batch).to_pylist()]


# --- what a batch is ------------------------------------------------------------------------------------


def test_a_range_is_read_exactly(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    append(cluster, T1, records(5))
    batches = read(cluster, {T0: Span(3, 8), T1: Span(0, 2)})
    assert {b.tp: (b.first_offset, b.last_offset, b.count) for b in batches} == {T0: (3, 7, 5), T1: (0, 1, 2)}
    assert values([b for b in batches if b.tp == T0]) == [b"v%d" % n for n in range(3, 8)]
    table = pa.Table.from_batches([pa.record_batch(b) for b in batches])
    table.validate(full=True)
    assert set(zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True)) == {
        ("t", 0),
        ("t", 1),
    }


def test_many_small_compressed_batches_become_one(cluster: FakeCluster) -> None:
    for _ in range(200):
        cluster.append(*T0, compressed(records(2, 0)))
    batches = read(cluster, {T0: Span(0, 400)})
    assert [batch.count for batch in batches] == [400]


@pytest.mark.parametrize(
    ("limits", "expected"), [({"batch_rows": 4}, [4, 4, 2]), ({"batch_bytes": 1}, [2] * 5), ({}, [10])]
)
def test_a_batch_ends_when_it_is_large_enough(
    cluster: FakeCluster, limits: dict[str, int], expected: list[int]
) -> None:
    for _ in range(5):
        cluster.append(*T0, compressed(records(2, 0)))
    assert [batch.count for batch in read(cluster, {T0: Span(0, 10)}, **limits)] == expected


def test_polls_return_whole_batches_however_few_records_they_may_return(cluster: FakeCluster) -> None:
    """A batch that is divided by ``max.poll.records`` would be decoded once for each part of it."""
    append(cluster, T0, records(50))
    with (
        quick_reader(cluster, max_poll_records=7) as consumer,
        ArrowReader(consumer, {T0: Span(0, 50)}) as reader,
    ):
        assert [batch.count for batch in reader] == [50]
        assert (reader.rows, reader.seen) == (50, 50)
        assert reader.bytes_read > 500


def test_predicates_and_columns(cluster: FakeCluster) -> None:
    append(cluster, T0, records(4, key=b"a"))
    append(cluster, T0, records(4, key=b"b"))
    where = RecordFilter(keys=[b"b", b"c"], since_ms=NOW + 2)
    (batch,) = read(
        cluster, {T0: Span(0, 8)}, where=where, columns=["value", "timestamp"], utc_timestamps=False
    )
    assert pa.record_batch(batch).to_pydict() == {"value": [b"v2", b"v3"], "timestamp": [NOW + 2, NOW + 3]}
    assert (batch.first_offset, batch.last_offset) == (6, 7)


def test_a_batch_outlives_the_reader_and_the_consumer(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    (batch,) = read(cluster, {T0: Span(0, 10)})
    table = pa.record_batch(batch)
    del batch
    assert table["value"].to_pylist() == [b"v%d" % n for n in range(10)]


def test_an_empty_range_ends_at_once(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    assert read(cluster, {T0: Span(4, 4), T1: Span(0, 0)}) == []
    assert read(cluster, {}) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ["vlaue"]},
        {"columns": ["value", "value"]},
        {"batch_rows": 0},
        {"batch_bytes": -1},
        {"spans": {T0: Span()}},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_at_once(cluster: FakeCluster, wrong: dict[str, Any]) -> None:
    with quick_reader(cluster) as consumer, pytest.raises(ConfigError):
        ArrowReader(consumer, **{"spans": {T0: Span(0, 1)}, **wrong})


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["", "earliest", "latest"])
def test_a_range_that_retention_ate_is_an_error_with_its_offsets(cluster: FakeCluster, choice: str) -> None:
    """Also where ``on.out.of.range`` says where to continue: that would be a range with fewer rows."""
    for _ in range(10):
        append(cluster, T0, records(1))
    cluster.delete_records(*T0, 4)
    with (
        quick_reader(cluster, on_out_of_range=choice) as consumer,
        ArrowReader(consumer, {T0: Span(2, 10)}) as reader,
        pytest.raises(DataLossError, match="the log goes from 4 to 10; 2 offsets are gone"),
    ):
        list(reader)


def test_a_damaged_batch_is_an_error_with_its_offsets_after_the_rows_before_it(cluster: FakeCluster) -> None:
    append(cluster, T0, records(3))
    raw = bytearray(batch_of(records(3)).raw)
    raw[-3] ^= 1
    cluster.append(*T0, bytes(raw))
    with quick_reader(cluster) as consumer, ArrowReader(consumer, {T0: Span(0, 6)}) as reader:
        assert values([next(reader)]) == [b"v0", b"v1", b"v2"]
        with pytest.raises(CorruptRecordsError, match="t-0: record batch at offsets 3 to 5") as caught:
            next(reader)
        assert caught.value.next_offset == 6
        with pytest.raises(CorruptRecordsError):
            next(reader)  # not the end


def test_a_range_that_nothing_fills_is_an_error_after_a_while(cluster: FakeCluster) -> None:
    append(cluster, T0, records(3))
    with pytest.raises(TimedOutError, match=r"t-0: nothing arrived .* at offset 3 of a range up to 9"):
        read(cluster, {T0: Span(0, 9)}, timeout=0.3)


def test_a_header_name_that_is_not_text_names_the_column_that_has_it(cluster: FakeCluster) -> None:
    append(cluster, T0, records(2, headers=((b"\xff", b"x"),)))
    with pytest.raises(
        KcliError, match="t-0: a header name of the record at offset 0 is not UTF-8"
    ) as caught:
        read(cluster, {T0: Span(0, 2)})
    assert "headers_packed" in caught.value.do
    (batch,) = read(cluster, {T0: Span(0, 2)}, columns=["headers_packed"])
    assert pa.record_batch(batch)["headers_packed"].to_pylist() == [b"\x02\x02\xff\x02x"] * 2


# --- read_topic -----------------------------------------------------------------------------------------


def topic_of(cluster: FakeCluster, **how: Any) -> TopicRecords:
    return read_topic("t", bootstrap_servers=cluster.bootstrap, **how)


def test_a_topic_is_a_table_that_can_be_read_again(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    with topic_of(cluster, columns=["partition", "offset", "value"]) as topic:
        first = pa.table(topic)
        append(cluster, T0, records(10))
        assert pa.table(topic) == first
        assert pa.schema(topic) == first.schema
        assert first.num_rows == topic.most_rows == 10
        assert [batch.count for batch in topic] == [10]
    with pytest.raises(ClosedError):
        pa.table(topic)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"offsets": "2:5", "partitions": 0}, [2, 3, 4]),
        ({"offsets": "-3"}, [7, 8, 9]),
        ({"since": NOW + 6}, [6, 7, 8, 9]),
        ({"since": NOW + 2, "until": NOW + 4}, [2, 3]),
        ({"key": "k"}, []),
        ({"key": [None], "offsets": "8:", "partitions": (0,)}, [8, 9]),
        ({"partitions": 1}, []),
        ({"partitions": [0, 1], "offsets": ":2"}, [0, 1]),
    ],
    ids=str,
)
def test_ranges_and_keys(cluster: FakeCluster, how: dict[str, Any], expected: list[int]) -> None:
    append(cluster, T0, records(10))
    with topic_of(cluster, columns="offset", **how) as topic:
        assert pa.table(topic)["offset"].to_pylist() == expected


def test_a_requested_schema_is_followed_where_the_buffers_allow_it(cluster: FakeCluster) -> None:
    append(cluster, T0, records(2))
    with topic_of(cluster, columns=["timestamp", "value"]) as topic:
        wanted = pa.schema([("timestamp", pa.int64()), ("value", pa.binary())])
        assert pa.table(topic, schema=wanted)["timestamp"].to_pylist() == [NOW, NOW + 1]
        assert pa.table(topic).schema.field("timestamp").type == pa.timestamp("ms", "UTC")


def test_an_error_while_reading_reaches_the_library_with_its_text(cluster: FakeCluster) -> None:
    append(cluster, T0, records(2, headers=((b"\xff", b"x"),)))
    with topic_of(cluster) as topic:
        with pytest.raises(OSError, match=r"record at offset 0 is not UTF-8.*headers_packed"):
            pa.table(topic)
        assert isinstance(topic.error, KcliError)


def test_a_stream_is_read_in_another_thread_than_it_was_made(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    append(cluster, T1, records(10))
    found: list[int] = []
    with topic_of(cluster, batch_rows=1) as topic:
        reader = pa.RecordBatchReader.from_stream(topic)
        found.append(reader.read_next_batch().num_rows)
        thread = threading.Thread(target=lambda: found.append(reader.read_all().num_rows))
        thread.start()
        thread.join()
        reader.close()
    assert found == [10, 10]


def test_a_reading_that_is_given_up_closes_its_connections(cluster: FakeCluster) -> None:
    append(cluster, T0, records(10))
    append(cluster, T1, records(10))
    topic = topic_of(cluster)
    cluster.wait_until(lambda: not open_connections(cluster))
    reader = pa.RecordBatchReader.from_stream(topic)
    reader.read_next_batch()
    assert open_connections(cluster)
    del reader
    cluster.wait_until(lambda: not open_connections(cluster))


def open_connections(cluster: FakeCluster) -> list[int]:
    return [one.number for one in cluster.connections if one.closed is None]


def test_the_topic_and_the_range_are_checked_when_it_is_opened(cluster: FakeCluster) -> None:
    with pytest.raises(NotFoundError):
        read_topic("missing", bootstrap_servers=cluster.bootstrap)
    with pytest.raises(NotFoundError):
        topic_of(cluster, partitions=[7])
    with pytest.raises(ConfigError, match="no option 'bootstrap_server'"):
        read_topic("t", bootstrap_server=cluster.bootstrap)
    with pytest.raises(ConfigError, match="both given"):
        topic_of(cluster, since="1h", offsets="1:2")
    with pytest.raises(ConfigError, match="is before since"):
        topic_of(cluster, since="1h", until="2h")
    for wanted in ({"since": "+1h"}, {"offsets": "@+1h"}, {"since": datetime.now(UTC) + timedelta(hours=1)}):
        with pytest.raises(ConfigError, match="is in the future"):
            topic_of(cluster, **wanted)


def test_a_profile_gives_the_options(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(cluster, T0, records(3))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "kcli").mkdir()
    (tmp_path / "kcli" / "config.toml").write_text(
        f'[profiles.dev]\nbootstrap.servers = "{cluster.bootstrap}"\ngroup.id = "g"\n'
    )
    with kcli.read_topic("t", profile="dev", columns=["value"], fetch_max_wait_ms=40) as topic:
        assert pa.table(topic)["value"].to_pylist() == [b"v0", b"v1", b"v2"]
    with pytest.raises(ConfigError, match="no profile 'other'"):
        kcli.read_topic("t", profile="other")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    remember(make_state("here", process=this_process(), port=int(cluster.bootstrap.rpartition(":")[2])))
    with kcli.read_topic("t", profile="sandbox:here", columns=["value"], fetch_max_wait_ms=40) as topic:
        assert pa.table(topic)["value"].to_pylist() == [b"v0", b"v1", b"v2"]
    key = tmp_path / "key.pem"
    key.write_text("x")
    key.chmod(0o666)
    for name, text in (("SECURITY_PROTOCOL", "SSL"), ("SSL_KEY_LOCATION", str(key))):
        monkeypatch.setenv(f"KCLI_X_{name}", text)
    with pytest.raises(ConfigError, match="every user can change it"):
        kcli.read_topic("t", profile="dev")
    with pytest.raises(ConfigError, match="no sandbox gone"):
        kcli.read_topic("t", profile="sandbox:gone")


def test_without_records_there_is_a_table_with_columns(cluster: FakeCluster) -> None:
    table = pa.table(topic_of(cluster))
    assert table.num_rows == 0
    assert table.column_names[-1] == "leader_epoch"


def test_nothing_is_committed(cluster: FakeCluster) -> None:
    append(cluster, T0, records(3))
    pa.table(read_topic("t", ConsumerOptions(bootstrap_servers=cluster.bootstrap, group_id="g")))
    assert not cluster.seen(OffsetCommitRequest)
    with pytest.raises(ConfigError, match="group_id has no effect on read_topic"):
        topic_of(cluster, group_id="g")


def test_a_start_beyond_the_end_names_the_parameter_and_no_option_of_commands(cluster: FakeCluster) -> None:
    append(cluster, T0, records(1))
    with pytest.raises(DataLossError, match="offset 7 is out of range") as found:
        read_topic("t", offsets="7:", bootstrap_servers=cluster.bootstrap)
    assert found.value.do == 'choose other offsets="START:END", or on_out_of_range="earliest" or "latest"'


@pytest.mark.parametrize(
    ("library", "error"),
    [
        (pa.table, OSError),
        (pl.DataFrame, pl.exceptions.ComputeError),
        (lambda topic: duckdb.sql("select count(value) from topic").fetchall(), duckdb.Error),
    ],
    ids=["pyarrow", "polars", "duckdb"],
)
def test_retention_under_a_reader_is_an_error_of_the_library(
    cluster: FakeCluster, library: Any, error: type[Exception]
) -> None:
    for _ in range(10):
        append(cluster, T0, records(1))
    with topic_of(cluster) as topic:
        cluster.delete_records(*T0, 4)
        with pytest.raises(error, match=r"t-0: offset 0 is out of range.*from 4 to 10; 4 offsets are gone"):
            library(topic)
        assert isinstance(topic.error, DataLossError)
