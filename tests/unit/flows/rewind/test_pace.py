"""How long the members of a group take from one commit to the next."""

from collections.abc import Mapping

import pytest

from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory, LoggedCommit
from kcli.flows.rewind.pace import Pace, paces

A = TopicPartition("a", 0)
NOTHING = OffsetInfo(-1, -1)


def history(*commits: tuple[float, int | None], changes: tuple[float, ...] = ()) -> GroupHistory:
    """Seconds and offsets."""
    rows = tuple(LoggedCommit(round(at * 1000), A, offset) for at, offset in commits)
    return GroupHistory(rows, tuple(round(at * 1000) for at in changes))


def pace(
    told: GroupHistory, now: float, end: int = 1_000, first: Mapping[float, OffsetInfo] | None = None
) -> Pace:
    """``first``: the first record since some second; else there was something to be read before."""
    known = {round(at * 1000): info for at, info in (first or {}).items()}

    def log_times(wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
        return {tp: known.get(at, OffsetInfo(10**6, at)) for tp, at in wanted.items()}

    return paces(told, round(now * 1000), log_times, {A: end})[A]


def test_it_is_the_longest_time_between_two_commits() -> None:
    assert pace(history((10, 5), (12, 6), (17, 9), (18, 10)), 18.5) == Pace(5.0, 3)


def test_the_time_since_the_last_commit_counts() -> None:
    """A batch is in work that takes longer than all before."""
    assert pace(history((10, 5), (11, 6), (12, 9)), 20.0) == Pace(8.0, 2)


def test_time_counts_from_the_rebalance_after_which_a_member_began() -> None:
    assert pace(history((10, 5), (90, 6), (91, 9), changes=(88,)), 91.5).seconds == 2.0
    assert pace(history((98, 6), changes=(88,)), 98.5) == Pace(10.0, 1)


def test_no_commit_is_made_where_nothing_is_to_be_read() -> None:
    told = history((10, 500), (11, 501), (71, 502))
    waited = {11: OffsetInfo(501, 69_000)}  # the record at 501 was written at 69
    assert pace(told, 71.5, first=waited).seconds == 2.0
    assert pace(told, 71.5).seconds == 60.0


def test_nothing_is_in_hand_where_all_is_read() -> None:
    told = history((10, 999), (11, 1_000))
    assert pace(told, 500.0, first={11: NOTHING}).seconds == 1.0
    assert pace(told, 500.0, end=2_000, first={11: NOTHING}).seconds == 489.0


def test_the_same_offset_again_ends_no_batch() -> None:
    """The barrier of a rewind commits twice, and members stand still meanwhile."""
    assert pace(history((10, 5), (11, 6), (23, 6), (24, 9)), 24.5).seconds == 1.0


@pytest.mark.parametrize(("gaps", "known"), [(0, False), (1, False), (2, True)])
def test_one_commit_says_nothing(gaps: int, known: bool) -> None:
    assert pace(history(*((10 + n, n) for n in range(gaps + 1))), 10.0 + gaps).known is known
