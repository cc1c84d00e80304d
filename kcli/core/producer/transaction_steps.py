"""Executes the steps of a transaction: one request at a time to its coordinator, retried until a deadline.

Runs in the sender's thread, which calls ``turn`` in every iteration. The state of a transaction and its next step are
decided in ``transactions.py``; this module builds the requests and evaluates the responses. Tested in
``tests/fault/test_transactions.py`` (P11 to P14).
"""

from collections.abc import Callable
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.cluster.brokers import TRANSACTION
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import KeyType
from kcli.core.cluster.retry import classify_error
from kcli.core.cluster.topic_ids import is_other, replaced_topic
from kcli.core.error_codes import (
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    NONE,
    TRANSACTION_ABORTABLE,
    UNKNOWN_SERVER_ERROR,
)
from kcli.core.errors import (
    BrokerError,
    ClosedError,
    ConnectError,
    KcliError,
    ProducerFencedError,
    TimedOutError,
    TransactionAbortableError,
    TransactionStateError,
    TransactionUnknownError,
)
from kcli.core.future import Future
from kcli.core.options import ProducerOptions
from kcli.core.permissions import on_group, on_topic, on_transactional_id
from kcli.core.producer import transaction_requests as requests
from kcli.core.producer.accumulator import NEVER, Accumulator
from kcli.core.producer.batch import ProducerBatch
from kcli.core.producer.coordinator_requests import CoordinatorRequests, Key
from kcli.core.producer.idempotence import Idempotence
from kcli.core.producer.transaction_requests import FENCING, EpochClaim
from kcli.core.producer.transactions import Event, GroupOffsets, Phase, Step, Transaction
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition

_FEATURE = "transaction.version"
_LAST_PRODUCE_VERSION_1 = 11  # from v12 on a write adds its partition to the transaction
_STATE_IN_DOUBT = frozenset({INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING})


@dataclass(slots=True)
class Operation:
    """A call of the application; ``deadline`` is on the loop's clock, ``complete`` is called with the outcome."""

    event: Event | None
    what: str
    deadline: float
    complete: Callable[[KcliError | None], None]


