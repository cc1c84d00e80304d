"""``Producer.send_text`` against brokers: where lines go, what too long ones do, what reports say about origins."""

from array import array
from collections.abc import Iterator

import pytest

from kcli.core import Producer
from kcli.core.errors import BufferFullError, ConfigError, UnknownPartitionError
from kcli.core.kernels.active import encode_headers
from kcli.core.producer.report import Report
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE
from tests.parity.plain import murmur2
from tests.unit.core.producer.rows import each_row


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"t": 3, "one": 1}) as cluster:
        yield cluster


def records(cluster: FakeCluster, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(r.key, r.value) for r in cluster.log(topic, partition).records()]


def test_lines_go_to_the_partition_of_their_key_in_order(cluster: FakeCluster) -> None:
    text = bytearray(b"".join(b"k%d:%d\n" % (i % 7, i) for i in range(500)) + b"no key\nk1:\nlast:")
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        producer.connect(["t"], PATIENCE)
        assert producer.send_text("t", text, key_delimiter=b":") == 503
        text[:] = b"\0" * len(text)  # it is the caller's again
        assert producer.flush(PATIENCE)
    found = [records(cluster, "t", p) for p in range(3)]
    for number, own in enumerate(found):
        keyed = [(k, v) for k, v in own if k is not None]
        assert all((murmur2(k) & 0x7FFFFFFF) % 3 == number for k, _ in keyed)
        counts = [int(v) for k, v in keyed if v]
        assert counts == sorted(counts)
    assert sum(map(len, found)) == 503
    everything = [pair for own in found for pair in own]
    assert (None, b"no key") in everything
    assert (b"last", b"") in everything


def test_lines_without_a_key_leave_a_partition_whose_batches_are_never_full(cluster: FakeCluster) -> None:
    """A slow input: each line is sent alone. A partition has as many bytes as a batch may have, no less (KIP-794)."""
    with Producer(bootstrap_servers=cluster.bootstrap, batch_size=100, linger_ms=0.0) as producer:
        producer.connect(["t"], PATIENCE)
        for number in range(600):
            producer.send_text("t", b"%09d\n" % number)
            assert producer.flush(PATIENCE)
    found = [[int(value or b"") for _, value in records(cluster, "t", number)] for number in range(3)]
    assert sum(map(len, found)) == 600
    assert all(found)  # the chance that one of three is never chosen in 60 turns is 1 in 10^10
    for own in found:
        assert own == sorted(own)
        assert {number // 10 for number in own} == {number // 10 for number in own[::10]}
        assert len(own) % 10 == 0  # ten lines of ten bytes a turn


@pytest.mark.parametrize("partitioner", ["consistent", "hashcode", "random", "roundrobin"])
def test_other_partitioners_assign_lines_too(cluster: FakeCluster, partitioner: str) -> None:
    text = b"".join(b"k%d:%d\n" % (i, i) for i in range(60))
    with Producer(bootstrap_servers=cluster.bootstrap, partitioner=partitioner) as producer:
        producer.send_text("t", text, key_delimiter=b":")
        producer.send_text("t", b"a\nb\n", key=b"all")
        producer.send_text("t", b"c\nd\n")
    found = [pair for p in range(3) for pair in records(cluster, "t", p)]
    expected = [(b"k%d" % i, b"%d" % i) for i in range(60)]
    expected += [(b"all", b"a"), (b"all", b"b"), (None, b"c"), (None, b"d")]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_a_region_nulls_headers_and_a_delimiter(cluster: FakeCluster) -> None:
    headers = encode_headers([("h", None), ("h", b"1")])
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        sent = producer.send_text(
            "one", b"skipped|k=NULL|=v|=|rest", start=8, end=22, delimiter=b"|", key_delimiter=b"=",
            null_marker=b"NULL", empty_is_null=True, headers=headers, timestamp=17,
        )  # fmt: skip
        assert sent == 4
    found = cluster.log("one", 0).records()
    assert [(r.key, r.value) for r in found] == [(b"k", None), (None, b"v"), (None, None), (None, b"re")]
    assert {(r.headers, r.timestamp) for r in found} == {((("h", None), ("h", b"1")), 17)}


@pytest.mark.parametrize("known", [True, False], ids=["topic known", "parked"])
@pytest.mark.parametrize("topic", ["t", "one"])
def test_lines_that_are_too_long_fail_alone_and_origins_name_them(
    cluster: FakeCluster, topic: str, *, known: bool
) -> None:
    lines = [b"x" * (100 if i % 50 else 200) for i in range(200)]
    reports: list[Report] = []
    producer = Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append, batch_size=2_000)
    with producer:
        if known:
            producer.connect([topic], PATIENCE)
        assert producer.send_text(topic, b"\n".join(lines), longest=150, origin="input") == 200
        assert producer.flush(PATIENCE)
    assert (producer.totals.confirmed, producer.totals.failed) == (196, 4)
    failed = [row for r in reports if r.error for row in each_row(r.origins)]
    assert failed == [("input", row) for row in (0, 50, 100, 150)]
    assert all(isinstance(r.error, RecordTooLargeError) for r in reports if r.error)
    confirmed = sorted(row for r in reports if not r.error for _, row in each_row(r.origins))
    assert confirmed == [row for row in range(200) if row % 50]


