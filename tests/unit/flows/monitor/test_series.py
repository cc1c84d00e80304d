"""What was handed out of a series never changes, however it goes on."""

import pytest

from kcli.flows.monitor.series import Series


def test_only_what_is_young_enough_is_kept() -> None:
    series = Series[int](10)
    shown = [list(series.add(now, now)) for now in range(0, 100, 2)]
    assert shown == [[one for one in range(0, 100, 2) if now - 10 <= one <= now] for now in range(0, 100, 2)]


def test_what_was_handed_out_stays_as_it_was() -> None:
    series = Series[int](10)
    shown = [series.add(now, now) for now in range(200)]
    assert [list(one) for one in shown] == [list(range(max(0, now - 10), now + 1)) for now in range(200)]


def test_after_a_long_time_without_values_only_the_new_one_is_kept() -> None:
    series = Series[int](10)
    for now in range(5):
        series.add(now, now)
    assert series.add(1_000, 7) == [7]
    assert series.past == [7]


def test_a_part_is_read_like_a_list() -> None:
    series = Series[int](10)
    for now in range(30):
        past = series.add(now, now)
    same = list(range(19, 30))
    assert (past, past[0], past[-1], past[2:4], past[::-1]) == (same, 19, 29, [21, 22], same[::-1])
    with pytest.raises(IndexError):
        past[11]
    assert past != [1]


def test_it_keeps_no_more_than_twice_what_it_hands_out() -> None:
    series = Series[int](10)
    for now in range(1_000):
        past = series.add(now, now)
        assert len(past._values) <= 2 * len(past) + 1, now


def test_values_are_not_copied_with_every_one_that_is_added() -> None:
    series = Series[int](100)
    lists = {id(series.add(now, now)._values): None for now in range(100)}
    assert len(lists) == 1
