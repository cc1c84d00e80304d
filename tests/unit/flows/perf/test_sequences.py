"""Sets of sequence numbers: the same answers as a set has, in as many intervals as there are gaps."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.perf.sequences import Sequences

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))))


def of(*ranges: tuple[int, int]) -> Sequences:
    found = Sequences()
    for start, stop in ranges:
        found.add(start, stop)
    return found


def plain(ranges: list[tuple[int, int]]) -> set[int]:
    return {number for start, stop in ranges for number in range(start, stop)}


@given(ranges=RANGES)
def test_what_is_added_is_there_and_repeats_are_counted(ranges: list[tuple[int, int]]) -> None:
    found, reference = Sequences(), set[int]()
    for start, stop in ranges:
        added = set(range(start, stop))
        assert found.add(start, stop) == len(added & reference)
        reference |= added
    assert plain(list(found)) == reference
    assert len(found) == len(reference)
    assert found.stop == max(reference, default=-1) + 1


@given(ranges=RANGES)
def test_there_is_an_interval_for_each_gap_and_one_more(ranges: list[tuple[int, int]]) -> None:
    intervals = list(of(*ranges))
    assert all(start < stop for start, stop in intervals)
    assert all(stop < start for (_, stop), (start, _) in pairwise(intervals))


@given(ranges=RANGES, start=st.integers(0, 70), size=st.integers(0, 30))
def test_counting_in_a_range(ranges: list[tuple[int, int]], start: int, size: int) -> None:
    wanted = set(range(start, start + size))
    assert of(*ranges).count(start, start + size) == len(plain(ranges) & wanted)


@given(one=RANGES, other=RANGES)
def test_joining_and_comparing_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert of(*one).without(of(*other)) == len(plain(one) - plain(other))
    both = of(*one)
    assert both.update(of(*other)) == len(plain(one) & plain(other))
    assert plain(list(both)) == plain(one) | plain(other)
