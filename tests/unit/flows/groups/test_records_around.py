"""Records around commits: gaps, odd counts, commits outside of the log, and what a budget allows."""

from itertools import pairwise

import pytest

from kcli.core.types import TopicPartition
from kcli.flows.groups.bounded_reads import Budget
from kcli.flows.groups.records_around import records_around
from tests.log_reader import LogReader, log

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
PLENTY = 1 << 30


def offsets(reader: LogReader, commits: dict[TopicPartition, int], count: int, size: int = PLENTY) -> object:
    found = records_around(reader, commits, count, Budget(size, 60.0), 1.0)  # type: ignore[arg-type]
    return {
        tp.partition: ([r.offset for r in around.read], [r.offset for r in around.next])
        for tp, around in found.items()
    }


@pytest.mark.parametrize(
    ("count", "read", "following"),
    [(1, [], [50]), (2, [49], [50]), (3, [49], [50, 51]), (12, list(range(44, 50)), list(range(50, 56)))],
)
def test_the_last_read_and_the_next(count: int, read: list[int], following: list[int]) -> None:
    assert offsets(LogReader({P0: log(P0, range(100))}), {P0: 50}, count) == {0: (read, following)}


def test_the_beginning_and_the_end_of_a_log() -> None:
    reader = LogReader({P0: log(P0, range(10, 20)), P1: log(P1, range(10, 20))})
    assert offsets(reader, {P0: 10, P1: 20}, 4) == {0: ([], [10, 11]), 1: ([18, 19], [])}


def test_commits_outside_of_the_log() -> None:
    reader = LogReader({P0: log(P0, range(10, 20)), P1: log(P1, range(10, 20))})
    assert offsets(reader, {P0: 3, P1: 25}, 4) == {0: ([], [10, 11]), 1: ([18, 19], [])}


def test_gaps_are_stepped_over_on_both_sides() -> None:
    reader = LogReader({P0: log(P0, [0, 3, 400, 20_000, 50_000, 90_000])})
    assert offsets(reader, {P0: 40_000}, 8) == {0: ([0, 3, 400, 20_000], [50_000, 90_000])}
    backwards = [spans[P0] for spans in reader.spans[1:]]
    assert all(one.start == two.stop for one, two in pairwise(backwards))
    assert len(backwards) < 12


def test_partitions_without_a_leader_are_left_out() -> None:
    reader = LogReader({P0: log(P0, range(10)), P1: log(P1, range(10))})
    reader.unknown.add(P1)
    assert offsets(reader, {P0: 5, P1: 5}, 2) == {0: ([4], [5])}


def test_a_spent_budget_ends_it() -> None:
    reader = LogReader({P0: log(P0, range(100), b"x" * 1000)})
    found = offsets(reader, {P0: 0}, 100, size=9_000)
    assert found == {0: ([], list(range(10)))}
