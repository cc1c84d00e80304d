"""Confirmations of a partition's copy: in any order, in parts, with failures in between."""

import random
from collections.abc import Callable

import pytest

from kcli.core.errors import DataLossError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap, Run
from kcli.flows.mirror.copy.partition_copy import Gap, Moved, PartitionCopy, SentBatch

TP, COPY = TopicPartition("t", 0), TopicPartition("copy", 0)


def copy_of(position: int = 0, stop: int | None = None) -> PartitionCopy:
    return PartitionCopy(TP, COPY, OffsetMap(position, 0), position=position, stop=stop)


@pytest.mark.parametrize("seed", range(20))
def test_the_position_passes_only_what_is_confirmed_without_a_hole(seed: int) -> None:
    rng = random.Random(seed)
    copy, offset, target = copy_of(), 0, 0
    parts: list[tuple[SentBatch, range, int]] = []
    ends: list[tuple[int, int]] = []  # (position after it, parts that are not confirmed)
    for _ in range(60):
        if rng.random() < 0.2:
            offset += rng.randrange(1, 5)
            copy.skip_to(offset, 1)
            ends.append((offset, 0))
            continue
        count = rng.randrange(1, 20)
        sent = copy.send(range(offset, offset + count), offset + count, 1, 10 * count)
        cut = rng.randrange(count)
        pieces = [part for part in (range(cut), range(cut, count)) if part]
        parts += [(sent, part, target + part.start) for part in pieces]
        offset, target = offset + count, target + count
        ends.append((offset, len(pieces)))
    open_parts = {id(sent): 0 for sent, _, _ in parts}
    for sent, _, _ in parts:
        open_parts[id(sent)] += 1
    rng.shuffle(parts)
    while parts:
        copy.confirm(*parts.pop())
        pending = {id(sent): sent for sent, _, _ in parts}
        first_hole = min((sent.offsets[0] for sent in pending.values()), default=offset)
        assert copy.position <= first_hole
    assert copy.position == offset
    assert copy.records == target
    assert copy.bytes == 10 * target
    assert copy.unconfirmed_bytes == 0
    assert copy.offsets is not None
    assert copy.offsets.target_end == target
    assert copy.offsets.position == offset


def test_a_record_that_is_not_confirmed_holds_the_position_and_the_map() -> None:
    copy = copy_of()
    first = copy.send(range(5), 5, 0, 1)
    second = copy.send(range(5, 9), 9, 0, 1)
    copy.confirm(second, range(4), 5)
    assert copy.position == 0
    copy.confirm(first, range(3), 0)
    assert copy.position == 0
    copy.confirm(first, range(3, 5), 3)
    assert copy.position == 9
    assert copy.offsets is not None
    assert list(copy.offsets.runs()) == [Run(0, 0, 9)]


def test_a_failure_ends_the_copy_where_everything_before_is_confirmed() -> None:
    copy = copy_of()
    first, second = copy.send(range(5), 5, 3, 1), copy.send(range(5, 9), 9, 3, 1)
    copy.confirm(first, range(5), 0)
    copy.fail(KcliError("too large"))
    copy.confirm(second, range(4), 5)
    assert (copy.position, copy.leader_epoch, copy.done) == (5, 3, True)
    assert str(copy.error) == "too large"


def test_a_target_that_goes_backwards_ends_the_copy() -> None:
    copy = copy_of()
    copy.confirm(copy.send(range(5), 5, 0, 1), range(5), 100)
    copy.confirm(copy.send(range(5, 9), 9, 0, 1), range(4), 50)
    assert isinstance(copy.error, DataLossError)
    assert copy.error.what.startswith("copy-0: the target stored the record at source offset 5 at offset 50")
    assert copy.position == 5


def test_a_gap_is_recorded_and_passed() -> None:
    copy = copy_of(10)
    copy.record_gap(20, "removed")
    assert copy.gaps == [Gap(TP, 10, 20, "removed")]
    assert copy.position == 20
    copy.confirm(copy.send(range(20, 25), 25, 0, 1), range(5), 0)
    assert copy.position == 25
    assert copy.offsets is not None
    assert copy.offsets.translate(12) == 0


def test_it_is_done_when_everything_up_to_the_stop_is_confirmed() -> None:
    copy = copy_of(0, stop=6)
    sent = copy.send(range(5), 5, 0, 1)
    copy.confirm(sent, range(5), 0)
    assert not copy.done
    copy.skip_to(6, 0)
    assert copy.done


def test_by_key_no_offsets_are_mapped() -> None:
    copy = PartitionCopy(TP, COPY, None, position=0)
    copy.confirm(copy.send(range(5), 5, 0, 1), range(5), -1)
    assert copy.position == 5


def _confirmed(copy: PartitionCopy) -> None:
    copy.confirm(copy.send(range(1), 1, 0, 1), range(1), 0)


def _held_by_a_hole(copy: PartitionCopy) -> None:
    copy.send(range(1), 1, 0, 1)
    copy.skip_to(2, 0)


@pytest.mark.parametrize(
    ("change", "is_noted"),
    [
        (_confirmed, True),
        (_held_by_a_hole, False),
        (lambda copy: copy.skip_to(5, 0), True),
        (lambda copy: copy.record_gap(5, "removed"), True),
        (lambda copy: copy.end(KcliError("away")), True),
        (lambda copy: copy.fail(KcliError("refused")), True),
        (lambda copy: copy.rollback(), True),
        (lambda copy: copy.restart("id", None), True),
        (lambda copy: copy.send(range(1), 1, 0, 1), False),
    ],
)
def test_each_watcher_finds_what_has_moved_since_it_looked(
    change: Callable[[PartitionCopy], object], is_noted: bool
) -> None:
    copy, other = copy_of(), copy_of()
    seen: list[Moved] = [{}, {}]
    for moved in seen:
        copy.watch(moved)
        other.watch(moved)
        assert list(moved) == [copy, other], "nobody has looked yet"
        moved.clear()
    change(copy)
    assert [list(moved) for moved in seen] == [[copy] if is_noted else []] * 2


def test_of_a_recreated_topic_nothing_is_known_that_was_of_the_old_one() -> None:
    copy = copy_of()
    copy.record_gap(5, "removed")
    copy.see_end(9, 1_000)
    copy.restart("id", None)
    assert (copy.source_end, copy.end_seen, copy.end_seen_ms, copy.lag) == (-1, -1, -1, None)
    assert (len(copy.gaps), copy.own_gaps) == (1, []), "the report of the run still has the gap"
    copy.record_gap(2, "removed")
    assert copy.own_gaps == [Gap(TP, 0, 2, "removed")]
    copy.rollback()
    assert (len(copy.gaps), copy.own_gaps) == (1, [])
