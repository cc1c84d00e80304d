"""The transactional calls of a producer: executed by the sender's thread while the caller waits."""

from collections.abc import Callable, Mapping

from kcli.core.errors import ConfigError, KcliError, TransactionStateError
from kcli.core.net.loop import Loop
from kcli.core.producer.sender_thread import SenderThread
from kcli.core.producer.transaction_steps import Operation, TransactionSteps
from kcli.core.producer.transactions import Event, GroupOffsets, Phase
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

_LOOK = 0.1  # seconds between two looks at a request to stop


class Transactional:
    """Timeouts are in seconds; ``default_timeout`` applies where a call gives none."""

    def __init__(
        self, steps: TransactionSteps, loop: Loop, thread: SenderThread, default_timeout: float
    ) -> None:
        self._steps = steps
        self._loop = loop
        self._thread = thread
        self._default_timeout = default_timeout

    def init(self, timeout: float | None) -> None:
        """See ``Producer.init_transactions``."""
        self._call(Event.INIT, "initialize transactions", timeout)

    def begin_transaction(self, timeout: float | None) -> None:
        """See ``Producer.begin_transaction``."""
        self._call(Event.BEGIN, "begin a transaction", timeout)

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        group: GroupMetadata | str,
        timeout: float | None,
    ) -> None:
        """See ``Producer.send_offsets_to_transaction``."""
        checked = {TopicPartition(*tp): _checked(tp, offset) for tp, offset in offsets.items()}
        member = GroupMetadata(group) if isinstance(group, str) else group
        if not isinstance(member, GroupMetadata):
            raise ConfigError(
                f"{member!r} is not a group", why="it must be the group's name, or a GroupMetadata"
            )
        if checked:
            self._call(None, "send offsets to the transaction", timeout, GroupOffsets(member, checked))

    def commit(self, timeout: float | None, stop: Callable[[], bool] | None, grace: float) -> None:
        """See ``Producer.commit_transaction``."""
        self._call(Event.COMMIT, "commit the transaction", timeout, stop=stop, grace=grace)

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
        self,
        event: Event | None,
        what: str,
        timeout: float | None,
        offsets: GroupOffsets | None = None,
        *,
        stop: Callable[[], bool] | None = None,
        grace: float = 0.0,
    ) -> None:
        results: list[KcliError | None] = []

        def complete(error: KcliError | None) -> None:
            with self._thread.lock:
                results.append(error)
                self._thread.notify_waiting()

        deadline = self._loop.now() + (self._default_timeout if timeout is None else timeout)
        operation = Operation(event, what, deadline, complete)
        self._loop.call_threadsafe(lambda: self._steps.start(operation, offsets))
        while not self._thread.wait(lambda: bool(results), None if stop is None else _LOOK):
            if stop is not None and stop():
                stop = None
                # Not cut off at once: EndTxn may have been sent, and without its response the outcome would be
                # unknown.
                operation.deadline = min(deadline, self._loop.now() + grace)
                self._loop.wakeup()
        if results[0] is not None:
            raise results[0]


def _checked(tp: TopicPartition, offset: object) -> OffsetAndMetadata:
    """Validates offsets here, since an error in the sender's thread would reach no caller."""
    if type(offset) is int:
        return OffsetAndMetadata(offset)
    if isinstance(offset, OffsetAndMetadata):
        return offset
    raise ConfigError(
        f"{offset!r} is not the offset of {tp}", why="it must be a whole number, or an OffsetAndMetadata"
    )
