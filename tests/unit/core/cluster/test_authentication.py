"""When credentials that were refused may be sent again."""

import itertools

import pytest

from kcli.core.cluster.authentication import Authentication
from kcli.core.connection.sasl.login import Login
from kcli.core.connection.sasl.registry import login_of
from kcli.core.errors import AuthError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret


def login() -> Login:
    return login_of(
        ClientOptions(
            security_protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            sasl_username="me",
            sasl_password=Secret("x"),
        )
    )


def attempts(seconds: float) -> list[float]:
    """When a client tries, whose brokers refuse it each time, within so many seconds of a busy loop."""
    who = login()
    state, found, now = Authentication(who), [], 0.0
    while now < seconds:
        if state.refusal(now) is None:
            state.began(now, 10.0)
            who.begin()
            found.append(now)
            who.refused(AuthError(f"no {now}"))
            assert state.refusal(now) is who.refusal
        now += 0.05
    return found


@pytest.mark.case("X13")
def test_the_pauses_grow_up_to_a_minute() -> None:
    times = attempts(600)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert 1.5 < pauses[0] < 2.5
    assert all(after > before for before, after in itertools.pairwise(pauses[:5]))
    assert max(pauses) < 75
    assert len(times) <= 16


@pytest.mark.case("X13")
def test_the_others_wait_for_the_outcome_of_one_attempt() -> None:
    who = login()
    state = Authentication(who)
    who.refused(AuthError("no"))
    assert state.refusal(0.0) is not None
    assert state.refusal(5.0) is None
    state.began(5.0, 10.0)
    assert state.refusal(5.0) is not None  # to the next connection
    assert state.refusal(14.9) is not None
    who.begin()  # the one that may
    who.accepted()
    assert state.refusal(6.0) is None


def test_a_success_forgets_the_pauses() -> None:
    who = login()
    state, now = Authentication(who), 0.0
    for _ in range(5):
        who.refused(AuthError("no"))
        assert state.refusal(now) is not None
        now += 100
    who.accepted()
    assert state.refusal(now) is None
    who.refused(AuthError("no"))
    assert state.refusal(now) is not None
    assert state.refusal(now + 3) is None