class TransactionSteps:
    """``in_flight`` counts partitions with unanswered batches, ``drop_queued(error)`` fails the queued batches."""

    def __init__(
        self,
        cluster: Cluster,
        options: ProducerOptions,
        numbers: Idempotence,
        accumulator: Accumulator,
        in_flight: Callable[[], int],
        drop_queued: Callable[[KcliError], None],
    ) -> None:
        self.transaction = Transaction()
        self.committed = self.aborted = 0
        self._cluster = cluster
        self._id = options.transactional_id
        self._timeout_ms = options.transaction_timeout_ms
        self._numbers = numbers
        self._accumulator = accumulator
        self._in_flight = in_flight
        self._drop_queued = drop_queued
        self._requests = CoordinatorRequests(cluster, options)
        self._claim = EpochClaim()
        self._operation: Operation | None = None
        self._begin_next = False
        self._last_error: KcliError | None = None

    # --- calls of the application ------------------------------------------------------------------------

    def start(self, operation: Operation, offsets: GroupOffsets | None = None) -> None:
        """Starts a call. Completes it with an error at once if the phase does not allow it."""
        try:
            self._start(operation, offsets)
        except KcliError as error:
            operation.complete(error)

    def _start(self, operation: Operation, offsets: GroupOffsets | None) -> None:
        phase, event = self.transaction.phase, operation.event
        if self._operation is not None:
            raise TransactionStateError(
                f"cannot {operation.what} now", why=f"{self._operation.what} is running"
            )
        if event is Event.BEGIN and phase in (Phase.UNKNOWN, Phase.IN_DOUBT):
            # Resolve the last transaction first: InitProducerId ends what was open (KIP-98).
            self._begin_next, event = True, Event.INIT
        elif phase is Phase.FENCED and event is not Event.INIT and self.transaction.error is not None:
            raise self.transaction.error
        elif phase is Phase.MUST_ABORT and event is not Event.ABORT:
            raise self.transaction.must_abort()
        elif not self._allowed(phase, event):
            raise TransactionStateError(f"cannot {operation.what} now", why=f"the producer is {phase.value}")
        self._claim = EpochClaim(take_over=event is Event.INIT and operation.event is Event.INIT)
        self._operation = operation
        self._requests.reset_pause()
        self._last_error = None
        if event is Event.ABORT and phase is Phase.IN_DOUBT:
            # Whether the coordinator still has anything of it is not known: InitProducerId ends it in either
            # case.
            self.transaction.begun = self.transaction.end_refused = True
        if event is not None:
            self.transaction.cell.apply(event, operation.what)
        if offsets is not None:
            self.transaction.offsets.append(offsets)
        if event is Event.BEGIN:
            self._transaction_begun()

    def _allowed(self, phase: Phase, event: Event | None) -> bool:
        if event is None:
            return phase is Phase.OPEN
        return self.transaction.cell.allows(event)

    # --- calls of the sender -----------------------------------------------------------------------------

    def may_send(self, batch: ProducerBatch) -> bool:
        """Whether a batch may be sent now."""
        return self.transaction.may_write(batch.tp)

    def number_batch(self, batch: ProducerBatch) -> None:
        """The batch is being sent: it gets its sequence number and joins the transaction."""
        self._numbers.number(batch)
        self.transaction.add_written(batch.tp)

    def batch_failed(self, batch: ProducerBatch, error: KcliError) -> None:
        """A record of the transaction is lost, so it cannot be committed."""
        code = error.code if isinstance(error, BrokerError) else NONE
        if code in FENCING:
            self._fence(error)
        else:
            self._fail(error, must_init=batch.numbered)

    def record_lost(self, error: KcliError) -> None:
        """A record failed before it was added to a batch: the transaction must not be committed without it."""
        self._fail(error, must_init=False)

    @property
    def busy(self) -> bool:
        """Whether a call is in progress."""
        return self._operation is not None

    def abandon(self) -> None:
        """The sender is stopping: completes a pending call with what is known."""
        if self.transaction.phase is Phase.COMMITTING and self.transaction.end_sent:
            self._complete(self._outcome_unknown("the producer was closed before the response"))
        else:
            self._complete(ClosedError("the producer is closed"))

    def may_retry_after_gap(self, batch: ProducerBatch, error: BrokerError) -> bool:  # noqa: ARG002 - what ProducerIds needs
        """The broker lacks batches before this one: there is no epoch bump within a transaction, so it fails."""
        return False

    def turn(self, now: float) -> float:
        """Sends what is due; returns when to be called again."""
        transaction = self.transaction
        if transaction.phase in (Phase.MUST_ABORT, Phase.ABORTING, Phase.FENCED):
            # In every turn: a caller that passed `refuse_send` before the failure may have appended since.
            self._drop(self._reason())
        operation = self._operation
        if operation is not None and now >= operation.deadline:
            self._out_of_time(operation)
            operation = self._operation
        wake = operation.deadline if operation is not None else NEVER
        if self._requests.pending:
            return wake
        queued = not self._accumulator.empty
        step = transaction.next_step(queued=queued, in_flight=self._in_flight() > 0)
        if step is None:
            self._finish_offsets()
            return wake
        if step is Step.COMMIT_OFFSETS and not self._topics_are_the_same():
            return wake
        if now >= self._requests.not_before:
            if step is Step.END_LOCALLY:
                self._ended()
            else:
                self._send_request(step, now)
        not_before = self._requests.not_before
        return min(wake, not_before) if not_before > now else wake

    def mark_request(self, request: ProduceRequest) -> None:
        """Marks a produce request as transactional."""
        request.transactional_id = self._id
        if not self.transaction.version_2:
            request.cap_version(_LAST_PRODUCE_VERSION_1)

    def _reason(self) -> KcliError:
        """The error for records dropped because of another record's failure."""
        error = self.transaction.error
        if error is not None and self.transaction.phase is Phase.FENCED:
            return error
        return TransactionAbortableError("the transaction was aborted", why=str(error or ""))

    def _drop(self, error: KcliError) -> None:
        """Fails everything queued: none of it will be visible."""
        if any(batch.numbered for batch in self._accumulator.queued()):
            self.transaction.must_init = True
        self._drop_queued(error)

    # --- steps -------------------------------------------------------------------------------------------

    def _send_request(self, step: Step, now: float) -> None:
        node_id = self._requests.find_node(self._key(step), now, lambda error: self._step_failed(step, error))
        if node_id is None:
            return
        request = requests.build_request(
            step, self.transaction, self._id, self._timeout_ms, self._numbers, self._claim
        )
        if step is Step.END:
            # Before it is sent: from here on no record may follow, and a commit without a response is of
            # unknown outcome.
            self.transaction.end_sent = True
        elif step is not Step.INIT:
            self.transaction.begun = True
        self._requests.send(request, node_id, lambda future: self._answered(step, node_id, request, future))

    def _topics_are_the_same(self) -> bool:
        """Whether metadata requested since the call says so: TxnOffsetCommit gives the ids of topics since v6 only.

        Only for offsets that have the id of their topic; others are committed for whatever has the name. A topic that is
        created again between that response and the commit is noticed by a coordinator that knows v6.
        """
        waiting, view = self.transaction.offsets[0], self._cluster.view
        known = {tp: offset for tp, offset in waiting.offsets.items() if offset.topic_id != NO_UUID}
        if known and waiting.needs_view < 0:
            self._cluster.topics.update(tp.topic for tp in known)
            waiting.needs_view = view.version + 1
        if view.version < waiting.needs_view:
            self._cluster.request_refresh()
            return False
        for tp, offset in known.items():
            topic = view.topics.get(tp.topic)
            if topic is not None and is_other(topic.id, offset.topic_id):
                self._fail(replaced_topic(tp, offset.offset))
                return False
        return True

    def _key(self, step: Step) -> Key:
        """The coordinator that a step's request is for."""
        if step is Step.COMMIT_OFFSETS and self.transaction.offsets:
            return KeyType.GROUP, self.transaction.offsets[0].group.group_id
        return KeyType.TRANSACTION, self._id

    def _answered(self, step: Step, node_id: int, request: Request, future: Future[Any]) -> None:
        if isinstance(future.error, KcliError):
            self._requests.forget_coordinator(self._key(step))
            self._step_failed(step, future.error)
            return
        answer = future.value
        match step:
            case Step.ADD_PARTITIONS:
                self._partitions_added(requests.added(answer))
            case Step.COMMIT_OFFSETS:
                self._offsets_accepted(answer)
            case _ if answer.error_code != NONE:
                groups = [waiting.group.group_id for waiting in list(self.transaction.offsets)[:1]]
                needs = [on_transactional_id(self._id), *(on_group("READ", group) for group in groups)]
                self._step_failed(step, BrokerError(answer.error_code, step.value, needs=needs))
            case Step.ADD_GROUP:
                self.transaction.groups.add(self.transaction.offsets[0].group.group_id)
                self._requests.reset_pause()
            case Step.INIT:
                self._initialized(node_id, answer.producer_id, answer.producer_epoch)
            case Step.END:
                self._end_answered(request, answer.producer_id, answer.producer_epoch)

    def _partitions_added(self, codes: dict[TopicPartition, int]) -> None:
        transaction = self.transaction
        done = {tp for tp, code in codes.items() if code == NONE} & transaction.wanted
        transaction.wanted -= done
        transaction.partitions |= done
        wrong = {tp: code for tp, code in codes.items() if code != NONE}
        if done and not wrong:
            self._requests.reset_pause()
            return
        own = on_transactional_id(self._id)
        errors = [
            BrokerError(code, f"adding {tp} to the transaction", needs=[own, on_topic("WRITE", tp.topic)])
            for tp, code in wrong.items()
        ]
        self._step_failed(Step.ADD_PARTITIONS, _worst(errors))

    def _offsets_accepted(self, answer: Any) -> None:
        waiting = self.transaction.offsets[0]
        wrong = requests.refused(answer, waiting.offsets)
        waiting.offsets = {tp: waiting.offsets[tp] for tp in wrong}
        if not wrong:
            self.transaction.offsets.popleft()
            self._requests.reset_pause()
            return
        errors = [
            BrokerError(
                UNKNOWN_SERVER_ERROR if code is None else code,
                f"committing the offset of {tp}",
                needs=[
                    on_transactional_id(self._id),
                    on_group("READ", waiting.group.group_id),
                    on_topic("READ", tp.topic),
                ],
            )
            for tp, code in wrong.items()
        ]
        self._step_failed(Step.COMMIT_OFFSETS, _worst(errors))

    def _initialized(self, node_id: int, producer_id: int, epoch: int) -> None:
        transaction = self.transaction
        was_abort = transaction.phase is Phase.ABORTING
        self._numbers.renew(producer_id, epoch, [])
        # As this coordinator reports it now: an upgrade may have raised transaction.version since the last
        # transaction, and in it the protocol must not change (KIP-890).
        offer = self._cluster.brokers.offer(self._cluster.node(node_id), TRANSACTION)
        transaction.version_2 = offer is not None and offer.features.get(_FEATURE, 0) >= 2
        self._claim = EpochClaim()
        self._requests.reset_pause()
        if was_abort:
            self._ended()
            return
        transaction.clear()
        transaction.cell.apply(Event.INITIALIZED, f"producer id {producer_id}, epoch {epoch}")
        if self._begin_next:
            self._begin_next = False
            transaction.cell.apply(Event.BEGIN)
            self._transaction_begun()
        else:
            self._complete(None)

    def _transaction_begun(self) -> None:
        self.transaction.clear()
        self._complete(None)

    def _end_answered(self, request: Request, producer_id: int, epoch: int) -> None:
        if producer_id >= 0:
            self._numbers.renew(producer_id, epoch, [])
        elif self.transaction.version_2:
            # The coordinator is older than the cluster's feature level: only a new epoch is safe.
            what = f"the response to {request.api_name} lacks the next epoch"
            self._lose(TransactionUnknownError(what))
            return
        self._ended()

    def _ended(self) -> None:
        if self.transaction.phase is Phase.COMMITTING:
            self.committed += 1
        else:
            self.aborted += 1
        self._requests.reset_pause()
        self.transaction.cell.apply(Event.ENDED)
        self.transaction.clear()
        self._complete(None)

    def _finish_offsets(self) -> None:
        """Completes the pending call once its offsets were accepted."""
        operation = self._operation
        if operation is not None and operation.event is None and not self.transaction.offsets:
            self._complete(None)

    # --- failures ----------------------------------------------------------------------------------------

    def _step_failed(self, step: Step, error: KcliError) -> None:
        """Retries, or handles a fatal error; an unconfirmed end is never treated as done."""
        code = error.code if isinstance(error, BrokerError) else NONE
        decision = classify_error(error)
        if decision.refresh == "coordinator":
            self._requests.forget_coordinator(self._key(step))
        elif decision.refresh == "metadata":
            self._cluster.request_refresh()
            if step is Step.COMMIT_OFFSETS:  # the topic may be gone, and another one come
                self.transaction.offsets[0].needs_view = -1
        self._cluster.hooks.log("debug", "proto", f"{self._id}: {error}")
        # Before the check for fencing: that the coordinator has aborted our own transaction looks like a
        # successor that has taken over (`transaction_requests.py`).
        if step is Step.INIT and self._claim.fenced_itself(code):
            return
        if code in FENCING:
            self._fence(error)
        elif decision.retriable or (code == UNKNOWN_SERVER_ERROR and step in (Step.INIT, Step.END)):
            self._last_error = error
            self._requests.pause()
        elif step is Step.INIT:
            self._init_failed(error)
        elif step is not Step.END:
            self._fail(error)
        elif self.transaction.phase is Phase.ABORTING and code in _STATE_IN_DOUBT:
            self.transaction.end_refused = True  # a new epoch aborts whatever is open
        elif code == TRANSACTION_ABORTABLE:
            self.transaction.end_sent = False
            self._fail(error)
        elif code in _STATE_IN_DOUBT:
            limit = f"{self._timeout_ms / 1000:g} s"
            self.transaction.cell.apply(Event.REFUSE, str(error))
            self._complete(
                TransactionAbortableError(
                    "the transaction was not committed",
                    why=f"{error}; the coordinator aborts what is open for longer than {limit}",
                    do="abort it, or begin the next one; nothing of it will be visible",
                )
            )
        elif self.transaction.phase is Phase.ABORTING:
            self._lose(error)
        else:
            self._lose(self._outcome_unknown(str(error)))

    def _init_failed(self, error: KcliError) -> None:
        event = Event.LOSE if self._numbers.producer_id >= 0 else Event.INIT_FAILED
        self._begin_next = False
        self.transaction.cell.apply(event, str(error))
        self._complete(error)

    def _fail(self, error: KcliError, *, must_init: bool = True) -> None:
        """Marks the transaction as one that can only be aborted."""
        if self.transaction.cell.allows(Event.FAIL):
            self.transaction.fail(error, must_init=must_init)
            if self.transaction.phase is Phase.MUST_ABORT and self._operation is not None:
                self._complete(self.transaction.must_abort())

    def _fence(self, error: KcliError) -> None:
        if self.transaction.phase is Phase.FENCED:
            return
        fenced = ProducerFencedError(
            f"transactional id {self._id}: this producer was fenced",
            why=f"another producer with this id took over, or the transaction was open for longer than"
            f" {self._timeout_ms / 1000:g} s (transaction.timeout.ms): {error}",
            do="make sure that only one producer uses this transactional.id, then run it again: it takes the id over",
        )
        self._requests.abandon(disconnect=False)
        self.transaction.error = fenced
        self.transaction.cell.apply(Event.FENCE, str(error))
        self._begin_next = False
        if self._operation is not None:
            self._complete(fenced)

    def _lose(self, error: KcliError) -> None:
        self.transaction.cell.apply(Event.LOSE, str(error))
        self._complete(error)

    def _out_of_time(self, operation: Operation) -> None:
        transaction = self.transaction
        self._requests.abandon(disconnect=True)
        why, do = (
            str(self._last_error or "no response yet"),
            "" if self._last_error is None else self._last_error.do,
        )
        late = TimedOutError(f"could not {operation.what} in time", why=why, do=do)
        match transaction.phase:
            case Phase.INITIALIZING:
                self._init_failed(late)
            case Phase.COMMITTING if transaction.end_sent:
                self._lose(self._outcome_unknown(why))
            case Phase.COMMITTING:
                transaction.cell.apply(Event.GIVE_UP, why)
                self._complete(TimedOutError(late.what, why=why, do="commit again, or abort"))
            case Phase.ABORTING:
                self._lose(late)
            case _:
                self._fail(late)

    def _outcome_unknown(self, why: str) -> TransactionUnknownError:
        return TransactionUnknownError(
            f"transactional id {self._id}: whether the transaction is committed is not known",
            why=why,
            do="commit_transaction asks again; begin_transaction ends it, one way or the other",
        )

    def _complete(self, error: KcliError | None) -> None:
        operation, self._operation = self._operation, None
        if operation is not None:
            operation.complete(error)


def _worst(errors: list[BrokerError]) -> KcliError:
    """The decisive error: fencing first, then non-retriable, then retriable ones."""
    if not errors:
        return ConnectError("the response is empty")
    fencing = [error for error in errors if error.code in FENCING]
    final = [error for error in errors if not classify_error(error).retriable]
    return (fencing or final or errors)[0]
