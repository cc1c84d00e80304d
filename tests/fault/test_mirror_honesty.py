"""What a mirror cannot copy, or no longer trusts, is detected, named and ends its partition; the others continue."""

from collections.abc import Iterator

import crc32c
import pytest

from kcli.core.errors import CorruptRecordsError, DataLossError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import Gap, PartitionCopy
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirroring import Job

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COUNT = 40


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2}) as made:
        fill(made)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"copy": 2, STATE_TOPIC: 1}, cluster_id="there") as made:
        yield made


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"])
def exactly_once(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def fill(cluster: FakeCluster, count: int = COUNT, word: bytes = b"") -> None:
    for partition in range(2):
        for number in range(0, count, 4):
            values = [word + b"%d-%d" % (partition, number + index) for index in range(4)]
            cluster.append("t", partition, batch(*values, timestamp=1_000))


def copied(
    source: FakeCluster, target: FakeCluster, exactly_once: bool, stops: list[int] | None = None, **how: str
) -> dict[TopicPartition, PartitionCopy]:
    with Job(source, target, 2, exactly_once=exactly_once, stops=stops, how=how) as job:
        return job.run()


def values(cluster: FakeCluster, topic: str, partition: int) -> list[bytes | None]:
    return list(cluster.log(topic, partition).values(committed=True))


@pytest.mark.case("M4", "R8")
def test_records_that_retention_removed_end_their_partition_only(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    copied(source, target, exactly_once, [8, 8])
    source.delete_records("t", 0, 20)
    copies = copied(source, target, exactly_once)
    assert isinstance(copies[T0].error, DataLossError)
    assert "offset 8 is out of range" in str(copies[T0].error)
    assert copies[T0].position == 8
    assert copies[T1].error is None
    assert values(target, "copy", 1) == values(source, "t", 1)


@pytest.mark.case("M4", "R8")
def test_with_on_gap_record_the_gap_is_reported_and_the_copy_continues(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    copied(source, target, exactly_once, [8, 8])
    source.delete_records("t", 0, 20)
    copies = copied(source, target, exactly_once, on_gap="record")
    assert copies[T0].error is None
    assert [gap[:3] for gap in copies[T0].gaps] == [Gap(T0, 8, 20, "")[:3]]
    assert values(target, "copy", 0) == [b"0-%d" % n for n in (*range(8), *range(20, COUNT))]
    offsets = copies[T0].offsets
    assert offsets is not None
    resumed = offsets.translate(20)
    assert [offsets.translate(at) for at in (7, 8, 15)] == [7, resumed, resumed]
    assert offsets.translate(COUNT) == offsets.target_end


@pytest.mark.case("M13", "R8", "X5")
def test_a_damaged_batch_is_not_copied(source: FakeCluster, target: FakeCluster, exactly_once: bool) -> None:
    raw = bytearray(batch(b"damaged", timestamp=1_000))
    raw[-1] ^= 0xFF
    source.append("t", 0, bytes(raw))
    source.append("t", 0, batch(b"later", timestamp=1_000))
    copies = copied(source, target, exactly_once)
    assert isinstance(copies[T0].error, CorruptRecordsError)
    assert copies[T0].position == COUNT
    assert values(target, "copy", 0) == [b"0-%d" % n for n in range(COUNT)]
    assert values(target, "copy", 1) == values(source, "t", 1)


@pytest.mark.case("M6", "R8")
def test_a_source_that_was_truncated_after_the_copy_is_noticed(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    copied(source, target, exactly_once)
    source.truncate("t", 0, 20)
    source.move_leader("t", 0, 2)
    for _ in range(30):
        source.append("t", 0, batch(b"other", timestamp=1_000))
    copies = copied(source, target, exactly_once)
    assert isinstance(copies[T0].error, DataLossError)
    assert b"other" not in values(target, "copy", 0)
    assert copies[T1].error is None


@pytest.mark.case("M7", "R8")
def test_a_target_that_lost_records_is_noticed(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    copied(source, target, exactly_once, [20, 20])
    target.truncate("copy", 0, 10)
    copies = copied(source, target, exactly_once)
    assert isinstance(copies[T0].error, DataLossError)
    assert "the target lost records" in copies[T0].error.why
    assert copies[T1].error is None


def damaged_batch(*values: bytes) -> bytes:
    raw = bytearray(batch(*values, timestamp=1_000))
    raw[-1] ^= 0xFF
    return bytes(raw)


@pytest.mark.case("M13", "R8")
def test_with_on_gap_record_damaged_batches_are_gaps_and_the_copy_continues(
    source: FakeCluster, target: FakeCluster, exactly_once: bool
) -> None:
    source.append("t", 0, damaged_batch(b"x", b"y", b"z"))
    source.append("t", 0, batch(b"between", timestamp=1_000))
    source.append("t", 0, damaged_batch(b"last"))
    source.append("t", 1, batch(b"other", timestamp=1_000))
    copies = copied(source, target, exactly_once, on_gap="record")
    assert copies[T0].error is None
    gaps = [(gap.first, gap.stop) for gap in copies[T0].gaps]
    assert gaps == [(COUNT, COUNT + 3), (COUNT + 4, COUNT + 5)]
    assert "damaged on the source" in copies[T0].gaps[0].why
    assert "checksum" in copies[T0].gaps[0].why
    assert values(target, "copy", 0) == [*(b"0-%d" % n for n in range(COUNT)), b"between"]
    assert values(target, "copy", 1) == values(source, "t", 1)
    assert copies[T0].position == COUNT + 5


def compressed_nonsense() -> bytes:
    """A batch whose checksum is right and whose compressed records are not; with a hole, so that it must be decoded."""
    raw = bytearray(batch(b"a" * 50, b"b" * 50, codec=1, timestamp=1_000))
    raw[61:] = b"\x00" * (len(raw) - 61)
    raw[23:27] = (9).to_bytes(4, "big")  # last offset delta: more offsets than records
    raw[17:21] = crc32c.crc32c(bytes(raw[21:])).to_bytes(4, "big")
    return bytes(raw)


@pytest.mark.case("M13", "M17", "R8")
@pytest.mark.parametrize("on_gap", ["fail", "record"])
def test_a_batch_that_cannot_be_decompressed_concerns_its_partition_only(
    source: FakeCluster, target: FakeCluster, exactly_once: bool, on_gap: str
) -> None:
    source.append("t", 0, compressed_nonsense())
    source.append("t", 0, batch(b"later", timestamp=1_000))
    copies = copied(source, target, exactly_once, on_gap=on_gap)
    assert values(target, "copy", 1) == values(source, "t", 1)
    before = [b"0-%d" % n for n in range(COUNT)]
    if on_gap == "fail":
        assert isinstance(copies[T0].error, CorruptRecordsError)
        assert str(copies[T0].error).startswith("t-0: ")
        assert copies[T0].position == COUNT
        assert values(target, "copy", 0) == before
    else:
        assert [(gap.first, gap.stop) for gap in copies[T0].gaps] == [(COUNT, COUNT + 10)]
        assert values(target, "copy", 0) == [*before, b"later"]
