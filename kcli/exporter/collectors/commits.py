"""How much is written to ``__consumer_offsets``. Pure, with the counts so far."""

from collections.abc import Iterator, Mapping

from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import COUNTER, Metric

WRITTEN = Metric(
    "kcli_consumer_offsets_records",
    COUNTER,
    (),
    "Records written to __consumer_offsets since the exporter began: one for each partition that is committed, and for "
    "each change of a group.",
)
METRICS = (WRITTEN,)


class Growth:
    """Adds up what log ends have grown by. An end that went back, as after an unclean election, counts as nothing: a
    counter that goes back is taken for one that began at 0.
    """

    def __init__(self) -> None:
        self.total = 0
        self._ends: dict[int, int] = {}

    def add(self, ends: Mapping[int, int]) -> int:
        """``ends`` by partition; one that is missing is counted when it is known again. Returns the total."""
        for partition, end in ends.items():
            self.total += max(0, end - self._ends.get(partition, end))
            self._ends[partition] = end
        return self.total


def samples(ends: Mapping[int, int], growth: Growth) -> Iterator[Sample]:
    """With the growth since the ends before."""
    yield Sample(WRITTEN, (), growth.add(ends))
