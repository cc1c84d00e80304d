"""The broker's error codes by name, made from kcli's table: ``Code.NOT_LEADER_OR_FOLLOWER``. A number that encodes."""

from collections.abc import Mapping
from enum import IntEnum

from kcli.core.error_codes import NUMBERS, error_code

Code = IntEnum("Code", {error_code(number).name: number for number in NUMBERS})  # type: ignore[misc]


class RefusedError(Exception):
    """A check of the broker failed: ``code`` goes into the answer, where the API has its place for it.

    ``records``: which records of a batch are the cause, by index, with the reason.
    """

    def __init__(
        self, code: int, message: str | None = None, records: Mapping[int, str] | None = None
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.records = records or {}
