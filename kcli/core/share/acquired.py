"""Records that a broker has given to this member for a time, and what became of them. Pure: no I/O, no clock.

A broker acquires ranges of offsets for a member, each with one delivery count, and locks them for
``share.record.lock.duration.ms``. Each offset is then acknowledged: accepted, released (to be delivered again), rejected
(never again), or, where there is no record, as a gap. What is not acknowledged in time is delivered again.

A broker judges the acknowledgements of a partition in one request all or none: if one of them is for a record that it has
not acquired for this member, it refuses them all with INVALID_RECORD_STATE and changes nothing. So what was refused
together is sent again in halves, until each range is judged by itself (``pending.py``).

``Decision`` is a state machine: what was decided of one range and is sent in one piece. Its outcome is uncertain once an
answer was lost: the same may then be refused because it has been done already.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from kcli.core.classes import IntEnum, NamedTuple, dataclass, field
from kcli.core.state_cell import StateCell, TableKey
from kcli.core.types import TopicPartition

Span = tuple[int, int]
"""The first and the last of adjacent offsets."""


class Acknowledge(IntEnum):
    """Kafka's types of acknowledgements. RENEW extends the lock (KIP-1222) and decides nothing."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class Run(NamedTuple):
    """Adjacent offsets that are acknowledged alike."""

    first: int
    last: int
    kind: Acknowledge

    @property
    def size(self) -> int:
        """How many offsets it has."""
        return self.last - self.first + 1


class DecisionState(TableKey):
    """``DOUBTFUL``: sent, and no answer came; ``REPEATED``: sent again after that. The last three are final."""

    WAITING = "waiting"
    SENT = "sent"
    DOUBTFUL = "sent without an answer"
    REPEATED = "sent again"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class DecisionEvent(TableKey):
    """``REFUSE``: the broker does not hold the range for this member (any more); ``RETRY``: nothing was done."""

    SEND = "send"
    CONFIRM = "confirm"
    REFUSE = "refuse"
    RETRY = "retry"
    NO_ANSWER = "no answer"


_S, _E = DecisionState, DecisionEvent
TABLE: dict[tuple[DecisionState, DecisionEvent], DecisionState] = {
    (_S.WAITING, _E.SEND): _S.SENT,
    (_S.WAITING, _E.REFUSE): _S.REFUSED,
    (_S.SENT, _E.CONFIRM): _S.CONFIRMED,
    (_S.SENT, _E.REFUSE): _S.REFUSED,
    (_S.SENT, _E.RETRY): _S.WAITING,
    (_S.SENT, _E.NO_ANSWER): _S.DOUBTFUL,
    (_S.DOUBTFUL, _E.SEND): _S.REPEATED,
    (_S.DOUBTFUL, _E.REFUSE): _S.UNKNOWN,
    (_S.REPEATED, _E.CONFIRM): _S.CONFIRMED,
    (_S.REPEATED, _E.REFUSE): _S.UNKNOWN,
    (_S.REPEATED, _E.RETRY): _S.DOUBTFUL,
    (_S.REPEATED, _E.NO_ANSWER): _S.DOUBTFUL,
}
FINAL = frozenset({_S.CONFIRMED, _S.REFUSED, _S.UNKNOWN})


