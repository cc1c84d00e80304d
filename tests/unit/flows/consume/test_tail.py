"""The last N records over partitions with gaps, by time."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.ranges import Bounds
from kcli.core.consumer.subscription import Span
from kcli.core.types import Record, TopicPartition
from kcli.flows.consume.time_order import tail
from kcli.flows.filters.grep import parse_grep
from kcli.flows.filters.selection import Selection
from kcli.flows.stop import Stop
from tests.batches import fetched_of

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def record(tp: TopicPartition, offset: int, timestamp: int | None = None) -> Record:
    return Record(*tp, offset, offset if timestamp is None else timestamp, 0, None, b"%d" % offset)


class Log:
    """A consumer that hands out the records of a log between the ends that it is assigned."""

    def __init__(self, records: dict[TopicPartition, list[Record]]) -> None:
        self.log = records
        self.assigned: list[Mapping[TopicPartition, Span]] = []
        self.read = 0
        self.done = True
        self.on_poll: Any = lambda: None

    def assign(self, spans: Mapping[TopicPartition, Span]) -> None:
        self.assigned.append(dict(spans))
        self.done = all(span.stop is not None and span.start >= span.stop for span in spans.values())

    def poll(self, _timeout: float) -> list[FetchedBatch]:
        self.on_poll()
        self.done = True
        batches = []
        for tp, span in self.assigned[-1].items():
            found = [r for r in self.log[tp] if (span.start or 0) <= r.offset < (span.stop or 0)]
            self.read += len(found)
            batches += [fetched_of(found)] if found else []
        return batches


def last(
    log: Log, count: int, stop: Stop | None = None, selection: Selection | None = None
) -> list[tuple[int, int]]:
    starts = {tp: (records[0].offset if records else 0) for tp, records in log.log.items()}
    ends = {tp: (records[-1].offset + 1 if records else 0) for tp, records in log.log.items()}
    found = tail(log, Bounds(starts, ends), count, Stop() if stop is None else stop, selection)  # type: ignore[arg-type]
    return [(f.tp.partition, f.first) for f in found]


def test_the_last_records_of_one_partition() -> None:
    assert last(Log({P0: [record(P0, n) for n in range(100)]}), 3) == [(0, 97), (0, 98), (0, 99)]


def test_over_partitions_the_newest_win() -> None:
    log = Log({P0: [record(P0, n, n) for n in range(10)], P1: [record(P1, n, n + 7) for n in range(10)]})
    assert last(log, 4) == [(1, 6), (1, 7), (1, 8), (1, 9)]


def test_equal_times_are_ordered_by_partition_and_offset() -> None:
    log = Log({P1: [record(P1, n, 5) for n in range(3)], P0: [record(P0, n, 5) for n in range(3)]})
    assert last(log, 4) == [(0, 2), (1, 0), (1, 1), (1, 2)]


def test_fewer_records_than_requested_are_all() -> None:
    assert last(Log({P0: [record(P0, 4), record(P0, 9)], P1: []}), 10) == [(0, 4), (0, 9)]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_an_empty_log_has_none(count: int) -> None:
    assert last(Log({P0: [], P1: []}), count) == []


def test_none_at_all_reads_nothing() -> None:
    log = Log({P0: [record(P0, n) for n in range(10)]})
    assert last(log, 0) == []
    assert log.read == 0


def test_gaps_make_the_step_longer() -> None:
    log = Log({P0: [record(P0, n * 50) for n in range(100)]})
    assert last(log, 3) == [(0, 4850), (0, 4900), (0, 4950)]
    steps = [spans[P0].stop - spans[P0].start for spans in log.assigned]  # type: ignore[operator]
    assert len(steps) > 2
    assert all(later > earlier for earlier, later in itertools.pairwise(steps))


def test_a_partition_without_enough_records_in_the_step_is_read_again() -> None:
    """P1 is compacted: its two newest records are old, but newer than all of P0."""
    log = Log(
        {
            P0: [record(P0, n, n) for n in range(1000)],
            P1: [record(P1, 0, 5000), record(P1, 1, 5001), record(P1, 999, 6000)],
        }
    )
    assert last(log, 3) == [(1, 0), (1, 1), (1, 999)]


def test_little_is_read_when_the_end_has_enough() -> None:
    log = Log({P0: [record(P0, n) for n in range(100_000)]})
    last(log, 5)
    assert log.read == 5


def test_a_stop_ends_it_with_what_there_is() -> None:
    stop, log = Stop(), Log({P0: [record(P0, n * 1000) for n in range(100)]})
    log.on_poll = stop.request
    assert last(log, 3, stop) == [(0, 99_000)]
    assert len(log.assigned) == 1


def test_with_filters_it_is_the_last_that_match() -> None:
    log = Log({P0: [record(P0, n) for n in range(10_000)], P1: [record(P1, 0, 0)]})
    chosen = Selection([parse_grep("v:^[1-9]000$")])
    assert last(log, 2, selection=chosen) == [(0, 8000), (0, 9000)]
    spans = [spans[P0] for spans in log.assigned]
    assert all(later.stop == earlier.start for earlier, later in itertools.pairwise(spans))
    assert chosen.scanned == log.read == 1 + 10_000 - (spans[-1].start or 0), "each record is read once"


def test_a_partition_keeps_its_order_whatever_times_its_records_have() -> None:
    log = Log({P0: [record(P0, n, 9 - n) for n in range(5)], P1: [record(P1, n, n) for n in range(8)]})
    assert last(log, 20) == [(1, n) for n in range(8)] + [(0, n) for n in range(5)]