@pytest.mark.case("C9")
def test_a_split_batch_keeps_its_origins(cluster: FakeCluster) -> None:
    """One record above the topic's limit fails alone, and its row is reported."""
    cluster.configure("t", max_message_bytes="3000")
    lines = [b"k%d:" % i + b"x" * (4_000 if i in (3, 77) else 50) for i in range(100)]
    reports: list[Report] = []
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        producer.send_text("t", b"\n".join(lines), key_delimiter=b":", origin="input")
        assert producer.flush(PATIENCE)
    failed = sorted(row for r in reports if r.error for _, row in each_row(r.origins))
    assert failed == [3, 77]
    assert sorted(row for r in reports if not r.error for _, row in each_row(r.origins)) == [
        row for row in range(100) if row not in (3, 77)
    ]


def test_rows_may_name_their_partitions_and_have_origins(cluster: FakeCluster) -> None:
    reports: list[Report] = []
    rows = [(None, b"%d" % i, b"\0", i) for i in range(10)]
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        producer.send_rows("t", rows, partitions=[i % 3 for i in range(10)], origin="rows")
        assert producer.flush(PATIENCE)
        with pytest.raises(ConfigError, match="2 partitions for 10 rows"):
            producer.send_rows("t", rows, partitions=[0, 1])
    for number in range(3):
        assert [int(v or b"") for _, v in records(cluster, "t", number)] == list(range(number, 10, 3))
        own = [r for r in reports if r.tp == TopicPartition("t", number)]
        assert [row for r in own for _, row in each_row(r.origins)] == list(range(number, 10, 3))


def test_large_texts_are_placed_piece_by_piece_and_rows_continue_counting(cluster: FakeCluster) -> None:
    reports: list[Report] = []
    lines = [b"%d" % i for i in range(20_000)]
    with Producer(
        bootstrap_servers=cluster.bootstrap,
        on_delivery=reports.append,
        batch_size=4_000,
        buffer_memory=16_000,
    ) as producer:
        assert producer.send_text("one", b"\n".join(lines), origin="i") == 20_000
        assert producer.flush(PATIENCE)
    assert [v for _, v in records(cluster, "one", 0)] == lines
    rows = array("i", (row for r in reports for _, row in each_row(r.origins)))
    assert sorted(rows) == list(range(20_000))


def test_calls_that_make_no_sense_are_refused(cluster: FakeCluster) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for wrong in ({"delimiter": b""}, {"key": b"k", "key_delimiter": b":"}, {"start": 3}, {"end": 9}):
            with pytest.raises(ConfigError):
                producer.send_text("t", b"a\n", **wrong)  # type: ignore[arg-type]
        assert producer.send_text("t", b"") == 0


@pytest.mark.parametrize("known", [True, False], ids=["topic known", "parked"])
def test_a_row_of_a_partition_that_does_not_exist_fails_alone(cluster: FakeCluster, *, known: bool) -> None:
    reports: list[Report] = []
    rows = [(None, b"%d" % i, b"\0", i) for i in range(10)]
    partitions = [1, 9, 0, 1, 9, 2, -1, 1, 0, 2]
    with Producer(bootstrap_servers=cluster.bootstrap, on_delivery=reports.append) as producer:
        if known:
            producer.connect(["t"], PATIENCE)
        producer.send_rows("t", rows, partitions=partitions, origin="rows", first_row=100)
        assert producer.flush(PATIENCE)
        assert (producer.totals.confirmed, producer.totals.failed) == (7, 3)
        if known:
            with pytest.raises(UnknownPartitionError):
                producer.send_rows("t", rows, partition=9)
    failed = sorted((row, str(r.error)) for r in reports if r.error for _, row in each_row(r.origins))
    assert [row for row, _ in failed] == [101, 104, 106]
    assert "no partition 9" in failed[0][1]
    assert "has no partition" in failed[2][1]
    assert sorted(row for r in reports if not r.error for _, row in each_row(r.origins)) == [
        100, 102, 103, 105, 107, 108, 109,
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["rows", "text"])
def test_what_has_no_room_after_a_first_piece_is_reported_and_the_next_call_raises(
    cluster: FakeCluster, form: str
) -> None:
    """Rows that were queued are settled, the others have failed: none is in both, none in neither."""
    reports: list[Report] = []
    cluster.hold(ProduceRequest, "request")

    def send() -> None:
        if form == "rows":
            producer.send_rows("one", [(None, b"x" * 100, b"\0", i) for i in range(2_000)], origin="o")
        else:
            producer.send_text("one", b"\n".join([b"x" * 100] * 2_000), origin="o")

    with Producer(
        bootstrap_servers=cluster.bootstrap,
        on_delivery=reports.append,
        batch_size=4_000,
        buffer_memory=16_000,
        max_block_ms=300,
    ) as producer:
        producer.connect(["one"], PATIENCE)
        send()
        with pytest.raises(BufferFullError):
            send()
        producer.close(timeout=0)
    assert sorted(row for r in reports for _, row in each_row(r.origins)) == list(range(2_000))
    assert any(isinstance(r.error, BufferFullError) for r in reports)
