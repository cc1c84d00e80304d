"""What became of the input, line by line: counts, failures written down, how far all is settled.

Deliveries are told in any thread and only kept; ``settle``, in the thread that reads, works them off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.core.errors import KcliError
from kcli.core.producer.report import Report
from kcli.flows.ack_tracker import AckTracker
from kcli.flows.inputs.chunk import Chunk, RowChunk
from kcli.flows.inputs.item import BAD_INPUT, BadInput, InputError

if TYPE_CHECKING:
    from kcli.flows.failed_file import FailedFile

_MOST_WARNINGS = 5


class Outcomes:
    """``warn`` is told of the first few bad lines. ``failed``: where failures are written, so that they are settled."""

    def __init__(
        self, tracker: AckTracker, failed: FailedFile | None, warn: Callable[[str], object] = lambda _: None
    ) -> None:
        self.bad = 0
        self.failed = 0
        self.first_error: KcliError | None = None
        self.first_line = 0
        self.first_bad: InputError | None = None
        self._reports: deque[Report] = deque()
        self._tracker = tracker
        self._file = failed
        self._warn = warn

    def delivered(self, report: Report) -> None:
        """A batch is settled. Called in the sender's thread as well."""
        self._reports.append(report)

    def settle(self) -> None:
        """Works off what was told since; FileError when a failure cannot be written down."""
        while self._reports:
            report = self._reports.popleft()
            for _, chunk, rows in report.origins:
                if report.error is not None:
                    for row in rows:
                        self.refused(chunk, row, report.error)
                if report.error is None or self._file is not None:
                    self._tracker.settled(chunk, rows)

    def take(self) -> list[Report]:
        """The reports that were told since, for who judges them by himself."""
        found = []
        while self._reports:
            found.append(self._reports.popleft())
        return found

    def refused(self, chunk: Chunk, row: int, error: KcliError) -> None:
        """A row that is not stored."""
        self.failed += 1
        line = chunk.line(row)
        if self.first_error is None or line < self.first_line:
            self.first_error, self.first_line = error, line
        if self._file is None:
            self._tracker.hold(chunk, chunk.unit(row))
        else:
            self._write(lambda file: file.add(chunk, row, error))

    def _write(self, write: Callable[[FailedFile], object]) -> None:
        """A file that took no line takes no other one either: from then on failures hold the place instead."""
        assert self._file is not None
        try:
            write(self._file)
        except KcliError:
            self._file = None
            raise

    def bad_input(self, chunk: Chunk, unit: int, bad: BadInput) -> None:
        """A unit of the chunk that is no record."""
        self.bad += 1
        error = bad_input_error(chunk.name, bad)
        self.first_bad = self.first_bad or error
        if self.bad <= _MOST_WARNINGS:
            more = "; further ones are only counted" if self.bad == _MOST_WARNINGS else ""
            self._warn(f"{error}{more}")
        if self._file is None:
            self._tracker.hold(chunk, unit)
            return
        reason = f"column {bad.column}: {bad.reason}" if bad.column else bad.reason
        code = BAD_INPUT if bad.raw is not None else "MESSAGE_TOO_LARGE"
        header = chunk.header if isinstance(chunk, RowChunk) else None
        self._write(lambda file: file.write(bad.line, bad.raw, reason, code, chunk.name, header))

    def sync(self) -> None:
        """What failed is on the disk: the input may be called settled."""
        if self._file is not None and self._file.count:
            self._write(lambda file: file.sync())


def bad_input_error(name: str, bad: BadInput) -> InputError:
    """``line 7 of stdin, column 3, is no record: …``"""
    column = f", column {bad.column:,}," if bad.column else ""
    return InputError(
        f"line {bad.line:,} of {name}{column} is no record",
        why=bad.reason,
        do="mend it, or collect such lines with --failed FILE; --on-bad-input fail stops at the first",
    )
