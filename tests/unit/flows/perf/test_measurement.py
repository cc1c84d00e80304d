"""Measurements of several processes, and of long runs, as one."""

from __future__ import annotations

from random import Random

import pytest

from kcli.flows.perf.histogram import Histogram
from kcli.flows.perf.integrity import Trace
from kcli.flows.perf.measurement import MOST_INTERVALS, Measurement
from kcli.flows.perf.result import Run, perf_item


def measured(at: dict[float, int], **fields: float) -> Measurement:
    """Latencies of 10 µs times the second, ``records`` at each time."""
    made = Measurement(**fields)  # type: ignore[arg-type]
    for seconds, records in at.items():
        interval = made.interval_at(seconds)
        interval.records += records
        interval.latencies.add(int(seconds * 10), records)
        made.records += records
    return made


def records(measurement: Measurement) -> dict[float, int]:
    """By the second at which an interval begins."""
    return {
        round(number * measurement.interval_seconds, 3): one.records
        for number, one in measurement.intervals.items()
    }


def test_a_long_run_has_longer_intervals_and_loses_nothing() -> None:
    made = measured(dict.fromkeys(map(float, range(1000)), 2))
    assert len(made.intervals) <= MOST_INTERVALS
    assert max(made.intervals) < MOST_INTERVALS
    assert sum(one.records for one in made.intervals.values()) == 2000
    assert sum(one.latencies.total for one in made.intervals.values()) == 2000
    assert all(
        number * made.interval_seconds <= one.latencies.smallest / 10 + 1e-9
        for number, one in made.intervals.items()
        if one.latencies.smallest is not None
    )


def test_a_time_far_ahead_is_in_the_last_interval_that_there_is() -> None:
    made = measured({0.0: 1, 1e6: 1})
    assert sum(one.records for one in made.intervals.values()) == 2
    assert max(made.intervals) * made.interval_seconds <= 1e6


def test_intervals_of_processes_are_merged_by_their_time_whatever_their_length() -> None:
    short, long = {0.0: 1, 0.15: 2, 0.25: 4}, {0.0: 8, 400.0: 16}
    one, other = measured(short), measured(long)
    assert one.interval_seconds < other.interval_seconds
    one.merge(other)
    again = measured(long)
    again.merge(measured(short))
    assert records(one) == records(again) == records(measured({**long, **short, 0.0: 9}))


def test_the_merged_run_lasts_from_the_first_begin_to_the_last_end() -> None:
    one = measured({}, began=5.0, ended=9.0)
    one.merge(measured({}, began=4.0, ended=8.0))
    one.merge(Measurement())
    assert (one.began, one.ended, one.seconds) == (4.0, 9.0, 5.0)


@pytest.mark.parametrize("first", [0, 1])
def test_intervals_of_a_process_that_began_later_are_counted_from_the_first_begin(first: int) -> None:
    """Both run for a second after warm-ups of different length: nobody's records were earlier than they were."""
    both = [
        measured({0.0: 1, 0.95: 2}, began=5.0, ended=6.0),
        measured({0.0: 4, 0.95: 8}, began=7.5, ended=8.5),
    ]
    merged = Measurement()
    for one in (both[first], both[1 - first]):
        merged.merge(one)
    assert records(merged) == {0.0: 1, 0.9: 2, 2.5: 4, 3.4: 8}
    intervals = perf_item(Run("produce", "t"), merged)["intervals"]
    assert sum(one["seconds"] for one in intervals) == pytest.approx(merged.seconds) == 3.5


def test_a_begin_that_is_much_later_makes_no_more_intervals_than_there_may_be() -> None:
    merged = measured({0.0: 1}, began=5.0)
    merged.merge(measured({0.0: 2, 1.0: 4}, began=905.0))
    assert max(merged.intervals) < MOST_INTERVALS
    assert sum(records(merged).values()) == 7
    assert max(records(merged)) == pytest.approx(901, abs=merged.interval_seconds)


def test_long_runs_keep_few_buckets_in_each_interval_and_all_of_them_in_the_whole() -> None:
    """As ``Deliveries.drain`` adds them: the memory of a day is that of two minutes."""
    made, chance = Measurement(), Random(3)
    for second in range(0, 86_400, 60):
        fresh = Measurement(interval_seconds=made.interval_seconds)
        interval = fresh.interval_at(second)
        for _ in range(60):
            micros = round(chance.lognormvariate(9, 2))
            interval.latencies.add(micros)
            fresh.corrected.add(micros)
        interval.samples.append((second, 1))
        made.merge(fresh)
    whole = Histogram()
    for interval in made.intervals.values():
        whole.merge(interval.latencies)
        assert not interval.samples
        assert all(
            bucket < 256 or bucket % (1 << bucket.bit_length() - 8) == 0
            for bucket in interval.latencies.counts
        )
    assert whole.total == made.corrected.total == 86_400
    assert (whole.total_us, whole.largest) == (made.corrected.total_us, made.corrected.largest)
    exact, found = made.corrected.percentile(0.5), whole.percentile(0.5)
    assert exact is not None
    assert found == pytest.approx(exact, rel=0.01)
    assert len(made.corrected.counts) > 2 * len(whole.counts)


def test_the_marks_that_processes_have_read_are_judged_together() -> None:
    one = Measurement()
    one.merge(Measurement())
    assert one.trace is None
    for partition, number in ((0, 0), (1, 1), (1, 3)):
        read = Trace()
        read.add(partition, number // 2, number // 2 + 1, [(b"head", number, 1)])
        one.merge(Measurement(trace=read))
    assert one.trace is not None
    judged = one.trace.judge({0: 1, 1: 2})
    assert judged is not None
    assert (judged.checked, judged.lost) == (3, 1)
