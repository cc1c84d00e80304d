"""``Producer.send_arrow`` against brokers: where rows go, what fails, what is reported, and what is sent all the same."""

import gc
import struct
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from kcli.core import Producer
from kcli.core.errors import (
    BufferFullError,
    ClosedError,
    ConfigError,
    PartlyQueuedError,
    TransactionAbortableError,
    UnknownPartitionError,
)
from kcli.core.producer.report import Report
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, sent_batches
from tests.parity.plain import murmur2
from tests.unit.core.arrow.handed_out import AsStream
from tests.unit.core.producer.rows import each_row


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"t": 3, "one": 1}) as cluster:
        yield cluster


def stored(cluster: FakeCluster, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(r.key, r.value) for r in cluster.log(topic, partition).records()]


def table_of(count: int, **columns: Any) -> pa.Table:
    return pa.table({"value": [b"%d" % i for i in range(count)], **columns})


def test_rows_without_a_key_leave_a_partition_whose_batches_are_never_full(cluster: FakeCluster) -> None:
    """Small tables that are sent alone, as of a stream: see ``test_send_text.py``."""
    with Producer(bootstrap_servers=cluster.bootstrap, batch_size=300, linger_ms=0.0) as producer:
        for _ in range(200):
            producer.send_arrow("t", table_of(3))
            assert producer.flush(PATIENCE)
    counts = [len(stored(cluster, "t", number)) for number in range(3)]
    assert sum(counts) == 600
    assert sum(count > 0 for count in counts) > 1


def test_rows_go_to_the_partition_of_their_key_in_order(cluster: FakeCluster) -> None:
    keys = [None if i % 10 == 9 else b"k%d" % (i % 7) for i in range(500)]
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        assert producer.send_arrow("t", table_of(500, key=keys)) == 500
        assert producer.flush(PATIENCE)
    found = [stored(cluster, "t", number) for number in range(3)]
    for number, own in enumerate(found):
        assert all((murmur2(k) & 0x7FFFFFFF) % 3 == number for k, _ in own if k is not None)
        values = [int(value or b"") for _, value in own]
        assert values == sorted(values)
    assert sorted((k or b"", v) for own in found for k, v in own) == sorted(
        (k or b"", b"%d" % i) for i, k in enumerate(keys)
    )


@pytest.mark.parametrize("keys", [None, [None] * 2000], ids=["no column", "nulls"])
def test_rows_without_keys_fill_one_batch_after_the_other(cluster: FakeCluster, keys: Any) -> None:
    columns = {} if keys is None else {"key": pa.array(keys, pa.binary())}
    with Producer(bootstrap_servers=cluster.bootstrap, batch_size=1_000) as producer:
        producer.connect(["t"], PATIENCE)
        producer.send_arrow("t", table_of(2000, **columns))
    found = [stored(cluster, "t", number) for number in range(3)]
    assert all(found)
    assert sorted(int(v or b"") for own in found for _, v in own) == list(range(2000))


@pytest.mark.parametrize("partitioner", ["murmur2", "consistent", "roundrobin", "own"])
def test_rows_may_name_their_partition(cluster: FakeCluster, partitioner: str) -> None:
    asked: list[bytes | None] = []

    def own(_topic: str, key: bytes | None, _partitions: int) -> int:
        asked.append(key)
        return 1

    chosen: Any = own if partitioner == "own" else partitioner
    partitions = pa.array([2, 2, None, -1, 0] * 4, pa.int32())
    data = table_of(20, key=[b"%d" % i for i in range(20)], partition=partitions)
    with Producer(bootstrap_servers=cluster.bootstrap, partitioner=chosen) as producer:
        producer.send_arrow("t", data)
        producer.flush(PATIENCE)
    numbers = [[int(v or b"") for _, v in stored(cluster, "t", n)] for n in range(3)]
    assert {n for n in numbers[2] if n % 5 < 2} == {n for n in range(20) if n % 5 < 2}
    assert {n for n in numbers[0] if n % 5 == 4} == {4, 9, 14, 19}
    assert sorted(n for own in numbers for n in own) == list(range(20))
    assert all(own == sorted(own) for own in numbers)
    if partitioner == "murmur2":
        for n in (2, 3, 7, 8):
            assert n in numbers[(murmur2(b"%d" % n) & 0x7FFFFFFF) % 3]
    if partitioner == "own":
        assert asked == [b"%d" % n for n in range(20) if n % 5 in (2, 3)]


