"""What may come of reading back a change: brokers receive it from the controller a moment after it was confirmed."""

from collections.abc import Collection

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode

VISIBLE_WITHIN = 5.0
"""Seconds in which a change has to be visible."""


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
