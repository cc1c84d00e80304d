"""Reading back a change: brokers receive it from the controller a moment after it was confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TYPE_CHECKING, TypeVar

from kcli.core.errors import BrokerError, KcliError, OutcomeUnknownError
from kcli.core.exit_codes import ExitCode

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin

C = TypeVar("C", bound=Collection[object])
K = TypeVar("K", bound=Hashable)

VISIBLE_WITHIN = 5.0
"""Seconds in which a change has to be visible."""

_PAUSE = 0.1


class NotAppliedError(KcliError):
    """The values of ``keys`` that were read back are not the ones that were set."""

    exit_code = ExitCode.REFUSED

    def __init__(self, what: str, keys: Collection[str], *, do: str) -> None:
        why = "another client changed it since, or the broker has not received the change yet"
        super().__init__(what, why=why, do=do)
        self.keys = keys


class ReadBackError(KcliError):
    """A change was confirmed and could not be read back."""

    exit_code = ExitCode.PARTLY


class UnknownChangeError(OutcomeUnknownError):
    """The response to a change was lost, and no later attempt has a result: it may have been made, or not."""

    def __init__(self, what: str, error: KcliError, *, see: str) -> None:
        super().__init__(f"it is unknown whether {what} was changed", why=str(error), do=f"{see}; try again")
        self.exit_code = ExitCode(error.exit_code)


def lost_answers(
    answers: Mapping[K, KcliError | None], unsure: Collection[K], *, see: str, what: str = ""
) -> dict[K, KcliError | None]:
    """The answers with UnknownChangeError for those that were lost. ``unsure``: what had an attempt without a response;
    ``what`` precedes a key in the error.

    What a broker refuses, it refused in the lost response as well.
    """
    return {
        key: error
        if error is None or key not in unsure or isinstance(error, BrokerError)
        else UnknownChangeError(f"{what} {key}".strip(), error, see=see)
        for key, error in answers.items()
    }


def wait_until_empty(admin: Admin, wrong: Callable[[], C], done: str, *, see: str) -> C:
    """Calls ``wrong``, which reads, until nothing is; what is still wrong after the time for a call (``--timeout``).

    It is longer while less and less is wrong: a busy broker takes long to learn of thousands of changes.

    ``done`` says what was changed, for the ReadBackError where it cannot be read.
    """
    until, fewest = admin.cluster.deadline(), None
    try:
        while (found := wrong()) and admin.cluster.loop.now() < until:
            if fewest is not None and len(found) < fewest:
                until = max(until, admin.cluster.loop.now() + VISIBLE_WITHIN)
            fewest = len(found)
            admin.cluster.sleep(_PAUSE)
    except KcliError as error:
        raise ReadBackError(f"{done}, but not read back", why=str(error), do=see) from error
    return found
