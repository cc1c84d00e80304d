"""The transactional calls of a producer: executed by the sender's thread while the caller waits."""

import threading
from collections.abc import Callable, Mapping

from kcli.core.errors import ConfigError, KcliError, TransactionStateError
from kcli.core.net.loop import Loop
from kcli.core.producer.transaction_steps import Operation, TransactionSteps
from kcli.core.producer.transactions import Event, GroupOffsets, Phase
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

Wait = Callable[[Callable[[], bool], float | None], bool]


class Transactional:
    """``completed`` guards the results; ``wait(done, timeout)`` waits on it. Timeouts are in seconds."""

    def __init__(
        self, steps: TransactionSteps, loop: Loop, completed: threading.Condition, wait: Wait, patience: float
    ) -> None:
        self._steps = steps
        self._loop = loop
        self._completed = completed
        self._wait = wait
        self._patience = patience

    def init(self, timeout: float | None) -> None:
        """See ``Producer.init_transactions``."""
        self._call(Event.INIT, "initialize transactions", timeout)

    def begin(self, timeout: float | None) -> None:
        """See ``Producer.begin_transaction``."""
        self._call(Event.BEGIN, "begin a transaction", timeout)

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: GroupMetadata | str,
        timeout: float | None,
    ) -> None:
        """See ``Producer.send_offsets_to_transaction``."""
        places = {TopicPartition(*tp): _place(tp, place) for tp, place in offsets.items()}
        who = GroupMetadata(group) if isinstance(group, str) else group
        if not isinstance(who, GroupMetadata):
            raise ConfigError(f"{who!r} is no group", why="it must be the group's name, or a GroupMetadata")
        if places:
            self._call(None, "send offsets to the transaction", timeout, GroupOffsets(who, places))

    def commit(self, timeout: float | None) -> None:
        """See ``Producer.commit_transaction``."""
        self._call(Event.COMMIT, "commit the transaction", timeout)

    def abort(self, timeout: float | None) -> None:
        """See ``Producer.abort_transaction``."""
        self._call(Event.ABORT, "abort the transaction", timeout)

    @property
    def is_open(self) -> bool:
        """Whether there is a transaction that has not ended yet."""
        return self._steps.transaction.phase in (Phase.OPEN, Phase.MUST_ABORT)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of committed and aborted transactions."""
        return self._steps.committed, self._steps.aborted

    def refuse_send(self) -> None:
        """Raises unless records may be sent now."""
        transaction = self._steps.transaction
        phase, error = transaction.phase, transaction.error
        if phase is Phase.OPEN:
            return
        if phase is Phase.MUST_ABORT:
            raise transaction.must_abort()
        if phase is Phase.FENCED and error is not None:
            raise error
        raise TransactionStateError(
            "records of a transactional producer are sent within a transaction",
            why=f"the producer is {phase.value}",
            do="call init_transactions once, then begin_transaction",
        )

    def _call(
        self, event: Event | None, what: str, timeout: float | None, offsets: GroupOffsets | None = None
    ) -> None:
        ends: list[KcliError | None] = []

        def settled(error: KcliError | None) -> None:
            with self._completed:
                ends.append(error)
                self._completed.notify_all()

        deadline = self._loop.now() + (self._patience if timeout is None else timeout)
        operation = Operation(event, what, deadline, settled)
        self._loop.call_threadsafe(lambda: self._steps.start(operation, offsets))
        self._wait(lambda: bool(ends), None)
        if ends[0] is not None:
            raise ends[0]


def _place(tp: TopicPartition, place: object) -> OffsetAndMetadata:
    """Validates offsets here, since an error in the sender's thread would reach no caller."""
    if type(place) is int:
        return OffsetAndMetadata(place)
    if isinstance(place, OffsetAndMetadata):
        return place
    raise ConfigError(
        f"{place!r} is not the offset of {tp}", why="it must be a whole number, or an OffsetAndMetadata"
    )
