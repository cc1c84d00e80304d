"""The copy loop: fetches batches from the source, passes them to the producer, and saves how far they are confirmed.

One thread polls and sends; the producer's thread completes batches. When the target is slow, a send waits for memory,
and nothing more is fetched: back-pressure is one chain. A partition that cannot be read or written ends alone.

At least once: positions are saved at intervals, each below everything that is not confirmed. Exactly once: the records
and the positions after them are in one transaction of the target (KIP-98), begun with its first record and committed at
intervals; an aborted transaction is copied again from the positions before it.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from kcli.core.admin.topics import id_bytes, id_text
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.consumer.subscription import Span
from kcli.core.errors import (
    ClosedError,
    CorruptRecordsError,
    KcliError,
    StoppedError,
    TimedOutError,
    TransactionAbortableError,
    TransactionUnknownError,
)
from kcli.core.kernels.shapes import Row
from kcli.core.producer.producer import Producer
from kcli.core.producer.report import Report
from kcli.core.records.passing import offsets_taken, passes, rows_taken
from kcli.core.records.run import BatchRun
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import is_outage
from kcli.flows.mirror.copy.finer_times import has_finer_times, rows_in_ms
from kcli.flows.mirror.copy.origin import was_on, with_origin
from kcli.flows.mirror.copy.partition_copy import Moved, PartitionCopy, SentBatch
from kcli.flows.mirror.copy.partition_state import Cause
from kcli.flows.mirror.copy.save_times import SaveTimes
from kcli.flows.mirror.copy.state_watch import StateWatch
from kcli.flows.mirror.job.lease import LeaseLostError
from kcli.flows.mirror.settings import STEADY, Pace
from kcli.flows.rate import Periodic, TokenBucket, wait
from kcli.flows.stop import Stop
from kcli.flows.transactions.ends import is_of_the_sequence

JOINED_BYTES = 800_000
"""Small batches are joined until they have so many bytes: the result fits the default of ``max.message.bytes``."""

_LARGEST_JOINED = 1_000_000
_POLL = 0.2  # seconds
_STOP_PATIENCE = 4.5  # seconds that a stopped mirror waits for confirmations
_FLUSH_SLICE = 0.2
_LEAST_UNCONFIRMED = 2_000_000  # bytes of a partition
_PROGRESS_PATIENCE = 2.0  # seconds in which a partition with so many unconfirmed bytes must make progress
_PROGRESS_PAUSE = 0.01
_RESERVE_SHIFT = 3  # an eighth of the producer's memory is left to positions
_RESTART_PATIENCE = 15.0  # seconds without a confirmation, before a recreated topic is copied from its start
_NOT_SAVED = (ClosedError, TimedOutError, TransactionAbortableError, TransactionUnknownError)
_LOOKUP = 30.0  # seconds to find the end of a topic that was created anew
_READ_AGAIN = 2.0  # seconds until a partition is read again after an error that may pass
_ABANDONED_PATIENCE = 5.0  # seconds without a confirmation, at the end, while records wait that were given up


class Checkpoints(Protocol):
    """Where positions are saved."""

    def is_pending(self, copies: Iterable[PartitionCopy]) -> bool:
        """Whether there is something to be saved."""

    def save(self, copies: Iterable[PartitionCopy], *, ended: bool = False) -> bool:
        """Saves the confirmed positions of these partitions, of all that have moved since the last call; False where that
        has to wait. Raises KcliError where it fails, or failed before.

        ``ended``: the job ends in order; ``copies`` are all.
        """

    @property
    def unconfirmed(self) -> int:
        """How many records of earlier calls are neither stored nor failed."""

    def stored(self, count: int) -> None:
        """So many records of earlier calls are stored."""

    def failed(self, error: KcliError) -> None:
        """What an earlier call wrote could not be stored."""

    def commit(self) -> None:
        """The transaction with what was saved is committed."""

    def rollback(self) -> None:
        """The transaction with what was saved was aborted."""


class _Refused(NamedTuple):
    """Why a partition could not be read, and when it is tried again."""

    error: KcliError
    until: float


class Deliveries:
    """The producer's reports: appended by its thread, processed by the copy loop.

    The origin of records is their SentBatch, that of saved positions the Checkpoints that sent them.
    """

    def __init__(self, *, transactional: bool = False) -> None:
        self._transactional = transactional
        self._reports: deque[Report] = deque()
        self.count = 0

    def __call__(self, report: Report) -> None:
        """Keeps one report, and counts it."""
        self._reports.append(report)
        self.count += 1

    def process(self) -> set[PartitionCopy]:
        """Confirms or fails what was reported since the last call; returns the copies that failed."""
        failed = set()
        while self._reports:
            report = self._reports.popleft()
            error = report.error
            if error is not None and (
                isinstance(error, TransactionAbortableError)
                or (self._transactional and is_of_the_sequence(error))
            ):
                continue  # no partition is the cause, or another report has it: the transaction is repeated
            for first, sent, rows in report.origins:
                if not isinstance(sent, SentBatch):
                    if error is not None:
                        sent.failed(error)
                    else:
                        sent.stored(len(rows))
                    continue
                if error is not None:
                    sent.copy.reject(error, sent.offsets[rows[0]])
                elif report.log_append_time >= 0:
                    sent.copy.reject_times()
                else:
                    base = -1 if report.base_offset < 0 else report.base_offset + first
                    sent.copy.confirm(sent, rows, base)
                if sent.copy.error is not None:
                    failed.add(sent.copy)
        return failed


class Copy:
    """Copies partitions until all are done, or ``stop`` is requested.

    ``clusters``: the ids of source and target, for a header with each record's origin; None: no such header. ``to_ms``:
    times in µs and ns are copied in ms, for which batches that have such are encoded again. ``watch``: partitions wait
    for clusters that are away, with their states; None: an error of reading ends them. ``may_send`` says whether records
    may be sent, in each turn, and before each batch. While that is not known it calls its argument, which says whether to
    wait on; it raises where this process may not copy any more.

    ``abandoned``: of a partition that has waited too long the producer still has records, which nobody waits for.
    """

    _saves_by_volume = True

    def __init__(
        self,
        consumer: Consumer,
        producer: Producer,
        deliveries: Deliveries,
        copies: Sequence[PartitionCopy],
        checkpoints: Checkpoints,
        *,
        stop: Stop,
        pace: Pace = STEADY,
        by_key: bool = False,
        clusters: tuple[str, str] | None = None,
        on_gap: str = "fail",
        on_recreate: str = "fail",
        progress: Callable[[], None] = lambda: None,
        warn: Callable[[str], None] = lambda _text: None,
        to_ms: bool = False,
        watch: StateWatch | None = None,
        may_send: Callable[[Callable[[], bool]], bool] = lambda _waiting: True,
    ) -> None:
        self._consumer = consumer
        self._producer = producer
        self._deliveries = deliveries
        self.copies = {copy.source: copy for copy in copies}
        self._checkpoints = checkpoints
        self._stop = stop
        self._interval = pace.interval
        now = time.monotonic()
        self._by_records = (
            TokenBucket(pace.records_per_second, now) if pace.records_per_second is not None else None
        )
        self._by_bytes = (
            TokenBucket(pace.bytes_per_second, now) if pace.bytes_per_second is not None else None
        )
        self._by_key = by_key
        self._clusters = clusters
        self._on_gap = on_gap
        self._on_recreate = on_recreate
        self._show_progress = progress
        self._warn = warn
        self._to_ms = to_ms
        self._watch = watch
        self._refused: dict[TopicPartition, _Refused] = {}
        self.abandoned = False
        self._may_send = may_send
        self._times = SaveTimes(pace.interval, now, by_volume=self._saves_by_volume)
        self._tasks: Sequence[Periodic] = ()
        self._failed: set[PartitionCopy] = set()  # and not paused yet
        self._unsaved = False
        self._most_unconfirmed = _share_of(producer, len(copies))
        self._held: dict[TopicPartition, float] = {}  # paused until the target has accepted more, since when
        self._lent = False  # the batches that were polled last
        self._obsolete = False  # an abort has moved the positions back: the rest of a poll comes again
        # Of thousands of partitions few move between two polls, and only these are looked at.
        self._moved = consumer.watch_positions()
        self._to_follow: dict[TopicPartition, None] = {}
        self._to_save: Moved = {}
        for copy in copies:
            copy.watch(self._to_save)

    def run(self, tasks: Sequence[Periodic] = ()) -> None:
        """Copies; returns with all confirmed positions saved. Errors of single partitions are in ``copies``.

        ``tasks`` are run between two polls.
        """
        self._tasks = tasks
        if self._watch is not None:
            self._watch.unblock()
        self._assign()
        try:
            while not self._stop and not self._done():
                self.turn()
        except LeaseLostError:
            self._hand_over()
            raise
        self._finish()

    def turn(self) -> None:
        """One poll and what follows from it."""
        if not self._is_allowed():
            return
        batches = self._poll()
        self._lent = bool(batches) and self._consumer.lend(self._consumer.options.fetch_buffer_bytes)
        for fetched in batches:
            self._send(fetched)
            self._save_at_interval()
        self._process_deliveries()
        self._drop_failed()
        self._note_moved()
        now = time.monotonic()
        self._resume_held(now)
        self._read_refused(now)
        if self._save_is_due(now):
            self._save()
        for task in self._tasks:
            if task.is_due(now):
                self._save()  # a task sees what is saved, and nothing of an open transaction
                task.run()
        self._progress()

    def _is_allowed(self) -> bool:
        """Whether this process may copy; waits while the target does not say. Called for each batch."""
        allowed = self._may_send(self._wait_for_lease)
        self._go_on()
        return allowed

    def _wait_for_lease(self) -> bool:
        why = "target: the coordinator of the job does not respond"
        return self._wait_blocked(why, time.monotonic())  # the first time counts

    def _wait_blocked(self, why: str, began: float) -> bool:
        """Nothing is copied for this reason since ``began``; whether to wait on."""
        if self._watch is not None:
            self._watch.block(why, began)
        self._progress()
        return not self._all_given_up()

    def _go_on(self) -> None:
        if self._watch is not None:
            self._watch.unblock()

    def _all_given_up(self) -> bool:
        """Whether nothing is left that could be copied."""
        return self._done()

    def _progress(self) -> None:
        """Looks at the states of the partitions when that is due, and shows how far they are. Called often."""
        now = time.monotonic()
        if self._watch is not None and self._watch.is_due(now):
            self._look(now)
        self._show_progress()

    def _look(self, now: float) -> None:
        watch = self._watch
        if watch is not None:
            refused = {tp: str(one.error) for tp, one in self._refused.items()}
            for copy, error, cause in watch.look(
                self.copies.values(), self._producer, refused, self._held, now
            ):
                self._give_up(copy, error, cause)
            watch.say(self.copies.values(), now)

    def _give_up(self, copy: PartitionCopy, error: KcliError, cause: Cause) -> None:
        """Ends a partition that has waited too long; what the target has not accepted of it is not waited for."""
        if cause is Cause.TARGET:
            self.abandoned = True
            copy.fail(error)
        else:
            copy.end(error)
        self._refused.pop(copy.source, None)
        self._failed.add(copy)

    # --- reading -------------------------------------------------------------------------------------

    def _assign(self) -> None:
        to_read = [copy for copy in self.copies.values() if not copy.done]
        self._consumer.assign({copy.source: _span(copy) for copy in to_read})
        for copy in to_read:
            copy.begun = True

    def add(self, copies: Sequence[PartitionCopy]) -> None:
        """Copies these partitions as well from now on."""
        self.copies.update({copy.source: copy for copy in copies})
        for copy in copies:
            copy.begun = True
            copy.watch(self._to_save)
        self._most_unconfirmed = _share_of(self._producer, len(self.copies))
        self._consumer.add_partitions({copy.source: _span(copy) for copy in copies})

    def fail(self, copy: PartitionCopy, error: KcliError) -> None:
        """Ends a partition between two polls; nothing of it is waited for."""
        copy.fail(error)
        self._failed.add(copy)

    def _poll(self) -> list[FetchedBatch]:
        self._obsolete = False
        try:
            batches = self._consumer.poll(_POLL)
        except KcliError as error:
            self._failed_to_read(error)
            return []
        if self._watch is not None:
            self._watch.polled(time.monotonic())
        if not batches:
            self._follow_positions()
            if self._consumer.done:  # a poll returns at once: only confirmations are waited for
                self._producer.flush(_POLL)
        return batches

    def _follow_positions(self) -> None:
        """Where nothing was returned, positions may still have moved: over markers, or aborted records."""
        self._note_moved()
        for tp in [tp for tp in self._to_follow if tp not in self._held]:
            del self._to_follow[tp]
            copy = self.copies[tp]
            if copy.error is None and (state := self._consumer.assigned(tp)) is not None:
                copy.skip_to(state.position, state.epoch)

    def _note_moved(self) -> None:
        """Passes on which partitions have another position or end on the source."""
        for tp in self._moved:
            if (copy := self.copies.get(tp)) is not None:
                copy.note_moved()
                self._to_follow[tp] = None
        self._moved.clear()

    def _failed_to_read(self, error: KcliError) -> None:
        """Ends the partitions that failed, or continues after a gap or a recreated topic, where that was chosen."""
        assigned = self._consumer.assignment
        failed = [
            copy
            for tp, copy in self.copies.items()
            if tp in assigned and self._consumer.state(tp).error is error
        ]
        if not failed:
            if self._watch is None or not is_outage(error):
                raise error
            self._warn(f"reading: {error}")
            return
        if isinstance(error, TopicRecreatedError) and self._on_recreate == "restart":
            self._complete_sent(patience=_RESTART_PATIENCE)
        for copy in failed:
            if copy.error is not None:
                continue
            if isinstance(error, OutOfRangeError) and self._on_gap == "record" and error.start > copy.sent_to:
                self._record_gap(
                    copy, error.start, "the source removed these records before they were copied"
                )
                self._consumer.seek(copy.source, error.start)
            elif (
                isinstance(error, CorruptRecordsError) and self._on_gap == "record" and error.next_offset >= 0
            ):
                self._record_gap(copy, error.next_offset, f"damaged on the source: {error}")
                self._consumer.seek(copy.source, error.next_offset)
            elif isinstance(error, TopicRecreatedError) and self._on_recreate == "restart":
                self._restart(copy, id_text(error.topic_id))
            elif self._watch is not None and is_outage(error):
                self._refused[copy.source] = _Refused(error, time.monotonic() + _READ_AGAIN)
            else:
                copy.end(error)

    def _read_refused(self, now: float) -> None:
        """Reads partitions again whose error may be over."""
        for tp in [tp for tp, one in self._refused.items() if one.until <= now]:
            del self._refused[tp]
            copy = self.copies[tp]
            if copy.error is None:
                self._consumer.seek(tp, copy.sent_to, leader_epoch=copy.sent_epoch)

    def _record_gap(self, copy: PartitionCopy, stop: int, why: str) -> None:
        copy.record_gap(stop, why)
        self._warn(f"{copy.source}: offsets {copy.gaps[-1].first} to {stop - 1} are not copied: {why}")

    def _restart(self, copy: PartitionCopy, topic_id: str) -> None:
        """Copies a topic that was created anew from its start; a bounded copy ends where it ends now."""
        tp = copy.source
        self._warn(f"{tp}: the topic was recreated; copying it from its start")
        stop = None
        if copy.stop is not None:
            end = self._consumer.list_offsets({tp: LATEST}, _LOOKUP, committed_only=False)[tp]
            if isinstance(end, KcliError):
                copy.end(end)
                return
            stop = end.offset
        copy.restart(topic_id, stop)
        self._held.pop(tp, None)
        self._consumer.add_partitions({tp: _span(copy)})

    # --- sending -------------------------------------------------------------------------------------

    def _send(self, fetched: FetchedBatch) -> None:
        batch = fetched.batch
        if type(batch) is not BatchRun or (batch.size <= _LARGEST_JOINED and self._is_even(batch)):
            self._send_batch(fetched)
            batch.forget_payload()  # a poll returns many batches, and a re-encoded one was decompressed
            return
        parts = [
            fetched._replace(
                batch=one,
                first=max(one.base_offset, fetched.first),
                stop=min(one.next_offset, fetched.stop),
                then=min(one.next_offset, fetched.stop),
                epoch=None,
            )
            for one in batch.batches()
            if one.next_offset > fetched.first and one.base_offset < fetched.stop
        ]
        for part in parts[:-1]:
            self._send_batch(part)
        self._send_batch(parts[-1]._replace(then=fetched.then, epoch=fetched.epoch))

    def _is_even(self, run: BatchRun) -> bool:
        """Whether the joined batches are no more than the rate allows within its smallest span of time."""
        return (self._by_records is None or run.count <= self._by_records.most) and (
            self._by_bytes is None or run.size <= self._by_bytes.most
        )

    def _send_batch(self, fetched: FetchedBatch) -> None:
        copy = self.copies[fetched.tp]
        if copy.error is not None or self._stop or self._obsolete:
            return  # no position may pass a batch that is not sent
        batch, first, stop = fetched.batch, fetched.first, fetched.stop
        if copy.source in self._held or not self._has_room(copy):
            return
        if batch.is_control:
            copy.control_batches += 1
            copy.skip_to(fetched.then, fetched.then_epoch)
            return
        rows: Sequence[Row] | None = None
        try:
            offsets = offsets_taken(batch, first, stop)
            finer = self._to_ms and has_finer_times(batch)
            if self._by_key or self._clusters is not None or finer:
                rows = rows_taken(batch, first, stop)
                rows = rows_in_ms(rows) if finer else rows
        except StoppedError:
            return
        except CorruptRecordsError as error:
            self._cannot_be_read(copy, fetched, error.in_partition(fetched.tp))
            return
        if self._clusters is not None and rows is not None:
            offsets, rows = self._with_origins(fetched.tp, offsets, rows)
        if not offsets:
            copy.skip_to(fetched.then, fetched.then_epoch)
            return
        size = batch.size * len(offsets) // max(batch.count, 1)  # a range may end inside the batch
        self._limit_rate(len(offsets), size)
        if copy.error is not None or self._stop or self._obsolete:
            return
        if not (self._is_allowed() and self._begin()):
            return
        self._times.sent(size)
        sent = copy.send(offsets, fetched.then, fetched.then_epoch, size, batch.base_timestamp)
        try:
            if self._by_key and rows is not None:
                self._producer.send_rows(copy.target.topic, rows, origin=sent)
                copy.encoded_batches += 1
                return
            self._producer.send_batch(
                copy.target, batch, first=first, stop=stop, rows=rows, origin=sent, lent=self._lent
            )
            if rows is None and passes(batch) and len(offsets) == batch.count:
                copy.untouched_batches += 1
            else:
                copy.encoded_batches += 1
        except ClosedError:
            if not self._stop:
                raise
        except StoppedError:
            copy.withdraw(sent)
        except TransactionAbortableError as error:
            self._abort(error)
        except CorruptRecordsError as error:
            copy.withdraw(sent)
            self._cannot_be_read(copy, fetched, error.in_partition(fetched.tp))
        except KcliError as error:
            copy.reject(error)
            self._failed.add(copy)

    def _has_room(self, copy: PartitionCopy) -> bool:
        """Whether more may be sent for the partition. One that the target does not accept is held back after a while:
        what waits for it must not fill the memory of the others.
        """
        if copy.unconfirmed_bytes < self._most_unconfirmed and not self._is_full():
            return True
        deadline, count = time.monotonic() + _PROGRESS_PATIENCE, self._deliveries.count
        while (full := self._is_full()) or copy.unconfirmed_bytes >= self._most_unconfirmed:
            self._process_deliveries()
            if self._stop or copy.error is not None:
                return False
            now = time.monotonic()
            if full and self._deliveries.count != count:
                deadline, count = now + _PROGRESS_PATIENCE, self._deliveries.count
            if now >= deadline:
                self._hold_back(copy)
                return False
            time.sleep(_PROGRESS_PAUSE)
        return True

    def _is_full(self) -> bool:
        """Whether the producer's memory is used up, but for positions. A send would wait there for a target that is
        away, and nobody would be told what the copy waits for.
        """
        return self._producer.memory_left < self._producer.options.buffer_memory >> _RESERVE_SHIFT

    def _hold_back(self, copy: PartitionCopy) -> None:
        """Reads no more of the partition for now; what was read after the last batch sent is read again."""
        self._held[copy.source] = time.monotonic()
        self._read_again(copy, copy.sent_to, copy.sent_epoch)
        self._consumer.pause(copy.source)

    def _read_again(self, copy: PartitionCopy, offset: int, leader_epoch: int) -> None:
        """Continues reading at ``offset``; not where reading has failed, which the next poll raises."""
        if self._consumer.state(copy.source).error is None:
            self._consumer.seek(copy.source, offset, leader_epoch=leader_epoch)

    def _resume_held(self, now: float) -> None:
        """Continues partitions of which the target has accepted what was sent."""
        for tp in [tp for tp, since in self._held.items() if self._may_resume(self.copies[tp], now - since)]:
            del self._held[tp]
            if self.copies[tp].error is None:
                self._consumer.resume(tp)

    def _may_resume(self, copy: PartitionCopy, _seconds: float) -> bool:
        return copy.unconfirmed_bytes < self._most_unconfirmed // 2 and not self._is_full()

    def _cannot_be_read(self, copy: PartitionCopy, fetched: FetchedBatch, error: KcliError) -> None:
        """The checksum of the batch is right, its records are not what they should be."""
        if self._on_gap == "record":
            self._record_gap(copy, fetched.then, f"damaged on the source: {error}")
        else:
            copy.end(error)
            self._failed.add(copy)

    def _with_origins(
        self, tp: TopicPartition, offsets: Sequence[int], rows: Sequence[Row]
    ) -> tuple[list[int], list[Row]]:
        """The rows that have not been on the target, each with a header that says where it is from."""
        assert self._clusters is not None
        source, target = self._clusters
        kept = [(at, row) for at, row in zip(offsets, rows, strict=True) if not was_on(row, target)]
        return [at for at, _ in kept], [with_origin(row, source, tp, at) for at, row in kept]

    def _limit_rate(self, records: int, size: int) -> None:
        if self._by_records is None and self._by_bytes is None:
            return
        now = time.monotonic()
        seconds = 0.0
        if self._by_records is not None:
            seconds = self._by_records.take_tokens(records, now)
        if self._by_bytes is not None:
            seconds = max(seconds, self._by_bytes.take_tokens(size, now))
        while seconds > 0 and not self._stop:
            wait(min(seconds, self._interval), self._stop)
            seconds -= self._interval
            self._save_at_interval()

    def _drop_failed(self) -> None:
        """Reads no more of partitions that ended with an error."""
        if self._failed:
            self._consumer.pause(*(copy.source for copy in self._failed))
            self._failed.clear()

    # --- saving --------------------------------------------------------------------------------------

    def _process_deliveries(self) -> None:
        """Counts what was stored since the last call."""
        self._failed |= self._deliveries.process()

    def _save_is_due(self, now: float) -> bool:
        return self._times.is_due(now, confirmed=self._deliveries.count > 0)

    def _save_at_interval(self) -> None:
        """Called between the batches of a poll: with a limited rate or a slow target they can last for minutes."""
        if self._times.is_due(time.monotonic(), confirmed=self._deliveries.count > 0):
            self._process_deliveries()
            self._save()
            self._progress()

    def _begin(self) -> bool:
        """Called before records are sent; False where none may be sent any more."""
        return True

    def _abort(self, error: KcliError) -> None:
        """Called when the producer's transaction can only be aborted; there is none."""
        raise error

    def _save(self, *, ended: bool = False) -> None:
        """Saves positions that are confirmed, so that a kill at any moment loses nothing: what was sent after them is
        sent again, and may be stored twice. They themselves are confirmed later; ``_finish`` waits for the last ones.
        """
        began = self._begin_saving()
        try:
            if self._checkpoints.save(self.copies.values() if ended else self._to_save, ended=ended):
                self._to_save.clear()
            self._unsaved = False
        except _NOT_SAVED:  # a stop while the target accepts nothing
            if not self._stop:
                raise
            self._unsaved = True
        self._times.end(began, time.monotonic())

    def _begin_saving(self) -> float:
        """Returns when."""
        now = time.monotonic()
        self._times.begin(now, confirmed=self._deliveries.count > 0)
        return now

    def _complete_sent(self, *, ended: bool = False, patience: float = math.inf) -> bool:
        """Waits until what was sent is confirmed, and saves the positions; False where it was not confirmed.

        ``patience`` as in ``_wait_for_deliveries``. Where partitions were given up and earlier positions are not stored
        by now either, the target is away, and the end of the job is not waited for.
        """
        complete = self._wait_for_deliveries(patience)
        self._process_deliveries()
        if self.abandoned and self._checkpoints.unconfirmed:
            return False
        self._save(ended=ended)
        return complete

    def _done(self) -> bool:
        return all(copy.done for copy in self.copies.values())

    def _finish(self) -> None:
        self._look(time.monotonic())  # what is saved last has the states of the end
        # A position that was saved has to be confirmed as well: the second save raises if it is not.
        if self._complete_sent() and self._complete_sent(ended=True):
            self._wait_for_deliveries()
            self._process_deliveries()
        if self._unsaved or self._checkpoints.unconfirmed:
            self._warn(
                "the last positions were not saved: the next run copies again what follows the earlier ones"
            )
        self._look(time.monotonic())
        self._progress()

    def _hand_over(self) -> None:
        """Saves how far the copy is, for the instance that takes over: what it would copy again is on the target already.

        The position is written with the job's transactional id: it is stored before that instance reads it, or refused.
        """
        with suppress(KcliError):
            if self._wait_for_deliveries(_STOP_PATIENCE):
                self._process_deliveries()
                self._save(ended=True)

    def _wait_for_deliveries(self, patience: float = math.inf) -> bool:
        """Waits until everything is confirmed or failed.

        False where a stop ended the wait, or nothing was confirmed for ``patience`` seconds; what was given up is not
        waited for.
        """
        count, began = self._deliveries.count, time.monotonic()
        last = began
        while not self._producer.flush(_FLUSH_SLICE):
            now = time.monotonic()
            if self._deliveries.count != count:
                count, last = self._deliveries.count, now
            if now - last >= patience or (self._stop and now - began >= _STOP_PATIENCE):
                return False
            self._process_deliveries()
            self._progress()
            if self._is_settled(now - last):
                return True
        return True

    def _is_settled(self, quiet: float) -> bool:
        """Whether everything is confirmed but what was given up, which may be the positions too, after ``quiet`` seconds
        without a confirmation.
        """
        if self._watch is None or any(copy.unconfirmed_bytes for copy in self.copies.values()):
            return False
        if not self._checkpoints.unconfirmed:
            return self.abandoned
        limit = self._watch.limit
        if self.abandoned:
            limit = _ABANDONED_PATIENCE if limit is None else min(_ABANDONED_PATIENCE, limit)
        if limit is None or quiet < limit:
            return False
        self.abandoned = True
        return True


def _span(copy: PartitionCopy) -> Span:
    """What is read of the copy's partition.

    With the topic id that it was planned for. Sequence that must not happen: the plan is made; the topic is deleted and
    created again; the first metadata that the consumer sees for it has the new id. The new topic would be read from the
    position in the old one, its first records be missing, and nothing say so.
    """
    return Span(copy.position, copy.stop, copy.leader_epoch, id_bytes(copy.topic_ids.source))


def _share_of(producer: Producer, partitions: int) -> int:
    """How many bytes of a partition may be unconfirmed: together three quarters of the producer's memory.

    With four partitions that are the five batches of 1 MB that may be in flight, and one to follow: a target that is far
    away is never without.
    """
    return max(_LEAST_UNCONFIRMED, producer.options.buffer_memory * 3 // (4 * max(partitions, 1)))
