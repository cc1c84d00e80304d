"""The first record that a group has not read, by partition and offset: one small read each, all partitions at once.

What a read_committed reader would get first counts: records of aborted transactions, markers and offsets that were
compacted away are passed over. Runs in the consumer's poll.
"""

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Phase, Span
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.types import TopicPartition

Place = tuple[TopicPartition, int]
"""A partition and an offset in it."""

_TURN = 0.5


@dataclass(frozen=True, slots=True)
class Unread:
    """``timestamp`` in ms, None where there is no record, or one of a format without timestamps.

    ``drained``: no record is there for a reader now, also where the place is behind the end of the log.
    """

    timestamp: int | None
    drained: bool


DRAINED = Unread(None, drained=True)

Found = dict[Place, Unread | KcliError]


def first_unread(consumer: Consumer, places: Collection[Place], timeout: float) -> Found:
    """For each place the first record from there on, or why it cannot be told.

    The consumer is one without a group. ``timeout`` (seconds) bounds each look at the logs' ends, and the time in which
    nothing comes. Of a partition with several offsets one is looked at after the other.
    """
    found: Found = {}
    wheres = {where for where, _offset in places}
    starts = consumer.list_offsets(dict.fromkeys(wheres, EARLIEST), timeout)
    ends = consumer.list_offsets(dict.fromkeys(wheres, LATEST), timeout)
    ahead: dict[TopicPartition, list[tuple[int, Span]]] = {}
    for where, offset in sorted(set(places)):
        start, end = starts[where], ends[where]
        if not isinstance(start, OffsetInfo):
            found[where, offset] = start
        elif not isinstance(end, OffsetInfo):
            found[where, offset] = end
        elif max(offset, start.offset) >= end.offset:
            found[where, offset] = DRAINED
        else:
            span = Span(max(offset, start.offset), end.offset)
            ahead.setdefault(where, []).append((offset, span))
    for turn in _rounds(ahead):
        spans = {where: span for where, (_offset, span) in turn.items()}
        for where, told in _read(consumer, spans, timeout).items():
            found[where, turn[where][0]] = told
    return found


def _rounds(
    ahead: dict[TopicPartition, list[tuple[int, Span]]],
) -> Iterator[dict[TopicPartition, tuple[int, Span]]]:
    """A consumer reads a partition at one place at a time."""
    for number in range(max(map(len, ahead.values()), default=0)):
        yield {where: spans[number] for where, spans in ahead.items() if number < len(spans)}


def _read(
    consumer: Consumer, spans: dict[TopicPartition, Span], timeout: float
) -> dict[TopicPartition, Unread | KcliError]:
    """The first record of each span."""
    found: dict[TopicPartition, Unread | KcliError] = {}
    consumer.assign(spans)
    deadline = time.monotonic() + timeout
    while left := [where for where in spans if where not in found]:
        before = len(found)
        try:
            _take(consumer, found)
        except KcliError as error:
            failed = [where for where in left if consumer.state(where).phase is Phase.FAILED]
            found |= dict.fromkeys(failed or left, error)
        found |= {w: DRAINED for w in left if w not in found and consumer.state(w).done}
        if len(found) > before:
            deadline = time.monotonic() + timeout
        elif time.monotonic() > deadline:
            found |= {w: TimedOutError(f"{w}: no record came", why=f"in {timeout:g} s") for w in left}
    return found


def _take(consumer: Consumer, found: dict[TopicPartition, Unread | KcliError]) -> None:
    """One poll. A partition whose record is found is read no more."""
    for fetched in consumer.poll(_TURN):
        where = fetched.where
        if where not in found:
            records = fetched.batch.records(*where)
            first = next((r for r in records if fetched.first <= r.offset < fetched.stop), None)
            if first is not None:
                stamp = first.timestamp if first.timestamp >= 0 else None
                found[where] = Unread(stamp, drained=False)
                consumer.pause(where)
        fetched.batch.forget_payload()
