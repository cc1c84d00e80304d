"""Reads spans of partitions to their end, or until enough was found, within a budget. Runs in the consumer's poll."""

from collections.abc import Callable, Iterable, Mapping

from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.budget import Budget
from kcli.flows.ranges import Bounds

Take = Callable[[Record], bool]
"""Receives a record; returns whether its partition needs to be read no further."""


def known_bounds(consumer: Consumer, partitions: Iterable[TopicPartition], timeout: float) -> Bounds:
    """Start and end of each partition for which both are known; other partitions are omitted."""
    wanted = list(partitions)
    starts = consumer.list_offsets(dict.fromkeys(wanted, EARLIEST), timeout)
    ends = consumer.list_offsets(dict.fromkeys(wanted, LATEST), timeout)
    first = {tp: told.offset for tp, told in starts.items() if isinstance(told, OffsetInfo)}
    last = {tp: told.offset for tp, told in ends.items() if isinstance(told, OffsetInfo)}
    known = [tp for tp in wanted if tp in first and tp in last]
    return Bounds({tp: first[tp] for tp in known}, {tp: last[tp] for tp in known})


def read_spans(consumer: Consumer, spans: Mapping[TopicPartition, range], take: Take, budget: Budget) -> None:
    """Passes the records of each span to ``take``, in order by partition. Returns early when the budget is spent."""
    consumer.assign({tp: Span(span.start, span.stop) for tp, span in spans.items()})
    left = set(spans)
    while left and not budget.spent:
        for fetched in consumer.poll(min(0.5, budget.seconds)):
            budget.took(fetched.batch.size)
            if fetched.tp not in left:
                continue
            try:
                for record in fetched.batch.records(*fetched.tp):
                    if fetched.first <= record.offset < fetched.stop and take(record):
                        left.discard(fetched.tp)
                        consumer.pause(fetched.tp)
                        break
            except CorruptRecordsError as error:
                raise error.in_partition(fetched.tp) from error
            fetched.batch.forget_payload()
        left = {tp for tp in left if not consumer.state(tp).done}


def backwards(
    consumer: Consumer,
    below: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    step: int,
    take: Callable[[Record], None],
    wanting: Callable[[TopicPartition], bool],
    budget: Budget,
) -> None:
    """Reads from ``below`` towards ``starts`` in growing steps while partitions are ``wanting``.

    Each step is read forwards: offsets are not record counts, so it is not known where the last records before an
    offset begin. ``take`` gets the records of a step in their order.
    """

    def take_all(record: Record) -> bool:
        take(record)
        return False

    lows = dict(below)
    while not budget.spent:
        spans = {
            tp: range(max(starts[tp], low - step), low)
            for tp, low in lows.items()
            if low > starts[tp] and wanting(tp)
        }
        if not spans:
            return
        read_spans(consumer, spans, take_all, budget)
        lows = {tp: span.start for tp, span in spans.items()}
        step *= 4
