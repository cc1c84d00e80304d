"""A stand-in for a consumer that reads logs from memory, a batch a poll. Not a test."""

from collections.abc import Callable, Iterable, Mapping

from kcli.core.cluster.offsets import EARLIEST, OffsetInfo
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.subscription import PartitionState, Span
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import Record, TopicPartition
from tests.batches import fetched_of


def log(tp: TopicPartition, offsets: Iterable[int], value: bytes = b"v") -> list[Record]:
    """Records at these offsets, whose keys are their offsets and whose timestamps too."""
    return [Record(*tp, offset, offset, 0, b"%d" % offset, value) for offset in offsets]


class LogReader:
    """``spans`` is what was assigned, oldest first; ``starts`` and ``ends`` are those of the logs."""

    def __init__(self, logs: Mapping[TopicPartition, list[Record]], batch: int = 5) -> None:
        self.logs, self.batch = dict(logs), batch
        self.ends = {tp: rows[-1].offset + 1 if rows else 0 for tp, rows in logs.items()}
        self.starts = {tp: rows[0].offset if rows else 0 for tp, rows in logs.items()}
        self.unknown: set[TopicPartition] = set()
        self.spans: list[Mapping[TopicPartition, Span]] = []
        self._states: dict[TopicPartition, PartitionState] = {}

    def __enter__(self) -> "LogReader":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], _timeout: float
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        return {
            tp: TimedOutError(f"{tp} has no leader")
            if tp in self.unknown
            else OffsetInfo((self.starts if place == EARLIEST else self.ends)[tp], -1)
            for tp, place in wanted.items()
        }

    def begin_list_offsets(
        self, wanted: Mapping[TopicPartition, int], timeout: float, *, committed_only: bool | None = None
    ) -> Callable[[], dict[TopicPartition, OffsetInfo | KcliError]]:
        del committed_only  # all is committed
        return lambda: self.list_offsets(wanted, timeout)

    def assign(self, spans: Mapping[TopicPartition, Span]) -> None:
        self.spans.append(dict(spans))
        self._states = {w: PartitionState(w, span, 1, lambda _state: None) for w, span in spans.items()}

    def state(self, tp: TopicPartition) -> PartitionState:
        return self._states[tp]

    def pause(self, tp: TopicPartition) -> None:
        self._states[tp].paused = True

    def poll(self, _timeout: float) -> list[FetchedBatch]:
        """A batch of the first partition that has something; one without anything up to its stop is at its stop."""
        for tp, state in self._states.items():
            if state.paused or state.reached_stop:
                continue
            assert state.stop is not None
            found = [r for r in self.logs[tp] if state.position <= r.offset < state.stop][: self.batch]
            state.position = found[-1].offset + 1 if len(found) == self.batch else state.stop
            if found:
                return [fetched_of(found)]
        return []
