"""The state of a transaction (KIP-98, KIP-447, KIP-890), and which request to its coordinator is due. Pure.

Two protocols: up to transaction version 1, separate requests add partitions and groups, and sequence numbers continue
across transactions; from version 2 on the first write adds them, and each end starts a new epoch.

In the old protocol an abort with anything in doubt is InitProducerId, not EndTxn: its markers carry a new epoch,
so that the partition refuses a record that arrives late. Version 2 does this at every end. A transaction whose
abort was not confirmed is IN_DOUBT, not UNKNOWN: it can be aborted again or followed by another transaction, never
committed. Tested in ``tests/fault/test_transactions.py`` (P12, P13, P16).
"""

from collections import deque
from enum import Enum

from kcli.core.classes import dataclass, field
from kcli.core.errors import KcliError, TransactionAbortableError
from kcli.core.state_cell import StateCell, TableKey
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition


class Phase(TableKey):
    """MUST_ABORT: something failed. UNKNOWN: EndTxn was sent to commit, without a response. IN_DOUBT: it is not
    committed, but only a new epoch guarantees that nothing of it remains. FENCED: another producer took over.
    """

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    READY = "ready"
    OPEN = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    MUST_ABORT = "waiting to be aborted"
    UNKNOWN = "of unknown outcome"
    IN_DOUBT = "in doubt"
    FENCED = "fenced"


class Event(TableKey):
    """What can happen to a transaction. GIVE_UP: timed out before EndTxn was sent. LOSE: no response to the request
    that ends it. REFUSE: the coordinator has no such transaction to commit.
    """

    INIT = "init"
    INITIALIZED = "initialized"
    INIT_FAILED = "init failed"
    BEGIN = "begin"
    COMMIT = "commit"
    ABORT = "abort"
    ENDED = "ended"
    FAIL = "fail"
    GIVE_UP = "give up"
    LOSE = "lose"
    REFUSE = "refuse"
    FENCE = "fence"


TABLE: dict[tuple[Phase, Event], Phase] = {
    (Phase.UNINITIALIZED, Event.INIT): Phase.INITIALIZING,
    (Phase.READY, Event.INIT): Phase.INITIALIZING,
    (Phase.UNKNOWN, Event.INIT): Phase.INITIALIZING,
    (Phase.IN_DOUBT, Event.INIT): Phase.INITIALIZING,
    (Phase.FENCED, Event.INIT): Phase.INITIALIZING,
    (Phase.INITIALIZING, Event.INITIALIZED): Phase.READY,
    (Phase.INITIALIZING, Event.INIT_FAILED): Phase.UNINITIALIZED,
    (Phase.INITIALIZING, Event.LOSE): Phase.IN_DOUBT,
    (Phase.READY, Event.BEGIN): Phase.OPEN,
    (Phase.OPEN, Event.COMMIT): Phase.COMMITTING,
    # The same EndTxn again: the coordinator answers it as the first time if it had carried it out.
    (Phase.UNKNOWN, Event.COMMIT): Phase.COMMITTING,
    (Phase.OPEN, Event.ABORT): Phase.ABORTING,
    (Phase.MUST_ABORT, Event.ABORT): Phase.ABORTING,
    (Phase.IN_DOUBT, Event.ABORT): Phase.ABORTING,
    (Phase.OPEN, Event.FAIL): Phase.MUST_ABORT,
    (Phase.COMMITTING, Event.FAIL): Phase.MUST_ABORT,
    (Phase.MUST_ABORT, Event.FAIL): Phase.MUST_ABORT,
    (Phase.ABORTING, Event.FAIL): Phase.ABORTING,
    # EndTxn was not sent: nothing is decided, and the same records can still be committed.
    (Phase.COMMITTING, Event.GIVE_UP): Phase.OPEN,
    (Phase.COMMITTING, Event.LOSE): Phase.UNKNOWN,
    (Phase.COMMITTING, Event.REFUSE): Phase.IN_DOUBT,
    (Phase.ABORTING, Event.LOSE): Phase.IN_DOUBT,
    (Phase.COMMITTING, Event.ENDED): Phase.READY,
    (Phase.ABORTING, Event.ENDED): Phase.READY,
    **{(phase, Event.FENCE): Phase.FENCED for phase in Phase if phase is not Phase.UNINITIALIZED},
}


