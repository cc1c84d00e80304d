"""The copy in transactions of the target: records and the positions after them are committed together (KIP-98).

Deliveries count only when their transaction is committed. If it is aborted, its records are read and sent again, without
the partitions that caused the abort.
"""

import math
import time
from collections.abc import Callable

from kcli.core.errors import KcliError, TimedOutError, TransactionAbortableError, TransactionUnknownError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.loop import Copy
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.transactions.ends import commit_transaction

_PATIENCE = 10.0  # seconds for one call of a transaction; without a response it is repeated
_GRACE = 0.5  # seconds for the end of a transaction after a stop
_HOLD_BACK_AFTER = 15.0  # seconds until a partition whose records are not confirmed is held back
_SUSPECT_PATIENCE = 2.0  # the same for one that was held back before
_HELD_BACK_FOR = 30.0  # seconds until it is tried again
_ALL_HELD_BACK_FOR = 3.0  # the same where no partition is accepted
_TRIES = 3  # transactions in a row that may be aborted although no partition is the cause


class ExactlyOnceCopy(Copy):
    """The producer has a transactional id and is initialized; ``checkpoints`` write through the same producer."""

    _saves_by_volume = False  # a kill leaves nothing to be stored twice
    _open = False
    _aborted = 0
    _forgotten = False  # the last transaction was not committed, as far as is known here
    _unknown = False  # it was given up without an answer: no other one can begin
    _broken_before: frozenset[TopicPartition] = frozenset()
    _suspects: frozenset[TopicPartition] = frozenset()  # have been held back, and not been committed since

    def _save_is_due(self, now: float) -> bool:
        sent_all = all(copy.sent_all or copy.error is not None for copy in self.copies.values())
        return sent_all or super()._save_is_due(now)

    def _begin(self) -> bool:
        if self._unknown:
            return False
        if not self._open:
            if not self._answered(self._producer.begin_transaction):
                return False
            self._open = True
            self._broken_before = self._broken()
        return True

    def _complete_sent(self, *, ended: bool = False, patience: float = math.inf) -> bool:  # noqa: ARG002
        return self._commit(ended=ended)

    def _done(self) -> bool:
        return not self._open and all(copy.done for copy in self.copies.values())

    def _save(self, *, ended: bool = False) -> None:
        self._commit(ended=ended)

    def _commit(self, *, ended: bool = False) -> bool:
        """Commits the open transaction with the positions after it, or aborts it; False where it was aborted.

        The order is the guarantee: all records are confirmed or failed, then the positions are taken and written, then
        both are committed. Positions that were taken before would miss records that are in the transaction, and the next
        run would store these again. A partition that failed meanwhile has records in the transaction that no position
        covers: all is aborted, and the others are copied again without it.
        """
        self._begin_saving()
        if not self._open:
            if not (ended or self._checkpoints.is_pending(self._to_save)):
                self._to_save.clear()
                return True
            if not self._begin():
                return False
        suspected = any(self.copies[tp].unconfirmed_bytes for tp in self._suspects)
        if not self._wait_for_deliveries(_SUSPECT_PATIENCE if suspected else _HOLD_BACK_AFTER):
            self._abort_incomplete()
            return False
        self._process_deliveries()
        if self._broken() != self._broken_before:  # since the transaction began
            self._abort(None)
            return False
        moved = list(self.copies.values() if ended else self._to_save)
        self._to_save.clear()  # those of an abort have moved again: back
        try:
            if not self._checkpoints.save(moved, ended=ended):
                self._abort(None)
                return False
            began = time.monotonic()
            commit_transaction(
                self._producer,
                self._stop,
                patience=math.inf,
                grace=_GRACE,
                waiting=lambda error: self._wait_for_coordinator(error, began),
            )
        except TransactionAbortableError as error:
            self._abort(error)
            return False
        except (TimedOutError, TransactionUnknownError):
            # The request to commit was sent, and its answer did not come. No position here may be reported: whether it
            # is committed is in the state, where the driver (run.py, _recover) or the next run reads it.
            if not (self._stop or self._all_given_up()):
                raise
            self._forget()
            self._unknown = True
            return False
        finally:
            self._go_on()
        self._open, self._forgotten, self._aborted = False, False, 0
        self._times.end(began, time.monotonic())
        self._suspects = frozenset(self._held)
        self._checkpoints.commit()
        for copy in moved:
            copy.commit()
        return True

    def _finish(self) -> None:
        self._look(time.monotonic())  # what is saved last has the states of the end
        try:
            # After a transaction whose end is not known, the next one would wait for it.
            if not (self._forgotten and (self._stop or self._all_given_up())) and self._commit():
                self._commit(ended=True)
        except KcliError:
            if not self._stop:  # else nothing is lost: the state says later that the job does not run
                raise
        self._look(time.monotonic())
        self._progress()

    def _hand_over(self) -> None:
        """Nothing is stored that the positions do not cover: what is not committed is aborted."""

    def _abort_incomplete(self) -> None:
        """Partitions that the target does not accept are held back: the others are committed without them."""
        self._process_deliveries()
        stalled = [copy for copy in self.copies.values() if copy.unconfirmed_bytes and copy.error is None]
        others = any(not copy.is_committed for copy in self.copies.values() if copy not in stalled)
        self._obsolete = True
        self._roll_back()
        if self._stop:
            return
        self._seek_back()
        for copy in stalled:
            self._hold_back(copy)
        if not others:  # nothing could be committed without them: perhaps the target as a whole is away
            since = time.monotonic() - _HELD_BACK_FOR + _ALL_HELD_BACK_FOR
            self._held = dict.fromkeys(self._held, since)
        self._suspects |= {copy.source for copy in stalled}

    def _may_resume(self, _copy: PartitionCopy, seconds: float) -> bool:
        return seconds >= _HELD_BACK_FOR

    def _abort(self, error: KcliError | None) -> None:
        self._obsolete = True
        self._roll_back()
        self._aborted = 0 if self._broken() != self._broken_before else self._aborted + 1
        if self._aborted >= _TRIES and error is not None:
            raise error
        self._seek_back()

    def _seek_back(self) -> None:
        """What was read since the last commit is read again."""
        assigned = self._consumer.assignment
        for tp, copy in self.copies.items():
            if copy.error is None and tp in assigned:
                self._read_again(copy, copy.position, copy.leader_epoch)
                if tp in self._held:
                    self._consumer.pause(tp)

    def _roll_back(self) -> None:
        """Waits for a coordinator that does not respond, as long as there is no stop."""
        self._answered(self._producer.abort_transaction)  # if it is not answered, the next run aborts it
        self._process_deliveries()
        self._forget()

    def _answered(self, call: Callable[[float], None]) -> bool:
        """Calls until the coordinator responds; False after a stop, and when all partitions have waited too long."""
        began = time.monotonic()
        try:
            while True:
                try:
                    call(_GRACE if self._stop else _PATIENCE)
                    return True
                except (TimedOutError, TransactionUnknownError) as error:
                    if self._stop or not self._wait_for_coordinator(error, began):
                        return False
        finally:
            self._go_on()

    def _wait_for_coordinator(self, error: KcliError, began: float) -> bool:
        """Nothing is copied meanwhile; whether to ask again."""
        return self._wait_blocked(f"target: the coordinator of the transaction: {error}", began)

    def _all_given_up(self) -> bool:
        """Whether nothing is left that could be committed."""
        copies = self.copies.values()
        return all(copy.error is not None or (copy.done and copy.is_committed) for copy in copies)

    def _forget(self) -> None:
        """Returns to what was committed last."""
        self._open, self._forgotten = False, True
        self._checkpoints.rollback()
        for copy in self.copies.values():
            copy.rollback()

    def _broken(self) -> frozenset[TopicPartition]:
        return frozenset(tp for tp, copy in self.copies.items() if copy.broken)
