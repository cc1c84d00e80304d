"""Spans of partitions read to their end, or until enough was found, within a budget. Runs in the consumer's poll."""

from collections.abc import Callable, Iterable, Mapping

from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import CorruptRecordsError
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.budget import Budget
from kcli.flows.ranges import Bounds

Take = Callable[[Record], bool]
"""Gets a record; whether its partition needs to be read no further."""


def known_bounds(consumer: Consumer, places: Iterable[TopicPartition], timeout: float) -> Bounds:
    """Start and end of each partition of which both can be told; the others are left out."""
    wanted = list(places)
    starts = consumer.list_offsets(dict.fromkeys(wanted, EARLIEST), timeout)
    ends = consumer.list_offsets(dict.fromkeys(wanted, LATEST), timeout)
    first = {where: told.offset for where, told in starts.items() if isinstance(told, OffsetInfo)}
    last = {where: told.offset for where, told in ends.items() if isinstance(told, OffsetInfo)}
    known = [where for where in wanted if where in first and where in last]
    return Bounds({where: first[where] for where in known}, {where: last[where] for where in known})


def read_spans(consumer: Consumer, spans: Mapping[TopicPartition, range], take: Take, budget: Budget) -> None:
    """Gives the records of each span to ``take``, in order by partition. Returns early when the budget is spent."""
    consumer.assign({where: Span(span.start, span.stop) for where, span in spans.items()})
    left = set(spans)
    while left and not budget.spent:
        for fetched in consumer.poll(min(0.5, budget.seconds)):
            budget.took(fetched.batch.size)
            if fetched.where not in left:
                continue
            try:
                for record in fetched.batch.records(*fetched.where):
                    if fetched.first <= record.offset < fetched.stop and take(record):
                        left.discard(fetched.where)
                        consumer.pause(fetched.where)
                        break
            except CorruptRecordsError as error:
                raise error.in_partition(fetched.where) from error
            fetched.batch.forget_payload()
        left = {where for where in left if not consumer.state(where).done}


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

    Each step is read forwards: offsets are no record counts, so nobody knows where the last records before a place
    begin. ``take`` gets the records of a step in their order.
    """

    def take_all(record: Record) -> bool:
        take(record)
        return False

    lows = dict(below)
    while not budget.spent:
        spans = {
            where: range(max(starts[where], low - step), low)
            for where, low in lows.items()
            if low > starts[where] and wanting(where)
        }
        if not spans:
            return
        read_spans(consumer, spans, take_all, budget)
        lows = {where: span.start for where, span in spans.items()}
        step *= 4
