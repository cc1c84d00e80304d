"""Figures of a running mirror for other threads: they ask, and the thread of the mirror takes a snapshot between two
polls.

Nothing is computed while nobody asks, and no other thread touches the consumer or the copies.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from threading import Condition

from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic, wall_ms
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.partition_state import State


class Role(StrEnum):
    """What this instance is to its job."""

    STAND_BY = "stand_by"
    HOLDER = "holder"


class PartitionFigures(NamedTuple):
    """A partition at one moment. ``lag`` and ``seconds``: offsets, and the age of the oldest record that is not copied;
    None where that is not known. ``records`` and ``bytes``: since this instance has the job. ``gaps``: not acknowledged.
    """

    tp: TopicPartition
    state: State
    lag: int | None
    seconds: float | None
    records: int
    bytes: int
    gaps: int


class Figures(NamedTuple):
    """``at``: on the monotonic clock. ``holder``: who else runs the job, empty if that is not known. ``partitions`` and
    ``groups`` are those of the holder; ``groups``: seconds since all offsets of a group were found or set on the target.
    """

    at: float
    job: str
    source: str
    target: str
    role: Role
    holder: str = ""
    partitions: tuple[PartitionFigures, ...] = ()
    groups: tuple[tuple[str, float], ...] = ()


class Handover:
    """From the thread of a mirror (``turned``, ``rest``) to others (``figures``, ``idle``)."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._asked = False
        self._latest: Figures | None = None
        self._turned_at = monotonic()
        self._rests = "the mirror starts"

    def rest(self, why: str) -> None:
        """For this reason there are no turns for now, which may last."""
        self._rests = why

    def turned(self, take: Callable[[], Figures]) -> None:
        """Called in each turn of the mirror's loops; ``take`` only if anybody asks."""
        self._turned_at, self._rests = monotonic(), ""
        # Read without the lock: who asks just now is answered in the next turn.
        if self._asked:
            figures = take()
            with self._changed:
                self._latest, self._asked = figures, False
                self._changed.notify_all()

    def figures(self, patience: float) -> Figures | None:
        """Those of the next turn; after ``patience`` seconds without one the last ones, which may be old, or None."""
        until = monotonic() + patience
        with self._changed:
            before, self._asked = self._latest, True
            while self._latest is before and not self._rests and (left := until - monotonic()) > 0:
                self._changed.wait(left)
            return self._latest

    @property
    def rests(self) -> str:
        """Why there are no turns; empty where there are."""
        return self._rests

    def idle(self) -> float:
        """Seconds since the last turn."""
        return monotonic() - self._turned_at


def partition_figures(
    copies: Iterable[PartitionCopy], gaps: Mapping[TopicPartition, int]
) -> tuple[PartitionFigures, ...]:
    """``gaps``: how many earlier runs have left."""
    now = wall_ms()
    return tuple(
        PartitionFigures(
            copy.source,
            copy.state.state,
            lag := copy.lag,
            _age(lag, copy.oldest_ms, now),
            copy.records,
            copy.bytes,
            gaps.get(copy.source, 0) + len(copy.own_gaps),
        )
        for copy in copies
    )


def _age(lag: int | None, oldest_ms: int | None, now: int) -> float | None:
    if lag == 0:
        return 0.0
    return None if lag is None or oldest_ms is None else max(0, now - oldest_ms) / 1000
