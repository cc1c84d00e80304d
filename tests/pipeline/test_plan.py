"""Division of ranges into slices."""

import random
from itertools import pairwise

from kcli.pipeline.plan import SMALLEST_SLICE, Slice, split


def slices(*sizes: int) -> list[Slice]:
    return [Slice("t", b"", number, 7, 7 + size) for number, size in enumerate(sizes)]


def test_equal_partitions_stay_whole() -> None:
    assert sorted(split(slices(10**6, 10**6, 10**6), 3)) == slices(10**6, 10**6, 10**6)


def test_a_partition_with_more_than_its_share_is_divided() -> None:
    found = split(slices(3_000_000, 100_000), 2)
    assert [each.offsets for each in found] == [1_500_000, 1_500_000, 100_000]


def test_small_partitions_are_not_divided() -> None:
    assert len(split(slices(SMALLEST_SLICE, 0), 8)) == 2


def test_slices_cover_the_same_offsets_once_and_differ_little() -> None:
    chance = random.Random(1)
    for _ in range(200):
        whole = slices(*(chance.choice((0, 1, 10**5, 10**6, 10**7)) for _ in range(chance.randint(1, 6))))
        slots = chance.randint(1, 9)
        found = split(whole, slots)
        for one in whole:
            parts = sorted(each for each in found if each.partition == one.partition)
            assert parts[0].start == one.start
            assert parts[-1].end == one.end
            assert all(a.end == b.start for a, b in pairwise(parts))
        share = max(SMALLEST_SLICE, sum(one.offsets for one in whole) / slots)
        assert max(each.offsets for each in found) <= share * 1.5 + 1
