"""The states of what was committed for a partition after a live rewind: each commit leads from one to the next."""

from collections.abc import Sequence

import pytest

from kcli.flows.rewind.trail import Fate, First, Last, Rewound, Trail

NEW, BETWEEN, OLD, BEYOND = 10, 15, 20, 40
"""The partition was rewound from 20 to 10, when no member had read beyond 30."""


def trail(commits: Sequence[int | None], *, carried: float = 0.0, in_progress: bool = True) -> Trail:
    """A commit a second, the first one a second after the partition was assigned."""
    made = Trail(Rewound(NEW, OLD, 30), usual=5.0)
    made.record_first_owner(0.0)
    for second, offset in enumerate(commits, 1):
        made.add_commit(second, offset, 9.0 if in_progress else 0.0, carried, blind=False)
    return made


@pytest.mark.parametrize(
    ("commits", "first", "last", "fate"),
    [
        ([], First.NONE, Last.NONE, Fate.OPEN),
        ([NEW], First.NONE, Last.NONE, Fate.OPEN),
        ([BETWEEN], First.CLEAR, Last.FROM_NEW, Fate.OPEN),
        ([OLD], First.MAYBE_OLD, Last.MAYBE_OLD, Fate.OPEN),
        ([OLD, BETWEEN], First.CLEAR, Last.FROM_NEW, Fate.OPEN),
        ([OLD, NEW], First.MAYBE_OLD, Last.AT_NEW, Fate.OPEN),
        ([OLD, BEYOND], First.MAYBE_OLD, Last.FROM_NEW, Fate.OPEN),
        ([BEYOND], First.MAYBE_MISSED, Last.FROM_NEW, Fate.OPEN),
        ([BETWEEN, OLD], First.CLEAR, Last.MAYBE_OLD, Fate.OPEN),
        ([NEW - 1], First.NONE, Last.NONE, Fate.OVERWRITTEN),
        ([BETWEEN, None], First.CLEAR, Last.FROM_NEW, Fate.OVERWRITTEN),
    ],
)
def test_commits_lead_from_state_to_state(
    commits: Sequence[int | None], first: First, last: Last, fate: Fate
) -> None:
    made = trail(commits)
    assert (made.first, made.last, made.fate) == (first, last, fate)


def test_a_commit_that_a_member_had_kept_is_one_of_an_old_batch_once_another_follows() -> None:
    assert trail([OLD], carried=2.0, in_progress=False).first is First.CARRIED
    assert trail([OLD, BEYOND], carried=2.0, in_progress=False).first is First.MAYBE_OLD


@pytest.mark.parametrize(
    ("commits", "history", "last", "fate"),
    [
        ([OLD], [BETWEEN, OLD], Last.MAYBE_OLD, Fate.OPEN),
        ([OLD], [OLD], Last.MAYBE_OLD, Fate.UNDECIDABLE),
        ([OLD], None, Last.MAYBE_OLD, Fate.UNDECIDABLE),
        ([BEYOND], [BEYOND], Last.FROM_NEW, Fate.OPEN),
        ([BEYOND], [OLD, BEYOND], Last.FROM_NEW, Fate.UNDECIDABLE),
    ],
)
def test_the_history_clears_the_first_commit_or_leaves_it_undecidable(
    commits: Sequence[int | None], history: Sequence[int | None] | None, last: Last, fate: Fate
) -> None:
    made = trail(commits, carried=2.0)
    made.confirm(history)
    assert (made.first, made.last, made.fate) == (First.CLEAR, last, fate)


def test_a_reassignment_after_an_old_commit_is_undecidable_and_a_lower_one_overwrites() -> None:
    made, fates = trail([BETWEEN, OLD]), list[Fate]()
    made.record_reassignment()
    fates.append(made.fate)
    made.add_commit(5.0, NEW - 1, 9.0, 0.0, blind=False)
    fates.append(made.fate)
    made.record_reassignment()
    assert [*fates, made.fate] == [Fate.UNDECIDABLE, Fate.OVERWRITTEN, Fate.OVERWRITTEN]
    assert made.why == ""
