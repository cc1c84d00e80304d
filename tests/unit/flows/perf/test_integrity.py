"""What is lost, duplicated and reordered is found, by numbers in the partitions of a topic."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.kernels.mark_ops import MarkRun
from kcli.flows.perf.integrity import Extent, Trace
from kcli.flows.perf.measurement import Integrity
from kcli.flows.perf.sequences import Sequences

A, B = b"kperf00000001000", b"kperf00000001001"
WHOLE = Extent(from_start=True, to_end=True)


def runs(*numbers: int, head: bytes = A) -> list[MarkRun]:
    """Each number as a run of its own: the kernel joins them, which must make no difference."""
    return [(head, number, 1) for number in numbers]


def joined(*numbers: int) -> list[MarkRun]:
    """As the kernel returns them."""
    found: list[MarkRun] = []
    for number in numbers:
        if found and sum(found[-1][1:]) == number:
            found[-1] = (A, found[-1][1], found[-1][2] + 1)
        else:
            found.append((A, number, 1))
    return found


def trace(partitions: dict[int, list[int]]) -> Trace:
    found = Trace()
    for partition, numbers in partitions.items():
        found.add(partition, joined(*numbers))
    return found


def judged(partitions: dict[int, list[int]], **extents: Extent) -> Integrity:
    """``extents``: ``p0`` and so on; all others are whole."""
    whole = {partition: extents.get(f"p{partition}", WHOLE) for partition in partitions}
    found = trace(partitions).judge(whole)
    assert found is not None
    return found


def figures(found: Integrity) -> tuple[int, int, int, int]:
    return found.checked, found.lost, found.duplicated, found.reordered


def test_a_whole_topic_is_sound() -> None:
    found = judged({0: [0, 1, 2, 6, 7], 1: [3, 4, 5]})
    assert figures(found) == (8, 0, 0, 0)
    assert found.sound


@pytest.mark.parametrize(
    ("partitions", "lost", "duplicated", "reordered"),
    [
        ({0: [0, 2, 3]}, 1, 0, 0),
        ({0: [1, 2, 3]}, 1, 0, 0),
        ({0: [0, 1, 6, 7], 1: [3, 4, 5]}, 1, 0, 0),
        ({0: [0, 1, 1, 2]}, 0, 1, 0),
        ({0: [0, 1, 2, 0, 1, 2, 3]}, 0, 3, 0),
        ({0: [0, 1, 2], 1: [2, 3]}, 0, 1, 0),
        ({0: [0, 2, 1, 3]}, 0, 0, 1),
        ({0: [3, 4, 5, 0, 1, 2]}, 0, 0, 3),
        ({0: [0, 4, 3, 3, 5]}, 2, 1, 1),
    ],
)
def test_each_fault_is_found(
    partitions: dict[int, list[int]], lost: int, duplicated: int, reordered: int
) -> None:
    found = judged(partitions)
    assert (found.lost, found.duplicated, found.reordered) == (lost, duplicated, reordered)
    assert found.checked == sum(map(len, partitions.values()))
    assert not found.sound


@given(seed=st.integers(), count=st.integers(2, 60), partitions=st.integers(1, 4))
def test_a_record_dropped_repeated_or_swapped_anywhere_is_found(
    seed: int, count: int, partitions: int
) -> None:
    """By the property itself: numbers are dealt to partitions, one fault is made, and found as what it is."""
    chance = random.Random(seed)
    dealt: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
    for number in range(count):
        dealt[chance.randrange(partitions)].append(number)
    assert judged(dealt).sound
    number = chance.randrange(count - 1)  # a loss of the very last cannot be known
    home = next(numbers for numbers in dealt.values() if number in numbers)
    at = home.index(number)
    fault = chance.choice(("drop", "repeat", "swap"))
    if fault == "drop":
        del home[at]
        assert figures(judged(dealt)) == (count - 1, 1, 0, 0)
    elif fault == "repeat":
        home.insert(chance.randrange(at, len(home) + 1), number)
        assert figures(judged(dealt)) == (count + 1, 0, 1, 0)
    elif at + 1 < len(home):
        home[at], home[at + 1] = home[at + 1], home[at]
        assert figures(judged(dealt)) == (count, 0, 0, 1)


@given(numbers=st.lists(st.integers(0, 20), max_size=40))
def test_how_runs_are_cut_makes_no_difference(numbers: list[int]) -> None:
    one, other = Trace(), Trace()
    one.add(0, joined(*numbers))
    other.add(0, runs(*numbers))
    both = [found.judge({0: WHOLE}) for found in (one, other)]
    assert (both[0] is None) == (both[1] is None) == (not numbers)
    if both[0] is not None and both[1] is not None:
        assert figures(both[0]) == figures(both[1])


def test_producers_are_judged_apart_and_added() -> None:
    found = Trace()
    found.add(0, [*runs(0, 1), *runs(0, 2, head=B)])
    assert figures(found.judge({0: WHOLE}) or Integrity()) == (4, 1, 0, 0)


def test_without_marks_there_is_no_verdict() -> None:
    assert Trace().judge({0: WHOLE}) is None


# --- what was not read is not lost ---------------------------------------------------------------------


def test_numbers_before_a_later_start_are_not_lost() -> None:
    late = Extent(from_start=False, to_end=True)
    assert figures(judged({0: [5, 6, 9], 1: [2, 7]}, p0=late)) == (5, 1, 0, 0)  # 8; 0, 1, 3, 4 may be in 0
    assert figures(judged({0: [5, 6, 9], 1: [2, 7]}, p0=late, p1=late)) == (5, 1, 0, 0)


def test_numbers_after_an_earlier_end_are_not_lost() -> None:
    early = Extent(from_start=True, to_end=False)
    assert figures(judged({0: [0, 2], 1: [4, 6]}, p0=early)) == (4, 1, 0, 0)  # 1; 3 and 5 may follow in 0
    assert figures(judged({0: [0, 2], 1: [4, 6]}, p1=early)) == (4, 3, 0, 0)


def test_nothing_is_lost_where_a_partition_was_not_read() -> None:
    unread = Extent(from_start=False, to_end=False)
    found = trace({0: [0, 2, 9]}).judge({0: WHOLE, 1: unread})
    assert figures(found or Integrity()) == (3, 0, 0, 0)


@given(seed=st.integers(), count=st.integers(1, 60), cuts=st.integers(0, 3))
def test_a_sound_topic_is_sound_whatever_part_of_it_is_read(seed: int, count: int, cuts: int) -> None:
    chance = random.Random(seed)
    dealt: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for number in range(count):
        dealt[chance.randrange(3)].append(number)
    extents = {}
    for partition, numbers in dealt.items():
        start = chance.randrange(len(numbers) + 1) if cuts & 1 else 0
        stop = chance.randrange(start, len(numbers) + 1) if cuts & 2 else len(numbers)
        extents[partition] = Extent(from_start=not cuts & 1, to_end=not cuts & 2)
        dealt[partition] = numbers[start:stop]
    found = trace(dealt).judge(extents)
    assert found is None or found.sound


# --- several readers, and what was sent -----------------------------------------------------------------


def test_readers_of_different_partitions_are_one_after_merging() -> None:
    found = trace({0: [0, 1, 4], 2: [6]})
    found.merge(trace({1: [2, 3, 5, 5]}))
    assert figures(found.judge(dict.fromkeys(range(3), WHOLE)) or Integrity()) == (8, 0, 1, 0)


def test_a_number_that_two_readers_found_is_a_duplicate() -> None:
    found = trace({0: [0, 1, 2]})
    found.merge(trace({1: [2, 3]}))
    assert figures(found.judge({0: WHOLE, 1: WHOLE}) or Integrity()) == (5, 0, 1, 0)


def test_what_was_confirmed_and_not_found_is_lost() -> None:
    sent = Sequences()
    sent.add(0, 10)
    found = trace({0: [0, 1, 2, 12], 1: [3, 4, 8, 9]})
    assert figures(found.judge_sent({A: sent})) == (8, 3, 0, 0)  # 5, 6, 7; 12 was not confirmed: no fault
    assert figures(found.judge_sent({A: sent, B: sent})) == (8, 13, 0, 0)
    assert figures(found.judge_sent({})) == (0, 0, 0, 0)
