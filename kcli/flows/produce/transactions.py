"""Producing in transactions: every N records are stored atomically, together with the position in the input.

A transaction ends after N records, a time, or a number of bytes that allows keeping all of it: when brokers reject some
of its records it is aborted, these are reported as failed, and the others are sent again in a new transaction. A stop
aborts the open transaction; its records have failed, unless a checkpoint lets a later run read them again.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass
from kcli.core.error_codes import (
    INVALID_RECORD,
    INVALID_TIMESTAMP,
    MESSAGE_TOO_LARGE,
)
from kcli.core.errors import (
    BrokerError,
    KcliError,
    TimedOutError,
    TransactionAbortableError,
    TransactionUnknownError,
    UnknownPartitionError,
    UnsupportedError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.names import CHECKPOINTS
from kcli.core.producer.origins import listed_rows
from kcli.core.producer.producer import Producer
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.inputs.feed import Portion
from kcli.flows.inputs.item import InputPosition, RowChunk
from kcli.flows.produce.checkpoint import Checkpoint
from kcli.flows.produce.run import ProduceRun
from kcli.flows.transactions.ends import commit_transaction, is_of_the_sequence

DEFAULT_EVERY = 10_000
LONGEST_SECONDS = 5.0
MOST_BYTES = 8 << 20
_PATIENCE = 120.0  # seconds for the end of a transaction
_GRACE = 4.0  # seconds for the end of a transaction after a stop
_OF_THE_RECORD = frozenset({MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP})
_TRIES = 3  # of one transaction, when no record is at fault

Sent = tuple[RowChunk, int]
"""A record of the open transaction: a row of a chunk."""


class Bookmark(msgspec.Struct, frozen=True):
    """Stored in the metadata of the group's commit: which run it is, and its position in the input."""

    run: str
    source: int
    unit: int
    offset: int
    crc32: int

    @property
    def position(self) -> InputPosition:
        """Where the next run begins."""
        return InputPosition(self.source, self.unit, self.offset, self.crc32)


@dataclass(frozen=True, slots=True)
class Transactions:
    """``every`` records form a transaction. ``group`` (with ``run``) stores the input position in the same
    transaction.
    """

    every: int = DEFAULT_EVERY
    seconds: float = LONGEST_SECONDS
    most_bytes: int = MOST_BYTES
    group: str | None = None
    run: str = ""


