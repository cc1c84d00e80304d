"""What became of the input, line by line: counts, recorded failures, and how far the input is complete.

Each row is counted once: as ``confirmed``; as ``failed``, when it is certainly not stored; as ``unknown``, when it may
be stored; or as ``unsent``, when a stop came before it was sent. Rows that failed and rows of unknown outcome are
written to the ``--failed`` file. Deliveries are reported in any thread and only queued; the reading thread counts
them in ``process_reports``.

A row is reported before it counts as completed, and written to ``--failed`` before the checkpoint moves past it:
the sender's thread queues reports, and the reading thread processes them and saves the checkpoint. In the other
order a SIGKILL would lose a line from both (``tests/fault/test_line_account.py``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.core.errors import ClosedError, KcliError, OutcomeUnknownError, RecordRefusedError
from kcli.core.producer.origins import Rows
from kcli.core.producer.report import Report
from kcli.flows.inputs.item import BadInput, Chunk, InputError
from kcli.flows.produce.ack_tracker import AckTracker

if TYPE_CHECKING:
    from kcli.core.types import TopicPartition
    from kcli.flows.produce.failed_file import FailedFile

MOST_PLACES = 10
"""Of how many batches it is kept where they are stored."""
_MOST_WARNINGS = 5


class Outcomes:
    """``warn`` is called with the first few bad lines, and those that brokers refused; ``remedy`` is that of bad lines.

    ``failed``: the file that records failures, which completes them. ``resumable``: a later run begins at what is not
    complete, so rows that are open at a stop are left to it.
    """

    def __init__(
        self,
        tracker: AckTracker,
        failed: FailedFile | None,
        warn: Callable[[str], object] = lambda _: None,
        *,
        resumable: bool = False,
        remedy: str = "",
    ) -> None:
        self.bad = 0
        self.confirmed = self.failed = self.unknown = self.unsent = 0
        self.first_error: KcliError | None = None
        self.first_line = 0
        self.first_name = ""
        self._first_position = (0, 0)
        self.first_bad: InputError | None = None
        self._refused = 0
        self._reports: deque[Report] = deque()
        self._tracker = tracker
        self._file = failed
        self._file_error: KcliError | None = None
        self.stored: list[tuple[TopicPartition, int, int]] = []
        """Where the first batches are: partition, first offset, number of records."""
        self._warn = warn
        self._resumable = resumable
        self._remedy = remedy
        self._stopped = self._given_up = False

    def delivered(self, report: Report) -> None:
        """A batch is complete. Called in the sender's thread as well."""
        self._reports.append(report)

    def stop(self) -> None:
        """The run ends early: records that the producer rejects from now on because of that count as not read."""
        self._stopped = True

    def give_up(self) -> None:
        """No more waiting for confirmations: the producer is about to fail what is left."""
        self._given_up = True

    def process_reports(self) -> None:
        """Processes the queued reports; FileError, once, when a failure cannot be recorded."""
        while self._reports:
            report = self._reports.popleft()
            error = report.error
            if error is None:
                self.confirmed += report.count
                if report.base_offset >= 0 and len(self.stored) < MOST_PLACES:
                    self.stored.append((report.tp, report.base_offset, report.count))
                if self._tracker.tracks:
                    for _, chunk, rows in report.origins:
                        self._tracker.complete_rows(chunk, rows)
            else:
                for _, chunk, rows in report.origins:
                    self.add_unstored_rows(chunk, rows, error)
        if self._file_error is not None:
            self.raise_file_error()

    def raise_file_error(self) -> None:
        """Raises the error of the ``--failed`` file, if it was not raised before."""
        error, self._file_error = self._file_error, None
        if error is not None:
            raise error

    def take_reports(self) -> list[Report]:
        """Returns the queued reports, for callers that process them themselves."""
        found = []
        while self._reports:
            found.append(self._reports.popleft())
        return found

    def add_unstored_rows(self, chunk: Chunk, rows: Rows, error: KcliError) -> None:
        """Adds rows that failed, whose outcome is unknown, or that were never sent."""
        if not len(rows):
            return
        unknown = isinstance(error, OutcomeUnknownError)
        if self._left_to_a_later_run(error):
            if unknown:
                self.unknown += len(rows)
            else:
                self.unsent += len(rows)
            return
        if unknown:
            self.unknown += len(rows)
        else:
            self.failed += len(rows)
        self._note_first(chunk, rows[0], error)
        if isinstance(error, RecordRefusedError):
            self._warn_of_refused(chunk, rows, error)
        written = self._written(lambda file: file.add(chunk, rows, error), len(rows))
        if written:
            self._tracker.complete_rows(chunk, rows[:written])
        if written < len(rows):
            self._tracker.hold_unit(chunk, chunk.unit(rows[written]))

    def _left_to_a_later_run(self, error: KcliError) -> bool:
        """Whether the stop is the only cause: a later run finds the rows in the input."""
        if not self._stopped:
            return False
        if not self._given_up:
            return isinstance(error, ClosedError)
        return self._resumable and isinstance(error, (ClosedError, OutcomeUnknownError))

    def _note_first(self, chunk: Chunk, row: int, error: KcliError) -> None:
        position = chunk.start.source, chunk.unit(row)
        if self.first_error is None or position < self._first_position:
            self.first_error, self._first_position = error, position
            self.first_line, self.first_name = chunk.line(row), chunk.name

    def _warn_of_refused(self, chunk: Chunk, rows: Rows, error: RecordRefusedError) -> None:
        """Names the first few records that a broker refused, with its reason for each."""
        for row in rows[: _MOST_WARNINGS - self._refused]:
            self._refused += 1
            more = "; further ones are only counted" if self._refused == _MOST_WARNINGS else ""
            self._warn(f"line {chunk.line(row):,} of {chunk.name} was refused: {error.why}{more}")

    def _written(self, write: Callable[[FailedFile], object], count: int) -> int:
        """How many of ``count`` lines were written. After a failure the file is not used again: failed lines then hold
        the position.
        """
        file = self._file
        if file is None:
            return 0
        before = file.count
        try:
            write(file)
        except KcliError as error:
            self._file, self._file_error = None, error
            return file.count - before
        return count

    def add_bad_input(self, chunk: Chunk, unit: int, bad: BadInput) -> None:
        """Adds a unit of the chunk that is not a valid record."""
        self.bad += 1
        error = bad_input_error(chunk.name, bad, self._remedy)
        self.first_bad = self.first_bad or error
        if self.bad <= _MOST_WARNINGS:
            more = "; further ones are only counted" if self.bad == _MOST_WARNINGS else ""
            self._warn(f"{error}{more}")
        if not self._written(lambda file: file.add_bad(chunk, unit, bad), 1):
            self._tracker.hold_unit(chunk, unit)

    def sync(self) -> None:
        """Flushes failures to disk, so that the input may count as complete. FileError when that fails."""
        if self._file is not None and self._file.count:
            self._written(lambda file: file.sync(), 0)
            self.raise_file_error()


def bad_input_error(name: str, bad: BadInput, remedy: str = "") -> InputError:
    """``line 7 of stdin, column 3, is not a valid record: …``"""
    column = f", column {bad.column:,}," if bad.column else ""
    return InputError(
        f"line {bad.line:,} of {name}{column} is not a valid record",
        why=bad.reason,
        do=remedy
        or "correct it, or collect such lines with --failed FILE; --on-bad-input fail stops at the first",
    )
