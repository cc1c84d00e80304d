"""What an input parser returns: rows, and bad input. Pure."""

from typing import NamedTuple, Protocol

from kcli.core.errors import KcliError

BAD_INPUT = "BAD_INPUT"
"""Written to the ``--failed`` file in place of Kafka's error name."""


class InputError(KcliError):
    """The input cannot be read, or contains what cannot be sent."""


class InputRow(NamedTuple):
    """A record of the input. ``timestamp`` None: the current time, −1: none; ``partition`` None: not specified.

    ``line`` counts from 1: lines where a record is a line, otherwise records. ``raw`` is the raw input.
    """

    line: int
    key: bytes | None
    value: bytes | None
    headers: bytes
    timestamp: int | None
    partition: int | None
    raw: bytes | None


class BadInput(NamedTuple):
    """A piece of input that is not a valid record: where (``column`` counts bytes from 1, 0 is not known) and why.

    ``raw`` is None when it was too long to be kept.
    """

    line: int
    column: int
    reason: str
    raw: bytes | None


Item = InputRow | BadInput


class BadLine(Exception):  # noqa: N818 - a finding inside a parser, never seen outside
    """Raised inside a parser: ``reason``, and the column in bytes from 1 (0: not known)."""

    def __init__(self, reason: str, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


class Parser(Protocol):
    """Receives the input of one file in pieces of any size; every record and every bad piece is one item, in order."""

    def feed(self, data: bytes) -> list[Item]:
        """The items that ``data`` completes."""

    def finish(self) -> list[Item]:
        """The items that the end of the input completes, or shows to be cut off."""
