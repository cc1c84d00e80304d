"""The copy in transactions of the target: records and the positions after them are committed together (KIP-98).

Deliveries count only when their transaction is committed. If it is aborted, its records are read and sent again, without
the partitions that caused the abort.
"""

import math
import time

from kcli.core.errors import KcliError, TimedOutError, TransactionAbortableError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy import Copy
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.transaction_commit import commit_transaction

_PATIENCE = 60.0  # seconds for one call of a transaction, and for a commit whose outcome is not known yet
_SLICE = 0.5
_HOLD_BACK_AFTER = 15.0  # seconds until a partition whose records are not confirmed is held back
_HELD_BACK_FOR = 30.0  # seconds until it is tried again
_TRIES = 3  # transactions in a row that may be aborted although no partition is the cause


class ExactlyOnceCopy(Copy):
    """The producer has a transactional id and is initialized; ``checkpoints`` write through the same producer."""

    _open = False
    _aborted = 0
    _rolled_back = False

    def _process_deliveries(self) -> None:
        """They count when their transaction is committed."""

    def _save_is_due(self, now: float) -> bool:
        sent_all = all(copy.sent_all or copy.error is not None for copy in self.copies.values())
        return sent_all or super()._save_is_due(now)

    def _begin(self) -> None:
        if not self._open:
            self._producer.begin_transaction(_PATIENCE)
            self._open = True

    def _complete_sent(self, *, ended: bool = False) -> bool:
        self._save(ended=ended)
        return True

    def _done(self) -> bool:
        return not self._open and all(copy.done for copy in self.copies.values())

    def _save(self, *, ended: bool = False) -> None:
        """Commits the open transaction with the positions after it, or aborts it."""
        self._saved_at = time.monotonic()
        if not self._open:
            if not (ended or self._checkpoints.is_pending(self.copies.values())):
                return
            self._begin()
        failed = self._ended()
        if not self._wait_for_deliveries(_HOLD_BACK_AFTER):
            self._abort_incomplete()
            return
        self._failed |= self._deliveries.process()
        if self._ended() != failed:
            self._abort(None)
            return
        try:
            self._checkpoints.save(self.copies.values(), ended=ended)
            commit_transaction(self._producer, self._stop, patience=math.inf, interval=_SLICE)
        except TransactionAbortableError as error:
            self._abort(error)
            return
        self._open, self._aborted = False, 0
        for copy in self.copies.values():
            copy.commit()

    def _finish(self) -> None:
        self._save()
        if self._stop and self._rolled_back:
            return
        try:
            self._save(ended=True)
        except KcliError:
            if not self._stop:  # else nothing is lost: the state says later that the job does not run
                raise
        self._progress()

    def _abort_incomplete(self) -> None:
        """Partitions that the target does not accept are held back: the others are committed without them."""
        self._failed |= self._deliveries.process()
        stalled = [copy for copy in self.copies.values() if copy.unconfirmed_bytes and copy.error is None]
        self._obsolete = True
        self._roll_back()
        if self._stop:
            return
        self._seek_back()
        for copy in stalled:
            self._hold_back(copy)

    def _may_resume(self, _copy: PartitionCopy, seconds: float) -> bool:
        return seconds >= _HELD_BACK_FOR

    def _abort(self, error: KcliError | None) -> None:
        failed = self._ended()
        self._obsolete = True
        self._roll_back()
        self._aborted = 0 if self._ended() != failed else self._aborted + 1
        if self._aborted >= _TRIES and error is not None:
            raise error
        self._seek_back()

    def _seek_back(self) -> None:
        """What was read since the last commit is read again."""
        for copy in self.copies.values():
            if copy.error is None:
                self._consumer.seek(copy.source, copy.position)

    def _roll_back(self) -> None:
        """Waits for a coordinator that does not respond, as long as there is no stop."""
        while True:
            try:
                self._producer.abort_transaction(_SLICE if self._stop else _PATIENCE)
                break
            except TimedOutError:
                if self._stop:
                    raise
        self._open, self._rolled_back = False, True
        self._failed |= self._deliveries.process()
        for copy in self.copies.values():
            copy.rollback()

    def _ended(self) -> set[TopicPartition]:
        return {tp for tp, copy in self.copies.items() if copy.error is not None}
