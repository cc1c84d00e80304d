"""Which partitions are read, from where to where. State of the consumer's thread; no I/O."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from kcli.core.types import TopicPartition

UNKNOWN = -1
"""A position that nobody has found out yet."""


class Phase(Enum):
    """What must be known before a partition can be read. FAILED: its error was raised; a seek goes on."""

    COMMITTED = "looking for its committed offset"
    RESET = "looking for where to begin"
    VALIDATE = "checking whether its log was cut"
    READING = "reading"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets to be read: from ``start`` up to, not including, ``stop`` (None: without end).

    ``start`` None: from the committed offset, or else where ``auto.offset.reset`` says.
    """

    start: int | None = None
    stop: int | None = None


@dataclass(slots=True)
class PartitionState:
    """One assigned partition. ``fetch_from`` runs ahead of ``position``, which is what was handed out.

    ``epoch`` is the leader epoch of the record before ``position``, ``fetch_epoch`` of the one before ``fetch_from``
    (−1: not known). ``checked_epoch`` is that of the leader at which the log was last known to have all up to
    ``fetch_from`` (KIP-320). ``by_policy``: the consumer chose where to begin, so it may choose again.
    ``committed`` is what the group's committed offset was when it was last heard of.
    """

    position: int
    fetch_from: int
    stop: int | None
    version: int = 0
    phase: Phase = Phase.READING
    paused: bool = False
    not_before: float = 0.0
    topic_id: bytes | None = None
    reset_to: int | None = None
    epoch: int = -1
    fetch_epoch: int = -1
    checked_epoch: int = -1
    by_policy: bool = False
    committed: int = UNKNOWN
    high_watermark: int = -1
    last_stable: int = -1

    @property
    def fetched_all(self) -> bool:
        """Whether everything up to the stop has been asked for and has come."""
        return self.stop is not None and self.fetch_from >= self.stop

    @property
    def done(self) -> bool:
        """Whether everything up to the stop has been handed out."""
        return self.stop is not None and self.position >= self.stop


class Subscription:
    """The assigned partitions and their positions."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, PartitionState] = {}
        self._versions = itertools.count()

    def _next_version(self) -> int:
        """Never the same again: an answer to an older question is known by it."""
        return next(self._versions)

    def assign(self, spans: Mapping[TopicPartition, Span]) -> None:
        """Reads exactly these partitions from now on; answers to older questions are dropped."""
        self._states = {}
        for where, span in spans.items():
            self.add(where, span)

    def add(self, where: TopicPartition, span: Span) -> None:
        """Reads this partition too."""
        start = UNKNOWN if span.start is None else span.start
        phase = Phase.COMMITTED if span.start is None else Phase.READING
        self._states[where] = PartitionState(
            start, start, span.stop, self._next_version(), phase, by_policy=span.start is None
        )

    def remove(self, where: TopicPartition) -> None:
        """Reads it no more: what was fetched of it is dropped."""
        self._states.pop(where, None)

    def seek(self, where: TopicPartition, offset: int, *, epoch: int = -1) -> None:
        """Goes on from ``offset``; what is in flight or buffered for the old position is dropped.

        ``epoch`` is that of the record before, if it is known: then the log is checked before it is read.
        """
        state = self._states[where]
        state.position = state.fetch_from = offset
        state.epoch = state.fetch_epoch = epoch
        state.checked_epoch = -1
        state.phase, state.reset_to, state.not_before = Phase.READING, None, 0.0
        state.version = self._next_version()

    def begin_anew(self, where: TopicPartition, reset_to: int) -> None:
        """Goes on where ListOffsets finds ``reset_to``: a time in ms, LATEST or EARLIEST."""
        state = self._states[where]
        state.position = state.fetch_from = UNKNOWN
        state.phase, state.reset_to, state.not_before = Phase.RESET, reset_to, 0.0
        state.version = self._next_version()

    def step_back(self, where: TopicPartition) -> None:
        """What was fetched but not handed out is fetched again later."""
        state = self._states[where]
        state.fetch_from, state.fetch_epoch = state.position, state.epoch
        state.version = self._next_version()

    def get(self, where: TopicPartition) -> PartitionState | None:
        """The state of an assigned partition."""
        return self._states.get(where)

    def items(self) -> Iterable[tuple[TopicPartition, PartitionState]]:
        """All assigned partitions with their states."""
        return self._states.items()

    def in_phase(self, phase: Phase) -> list[tuple[TopicPartition, PartitionState]]:
        """Those that wait for the same thing."""
        return [(where, state) for where, state in self._states.items() if state.phase is phase]

    @property
    def topic_ids(self) -> dict[str, bytes]:
        """The ids of the topics that are read, as far as they are known."""
        return {where.topic: state.topic_id for where, state in self._states.items() if state.topic_id}

    @property
    def done(self) -> bool:
        """Whether every partition has reached its stop; not before there is one."""
        return all(state.done for state in self._states.values())
