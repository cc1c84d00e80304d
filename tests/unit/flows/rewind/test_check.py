"""A live rewind that is checked again: what its journal and the history of its group decide."""

from typing import Any

import pytest

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory, LoggedCommit
from kcli.flows.rewind.check import checked, outcomes
from kcli.flows.rewind.journal import KIND, Journal, LiveArrival, LiveEntry, LiveMember, LiveRow, Row
from kcli.flows.rewind.judge import Observation
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.rewind.watching import GroupWatch

A = TopicPartition("a", 0)
LET_IN = 1_000_000


def journal(*, held: float = 12.0, back: bool = True, seen: Any = ()) -> Journal:
    live = LiveEntry(
        LET_IN,
        -held,
        "classic",
        "range",
        [LiveMember("one-0", None, "one", "/h", {"a": [0]}, 0.5, 10.0)],
        [LiveArrival("one-1", None, "one", "/h", -held + 0.5)] if back else [],
        [LiveRow("a", 0, 400, 1_000, 1_200, list(seen))],
    )
    rows = (Row("a", 0, 1_000, "", -1, 400),)
    return Journal(KIND, "id", LET_IN - 13_000, "c", "g", "there", rows, live=live)


def history(*commits: tuple[float, int], changes: tuple[float, ...] = (0.1,)) -> GroupHistory:
    rows = tuple(LoggedCommit(LET_IN + round(at * 1000), A, offset) for at, offset in commits)
    return GroupHistory(rows, tuple(LET_IN + round(at * 1000) for at in changes))


def said(
    told: Journal, log: GroupHistory | None, now: float, committed: int, end: int = 9_000, wait: float = 0.1
) -> str:
    """As of ``now``, in seconds since the members were released, and watched for ``wait`` seconds."""
    group = GroupDescription(
        "g", "classic", "Stable", "consumer", "range", 1,
        (MemberDescription("one-1", None, "one", "/h", assignment=(A,)),),
    )  # fmt: skip
    plan, watched = checked(told, log, 5_000.0, LET_IN + round(now * 1000), group)
    assert watched.released_at == pytest.approx(5_000 - now)
    for tenths in range(round(wait * 10) + 1):
        watched.judge.observe(Observation(now + tenths / 10, {A: committed}, group, {A: end}))
    verdict = watched.judge.verdict(A, now + wait)
    (outcome,) = outcomes(plan, GroupWatch({A: verdict}, now))
    return outcome.status


def test_the_history_decides_what_could_not_be_seen() -> None:
    assert said(journal(), history((1.0, 700), (2.0, 3_000)), 500.0, 3_000) == "held"
    assert said(journal(), history((1.0, 1_500), (2.0, 3_000)), 500.0, 3_000) == "held"


def test_an_old_batch_from_which_was_read_on_stays_unknown() -> None:
    log = history((1.0, 1_150), (3.0, 3_000), changes=(0.1, 2.0))
    assert said(journal(held=1.0), log, 500.0, 3_000) == "unknown"


def test_a_returning_member_may_have_come_with_any_change_of_members() -> None:
    log = history((1.0, 700), (30.1, 5_000), (33.0, 6_000), changes=(0.1, 30.0, 31.0))
    assert said(journal(back=False), log, 500.0, 6_000) == "unknown"
    log = history((1.0, 700), (2.0, 800), (40.0, 900))
    assert said(journal(back=False), log, 500.0, 900) == "unknown", "it is seen to be back only now"
    assert said(journal(back=False), log, 500.0, 900, wait=13.0) == "held"


def test_without_a_history_only_some_commits_say_enough() -> None:
    assert said(journal(), None, 500.0, 700) == "held"
    assert said(journal(), None, 500.0, 3_000) == "unknown"
    assert said(journal(), None, 500.0, 300) == "overwritten"
    assert said(journal(), None, 500.0, 400, end=400) == "held"
    assert said(journal(seen=[(1.0, 700)]), None, 500.0, 700) == "held"


def test_a_rewind_of_a_group_without_members_cannot_be_checked() -> None:
    plain = Journal(KIND, "id", LET_IN, "c", "g", "there", (Row("a", 0, 9, "", -1, 4),))
    with pytest.raises(NotPossibleError, match="cannot be checked"):
        checked(plain, None, 0.0, LET_IN, None)


def test_without_a_history_what_came_before_the_first_commit_that_was_seen_stays_to_be_confirmed() -> None:
    """A journal keeps what was seen every tenth of a second, not every commit."""
    judge = checked(journal(seen=[(0.3, 3_000)]), None, 5_000.0, LET_IN + 500_000, None)[1].judge
    assert judge.unconfirmed
    judge.confirm(None)
    assert judge.verdict(A, 500.0).status == "unknown"
