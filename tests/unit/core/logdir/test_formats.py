"""The files beside a log: indexes, snapshots, checkpoints. What is wrong with them is said, with the place."""

import struct
from random import Random

import pytest

from kcli.core.errors import DamagedFileError
from kcli.core.logdir import checkpoints
from kcli.core.logdir.aborted_index import Aborted, read_aborted_index
from kcli.core.logdir.checkpoints import MetaProperties, parse_topic_id
from kcli.core.logdir.leader_epochs import EpochStart, diverges_at, end_of_epoch, parse_leader_epochs
from kcli.core.logdir.offset_index import IndexEntry, OffsetIndex
from kcli.core.logdir.producer_snapshot import ProducerState, parse_producer_snapshot
from kcli.core.logdir.replicas import Choice, Difference, Replica, choose_replica
from kcli.core.logdir.segment_files import SegmentFile, choose
from kcli.core.logdir.time_index import TimeEntry, TimeIndex
from kcli.core.types import TopicPartition
from tests.segments import aborted_index, epochs, name, offsets, snapshot


def index(*rows: tuple[int, int], more: bytes = b"") -> OffsetIndex:
    return OffsetIndex(b"".join(struct.pack(">ii", *row) for row in rows) + more, 100, "x.index")


def times(*rows: tuple[int, int], more: bytes = b"") -> TimeIndex:
    return TimeIndex(b"".join(struct.pack(">qi", *row) for row in rows) + more, 100, "x.timeindex")


def test_an_offset_index() -> None:
    found = index((5, 70), (9, 256), (30, 1 << 24), more=bytes(8 * 1_000))
    assert list(found) == [IndexEntry(105, 70), IndexEntry(109, 256), IndexEntry(130, 1 << 24)]
    assert found[-1] == IndexEntry(130, 1 << 24)
    found.check(1 << 25)
    assert found.places_before(104) == []
    assert found.places_before(105) == [70]
    assert found.places_before(129) == [256, 70]
    assert found.places_before(1 << 40) == [1 << 24, 256, 70]
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize(
    ("broken", "at", "why"),
    [
        (index((5, 70), (5, 90)), 8, "offset 105 at position 90 after offset 105 at 70"),
        (index((5, 70), (4, 90)), 8, "offset 104 at position 90 after offset 105 at 70"),
        (index((5, 70), (6, 70)), 8, "offset 106 at position 70 after offset 105 at 70"),
        (index((-1, 70)), 0, "offset 99 at position 70 after offset 99 at -1"),
        (index((5, 500)), 0, "position 500 for offset 105, the log has 500 bytes"),
        (index((5, 70), more=b"abc"), 8, "3 bytes of an entry of 8"),
    ],
)
def test_an_offset_index_that_does_not_rise(broken: OffsetIndex, at: int, why: str) -> None:
    with pytest.raises(DamagedFileError) as caught:
        broken.check(500)
    assert (caught.value.position, caught.value.why) == (at, why)


def test_a_time_index() -> None:
    found = times((1_000, 5), (2_000, 9), more=bytes(120))
    assert list(found) == [TimeEntry(1_000, 105), TimeEntry(2_000, 109)]
    found.check()
    assert found.before(1_000) is None
    assert found.before(1_001) == TimeEntry(1_000, 105)
    assert found.before(9_999) == TimeEntry(2_000, 109)
    for broken in (
        times((1_000, 5), (1_000, 6)),
        times((1_000, 5), (1_001, 4)),
        times((1, -1)),
        times((1, 1), more=b"x"),
    ):
        with pytest.raises(DamagedFileError, match=r"x\.timeindex at byte"):
            broken.check()