class TransactionalRun(ProduceRun):
    """The input must come as rows; the producer's transactions must be initialized."""

    _producer: Producer

    def __init__(self, *args: Any, transactions: Transactions, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._limits = transactions
        self._open = False
        self._broken: KcliError | None = None
        self._rows: list[Sent] = []
        self._bytes = 0
        self._begun = 0.0
        self._confirmed = 0
        self._cause: KcliError | None = None
        self._next_position: InputPosition | None = None
        self._committed = self._tracker.position()

    def _reading(self, portions: Iterable[Portion]) -> None:
        super()._reading(portions)
        try:
            if self._open and not self._stop:
                self._commit()
        except KcliError as error:
            self._input_error = self._input_error or error
        if self._open:
            try:
                self._abort()
            except KcliError as error:
                self._input_error = self._input_error or error
        self._leave_rows()

    def _leave_rows(self) -> None:
        """Rows of a transaction that was not committed have failed; after a stop a checkpoint makes a later run read
        them.
        """
        if self._stop and self._limits.group is not None:
            self._lines -= len(self._rows)
        elif self._rows:
            cause = self._input_error or KcliError("the run was stopped")
            self._not_stored(KcliError("its transaction was aborted", why=str(cause), do=cause.do))
        self._rows, self._bytes = [], 0

    def _not_stored(self, error: KcliError) -> None:
        for chunk, own in groupby(self._rows, key=lambda sent: sent[0]):
            self._outcomes.add_unstored_rows(chunk, listed_rows([row for _, row in own]), error)

    def _confirmed_count(self) -> int:
        return self._confirmed

    def _pass_rows(self, chunk: RowChunk, start: int, stop: int) -> None:
        while start < stop:
            if not self._open:
                self._begin()
            end = self._fitting(chunk, start, stop)
            self._add_rows(chunk, start, end)
            self._rows += [(chunk, row) for row in range(start, end)]
            self._passed = start = end
            self._next_position = chunk.position(
                chunk.unit(start - 1) + 1 if start < chunk.rows else _end(chunk)
            )
            if len(self._rows) >= self._limits.every or self._bytes >= self._limits.most_bytes:
                self._commit()

    def _tick(self) -> None:
        super()._tick()
        if self._open and not self._stop and time.monotonic() - self._begun >= self._limits.seconds:
            self._commit()

    def _position(self) -> InputPosition:
        return self._committed

    def _process_outcomes(self) -> None:
        """Deliveries complete nothing before their transaction does: see ``_refused``."""
        self._outcomes.raise_file_error()

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._producer.begin_transaction(_PATIENCE)
        self._open, self._broken = True, None
        self._begun = time.monotonic()

    def _fitting(self, chunk: RowChunk, start: int, last: int) -> int:
        """The first row that no longer fits in the transaction; one row always fits."""
        stop = min(last, start + self._limits.every - len(self._rows))
        for row in range(start, stop):
            record = chunk.records[row]
            self._bytes += len(record.key or b"") + len(record.value or b"") + len(record.headers)
            if self._bytes >= self._limits.most_bytes:
                return row + 1
        return stop

    def _add_rows(self, chunk: RowChunk, start: int, stop: int) -> None:
        if self._broken is None:
            try:
                self._send_span(chunk, start, stop)
            except TransactionAbortableError as error:  # an earlier record failed: all is sent again
                self._broken = error
            except KcliError as error:  # records that the producer did not accept must not be committed
                self._broken = error
                raise

    def _commit(self) -> None:
        """Commits the transaction, without the records that brokers reject; raises an error if that is impossible."""
        tries = 0
        while self._rows:
            error = self._end()
            if error is None:
                break
            refused = self._refused()
            tries = 0 if refused else tries + 1
            if not refused and (tries >= _TRIES or not is_of_the_sequence(self._cause)):
                raise self._cause or error
            self._rows = [sent for sent in self._rows if sent not in refused]
            if self._rows:
                self._begin()
                for chunk, first, last in _spans(self._rows):
                    self._add_rows(chunk, first, last)
        if self._open and not self._rows:
            self._abort()
        self._confirm()

    def _end(self) -> KcliError | None:
        """Commits; returns the error if the transaction had to be aborted instead."""
        try:
            if self._broken is not None:
                raise self._broken
            self._commit_position()
            commit_transaction(self._producer, self._stop, patience=_PATIENCE, grace=_GRACE)
        except (TransactionAbortableError, TimedOutError) as error:
            self._abort(keep=True)
            return error
        except TransactionUnknownError as error:
            if self._limits.group is None:  # else a later run learns from the group whether it was committed
                self._not_stored(error)
            self._open, self._rows = False, []
            raise
        self._open = False
        self.transactions += 1
        return None

    def _commit_position(self) -> None:
        position, limits = self._next_position, self._limits
        if limits.group is None or position is None:
            return
        bookmark = Bookmark(limits.run, position.source, position.unit, position.offset, position.crc)
        tp = TopicPartition(self._sending.topic, 0)
        # Offset 0 exists in a log, or did: a line number would look like a position, and often like a lost
        # one.
        offset = OffsetAndMetadata(0, msgspec.json.encode(bookmark).decode())
        self._producer.send_offsets_to_transaction({tp: offset}, limits.group, _PATIENCE)

    def _abort(self, *, keep: bool = False) -> None:
        self._producer.abort_transaction(_GRACE if self._stop else _PATIENCE)
        self._open = False
        if not keep:
            self._outcomes.take_reports()

    def _refused(self) -> set[Sent]:
        """Records and returns the records that brokers rejected because of their content."""
        found: set[Sent] = set()
        self._cause = None
        for report in self._outcomes.take_reports():
            if report.error is not None and not isinstance(report.error, TransactionAbortableError):
                self._cause = self._cause or report.error
            if report.error is not None and _is_of_the_record(report.error):
                for _, chunk, rows in report.origins:
                    for row in rows:
                        if (chunk, row) not in found:
                            found.add((chunk, row))
                            self._outcomes.add_unstored_rows(chunk, range(row, row + 1), report.error)
        return found

    def _confirm(self) -> None:
        self._outcomes.take_reports()
        self._committed = self._next_position or self._committed
        self._confirmed += len(self._rows)
        for chunk, own in groupby(self._rows, key=lambda sent: sent[0]):
            self._tracker.complete_rows(chunk, listed_rows([row for _, row in own]))
        self._rows, self._bytes = [], 0


class UnknownPositionError(KcliError):
    """It is not known how far the last transaction of a checkpoint got."""

    exit_code = ExitCode.REFUSED


def transactional_flow(
    producer: Producer,
    topic: str,
    checkpoint: Checkpoint | None,
    *,
    every: int | None,
    open_admin: Callable[[], Admin],
    initialize: Callable[[], None],
) -> Callable[..., ProduceRun]:
    """The flow, after ``initialize`` has taken over the transactional id; sets the checkpoint to the last transaction of
    its group. UnsupportedError for brokers that could not tell a later run which one was the last.
    """
    if checkpoint is not None:
        with open_admin() as admin:
            if (lacking := admin.lacks("fetch_stable")) is not None:
                raise UnsupportedError(
                    "--checkpoint with --transactional-id needs brokers of Kafka 2.5 or later",
                    why=f"{lacking}: the next run could not tell where this one ended",
                    do="leave out one of them",
                )
    initialize()
    limits = Transactions(every or DEFAULT_EVERY)
    if checkpoint is not None:
        group, tp = CHECKPOINTS + producer.options.transactional_id, TopicPartition(topic, 0)
        if checkpoint.resumes:
            with open_admin() as admin:
                stored = admin.fetch_offsets({group: [tp]}, require_stable=True)[group]
            checkpoint.position = resumed_position(checkpoint, group, stored, tp)
        limits = Transactions(limits.every, group=group, run=checkpoint.run)
    return partial(TransactionalRun, transactions=limits)


def resumed_position(checkpoint: Checkpoint, group: str, stored: Any, tp: TopicPartition) -> InputPosition:
    """Where a run resumes: the group's offset is of the last transaction, the file may be a second older.

    ``stored`` is what the group has committed, or the error of fetching it.
    """
    if isinstance(stored, KcliError):
        raise stored
    found = stored.get(tp)
    if isinstance(found, KcliError):
        raise found
    if found is None:
        if checkpoint.finished or checkpoint.position == InputPosition():
            return checkpoint.position
        raise UnknownPositionError(
            f"group {group} has no offset for {tp}",
            why=f"{checkpoint.path} has line {checkpoint.position.unit + 1:,}, but a later transaction may be committed",
            do="brokers forget offsets after offsets.retention.minutes: compare the topic, then start again",
        )
    try:
        bookmark = msgspec.json.decode(found.metadata, type=Bookmark)
    except msgspec.DecodeError:
        bookmark = None
    if bookmark is None or bookmark.run != checkpoint.run:
        raise UnknownPositionError(
            f"the transactional id of {checkpoint.path} was used by another run since",
            why=f"group {group} has an offset that is not of this checkpoint",
            do="use a transactional id for one input only; delete the checkpoint to start again",
        )
    return bookmark.position


def _end(chunk: RowChunk) -> int:
    return chunk.start.unit + chunk.units


def _spans(rows: list[Sent]) -> list[tuple[RowChunk, int, int]]:
    """Runs of consecutive rows: (chunk, first, end)."""
    found: list[tuple[RowChunk, int, int]] = []
    for chunk, row in rows:
        if found and found[-1][0] is chunk and found[-1][2] == row:
            found[-1] = (chunk, found[-1][1], row + 1)
        else:
            found.append((chunk, row, row + 1))
    return found


def _is_of_the_record(error: KcliError) -> bool:
    return isinstance(error, (RecordTooLargeError, UnknownPartitionError)) or (
        isinstance(error, BrokerError) and error.code in _OF_THE_RECORD
    )
