"""A steady rate, with a short burst at most."""

import pytest

from kcli.flows.rate import TokenBucket, wait
from kcli.flows.stop import Stop


@pytest.mark.parametrize("rate", [1.0, 10.0, 1000.0])
def test_no_more_than_the_rate_and_hardly_less(rate: float) -> None:
    now, bucket = 0.0, TokenBucket(rate, 0.0)
    count = 200
    for _ in range(count):
        now += bucket.take_tokens(1, now)
    assert count / rate - 1.0 / rate - 0.1 <= now <= count / rate + 0.01


def test_what_was_not_used_is_gone() -> None:
    bucket = TokenBucket(1000.0, 0.0)
    assert bucket.take_tokens(100, 60.0) == 0
    assert bucket.take_tokens(100, 60.0) == pytest.approx(0.1)


def test_more_than_a_burst_is_owed() -> None:
    assert TokenBucket(10.0, 0.0).take_tokens(31, 0.0) == pytest.approx(3.0)


def test_a_stop_ends_the_wait() -> None:
    with Stop(end=lambda _: None) as stop:
        stop.request()
        wait(3600, stop)