def test_one_partition_for_all_and_by_key_ignore_the_column(cluster: FakeCluster) -> None:
    data = table_of(3, partition=pa.array([0, 1, 2]), key=[b"21"] * 3)
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send_arrow("t", data, partition=1)
        producer.send_arrow("t", data, partition="by-key")
        producer.send_arrow("t", data, partition="keep")
        assert producer.flush(PATIENCE)
        home = (murmur2(b"21") & 0x7FFFFFFF) % 3
        expected = [1, 4, 1]
        expected[home] += 3
        assert [len(stored(cluster, "t", n)) for n in range(3)] == expected
        with pytest.raises(UnknownPartitionError):
            producer.send_arrow("t", data, partition=9)


def test_headers_timestamps_and_nulls_are_exact(cluster: FakeCluster) -> None:
    kind = pa.list_(pa.struct([("key", pa.utf8()), ("value", pa.binary())]))
    headers = [[{"key": "h", "value": None}, {"key": "h", "value": b""}], None, []]
    data = pa.table(
        {
            "key": [b"", None, b"k"],
            "value": pa.array([None, "", "ü"]),
            "headers": pa.array(headers, kind),
            "timestamp": pa.array([17, None, -1], pa.int64()),
        }
    )
    before = int(time.time() * 1000)
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send_arrow("one", data)
    found = cluster.log("one", 0).records()
    assert [(r.key, r.value) for r in found] == [(b"", None), (None, b""), (b"k", "ü".encode())]
    assert [r.headers for r in found] == [(("h", None), ("h", b"")), (), ()]
    assert (found[0].timestamp, found[2].timestamp) == (17, -1)
    assert before <= found[1].timestamp <= int(time.time() * 1000)


def test_a_column_names_the_topics(cluster: FakeCluster) -> None:
    data = table_of(60, topic=["t" if i % 3 else "one" for i in range(60)], key=[b"k"] * 60)
    reports: list[Report] = []
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        assert producer.send_arrow(None, data, origin="o") == 60
        assert producer.send_arrow("one", data.slice(0, 1)) == 1  # the column is ignored
        assert producer.flush(PATIENCE)
    assert [int(v or b"") for _, v in stored(cluster, "one", 0)] == [*range(0, 60, 3), 0]
    rows = {r.tp.topic: [row for _, row in each_row(r.origins)] for r in reports if r.origins and r.tp}
    assert rows == {"one": list(range(0, 60, 3)), "t": [i for i in range(60) if i % 3]}


@pytest.mark.parametrize("known", [True, False], ids=["topic known", "parked"])
@pytest.mark.parametrize("topic", ["t", "one"])
def test_rows_that_are_too_large_fail_alone_and_origins_name_them(
    cluster: FakeCluster, topic: str, *, known: bool
) -> None:
    values = [bytes(100 if i % 50 else 3000) for i in range(200)]
    data = pa.table({"value": values, "key": [b"%d" % i for i in range(200)]})
    reports: list[Report] = []
    with Producer(
        bootstrap_servers=cluster.bootstrap,
        on_delivery=reports.append,
        batch_size=2_000,
        max_request_size=2_500,
    ) as producer:
        if known:
            producer.connect([topic], PATIENCE)
        assert producer.send_arrow(topic, data, origin="o") == 200
        assert producer.flush(PATIENCE)
    assert (producer.totals.confirmed, producer.totals.failed) == (196, 4)
    failed = [(row, r.error) for r in reports if r.error for _, row in each_row(r.origins)]
    assert [row for row, _ in failed] == [0, 50, 100, 150]
    assert all(isinstance(error, RecordTooLargeError) for _, error in failed)
    assert str(failed[1][1]) == f"row 50 for {topic} is too large: 3,035 bytes: max.request.size is 2,500"
    assert sorted(row for r in reports if not r.error for _, row in each_row(r.origins)) == [
        row for row in range(200) if row % 50
    ]


@pytest.mark.parametrize("known", [True, False], ids=["topic known", "parked"])
def test_a_row_of_a_partition_that_does_not_exist_fails_alone(cluster: FakeCluster, *, known: bool) -> None:
    reports: list[Report] = []
    data = table_of(10, partition=pa.array([1, 9, 0, 1, 9, 2, -7, 1, 0, 2]))
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        if known:
            producer.connect(["t"], PATIENCE)
        producer.send_arrow("t", data, origin="o")
        assert producer.flush(PATIENCE)
        assert (producer.totals.confirmed, producer.totals.failed) == (7, 3)
    failed = sorted((row, str(r.error)) for r in reports if r.error for _, row in each_row(r.origins))
    assert [row for row, _ in failed] == [1, 4, 6]
    assert "no partition 9" in failed[0][1]


