"""What serdes could not decode in the tasks of a query, brought to the driver by an accumulator (``decoding.py``).

Each range counts once, also where Spark reads it twice or repeats its task.
"""

from collections.abc import Mapping

from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.accumulators import _deserialize_accumulator as worker_accumulator

from kcli.pipeline.decoding import ByRange, Undecoded, join_counts
from kcli.pipeline.plan import Slice


class UndecodedParam(AccumulatorParam[ByRange]):
    """Joins the counts of ranges."""

    def zero(self, value: ByRange) -> ByRange:  # noqa: ARG002 - pyspark's signature
        """The empty accumulator: nothing undecoded."""
        return {}

    def addInPlace(self, value1: ByRange, value2: ByRange) -> ByRange:  # noqa: N802 - pyspark's name
        """Adds ``value2`` to ``value1``."""
        join_counts(value1, value2)
        return value1


def report_undecoded(accumulator_id: int, slice_: Slice, found: Mapping[str, Undecoded]) -> None:
    """Called in a task: sends the counts of its range, by part, to the driver."""
    if found:
        accumulator: Accumulator[ByRange] = worker_accumulator(accumulator_id, {}, UndecodedParam())
        accumulator.add(
            {(part, slice_.topic, slice_.partition, slice_.start): each for part, each in found.items()}
        )