def test_a_transaction_index() -> None:
    data = aborted_index([(5, 1, 4, 5), (6, 2, 9, 3)])
    assert read_aborted_index(data, "x") == ([Aborted(5, 1, 4, 5), Aborted(6, 2, 9, 3)], None)
    for broken, why in (
        (data[:-1], "33 bytes of an entry of 34"),
        (b"\0\1" + data[2:], "version 1, and 0 is known"),
        (aborted_index([(5, 4, 1, 5)]), "producer 5 aborted offsets 4 to 1"),
        (aborted_index([(-5, 1, 4, 5)]), "producer -5"),
        (data + aborted_index([(7, 0, 9, 9)]), "the marker at offset 9 after the one at 9"),
    ):
        _, error = read_aborted_index(broken, "x")
        assert why in str(error)
    entries, error = read_aborted_index(data[:40], "x")
    assert entries == [Aborted(5, 1, 4, 5)]
    assert error is not None
    assert error.position == 34


def test_a_producer_snapshot() -> None:
    rows = [(5, 1, 77, 900, 2, 1_700_000_000_000, 3, -1), (1 << 40, 0, 0, 9, 0, 5, -1, 8)]
    data = snapshot(rows)
    assert parse_producer_snapshot(data, "x") == tuple(ProducerState(*row) for row in rows)
    assert parse_producer_snapshot(snapshot([]), "x") == ()
    flipped = data[:-1] + bytes((data[-1] ^ 1,))
    for broken, why in (
        (b"", "0 bytes are no snapshot"),
        (b"\0\2" + data[2:], "version 2, and 1 is known"),
        (flipped, "its checksum is"),
        (data[:-1], "its checksum is"),
    ):
        with pytest.raises(DamagedFileError, match=why):
            parse_producer_snapshot(broken, "x")


def test_leader_epochs() -> None:
    found = parse_leader_epochs(epochs([(0, 0), (2, 10), (5, 10), (6, 30)]), "x")
    assert found == (EpochStart(0, 0), EpochStart(2, 10), EpochStart(5, 10), EpochStart(6, 30))
    assert parse_leader_epochs(epochs([]), "x") == ()
    for rows in ([(2, 10), (2, 11)], [(2, 10), (3, 9)], [(-1, 0)]):
        with pytest.raises(DamagedFileError, match="after epoch"):
            parse_leader_epochs(epochs(rows), "x")
    with pytest.raises(DamagedFileError, match="not two numbers"):
        parse_leader_epochs(b"0\n1\nx 5\n", "x")
    assert end_of_epoch(found, 40, 6) == EpochStart(6, 40)
    assert end_of_epoch(found, 40, 3) == EpochStart(2, 10)
    assert end_of_epoch(found, 40, 99) == EpochStart(6, 40)
    assert end_of_epoch(found[1:], 40, 1) == EpochStart(-1, -1)


def test_where_replicas_diverge() -> None:
    long = (EpochStart(0, 0), EpochStart(2, 10), EpochStart(3, 20))
    short = (EpochStart(0, 0), EpochStart(2, 10))
    assert diverges_at(long, 25, short, 18) == 18
    assert diverges_at(long, 25, short, 22) == 20
    assert diverges_at(long, 25, (EpochStart(0, 0), EpochStart(1, 8)), 12) == 8
    assert diverges_at(long, 25, (EpochStart(7, 40),), 50) == 0
    assert diverges_at((), 25, (), 20) == 20


def test_the_replica_that_is_read() -> None:
    long = Replica(1, 3, 25, (EpochStart(0, 0), EpochStart(3, 20)))
    stale = Replica(2, 1, 30, (EpochStart(0, 0), EpochStart(1, 15)))
    behind = Replica(3, 3, 22, (EpochStart(0, 0), EpochStart(3, 20)))
    assert choose_replica([stale, behind, long]) == Choice(2, (Difference(0, 15, 30, False),))
    assert choose_replica([stale, behind, long], isr=[3]) == Choice(
        1, (Difference(0, 15, 30, False), Difference(2, 22, 25, True))
    )
    assert choose_replica([stale, behind, long], isr=[9]).number == 2
    assert choose_replica([behind]).number == 0


