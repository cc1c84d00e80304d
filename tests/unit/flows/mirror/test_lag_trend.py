"""The time until a partition is caught up, from samples of its lag."""

from kcli.core.types import TopicPartition
from kcli.flows.mirror.progress import LagTrend

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_lag_that_shrinks_ends_at_the_rate_of_the_window() -> None:
    trend = LagTrend(window=10)
    for second in range(6):
        trend.sample(second, {A: 1_000 - 100 * second, B: 0})
    assert trend.seconds_left(A) == 5.0
    assert trend.seconds_left(B) == 0.0


def test_a_lag_that_does_not_shrink_has_no_end() -> None:
    trend = LagTrend()
    trend.sample(0, {A: 10, B: 10})
    assert trend.seconds_left(A) is None
    trend.sample(2, {A: 10, B: 20})
    assert trend.seconds_left(A) is trend.seconds_left(B) is None
    assert trend.seconds_left(TopicPartition("t", 2)) is None


def test_only_the_window_counts_and_one_sample_a_second() -> None:
    trend = LagTrend(window=4)
    trend.sample(0, {A: 1_000})
    trend.sample(0.5, {A: 1})
    assert trend.seconds_left(A) is None
    for second in range(1, 9):
        trend.sample(second, {A: 1_000 if second < 4 else 1_000 - 10 * (second - 4)})
    assert trend.seconds_left(A) == 960 / 10


def test_a_partition_that_was_added_later_has_its_own_rate() -> None:
    trend = LagTrend()
    for second in range(4):
        lags = {A: 100 - second}
        trend.sample(second, lags if second < 2 else {**lags, B: 60 - 20 * (second - 2)})
    assert trend.seconds_left(B) == 2.0
