"""Says once that records are read from remote storage (KIP-405), which takes longer than a broker's disk."""

from collections.abc import Callable, Iterable, Mapping

from kcli.core.cluster.offsets import EARLIEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.local_starts import LocalStarts
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition

_PATIENCE = 2.0  # seconds, for what only a notice needs


class RemoteNotice:
    """``note`` is called with the sentence, of the partitions whose reading begins before the leader's own disk does."""

    def __init__(self, consumer: Consumer, note: Callable[[str], object]) -> None:
        self._consumer, self._note = consumer, note
        self._local = LocalStarts(consumer.cluster)
        self._begins: dict[TopicPartition, int] = {}
        self._said = False

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """These are about to be read: asks their leaders."""
        if not self._said:
            wanted = [tp for tp in partitions if not self._consumer.state(tp).reached_stop]
            self._begins |= {tp: self._consumer.state(tp).position for tp in wanted}
            self._local.ask(wanted)

    def look(self) -> None:
        """Called between polls: says what the leaders have answered."""
        if not self._begins or self._local.pending:
            return
        begins = {tp: self._begin(tp, begin) for tp, begin in self._begins.items()}
        self._begins = (
            {}
            if self._said
            else {
                tp: begin
                for tp, begin in begins.items()
                if begin < 0 and self._consumer.assigned(tp) is not None
            }
        )
        remote = [tp for tp, begin in begins.items() if 0 <= begin < self._local.found.get(tp, 0)]
        if remote and not self._said and (remote := self._in_log(remote, begins)):
            from kcli.flows.partition_failures import partition_names  # few runs need it

            self._said = True
            self._note(
                f"reading from remote storage: {partition_names(remote)}, up to what is on the leaders' disks"
            )

    def _in_log(
        self, partitions: Iterable[TopicPartition], begins: Mapping[TopicPartition, int]
    ) -> list[TopicPartition]:
        """Those whose reading does not begin before the log does, as after a trim: nothing is there any more."""
        found = self._consumer.list_offsets(dict.fromkeys(partitions, EARLIEST), _PATIENCE)
        return [
            tp
            for tp, start in found.items()
            if not isinstance(start, KcliError) and begins[tp] >= start.offset
        ]

    def _begin(self, tp: TopicPartition, begin: int) -> int:
        """Of a group's partition the position was not known when it was assigned."""
        state = self._consumer.assigned(tp)
        return begin if begin >= 0 or state is None else state.position
