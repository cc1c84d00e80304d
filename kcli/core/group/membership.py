"""A member's own state: its state, member id, generation or epoch, and the times by which it must poll and have left.

The only object that the caller's thread and the heartbeat thread share; writers hold ``lock``. It only decides and
records: no I/O, no callback, no waiting, and the caller passes the time.
"""

import threading

from kcli.core.classes import dataclass, field
from kcli.core.cluster.metadata import ClusterView
from kcli.core.errors import KcliError
from kcli.core.group.coordinator_link import Seen
from kcli.core.state_cell import StateCell, TableKey
from kcli.core.types import GroupMetadata

NO_GENERATION = -1


class MemberState(TableKey):
    """``REJOIN`` is still a member of the old generation; ``LATE`` has left because the application did not poll."""

    OUT = "out of the group"
    JOINING = "joining"
    STABLE = "stable"
    REJOIN = "asked to join again"
    LATE = "left, as poll came too late"
    FENCED = "fenced"
    LEAVING = "leaving"
    GONE = "gone"


class MemberEvent(TableKey):
    """What happens to a member."""

    JOIN = "join"
    JOINED = "joined"
    REBALANCE = "rebalance"
    LOST = "lost"
    LATE = "late"
    FENCE = "fence"
    LEAVE = "leave"
    LEFT = "left"


_S, _E = MemberState, MemberEvent
_MEMBER = (_S.JOINING, _S.STABLE, _S.REJOIN)
TABLE: dict[tuple[MemberState, MemberEvent], MemberState] = {
    **{(state, _E.JOIN): _S.JOINING for state in (_S.OUT, _S.LATE, _S.STABLE, _S.REJOIN)},
    (_S.JOINING, _E.JOINED): _S.STABLE,
    **{(state, _E.REBALANCE): _S.REJOIN for state in (_S.STABLE, _S.REJOIN)},
    **{(state, _E.LOST): _S.OUT for state in _MEMBER},
    **{(state, _E.LATE): _S.LATE for state in _MEMBER},
    **{(state, _E.FENCE): _S.FENCED for state in (*_MEMBER, _S.OUT, _S.LATE)},
    # Also from OUT and FENCED, where there is nothing to leave: a close waits for the heartbeat thread, which
    # ends at GONE only.
    **{(state, _E.LEAVE): _S.LEAVING for state in _S if state not in (_S.LEAVING, _S.GONE)},
    (_S.LEAVING, _E.LEFT): _S.GONE,
}
"""An event that is not in the table comes too late to matter, and ``Membership.happened`` returns False.

JOINING has no REBALANCE: what the coordinator reports about the previous generation does not concern the one being
formed; acting on it would cost the group another rebalance.
"""

_ENDS_MEMBERSHIP = frozenset({_E.LOST, _E.LATE, _E.FENCE})


@dataclass(slots=True)
class Membership:
    """Times are seconds of the monotonic clock. ``generation`` also holds KIP-848's member epoch.

    ``error`` is why the member was fenced; ``complaint`` is another error of the coordinator's, raised by the next poll
    without a change of state. ``seen`` is what the caller's thread knows about the brokers.
    """

    group_id: str
    instance_id: str | None
    max_poll_interval: float
    member_id: str = ""
    generation: int = NO_GENERATION
    polled_at: float = 0.0
    leave_by: float = 0.0
    error: KcliError | None = None
    complaint: KcliError | None = None
    seen: Seen = field(default_factory=lambda: Seen(ClusterView()))
    cell: StateCell[MemberState, MemberEvent] = field(default_factory=lambda: StateCell(_S.OUT, TABLE))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> MemberState:
        """The current state."""
        return self.cell.state

    @property
    def late_at(self) -> float:
        """The time by which the caller must have polled again (``max.poll.interval.ms``, KIP-62)."""
        return self.polled_at + self.max_poll_interval

    @property
    def metadata(self) -> GroupMetadata:
        """The committer's identity, which the coordinator checks a commit against."""
        return GroupMetadata(self.group_id, self.generation, self.member_id, self.instance_id)

    @property
    def is_member(self) -> bool:
        """Whether the coordinator counts it as a member, as far as is known here."""
        return self.state in _MEMBER

    def happened(self, event: MemberEvent, why: str = "", *, error: KcliError | None = None) -> bool:
        """Applies an event; False if later events have made it obsolete."""
        if not self.cell.allows(event):
            return False
        self.cell.apply(event, why)
        # With the generation ends the right to commit (MemberCommitter.metadata). A group whose last member is
        # gone accepts a commit from anyone, so one that goes out after this would put an old offset over what
        # the next member commits.
        if event in _ENDS_MEMBERSHIP:
            self.generation = NO_GENERATION
        self.error = error or self.error
        return True
