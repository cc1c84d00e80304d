"""Reads spans of partitions to their end, or until enough was found, within a budget. Runs in the consumer's poll."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.ranges import Bounds
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError
from kcli.core.types import Record, TopicPartition

if TYPE_CHECKING:  # loaded where records are read
    from kcli.core.consumer.consumer import Consumer

OnRecord = Callable[[Record], bool]
"""Receives a record; returns whether its partition needs to be read no further."""


class Budget:
    """Bytes and seconds, whichever are used up first; seconds count from its creation."""

    def __init__(self, size: int, seconds: float) -> None:
        self._bytes_left = size
        self._end = time.monotonic() + seconds

    def spend_bytes(self, size: int) -> None:
        """Records that this many bytes were read."""
        self._bytes_left -= size

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._bytes_left <= 0 or self.seconds <= 0

    @property
    def seconds(self) -> float:
        """The remaining seconds."""
        return max(0.0, self._end - time.monotonic())


def known_bounds(consumer: Consumer, partitions: Iterable[TopicPartition], timeout: float) -> Bounds:
    """Start and end of each partition for which both are known; other partitions are omitted."""
    all_partitions = list(partitions)
    starts = consumer.list_offsets(dict.fromkeys(all_partitions, EARLIEST), timeout)
    ends = consumer.list_offsets(dict.fromkeys(all_partitions, LATEST), timeout)
    first = {tp: start.offset for tp, start in starts.items() if isinstance(start, OffsetInfo)}
    last = {tp: end.offset for tp, end in ends.items() if isinstance(end, OffsetInfo)}
    known = [tp for tp in all_partitions if tp in first and tp in last]
    return Bounds({tp: first[tp] for tp in known}, {tp: last[tp] for tp in known})


def read_spans(
    consumer: Consumer, spans: Mapping[TopicPartition, range], on_record: OnRecord, budget: Budget
) -> None:
    """Passes the records of each span to ``on_record``, in order by partition. Returns early when the budget is spent."""
    consumer.assign({tp: Span(span.start, span.stop) for tp, span in spans.items()})
    left = set(spans)
    while left and not budget.spent:
        for fetched in consumer.poll(min(0.5, budget.seconds)):
            budget.spend_bytes(fetched.batch.size)
            if fetched.tp not in left:
                continue
            try:
                for record in fetched.batch.records(*fetched.tp):
                    if fetched.first <= record.offset < fetched.stop and on_record(record):
                        left.discard(fetched.tp)
                        consumer.pause(fetched.tp)
                        break
            except CorruptRecordsError as error:
                raise error.in_partition(fetched.tp) from error
            fetched.batch.forget_payload()
        left = {tp for tp in left if not consumer.state(tp).reached_stop}


def read_backwards(
    consumer: Consumer,
    below: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    step: int,
    on_record: Callable[[Record], None],
    wanted: Callable[[TopicPartition], bool],
    budget: Budget,
) -> None:
    """Reads from ``below`` towards ``starts`` in growing steps in partitions that are still ``wanted``.

    Each step is read forwards: offsets are not record counts, so it is not known where the last records before an
    offset begin. ``on_record`` gets the records of a step in their order.
    """

    def pass_on(record: Record) -> bool:
        on_record(record)
        return False

    lows = dict(below)
    while not budget.spent:
        spans = {
            tp: range(max(starts[tp], low - step), low)
            for tp, low in lows.items()
            if low > starts[tp] and wanted(tp)
        }
        if not spans:
            return
        read_spans(consumer, spans, pass_on, budget)
        lows = {tp: span.start for tp, span in spans.items()}
        step *= 4
