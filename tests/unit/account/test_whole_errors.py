"""What an error counts among parts, and how what was read back settles an item."""

import pytest

from kcli.account.change import Found, settled
from kcli.account.outcomes import Account, Outcome, Settled
from kcli.core.errors import AuthError, KcliError, TimedOutError
from kcli.core.exit_codes import ExitCode


@pytest.mark.parametrize(
    ("error", "whole", "code"),
    [
        (AuthError("no"), False, ExitCode.PARTLY),
        (AuthError("no"), True, ExitCode.DENIED),
        (KcliError("no"), True, ExitCode.PARTLY),
        (None, False, ExitCode.DONE),
    ],
)
def test_an_error_of_a_whole_counts_as_it_is_among_parts(
    error: KcliError | None, whole: bool, code: ExitCode
) -> None:
    account = Account(["a", "b"], parts=True)
    account.settle("a", Outcome.DONE)
    account.settle("b", Outcome.REFUSED if error else Outcome.DONE, error, whole=whole)
    assert account.exit_code() == code


@pytest.mark.parametrize("answer", [None, TimedOutError("late")])
def test_what_was_so_already_is_unchanged(answer: KcliError | None) -> None:
    assert settled(answer, Found(1, outcome=Outcome.UNCHANGED)) == Settled(Outcome.UNCHANGED)
    assert settled(answer, Found(1)) == Settled(Outcome.DONE)
