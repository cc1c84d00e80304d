"""Waits between tries, and which errors a retry can help."""

import random

import pytest

from kcli.core.cluster.retry import JITTER, Backoff, RetryDecision, classify_code, classify_error
from kcli.core.error_codes import NUMBERS, error_code
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ConfigError,
    ConnectError,
    OutcomeUnknownError,
    ProtocolError,
    RequestTimeoutError,
)


@pytest.mark.case("S0-29")
def test_waits_double_up_to_the_longest_within_the_jitter() -> None:
    backoff = Backoff(0.1, 1.0, random.Random(7))
    for expected in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0):
        assert expected * (1 - JITTER) <= backoff.next() <= expected * (1 + JITTER)


def test_waits_are_spread() -> None:
    rng = random.Random(7)
    firsts = {round(Backoff(0.1, 1.0, rng).next(), 6) for _ in range(50)}
    assert len(firsts) > 40
    assert max(firsts) - min(firsts) > 0.02


def test_a_success_starts_over() -> None:
    backoff = Backoff(0.1, 10.0, random.Random(7))
    for _ in range(6):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 0.1 * (1 + JITTER)


def test_thousands_of_failures_do_not_overflow() -> None:
    backoff = Backoff(0.1, 1.0, random.Random(7))
    backoff.failures = 5_000
    assert backoff.next() <= 1.0 * (1 + JITTER)


def test_a_first_wait_above_the_longest_wins() -> None:
    assert Backoff(5.0, 1.0, random.Random(7)).next() >= 5.0 * (1 - JITTER)


def test_no_wait_at_all_is_possible() -> None:
    assert Backoff(0.0, 0.0).next() == 0.0


@pytest.mark.parametrize("code", sorted(NUMBERS))
def test_a_code_is_judged_by_its_row(code: int) -> None:
    row = error_code(code)
    assert (
        classify_error(BrokerError(code, "x"))
        == classify_code(code)
        == RetryDecision(row.retriable, row.refresh)
    )


@pytest.mark.case("B16")
@pytest.mark.parametrize("code", [-2, 9999])
def test_an_unknown_code_is_never_retried(code: int) -> None:
    assert not classify_code(code).retriable


@pytest.mark.parametrize(
    ("error", "retriable"),
    [
        (ConnectError("x"), True),
        (OutcomeUnknownError("x"), True),
        (RequestTimeoutError("x"), True),
        (ProtocolError("x"), False),
        (AuthError("x"), False),
        (ConfigError("x"), False),
        (ValueError("x"), False),
    ],
)
def test_other_errors(error: BaseException, *, retriable: bool) -> None:
    verdict = classify_error(error)
    assert verdict.retriable is retriable
    assert verdict.refresh == ("metadata" if retriable else "")
