"""Comparing two clusters: equal partitions are proven equal, and the first difference is named by its offsets."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcli.core.errors import DataLossError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.proof import digest
from kcli.flows.mirror.proof.compare import Comparison, Difference, Extent, Pair, compare
from kcli.flows.stop import Stop
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.fetching import quick_reader

TP, COPY = TopicPartition("t", 0), TopicPartition("copy", 0)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"copy": 2}) as made:
        yield made


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "CHUNK_RECORDS", 16)


def fill(cluster: FakeCluster, tp: TopicPartition, values: list[bytes], size: int) -> None:
    for first in range(0, len(values), size):
        cluster.append(*tp, batch(*values[first : first + size], timestamp=1_000))


def compared(source: FakeCluster, target: FakeCluster, *pairs: Pair, **options: Any) -> list[Comparison]:
    with quick_reader(source, **options) as left, quick_reader(target, **options) as right:
        return compare(left, right, pairs, timestamps=True, stop=Stop(), progress=lambda _: None)


def values(count: int) -> list[bytes]:
    return [b"value %d" % number for number in range(count)]


def whole(count: int, copied: int | None = None, partition: int = 0) -> Pair:
    one, two = TopicPartition("t", partition), TopicPartition("copy", partition)
    return Pair(Extent(one, 0, count), Extent(two, 0, count if copied is None else copied))


def test_equal_records_in_other_batches_are_equal(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, TP, values(100), 7)
    fill(target, COPY, values(100), 30)
    (found,) = compared(source, target, whole(100))
    assert found.equal
    assert (found.source_records, found.target_records) == (100, 100)
    assert found.source_digest == found.target_digest


def test_only_the_named_offsets_are_compared(source: FakeCluster, target: FakeCluster) -> None:
    fill(source, TP, values(100), 10)
    fill(target, COPY, [b"older", *values(100)[20:60], b"later"], 10)
    (found,) = compared(source, target, Pair(Extent(TP, 20, 60), Extent(COPY, 1, 41)))
    assert found.equal


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda v: [*v[:50], b"other", *v[51:]], Difference(50, 50, "different value")),
        (lambda v: v[:50] + v[51:], Difference(50, 50, "different value")),
        (lambda v: v[:99], Difference(99, None, "the target has no record for it", "target")),
        (lambda v: [*v, b"more"], Difference(None, 100, "the target has a record too many", "source")),
        (lambda v: v[:64], Difference(64, None, "the target has no record for it", "target")),
    ],
    ids=["changed", "missing", "last missing", "one too many", "whole chunks missing"],
)
def test_the_first_difference_is_named(
    source: FakeCluster,
    target: FakeCluster,
    change: Callable[[list[bytes]], list[bytes]],
    difference: Difference,
) -> None:
    copied = change(values(100))
    fill(source, TP, values(100), 10)
    fill(target, COPY, copied, 10)
    (found,) = compared(source, target, whole(100, len(copied)))
    assert not found.equal
    assert found.difference == difference


def test_a_partition_that_cannot_be_read_does_not_stop_the_others(
    source: FakeCluster, target: FakeCluster
) -> None:
    for partition in (0, 1):
        fill(source, TopicPartition("t", partition), values(50), 10)
        fill(target, TopicPartition("copy", partition), values(50), 10)
    source.delete_records("t", 0, 20)
    one, two = compared(source, target, whole(50), whole(50, partition=1), on_out_of_range="fail")
    assert isinstance(one.error, DataLossError)
    assert not one.equal
    assert two.equal


def test_an_empty_extent_is_equal_to_an_empty_one_only(source: FakeCluster, target: FakeCluster) -> None:
    fill(target, COPY, values(1), 1)
    (equal,) = compared(source, target, whole(0))
    (other,) = compared(source, target, whole(0, 1))
    assert equal.equal
    assert other.difference == Difference(None, 0, "the target has a record too many", "source")
