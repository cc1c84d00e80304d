"""What serdes could not decode in the tasks of a query: counted there, brought to the driver by an accumulator.

Each range counts once, also where Spark reads it twice or repeats its task.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.accumulators import _deserialize_accumulator as worker_accumulator

from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.pipeline.plan import Slice


class Undecoded(NamedTuple):
    """How many keys or values of a range could not be decoded; the offset of the first one and the reason."""

    failed: int
    offset: int
    why: str


ByRange = dict[tuple[str, str, int, int], Undecoded]
"""By part (``key``, ``value``), topic, partition, and start of the range."""


class UndecodedParam(AccumulatorParam[ByRange]):
    """Joins the counts of ranges; of several for a range, the largest."""

    def zero(self, value: ByRange) -> ByRange:  # noqa: ARG002 - pyspark's signature
        """The empty accumulator: nothing undecoded."""
        return {}

    def addInPlace(self, value1: ByRange, value2: ByRange) -> ByRange:  # noqa: N802 - pyspark's name
        """Adds ``value2`` to ``value1``."""
        for where, found in value2.items():
            value1[where] = max(found, value1.get(where, found))
        return value1


def report_undecoded(accumulator_id: int, slice_: Slice, found: Mapping[str, Undecoded]) -> None:
    """Called in a task: sends the counts of its range, by part, to the driver."""
    if found:
        accumulator: Accumulator[ByRange] = worker_accumulator(accumulator_id, {}, UndecodedParam())
        accumulator.add(
            {(part, slice_.topic, slice_.partition, slice_.start): each for part, each in found.items()}
        )


def undecoded_warnings(found: ByRange, serdes: Mapping[str, str]) -> Iterable[str]:
    """A text for the keys, and one for the values; ``serdes`` by part."""
    for part, serde in serdes.items():
        of_part = {where: each for where, each in found.items() if where[0] == part}
        if of_part:
            count = sum(each.failed for each in of_part.values())
            (_, topic, partition, _), first = min(of_part.items())
            yield (
                f"{counted(count, part)} could not be decoded with {serde} and {'is' if count == 1 else 'are'} null; "
                f"the first at {TopicPartition(topic, partition)}@{first.offset}: {first.why}"
            )
