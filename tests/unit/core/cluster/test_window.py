"""How much may be on its way: by the round trip and the rate, as far as the distance is what takes the time."""

import pytest

from kcli.core.cluster.window import FAR, Window


def answers(window: Window, size: int, every: float, round_trip: float, count: int) -> list[int]:
    """The window after each of ``count`` responses of ``size`` bytes, the first of which only starts the clock."""
    window.answered(0, 100.0, round_trip)
    found = []
    for number in range(1, count + 1):
        window.answered(size, 100.0 + number * every, round_trip)
        found.append(window.size)
    return found


def test_the_window_is_twice_what_a_round_trip_brings() -> None:
    assert answers(Window(), 1_000, every=0.25, round_trip=0.25, count=3) == [2_000] * 3
    assert answers(Window(), 1_000, every=0.5, round_trip=0.25, count=3) == [1_000] * 3


def test_it_grows_while_the_distance_takes_the_time_and_no_longer() -> None:
    """Who asks for all that it allows gets that in a round trip, until the line or the application takes longer."""
    window, now, seen = Window(), 100.0, []
    window.answered(0, now, 0.25)
    asked, rate = 1_024, 131_072.0  # bytes, and bytes per second that the application can take
    for _ in range(12):
        now += max(0.25, asked / rate)
        window.answered(asked, now, 0.25)
        asked = window.size
        seen.append(asked)
    assert seen[:4] == [2_048, 4_096, 8_192, 16_384]
    assert seen[-1] == seen[-2] == 65_536  # twice the rate times the round trip


def test_responses_that_come_together_are_measured_together() -> None:
    """Several lanes, or pipelined requests: their bytes came in one round trip, not in no time."""
    window = Window()
    window.answered(0, 100.0, 0.2)
    for late in (0.0, 0.001, 0.002, 0.003):
        window.answered(500, 100.19 + late, 0.2)
    assert window.size == 0  # less than a round trip
    window.answered(500, 100.25, 0.2)
    assert window.size == int(2 * 2_500 * 0.2 / 0.25)


@pytest.mark.parametrize("round_trip", [0.0, FAR / 2])
def test_there_is_no_window_near_by(round_trip: float) -> None:
    assert answers(Window(), 100_000_000, every=0.1, round_trip=round_trip, count=3) == [0] * 3


def test_it_shrinks_where_little_comes() -> None:
    window = Window()
    assert answers(window, 1_000_000, every=0.25, round_trip=0.25, count=1) == [2_000_000]
    window.answered(0, 101.0, 0.25)
    assert window.size == 0