class Step(Enum):
    """A request to a coordinator, or END_LOCALLY: the coordinator never received anything of the transaction."""

    INIT = "requesting a producer id"
    ADD_PARTITIONS = "adding partitions to the transaction"
    ADD_GROUP = "adding the group's offsets to the transaction"
    COMMIT_OFFSETS = "committing the group's offsets"
    END = "ending the transaction"
    END_LOCALLY = "ending an empty transaction"


@dataclass(slots=True)
class GroupOffsets:
    """Offsets to be committed for a group that the coordinator has not accepted yet. ``needs_view``: the version of the
    metadata that has to be there before they are sent; −1: that is not decided yet.
    """

    group: GroupMetadata
    offsets: dict[TopicPartition, OffsetAndMetadata]
    needs_view: int = -1


@dataclass(slots=True)
class Transaction:
    """``partitions`` belong to it, ``wanted`` must be added first. ``begun``: the coordinator may be aware of it.

    ``must_init``: the sequence numbers or the state at the coordinator are in doubt; only a new epoch resolves that.
    ``end_refused``: the coordinator rejected EndTxn because of such doubt.
    """

    cell: StateCell[Phase, Event] = field(default_factory=lambda: StateCell(Phase.UNINITIALIZED, TABLE))
    version_2: bool = False
    begun: bool = False
    end_sent: bool = False
    end_refused: bool = False
    must_init: bool = False
    error: KcliError | None = None
    partitions: set[TopicPartition] = field(default_factory=set)
    wanted: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    offsets: deque[GroupOffsets] = field(default_factory=deque)

    @property
    def phase(self) -> Phase:
        """The current phase; may be read from any thread."""
        return self.cell.state

    def clear(self) -> None:
        """Resets everything about the last transaction."""
        self.begun = self.end_sent = self.end_refused = self.must_init = False
        self.error = None
        self.partitions.clear()
        self.wanted.clear()
        self.groups.clear()
        self.offsets.clear()

    def may_write(self, tp: TopicPartition) -> bool:
        """Whether records of a partition may be sent now; otherwise notes a partition that must be added first."""
        if self.phase not in (Phase.OPEN, Phase.COMMITTING) or self.end_sent:
            return False
        if self.version_2 or tp in self.partitions:
            return True
        self.wanted.add(tp)
        return False

    def add_written(self, tp: TopicPartition) -> None:
        """A batch is being sent; from version 2 on this adds the partition."""
        self.partitions.add(tp)
        self.begun = True

    def fail(self, error: KcliError, *, must_init: bool = True) -> None:
        """Part of it failed: the first error is the reason why it cannot be committed."""
        self.error = self.error or error
        self.must_init = self.must_init or must_init
        self.cell.apply(Event.FAIL, str(error))

    def must_abort(self) -> TransactionAbortableError:
        """The error raised by calls that a failed transaction does not allow."""
        do = "abort it, then begin another one"
        return TransactionAbortableError("the transaction must be aborted", why=str(self.error or ""), do=do)

    def next_step(self, *, queued: bool, in_flight: bool) -> Step | None:
        """The request that is due. ``queued``, ``in_flight``: whether there are such records."""
        match self.phase:
            case Phase.INITIALIZING:
                return None if in_flight else Step.INIT
            case Phase.OPEN | Phase.COMMITTING:
                return self._forward(self.phase is Phase.COMMITTING and not queued and not in_flight)
            case Phase.ABORTING:
                # Wait for requests in flight: their records would land after the abort.
                return None if in_flight else self._backward()
        return None

    def _forward(self, all_written: bool) -> Step | None:
        if self.wanted:
            return Step.ADD_PARTITIONS
        if self.offsets:
            known = self.version_2 or self.offsets[0].group.group_id in self.groups
            return Step.COMMIT_OFFSETS if known else Step.ADD_GROUP
        # Last: after EndTxn the markers are written, and a record that arrives behind them would belong to no
        # transaction, or to the next one.
        if all_written:
            return Step.END if self.begun else Step.END_LOCALLY
        return None

    def _backward(self) -> Step:
        if not self.begun:
            return Step.INIT if self.must_init else Step.END_LOCALLY
        # A new epoch aborts what is open and fences late requests of the old one (KIP-360). With version 2 each
        # end does both (KIP-890).
        return Step.INIT if self.end_refused or (self.must_init and not self.version_2) else Step.END
