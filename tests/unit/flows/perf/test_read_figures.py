"""What is counted of the batches of each poll: warm-up, limit, marks, time."""

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.records.run import plain_run
from kcli.core.types import TopicPartition
from kcli.flows.perf.marks import mark
from kcli.flows.perf.read_figures import ReadFigures
from tests.batches import batch_of
from tests.fault.perf_topics import SIZE, WALL, record

TOPIC = TopicPartition("t", 0)


def fetched(
    first: int, count: int, *, start: int | None = None, stop: int | None = None, number: int | None = None
) -> FetchedBatch:
    """A batch at offset ``first`` with marks from ``number`` on, of which ``start`` to ``stop`` are wanted."""
    numbers = range(first if number is None else number, (first if number is None else number) + count)
    rows = [record(first + index, one) for index, one in enumerate(numbers)]
    end = first + count if stop is None else stop
    return FetchedBatch(TOPIC, batch_of(rows), first if start is None else start, end, end)


def figures(**how: int) -> ReadFigures:
    found = ReadFigures(**how)
    found.start(100.0, WALL, 1.0)
    return found


def test_records_bytes_and_marks_are_those_of_the_wanted_offsets() -> None:
    found = figures()
    assert found.add(fetched(0, 10, start=2, stop=8)) is None
    assert found.polled(101.0, WALL + 1, 1.5).records == 6
    measured = found.end(None, 1.75)
    assert (measured.records, measured.bytes, measured.warmup_records) == (6, 6 * SIZE, 0)
    assert (measured.began, measured.ended, measured.seconds) == (WALL, WALL + 1.0, 1.0)
    assert (measured.cpu_seconds, measured.fetch_seconds) == (0.5, 1.0)
    judged = found.trace.judge({0: 8})
    assert judged is not None
    assert (judged.checked, judged.sound) == (6, True)


def test_the_time_ends_with_the_last_record_and_not_with_the_wait_for_another() -> None:
    found = figures()
    found.add(fetched(0, 5))
    found.polled(103.0, WALL + 3, 1.1)
    for second in range(10):
        found.polled(104.0 + second, WALL + 4 + second, 1.2)
    measured = found.end(None, 1.3)
    assert (measured.seconds, round(measured.cpu_seconds, 3)) == (3.0, 0.1)
    assert max(measured.intervals) * measured.interval_seconds <= 3.0
    assert figures().end(None, 1.0).seconds == 0.0


def test_a_duration_that_was_waited_for_is_the_time() -> None:
    found = figures()
    found.add(fetched(0, 5))
    found.polled(103.0, WALL + 3, 1.1)
    measured = found.end(110.0, 1.3)
    assert (measured.seconds, round(measured.cpu_seconds, 3)) == (10.0, 0.3)


def test_a_limit_is_reached_exactly_also_within_a_batch() -> None:
    found = figures(most=7)
    cuts = [(found.add(fetched(first, 5)), found.full) for first in (0, 5)]
    assert cuts == [(None, False), (7, True)]
    assert found.polled(101.0, WALL, 1.0).records == 7


def test_a_limit_is_reached_exactly_where_offsets_have_gaps() -> None:
    rows = [record(offset, index) for index, offset in enumerate((0, 5, 10, 11, 30))]
    batch = FetchedBatch(TOPIC, batch_of(rows), 0, 31, 31)
    for most in range(1, 6):
        found = figures(most=most)
        cut = found.add(batch)
        assert found.polled(101.0, WALL, 1.0).records == most
        assert found.full
        if cut is not None:  # what is read from there on are the other records
            rest = figures()
            rest.add(batch._replace(first=cut))
            assert rest.polled(101.0, WALL, 1.0).records == 5 - most


def test_the_poll_that_ends_the_warm_up_belongs_to_it() -> None:
    found = figures(warmup=8)
    found.add(fetched(0, 5))
    assert found.polled(101.0, WALL + 1, 1.1).records == 0
    found.add(fetched(5, 5))
    assert found.polled(102.0, WALL + 2, 1.2).records == 0
    assert found.began == 102.0
    found.add(fetched(10, 5))
    assert found.polled(104.0, WALL + 4, 1.5).records == 5
    measured = found.end(None, 1.6)
    assert (measured.records, measured.warmup_records, measured.seconds) == (5, 10, 2.0)
    assert measured.began == WALL + 2
    assert round(measured.cpu_seconds, 6) == 0.3


def test_records_that_are_handed_out_again_are_read_and_are_no_duplicates() -> None:
    found = figures()
    found.add(fetched(0, 10))
    found.add(fetched(0, 20, start=4))
    assert found.polled(101.0, WALL, 1.0).records == 26
    judged = found.trace.judge({0: 20})
    assert judged is not None
    assert (judged.checked, judged.sound) == (20, True)


def test_records_without_marks_are_counted_and_not_judged() -> None:
    found = figures()
    rows = [record(offset, None) for offset in range(4)]
    found.add(FetchedBatch(TOPIC, batch_of(rows), 0, 4, 4))
    assert found.polled(101.0, WALL, 1.0).records == 4
    assert not found.trace.marked
    assert found.trace.judge({0: 4}) is None


def test_batches_that_are_read_as_one_have_the_same_figures() -> None:
    raw = b"".join(bytes(fetched(first, 3).batch.raw) for first in (0, 3, 6))
    run = plain_run(memoryview(raw), 0, transactional=True, verify=True)
    assert run is not None
    found = figures()
    found.add(FetchedBatch(TOPIC, run, 1, 9, 9))
    assert found.polled(101.0, WALL, 1.0).bytes == 8 * SIZE
    judged = found.trace.judge({0: 9})
    assert judged is not None
    assert (judged.checked, judged.sound) == (8, True)


def test_time_without_partitions_is_that_of_rebalances() -> None:
    found = figures()
    found.unassigned(100.0)
    found.assigned(101.5)
    found.add(fetched(0, 5))
    found.polled(103.0, WALL + 3, 1.0)
    found.unassigned(103.0)
    found.unassigned(103.5)  # lost, after it was revoked
    found.assigned(104.0)
    found.add(fetched(5, 5))
    found.polled(106.0, WALL + 6, 1.0)
    measured = found.end(None, 1.0)
    assert (measured.seconds, measured.rebalance_seconds, measured.fetch_seconds) == (6.0, 2.5, 3.5)


def test_joining_during_the_warm_up_is_not_measured() -> None:
    found = figures(warmup=5)
    found.unassigned(100.0)
    found.assigned(102.0)
    found.add(fetched(0, 5))
    found.polled(103.0, WALL + 3, 1.0)
    found.add(fetched(5, 5))
    found.polled(104.0, WALL + 4, 1.0)
    assert found.end(None, 1.0).rebalance_seconds == 0.0


def test_a_member_that_never_had_partitions_was_rebalancing_until_the_end() -> None:
    found = figures()
    found.unassigned(100.0)
    measured = found.end(104.0, 1.0)
    assert (measured.seconds, measured.rebalance_seconds, measured.fetch_seconds) == (4.0, 4.0, 0.0)


def test_a_mark_has_the_size_that_is_counted() -> None:
    assert len(mark(1, 0, 5) + b"x" * 11) == SIZE
