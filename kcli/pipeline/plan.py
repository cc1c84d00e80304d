"""What a job reads: ranges of offsets, pinned once before it starts, so that a task that runs again reads the same."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from kcli.core.classes import NamedTuple
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.positions import RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.time_limits import EXACT, time_warnings

SMALLEST_SLICE = 50_000
"""Offsets of a slice below which a partition is not divided: a task costs about 60 ms."""
_UNEVEN = 1.5
"""How much larger than an equal share a slice may be before it is divided."""


class Slice(NamedTuple):
    """The records of a partition at offsets from ``start`` up to, not including, ``end``. ``topic_id`` is all zeros on
    brokers before 2.8.
    """

    topic: str
    topic_id: bytes
    partition: int
    start: int
    end: int

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def offsets(self) -> int:
        """The number of offsets: at least that of records."""
        return max(0, self.end - self.start)


def pin(
    consumer: Consumer,
    topics: Iterable[str],
    spec: RangeSpec,
    timeout: float,
    *,
    partitions: Iterable[int] | None = None,
    on_out_of_range: str = "fail",
    do: str = "choose another --offset",
    warn: Callable[[str], object] | None = None,
    out_of_order: str = EXACT,
    exact_times: bool = False,
) -> list[Slice]:
    """One slice for each partition, up to its current end, also for empty ones; DataLossError, with the remedy ``do``,
    for a start beyond the end (``on_out_of_range``: as in ``ranges.spans``), NotFoundError for a topic or partition that
    does not exist.

    ``exact_times``: a slice has all records whose times are within the range, and others, which its reader leaves out
    (``RangeSpec.times``): it begins at the first record that is not older, before which there is none of the range, and
    goes to the end of the log. Else ``warn`` is told of times that are not in order, with ``out_of_order`` as the remedy.
    """
    chosen = ranges.choose_partitions(consumer, topics, partitions, timeout)
    if exact_times and spec.times[1] is not None:
        spec = spec._replace(stop=None)
    spans = ranges.spans(
        consumer, chosen, spec, until_end=True, timeout=timeout, on_out_of_range=on_out_of_range, do=do
    )
    if warn is not None and not exact_times:
        for text in time_warnings(consumer, spec, spans, timeout, out_of_order):
            warn(text)
    known = consumer.cluster.view.topics
    return [
        Slice(tp.topic, known[tp.topic].id, tp.partition, int(span.start or 0), int(span.stop or 0))
        for tp, span in spans.items()
    ]


def first_since(consumer: Consumer, slices: Sequence[Slice], since_ms: int) -> dict[TopicPartition, int]:
    """The first offset with a timestamp from then on: all records before it are older; −1: there is none."""
    if since_ms < 0 or not slices:
        return {}
    limit = consumer.options.default_api_timeout_ms / 1000
    consumer.connect(limit)
    return ranges.offsets_in(
        consumer.list_offsets(dict.fromkeys([each.tp for each in slices], since_ms), limit)
    )


def split(slices: Sequence[Slice], slots: int, smallest: int = SMALLEST_SLICE) -> list[Slice]:
    """The same offsets in slices that ``slots`` tasks finish at about the same time; the largest first.

    Only a partition with more than its share is divided: one long slice of a partition is the cheapest.
    """
    share = max(smallest, -(-sum(each.offsets for each in slices) // max(1, slots)))
    found: list[Slice] = []
    for each in slices:
        parts = -(-each.offsets // share) if each.offsets > share * _UNEVEN else 1
        bounds = [each.start + each.offsets * number // parts for number in range(parts)] + [each.end]
        found += [each._replace(start=a, end=b) for a, b in pairwise(bounds)]
    return heapq.nlargest(len(found), found, key=lambda each: each.offsets)
