"""When the positions of a copy are saved: often in its first second, then at intervals and by volume."""

import itertools

import pytest

from kcli.flows.mirror.copy.save_times import SaveTimes

COMMIT = 0.01  # seconds


def saved_at(seconds: float, *, commit: float = COMMIT, rate: int = 0, by_volume: bool = True) -> list[float]:
    """The times of all saves of a run that is confirmed from 0.1 s on. ``rate``: bytes a second."""
    times = SaveTimes(1.0, 0.0, by_volume=by_volume)
    found, now = [], 0.0
    while now < seconds:
        now += 0.005
        times.sent(round(rate * 0.005))
        if times.is_due(now, confirmed=now >= 0.1):
            times.begin(now, confirmed=now >= 0.1)
            found.append(now)
            times.end(now, now + commit)
            now += commit
    return found


def test_nothing_is_saved_before_anything_is_confirmed() -> None:
    assert saved_at(0.09) == []
    assert saved_at(0.2)[0] == pytest.approx(0.1, abs=0.006)


@pytest.mark.parametrize("killed_at", [0.2, 0.3, 0.45, 0.6, 0.9, 1.3])
def test_a_kill_costs_no_more_than_about_half_of_a_young_run(killed_at: float) -> None:
    last = saved_at(killed_at)[-1]
    assert last - 0.1 >= 0.35 * (killed_at - 0.1) - 0.06


def test_later_ones_are_an_interval_apart() -> None:
    found = saved_at(6.0)
    assert len([one for one in found if one < 1.2]) <= 7
    assert [b - a for a, b in itertools.pairwise(found[-4:])] == pytest.approx([1.01] * 3, abs=0.02)


def test_many_bytes_are_saved_sooner_where_a_kill_would_repeat_them() -> None:
    assert len(saved_at(5.0, rate=100_000_000)) > 12
    assert len(saved_at(5.0, rate=100_000_000, by_volume=False)) == len(saved_at(5.0))


def test_what_takes_long_is_done_in_proportion() -> None:
    found = saved_at(20.0, commit=0.6, rate=100_000_000)
    assert all(b - a >= 9 * 0.6 for a, b in itertools.pairwise(found[3:]))
    assert len(found) > 4
