"""What is lost, duplicated and reordered is found, by numbers in the partitions of a topic."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcli.core.kernels.shapes import MarkRun
from kcli.flows.perf.integrity import Integrity, Trace
from kcli.flows.perf.sequences import Sequences

A, B = b"kperf00000001000", b"kperf00000001001"


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


def trace(partitions: dict[int, list[int]], **starts: int) -> Trace:
    """The records of each partition, at consecutive offsets from ``p0`` (or ``p1``, …) on, 0 unless given."""
    found = Trace()
    for partition, numbers in partitions.items():
        start = starts.get(f"p{partition}", 0)
        found.add(partition, start, start + len(numbers), joined(*numbers))
    return found


def ends(partitions: dict[int, list[int]], **more: int) -> dict[int, int]:
    """Where the partitions end, if all is read from offset 0 on, and ``p0`` more records follow."""
    return {number: len(found) + more.get(f"p{number}", 0) for number, found in partitions.items()}


def judged(partitions: dict[int, list[int]]) -> Integrity:
    """A topic that was read whole."""
    found = trace(partitions).judge(ends(partitions))
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
    one.add(0, 0, len(numbers), joined(*numbers))
    other.add(0, 0, len(numbers), runs(*numbers))
    both = [found.judge({0: len(numbers)}) for found in (one, other)]
    assert (both[0] is None) == (both[1] is None) == (not numbers)
    if both[0] is not None and both[1] is not None:
        assert figures(both[0]) == figures(both[1])


def test_producers_are_judged_apart_and_added() -> None:
    found = Trace()
    found.add(0, 0, 4, [*runs(0, 1), *runs(0, 2, head=B)])
    assert figures(found.judge({0: 4}) or Integrity()) == (4, 1, 0, 0)


def test_without_marks_there_is_no_verdict() -> None:
    assert Trace().judge({0: 0}) is None


# --- what was not read is not lost ---------------------------------------------------------------------


def test_numbers_before_a_later_start_are_not_lost() -> None:
    read = {0: [5, 6, 9], 1: [2, 7]}
    late = trace(read, p0=3)
    assert figures(late.judge({0: 6, 1: 2}) or Integrity()) == (5, 1, 0, 0)  # 8; 0, 1, 3, 4 may be in 0
    late = trace(read, p0=3, p1=9)
    assert figures(late.judge({0: 6, 1: 11}) or Integrity()) == (5, 1, 0, 0)


def test_numbers_after_an_earlier_end_are_not_lost() -> None:
    read = {0: [0, 2], 1: [4, 6]}
    assert figures(trace(read).judge(ends(read, p0=1)) or Integrity()) == (4, 1, 0, 0)  # 3, 5 may follow in 0
    assert figures(trace(read).judge(ends(read, p1=1)) or Integrity()) == (4, 3, 0, 0)


@pytest.mark.parametrize("merged", [False, True])
def test_nothing_is_lost_where_another_member_had_a_partition_for_a_while(merged: bool) -> None:
    """It read the offsets 2 and 3; what follows them was read by this member again, or by another one of the test."""
    found, later = trace({0: [0, 1]}), trace({0: [4, 5]}, p0=4)
    if merged:
        found.merge(later)
    else:
        found.add(0, 4, 6, joined(4, 5))
    assert figures(found.judge({0: 6}) or Integrity()) == (4, 0, 0, 0)
    found.merge(trace({0: [2]}, p0=2))  # read after all, but for one offset
    assert figures(found.judge({0: 6}) or Integrity()) == (5, 0, 0, 0)
    found.add(0, 3, 4, ())  # read too, and the number is not there
    assert figures(found.judge({0: 6}) or Integrity()) == (5, 1, 0, 0)


def test_nothing_is_lost_where_a_partition_was_not_read() -> None:
    found = trace({0: [0, 2, 9]}).judge({0: 3, 1: 0})
    assert figures(found or Integrity()) == (3, 0, 0, 0)


@example(seed=86400000, count=26, cuts=3)  # the beginning of one partition follows the end of another
@given(seed=st.integers(), count=st.integers(1, 60), cuts=st.integers(0, 3))
def test_a_sound_topic_is_sound_whatever_part_of_it_is_read(seed: int, count: int, cuts: int) -> None:
    chance = random.Random(seed)
    dealt: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for number in range(count):
        dealt[chance.randrange(3)].append(number)
    found = Trace()
    for partition, numbers in dealt.items():
        start = chance.randrange(len(numbers) + 1) if cuts & 1 else 0
        stop = chance.randrange(start, len(numbers) + 1) if cuts & 2 else len(numbers)
        found.add(partition, start, stop, joined(*numbers[start:stop]))
    judged = found.judge(ends(dealt))
    assert judged is None or judged.sound


# --- several readers, and what was sent -----------------------------------------------------------------


def test_readers_of_different_partitions_are_one_after_merging() -> None:
    found = trace({0: [0, 1, 4], 2: [6]})
    found.merge(trace({1: [2, 3, 5, 5]}))
    assert figures(found.judge({0: 3, 1: 4, 2: 1}) or Integrity()) == (8, 0, 1, 0)


def test_a_number_that_two_readers_found_in_different_places_is_a_duplicate() -> None:
    found = trace({0: [0, 1, 2]})
    found.merge(trace({1: [2, 3]}))
    assert figures(found.judge({0: 3, 1: 2}) or Integrity()) == (5, 0, 1, 0)


def test_what_two_members_of_a_group_have_read_at_the_same_offsets_is_no_duplicate() -> None:
    found = trace({0: [0, 1, 2, 3, 4]})
    found.merge(trace({0: [3, 4, 5, 6]}, p0=3))
    assert (found.judge({0: 7}) or Integrity()).sound


def test_a_member_that_is_given_records_again_knows_where_the_new_ones_begin() -> None:
    found = trace({0: [0, 1, 2, 3, 4]})
    assert [found.unread(0, offset) for offset in (0, 3, 5, 9)] == [5, 5, 5, 9]
    assert found.unread(1, 7) == 7


def test_what_was_confirmed_and_not_found_is_lost() -> None:
    sent = Sequences()
    sent.add(0, 10)
    found = trace({0: [0, 1, 2, 12], 1: [3, 4, 8, 9]})
    assert figures(found.judge_sent({A: sent})) == (8, 3, 0, 0)  # 5, 6, 7; 12 was not confirmed: no fault
    assert figures(found.judge_sent({A: sent, B: sent})) == (8, 13, 0, 0)
    assert figures(found.judge_sent({})) == (0, 0, 0, 0)