@dataclass(slots=True, eq=False, repr=False)
class Acquired:
    """Offsets ``first`` to ``last`` of a partition, acquired on broker ``node_id`` for the ``deliveries``-th time.

    ``undecided``: those that have a record and are not acknowledged yet. ``lock_until``: when the broker's lock ends at
    the earliest, on the loop's clock.
    """

    tp: TopicPartition
    topic_id: bytes
    node_id: int
    first: int
    last: int
    deliveries: int
    lock_until: float
    undecided: list[Span] = field(default_factory=list)
    delivered: bool = False
    renewing: bool = False
    gone: str = ""
    """Why the broker does not hold it for this member any more, as far as is known here."""
    _runs: list[Run] = field(default_factory=list)

    def settle(
        self, recorded: Iterable[Span], damaged: Iterable[Span] = (), unread: int | None = None
    ) -> None:
        """``recorded``: the offsets that have a record. ``damaged`` ones are rejected, those from ``unread`` on released,
        and all others are gaps.
        """
        self.undecided = list(recorded)
        end = self.last if unread is None else min(self.last, unread - 1)
        decided = [Run(*span, Acknowledge.REJECT) for span in damaged]
        decided += [Run(end + 1, self.last, Acknowledge.RELEASE)] if end < self.last else []
        at = self.first
        for first, last in sorted([*self.undecided, *((run.first, run.last) for run in decided)]):
            if first > at:
                self._runs.append(Run(at, first - 1, Acknowledge.GAP))
            at = last + 1
        if at <= self.last:
            self._runs.append(Run(at, self.last, Acknowledge.GAP))
        self._runs += decided

    def acknowledge(self, first: int, last: int, kind: Acknowledge) -> int:
        """Decides the undecided offsets from ``first`` to ``last``; returns how many there were."""
        taken = _take(self.undecided, first, last)
        for one in taken:
            self._runs.append(Run(*one, kind))
        return sum(end - start + 1 for start, end in taken)

    def is_open(self, first: int, last: int) -> bool:
        """Whether any of these offsets are undecided."""
        return any(start <= last and end >= first for start, end in self.undecided)

    @property
    def has_news(self) -> bool:
        """Whether something was decided that is not in a Decision yet. Gaps alone are no news while records are open."""
        runs = self._runs
        return bool(runs) and (not self.undecided or any(run.kind is not Acknowledge.GAP for run in runs))

    def decide(self) -> Decision:
        """What was decided since the last call."""
        runs, self._runs = self._runs, []
        runs.sort()
        return Decision(self, joined(runs))

    def renewal(self) -> Decision:
        """Asks for more time for what is undecided."""
        return Decision(self, [Run(*one, Acknowledge.RENEW) for one in self.undecided])


@dataclass(slots=True, eq=False, repr=False)
class Decision:
    """What was decided of one range: ``runs`` in the order of their offsets."""

    acquired: Acquired
    runs: list[Run]
    cell: StateCell[DecisionState, DecisionEvent] = field(
        default_factory=lambda: StateCell(DecisionState.WAITING, TABLE)
    )

    @property
    def state(self) -> DecisionState:
        """The current state."""
        return self.cell.state

    @property
    def is_renewal(self) -> bool:
        """Whether it only extends the lock."""
        return bool(self.runs) and self.runs[0].kind is Acknowledge.RENEW

    def split(self, first: int, last: int) -> tuple[Decision | None, Decision | None]:
        """The part about the offsets from ``first`` to ``last``, and the rest; None for a part without offsets."""
        rest = [part for run in self.runs for part in _without(run, first, last)]
        cut = [
            run._replace(first=max(run.first, first), last=min(run.last, last))
            for run in self.runs
            if run.first <= last and run.last >= first
        ]
        return self._part(cut), self._part(rest)

    def _part(self, runs: list[Run]) -> Decision | None:
        return Decision(self.acquired, runs, StateCell(self.state, TABLE)) if runs else None


def joined(runs: list[Run]) -> list[Run]:
    """Sorted runs, adjacent ones of a kind as one."""
    found: list[Run] = []
    for run in runs:
        if found and found[-1].last + 1 == run.first and found[-1].kind is run.kind:
            found[-1] = found[-1]._replace(last=run.last)
        else:
            found.append(run)
    return found


def _take(spans: list[Span], first: int, last: int) -> list[Span]:
    """Removes ``first`` to ``last`` from the spans, and returns what was removed."""
    at = max(0, bisect_right(spans, (first, first)) - 1)
    if at < len(spans) and spans[at][1] < first:
        at += 1
    taken: list[Span] = []
    while at < len(spans) and spans[at][0] <= last:
        start, end = spans[at]
        low, high = max(start, first), min(end, last)
        rest = [(start, low - 1)] if start < low else []
        rest += [(high + 1, end)] if high < end else []
        spans[at : at + 1] = rest
        taken.append((low, high))
        at += 1 if start < low else 0
        if high < end:
            break
    return taken


def _without(run: Run, first: int, last: int) -> Iterator[Run]:
    if run.last < first or run.first > last:
        yield run
        return
    if run.first < first:
        yield run._replace(last=first - 1)
    if run.last > last:
        yield run._replace(first=last + 1)
