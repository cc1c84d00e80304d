"""Deadlines in order, and those that were cancelled."""

from kcli.core.net.loop import NEVER, Timers


def test_timers_are_due_in_the_order_of_their_times() -> None:
    timers, seen = Timers(), list[str]()
    timers.at(3, lambda: seen.append("c"))
    timers.at(1, lambda: seen.append("a"))
    timers.at(2, lambda: seen.append("b"))
    for timer in timers.due(2):
        timer.callback()
    assert seen == ["a", "b"]
    assert timers.next_deadline() == 3


def test_equal_times_fire_in_the_order_they_were_set() -> None:
    timers = Timers()
    first, second = timers.at(1, print), timers.at(1, print)
    assert timers.due(1) == [first, second]


def test_a_cancelled_timer_neither_fires_nor_wakes() -> None:
    timers = Timers()
    timers.at(1, print).cancel()
    assert timers.next_deadline() == NEVER
    assert timers.due(5) == []


def test_a_timer_cancelled_between_others_is_left_out() -> None:
    timers = Timers()
    first, cancelled, last = timers.at(1, print), timers.at(2, print), timers.at(3, print)
    cancelled.cancel()
    assert timers.due(9) == [first, last]


def test_a_timer_fires_once() -> None:
    timers = Timers()
    timers.at(1, print)
    assert len(timers.due(1)) == 1
    assert timers.due(1) == []


def test_nothing_is_due_before_its_time() -> None:
    timers = Timers()
    timers.at(1, print)
    assert timers.due(0.999) == []
