"""Which offsets of a partition are compared, and what only one side still has."""

import pytest

from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.proof.compare import MOST_TOLD_APART, Comparison
from kcli.flows.mirror.proof.proof import Log, Proof, planned_comparison

COPIED = Proof()
SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("copy", 0)


def copy_of(
    *, start: int = 100, records: int = 50, target_start: int = 10, stop: int | None = None
) -> PartitionCopy:
    """Source offsets from 100 on at target offsets from 10 on; the position is a marker behind the last."""
    offsets = OffsetMap(start, target_start)
    offsets.append(start, target_start, records)
    offsets.advance(start + records + 1)
    return PartitionCopy(SOURCE, TARGET, offsets, position=offsets.position, stop=stop)


def extents(found: Comparison) -> tuple[int, int, int, int]:
    source, target = found.pair.source, found.pair.target
    return source.start, source.stop, target.start, target.stop


def planned(
    here: Log, there: Log, proof: Proof = COPIED, *, stop: int | None = None, by_key: bool = False
) -> Comparison:
    return planned_comparison(copy_of(stop=stop), here, there, proof, by_key=by_key)


@pytest.mark.parametrize(
    ("here", "there", "wanted", "deleted", "removed"),
    [
        (Log(100, 151, 151), Log(10, 60, 60), (100, 151, 10, 60), 0, 0),
        (Log(0, 300, 300), Log(0, 60, 60), (100, 151, 0, 60), 0, 0),
        (Log(120, 151, 151), Log(10, 60, 60), (120, 151, 30, 60), 0, 20),
        (Log(100, 151, 151), Log(25, 60, 60), (115, 151, 25, 60), 15, 0),
        (Log(110, 151, 151), Log(25, 60, 60), (115, 151, 25, 60), 5, 0),
        (Log(120, 151, 151), Log(25, 60, 60), (120, 151, 30, 60), 0, 5),
        (Log(100, 151, 151), Log(60, 60, 60), (151, 151, 60, 60), 50, 0),
        (Log(151, 151, 151), Log(10, 60, 60), (151, 151, 60, 60), 0, 50),
        (Log(100, 151, 151), Log(10, 40, 40), (100, 151, 10, 60), 0, 0),
    ],
    ids=[
        "all", "more before", "source removed", "target deleted", "both, target more", "both, source more",
        "target empty", "source empty", "committed and not readable yet",
    ],
)  # fmt: skip
def test_from_the_later_start_of_both_logs(
    here: Log, there: Log, wanted: tuple[int, ...], deleted: int, removed: int
) -> None:
    found = planned(here, there)
    assert (extents(found), found.deleted, found.removed) == (wanted, deleted, removed)


@pytest.mark.parametrize(
    ("before", "unconfirmed", "begin"),
    [(10, 30, 0), (10, MOST_TOLD_APART, 10), (MOST_TOLD_APART + 1, 30, MOST_TOLD_APART + 1)],
)
def test_what_a_killed_run_left_behind_its_first_position_is_compared(
    before: int, unconfirmed: int, begin: int
) -> None:
    """The saved position was the beginning of the copy: the first record of the map is after what was left."""
    offsets = OffsetMap(100, before)
    offsets.append(100, before + unconfirmed, 50)
    copy = PartitionCopy(SOURCE, TARGET, offsets, position=150)
    end = before + unconfirmed + 50
    found = planned_comparison(copy, Log(0, 150, 150), Log(0, end, end), COPIED, by_key=False)
    assert extents(found) == (100, 150, begin, end)


@pytest.mark.parametrize(
    ("proof", "stop", "wanted"),
    [
        (Proof(), None, (100, 151, 10, 70)),
        (Proof(follows=True), None, (100, 151, 10, 70)),
        (Proof(to_end=True), None, (100, 200, 10, 70)),
        (Proof(to_end=True, limited=True), 160, (100, 160, 10, 60)),
        (Proof(limited=True), 160, (100, 151, 10, 60)),
        (Proof(whole="u"), None, (100, 151, 10, 70)),
        (Proof(whole="t"), None, (90, 200, 10, 70)),
        (Proof(whole="t", limited=True), 160, (90, 160, 10, 70)),
    ],
)
def test_up_to_the_ends_that_were_asked_for(proof: Proof, stop: int | None, wanted: tuple[int, ...]) -> None:
    found = planned(Log(90, 200, 210), Log(10, 70, 73), proof, stop=stop)
    assert extents(found) == wanted
    assert (found.held_source, found.held_target) == (10, 3)


@pytest.mark.parametrize(
    ("proof", "wanted"),
    [(Proof(follows=True), (100, 151, 10, 60)), (Proof(to_end=True), (100, 200, 10, 70))],
)
def test_keys_are_compared_up_to_the_saved_position_while_the_job_runs(
    proof: Proof, wanted: tuple[int, ...]
) -> None:
    assert extents(planned(Log(90, 200, 200), Log(0, 70, 70), proof, by_key=True)) == wanted
