"""When records are due: at a constant rate, whatever happens to the ones before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.perf.schedule import TICK, Schedule

RATES = st.floats(0.1, 5_000_000)


@given(rate=RATES, number=st.integers(0, 3), record=st.integers(0, 10_000_000))
def test_a_record_is_due_from_its_time_on_and_not_before(rate: float, number: int, record: int) -> None:
    schedule = Schedule(1000.0, rate, number, 4)
    at = schedule.intended(record)
    assert schedule.due(at + schedule.period / 3) == record + 1
    assert schedule.due(at - schedule.period / 3) == record


def test_processes_take_turns_so_that_all_together_are_one_schedule() -> None:
    parts = [Schedule(5.0, 300, number, 3) for number in range(3)]
    together = sorted(part.intended(record) for part in parts for record in range(100))
    assert together == pytest.approx([Schedule(5.0, 300).intended(record) for record in range(300)])


def test_nothing_is_due_before_the_start() -> None:
    schedule = Schedule(100.0, 10)
    assert schedule.due(99.0) == 0
    assert schedule.due(100.0) == 1
    assert schedule.pause(0, 99.0) == 1.0


@given(rate=RATES, now=st.floats(1000, 2000))
def test_a_pause_ends_when_the_record_is_due_and_is_no_shorter_than_a_tick(rate: float, now: float) -> None:
    schedule = Schedule(1000.0, rate)
    following = schedule.due(now)
    pause = schedule.pause(following, now)
    assert pause == 0 or pause >= TICK
    assert schedule.due(now + pause + 1e-6) > following


def test_records_that_are_late_are_all_due_at_once() -> None:
    schedule = Schedule(0.0, 1000)
    assert schedule.due(2.0005) - schedule.due(0.0005) == 2000
    assert schedule.pause(1, 2.0) == 0.0


@pytest.mark.parametrize("rate", [50, 999, 1_001, 2_000, 50_000])
def test_wake_ups_are_bounded_and_no_record_is_later_than_a_tick(rate: float) -> None:
    """One wake-up for a record up to a thousand of them a second, then one for a tick."""
    schedule = Schedule(0.0, rate)
    now, sent, wakes, latest = 0.0, 0, 0, 0.0
    while now < 1.0:
        if schedule.due(now) > sent:
            latest = max(latest, now - schedule.intended(sent))
            sent = schedule.due(now)
        now += schedule.pause(sent, now) + 1e-9
        wakes += 1
    assert wakes <= min(rate, 1 / TICK) + 2
    assert latest <= TICK + 1e-6
    assert sent == pytest.approx(rate, abs=rate * TICK + 1)
