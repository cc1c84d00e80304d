"""Which partitions are read, from where to where. State of the consumer's thread; no I/O."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcli.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets to be read: from ``start`` up to, not including, ``stop`` (None: without end)."""

    start: int
    stop: int | None = None


@dataclass(slots=True)
class PartitionState:
    """One assigned partition. ``fetch_from`` runs ahead of ``position``, which is what was handed out."""

    position: int
    fetch_from: int
    stop: int | None
    version: int = 0
    paused: bool = False
    not_before: float = 0.0
    topic_id: bytes | None = None

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
        self._states = {
            where: PartitionState(span.start, span.start, span.stop, self._next_version())
            for where, span in spans.items()
        }

    def seek(self, where: TopicPartition, offset: int) -> None:
        """Goes on from ``offset``; what is in flight or buffered for the old position is dropped."""
        state = self._states[where]
        state.position = state.fetch_from = offset
        state.version = self._next_version()

    def get(self, where: TopicPartition) -> PartitionState | None:
        """The state of an assigned partition."""
        return self._states.get(where)

    def items(self) -> Iterable[tuple[TopicPartition, PartitionState]]:
        """All assigned partitions with their states."""
        return self._states.items()

    @property
    def done(self) -> bool:
        """Whether every partition has reached its stop."""
        return all(state.done for state in self._states.values())