def test_checkpoints_of_offsets() -> None:
    data = offsets([("a-b", 3, 7), ("__x", 0, -1)])
    assert checkpoints.parse_offset_checkpoint(b"", "x") == {}  # as a broker creates it
    assert checkpoints.parse_offset_checkpoint(data, "x") == {
        TopicPartition("a-b", 3): 7,
        TopicPartition("__x", 0): -1,
    }
    for broken, why in (
        (b"0\n", "1 lines"),
        (b"1\n0\n", "version '1'"),
        (b"0\nx\n", "'x' is not a number"),
        (b"0\n1\na 0\n", "2 fields in place of 3"),
        (b"0\n1\na 0 x\n", "'x' is not a number"),
        (b"0\n2\na 0 1\na 0 2\n", "a-0 is in it twice"),
        (b"0\n1\na 0 1\xff\n", "not text"),
        (b"0\n1\na 0 " + b"9" * 30, "not a number of 64 bits"),
        (b"0\n1\na 0 " + b"9" * 5_000, "is not a number"),
    ):
        with pytest.raises(DamagedFileError, match=why):
            checkpoints.parse_offset_checkpoint(broken, "x")


def test_properties() -> None:
    parse = checkpoints.parse_meta_properties
    assert parse(b"version=0\nbroker.id=4\ncluster.id=abc\n", "x") == MetaProperties(0, 4, "abc", "")
    assert parse(b"#\nversion = 1\nnode.id = 4\ndirectory.id=d\n", "x") == MetaProperties(1, 4, "", "d")
    assert parse(b"", "x") == MetaProperties(0)
    with pytest.raises(DamagedFileError, match="version 2"):
        parse(b"version=2\n", "x")
    assert checkpoints.parse_partition_metadata(
        b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n", "x"
    ) == bytes(range(16))
    for text in (
        b"",
        b"version: 1\n",
        b"version: 0\ntopic_id: AAEC\n",
        b"version: 0\ntopic_id: " + b"!" * 22,
    ):
        with pytest.raises(DamagedFileError):
            checkpoints.parse_partition_metadata(text, "x")
    assert parse_topic_id("é" * 22) is None


def files(*names: str, sizes: int = 10) -> list[SegmentFile]:
    return [SegmentFile(int(one[:20]), one, sizes) for one in names]


def test_segments_that_were_being_replaced() -> None:
    """As a broker takes them up when it starts again (LogLoader)."""
    plain = [name(0), name(10), name(20), name(30)]

    def chosen(*names: str, ends: int = 25) -> tuple[list[str], list[str]]:
        found = choose(files(*names), lambda _file: ends)
        return [file.name for file in found.files], [file.name for file in found.others]

    assert chosen(*plain) == (plain, [])
    assert chosen(*plain, name(0) + ".deleted") == (plain, [name(0) + ".deleted"])
    swap = name(0) + ".swap"
    assert chosen(*plain, swap) == ([swap, name(30)], plain[:3])
    assert chosen(name(30), swap, *(one + ".deleted" for one in plain[:3]))[0] == [swap, name(30)]
    assert chosen(*plain, name(0) + ".cleaned") == (plain, [name(0) + ".cleaned"])
    assert chosen(*plain, swap, name(0) + ".cleaned")[0] == plain
    later = name(10) + ".cleaned"
    assert chosen(*plain, swap, later, ends=10) == ([swap, *plain[1:]], [name(0), later])
    one, two = (name(0, f"-{letter * 22}.log") for letter in "ab")
    twice = choose([SegmentFile(0, one, 10), SegmentFile(0, two, 20)], lambda _file: 0)
    assert [file.name for file in twice.files] == [two]
    assert [file.name for file in twice.others] == [one]
    assert SegmentFile(0, swap, 0).beside(".index") == name(0, ".index.swap")
    assert SegmentFile(0, one, 0).beside(".index") == one.replace(".log", ".index")


def test_indexes_of_any_bytes() -> None:
    rng = Random(4)
    for _ in range(2_000):
        data = rng.randbytes(rng.randrange(80)) + bytes(rng.randrange(20))
        offset_index, time_index = OffsetIndex(data, 7, "x"), TimeIndex(data, 7, "x")
        assert len(offset_index.places_before(rng.randrange(1 << 40))) <= 3
        time_index.before(rng.randrange(1 << 62))
        assert len(offset_index) <= len(data) // 8
        assert len(time_index) <= len(data) // 12