def test_large_tables_are_placed_piece_by_piece(cluster: FakeCluster) -> None:
    reports: list[Report] = []
    values = [b"%d" % i for i in range(20_000)]
    with Producer(
        bootstrap_servers=cluster.bootstrap,
        on_delivery=reports.append,
        batch_size=4_000,
        buffer_memory=16_000,
    ) as producer:
        peak = 0

        def watch() -> None:
            nonlocal peak
            while not done.is_set():
                peak = max(peak, producer.metrics().buffer_used)
                time.sleep(0.0005)

        done = threading.Event()
        watcher = threading.Thread(target=watch)
        watcher.start()
        assert producer.send_arrow("one", table_of(20_000), origin="i") == 20_000
        assert producer.flush(PATIENCE)
        done.set()
        watcher.join()
    assert [v for _, v in stored(cluster, "one", 0)] == values
    assert peak < 40_000
    rows = array("i", (row for r in reports for _, row in each_row(r.origins)))
    assert sorted(rows) == list(range(20_000))


def test_what_has_no_room_after_a_first_piece_is_reported_and_the_next_call_raises(
    cluster: FakeCluster,
) -> None:
    reports: list[Report] = []
    cluster.hold(ProduceRequest, "request")
    data = pa.table({"value": [b"x" * 100] * 2000, "topic": ["one" if i % 2 else "t" for i in range(2000)]})
    with Producer(
        bootstrap_servers=cluster.bootstrap,
        on_delivery=reports.append,
        batch_size=4_000,
        buffer_memory=16_000,
        max_block_ms=300,
    ) as producer:
        producer.connect(["one", "t"], PATIENCE)
        assert producer.send_arrow(None, data, origin="o") == 2000

        def go_on() -> None:
            while True:  # on a busy machine the time was over before the buffer was full
                producer.send_arrow("one", data, origin="later")

        with pytest.raises(BufferFullError):
            go_on()
        producer.close(timeout=0)
    rows = [row for r in reports for origin, row in each_row(r.origins) if origin == "o"]
    assert sorted(rows) == list(range(2_000))
    assert any(isinstance(r.error, BufferFullError) for r in reports)


@pytest.mark.parametrize("known", [True, False], ids=["topic known", "parked"])
def test_data_may_be_dropped_after_the_call(cluster: FakeCluster, *, known: bool) -> None:
    """Records of an unknown topic wait: their buffers are kept until these are encoded, and released then."""
    source = AsStream(*(b"value %d" % i for i in range(1000)), parts=2)
    gc.disable()  # released by then, not collected at some time
    try:
        with Producer(bootstrap_servers=cluster.bootstrap) as producer:
            if known:
                producer.connect(["one"], PATIENCE)
            assert producer.send_arrow("one", source) == 2000
        assert [v for _, v in stored(cluster, "one", 0)] == [b"value %d" % i for i in range(1000)] * 2
        assert len(source.released) == 2
    finally:
        gc.enable()


def test_a_batch_that_a_broker_finds_too_large_is_split_and_keeps_its_origins(cluster: FakeCluster) -> None:
    cluster.configure("t", max_message_bytes="3000")
    values = [b"x" * (4_000 if i in (3, 77) else 50) for i in range(100)]
    reports: list[Report] = []
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        producer.send_arrow(
            "t", pa.table({"value": values, "key": [b"%d" % i for i in range(100)]}), origin="o"
        )
        assert producer.flush(PATIENCE)
    assert sorted(row for r in reports if r.error for _, row in each_row(r.origins)) == [3, 77]
    assert sorted(row for r in reports if not r.error for _, row in each_row(r.origins)) == [
        row for row in range(100) if row not in (3, 77)
    ]


def wrong_timestamp(table: pa.Table) -> pa.Table:
    return table.append_column("timestamp", pa.array([5] * (len(table) - 1) + [-2]))


def wrong_header(table: pa.Table) -> pa.Table:
    kind = pa.list_(pa.struct([("key", pa.utf8()), ("value", pa.binary())]))
    headers = [None] * (len(table) - 1) + [[{"key": None, "value": b"v"}]]
    return table.append_column("headers", pa.array(headers, kind))


def wrong_topic(table: pa.Table) -> pa.Table:
    return table.append_column("topic", pa.array(["t"] * (len(table) - 1) + ["no topic!"]))


def no_topic(table: pa.Table) -> pa.Table:
    return table.append_column("topic", pa.array(["t"] * (len(table) - 1) + [None]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (wrong_timestamp, "row 4: its timestamp is before 1970"),
        (wrong_header, "row 4: one of its headers has no name"),
        (wrong_topic, "row 4: 'no topic!' is not a valid topic name"),
        (no_topic, "row 4: its topic is null"),
    ],
)
def test_nothing_of_a_table_with_a_wrong_row_is_queued(
    cluster: FakeCluster, change: Callable[[pa.Table], pa.Table], words: str
) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        topic = None if change in (wrong_topic, no_topic) else "t"
        with pytest.raises(ConfigError, match=words):
            producer.send_arrow(topic, change(table_of(5)))
        assert producer.outstanding == 0
        assert producer.totals.failed == 0


def test_calls_that_make_no_sense_are_refused(cluster: FakeCluster) -> None:
    producer = Producer(bootstrap_servers=cluster.bootstrap)
    with producer:
        for topic, data, partition, words in (
            (None, table_of(1), None, "the records have no topic"),
            ("t", table_of(1), "keep", "the partitions cannot be kept"),
            ("t", table_of(1), -1, "partition=-1: it is neither"),
            ("t", table_of(1), "by key", "partition='by key': it is neither"),
            ("t", [1], None, "list is no Arrow data"),
            ("not a topic", table_of(1), None, "is not a valid topic name"),
        ):
            with pytest.raises(ConfigError, match=words):
                producer.send_arrow(topic, data, partition=partition)  # type: ignore[arg-type]
        assert producer.send_arrow("t", table_of(0)) == 0
    with pytest.raises(ClosedError):
        producer.send_arrow("t", table_of(1))


def test_a_stream_that_ends_in_an_error_says_how_many_rows_were_queued(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        with pytest.raises(
            PartlyQueuedError, match=r"4 rows were queued, .*der Datenträger ist voll"
        ) as caught:
            producer.send_arrow("one", AsStream(b"a", b"b", parts=5, fails=2))
        assert caught.value.rows == 4
        bad = pa.Table.from_batches([b for t in (table_of(3), table_of(2)) for b in t.to_batches()])
        times = pa.chunked_array([pa.array([1, 2, 3]), pa.array([4, -5])])
        with pytest.raises(PartlyQueuedError, match=r"3 rows were queued, .*row 1: its timestamp") as caught:
            producer.send_arrow("one", bad.append_column("timestamp", times))
        assert caught.value.exit_code == 2
    assert [v for _, v in stored(cluster, "one", 0)] == [b"a", b"b", b"a", b"b", b"0", b"1", b"2"]


def test_rows_belong_to_the_open_transaction(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, transactional_id="id") as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send_arrow("one", table_of(3))
        producer.begin_transaction()
        producer.send_arrow("one", table_of(2))
        producer.abort_transaction()
        producer.begin_transaction()
        with pytest.raises(PartlyQueuedError):
            producer.send_arrow("one", AsStream(b"a", parts=5, fails=1))
        with pytest.raises(TransactionAbortableError):
            producer.commit_transaction()
        producer.abort_transaction()
    assert cluster.log("one", 0).values(committed=True) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("lost", ["swallow", "drop"])
def test_batches_that_are_lost_on_the_way_are_stored_once_and_in_order(
    cluster: FakeCluster, lost: str
) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap, batch_size=2_000, request_timeout_ms=500) as producer:
        producer.connect(["one"], PATIENCE)
        getattr(cluster, lost)(ProduceRequest, "reset", times=2)
        producer.send_arrow("one", table_of(1000))
        producer.send(ProducerRecord("one", b"last"))
        assert producer.flush(PATIENCE)
    assert [v for _, v in stored(cluster, "one", 0)] == [b"%d" % i for i in range(1000)] + [b"last"]


def test_timestamps_too_far_apart_for_one_batch_are_sent_in_two(cluster: FakeCluster) -> None:
    cluster.configure("one", message_timestamp_after_max_ms=str((1 << 63) - 1))
    data = table_of(3, timestamp=pa.array([-1, (1 << 63) - 1, 5]))
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.send_arrow("one", data)
    assert [batch.count for batch in sent_batches(cluster)] == [1, 2]


def test_data_frames_of_polars_are_sent(cluster: FakeCluster) -> None:
    frame = pl.DataFrame({"key": ["a"] * 3, "value": ["x" * 20, None, ""]})
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        assert producer.send_arrow("one", frame) == 3
    assert stored(cluster, "one", 0) == [(b"a", b"x" * 20), (b"a", None), (b"a", b"")]


def test_data_that_change_while_they_wait_fail_and_are_reported(cluster: FakeCluster) -> None:
    """Arrow's buffers must not be modified; if they are, the rows are reported as failed, and nothing else breaks."""
    offsets = bytearray(struct.pack("=4i", 0, 1, 2, 3))
    value = pa.Array.from_buffers(pa.binary(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abc")])
    reports: list[Report] = []
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        held = cluster.hold(MetadataRequest)
        producer.send_arrow("one", pa.table({"value": value}), origin="o")
        offsets[4:8] = struct.pack("=i", 77)
        held.release()
        assert producer.flush(PATIENCE)
    assert [row for r in reports for _, row in each_row(r.origins)] == [0, 1, 2]
    assert "row 0: its value is not within the data" in str(reports[0].error)
