"""A session that ends, on one connection without a socket: what waits, what is renewed, and what goes wrong (N15)."""

import struct
from typing import Any

import pytest

from kcli.core.connection.connection import Connection
from kcli.core.connection.sasl.login import Login
from kcli.core.connection.sasl.registry import login_of
from kcli.core.connection.sasl.token import Token
from kcli.core.connection.state import State
from kcli.core.errors import AuthError, ConnectError, OutcomeUnknownError, RequestTimeoutError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kcli.core.secret import Secret
from tests.unit.core.connection.wire import NODE, OFFER, Peer, answer_frame, framed, metadata, offers

WITH_SASL = {**OFFER, 17: (0, 1), 36: (0, 2)}
METADATA, HANDSHAKE, AUTHENTICATE = (3, 12), (17, 1), (36, 2)
SETUP = 5.0


def login(mechanism: str = "PLAIN") -> Login:
    given: dict[str, Any] = {"sasl_username": "me", "sasl_password": Secret("x")}
    if mechanism == "OAUTHBEARER":
        given = {"sasl_oauthbearer_token_provider": lambda: Token(value=Secret("abc"))}
    return login_of(ClientOptions(security_protocol="SASL_SSL", sasl_mechanism=mechanism, **given))


class Authenticated(Peer):
    """A peer whose broker authenticates, with sessions of ten seconds."""

    def __init__(self, who: Login | None = None, hooks: Hooks = NO_HOOKS) -> None:
        super().__init__(hooks)
        self.login = who or login()
        self.number = 0
        self.connection = Connection(
            NODE, client_id="me", max_frame_bytes=1_000_000, complete=self._complete, hooks=hooks,
            login=self.login, setup_timeout=SETUP,
        )  # fmt: skip

    def established(self) -> "Authenticated":
        self.connection.connected(0.0, 100.0)
        assert self.apis() == [(18, 3)]
        self.feed(offers(offer=WITH_SASL))
        self.authenticate(0.0)
        return self

    def apis(self) -> list[tuple[int, int]]:
        """Key and version of what is to be written."""
        found = self.sent()
        self.number = found[-1][2] if found else self.number
        return [(key, version) for key, version, _ in found]

    def allow(self, now: float) -> None:
        """The broker answers the SaslHandshake."""
        assert self.apis() == [HANDSHAKE]
        answer = SaslHandshakeResponse(mechanisms=["PLAIN", "OAUTHBEARER"])
        self.feed(answer_frame(SaslHandshakeRequest, 1, self.number, answer), now=now)

    def accept(self, now: float, code: int = 0) -> None:
        """The broker answers the SaslAuthenticate."""
        assert self.apis() == [AUTHENTICATE]
        answer = SaslAuthenticateResponse(error_code=code, error_message=None, session_lifetime_ms=10_000)
        self.feed(answer_frame(SaslAuthenticateRequest, 2, self.number, answer), now=now)

    def authenticate(self, now: float) -> None:
        self.allow(now)
        self.accept(now)

    def turn(self, now: float) -> None:
        """What the loop does when a deadline has passed."""
        if self.connection.next_deadline() <= now:
            self.connection.check_deadlines(now)


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff" * 20])
@pytest.mark.parametrize("step", ["SaslHandshake", "SaslAuthenticate"])
def test_of_a_refusal_that_cannot_be_read_the_code_counts(step: str, body: bytes) -> None:
    peer = Authenticated()
    peer.connection.connected(0.0, 100.0)
    peer.apis()
    peer.feed(offers(offer=WITH_SASL))
    if step == "SaslAuthenticate":
        peer.allow(0.0)
    peer.apis()
    tags, code = (b"", 33) if step == "SaslHandshake" else (b"\0", 58)
    with pytest.raises(AuthError):
        peer.feed(framed(struct.pack(">i", peer.number) + tags + struct.pack(">h", code) + body))


def test_requests_wait_until_the_broker_has_accepted_the_client() -> None:
    peer = Authenticated()
    future = peer.ask()
    peer.connection.connected(0.0, 100.0)
    assert peer.apis() == [(18, 3)]
    assert not peer.connection.is_authenticating
    peer.feed(offers(offer=WITH_SASL))
    assert peer.connection.is_authenticating
    assert peer.connection.offer is None
    peer.authenticate(0.0)
    assert peer.connection.state is State.READY
    assert peer.apis() == [METADATA]
    peer.feed(metadata(peer.number))
    assert future.done


@pytest.mark.case("N15")
def test_nothing_is_renewed_before_85_and_without_a_request() -> None:
    peer = Authenticated().established()
    peer.ask(now=8.4)
    assert peer.apis() == [METADATA]
    peer.feed(metadata(peer.number))
    assert peer.connection.next_deadline() == float("inf")


@pytest.mark.case("N15")
def test_the_moment_is_drawn_at_random_between_85_and_95() -> None:
    moments = set()
    for _ in range(50):
        peer = Authenticated().established()
        moment = next(now / 100 for now in range(800, 1_000) if _renews(peer, now / 100))
        moments.add(moment)
    assert 8.5 <= min(moments) < 8.8
    assert 9.2 < max(moments) <= 9.51
    assert len(moments) > 20


def _renews(peer: Authenticated, now: float) -> bool:
    peer.ask(now=now)
    if peer.connection.state is State.DRAINING:
        return True
    assert peer.apis() == [METADATA]
    peer.feed(metadata(peer.number), now=now)
    return False


@pytest.mark.case("N15", "X12")
def test_what_is_in_flight_is_answered_first_and_what_waits_keeps_its_order() -> None:
    peer = Authenticated().established()
    flying = [peer.ask(now=8.0) for _ in range(3)]
    numbers = [number for _, _, number in peer.sent()]
    waiting = [peer.ask(now=9.6) for _ in range(3)]
    for number in numbers:
        assert peer.take() == b""
        assert peer.connection.state is State.DRAINING
        peer.feed(metadata(number), now=9.7)
        peer.turn(9.7)
    assert all(future.done for future in flying)
    assert peer.connection.state is State.REAUTHENTICATING
    peer.authenticate(9.8)
    assert peer.connection.state is State.READY
    found = peer.sent()
    assert [(key, version) for key, version, _ in found] == [METADATA] * 3
    for _, _, number in found:
        peer.feed(metadata(number, str(number)))
    assert [future.value.cluster_id for future in waiting] == [str(number) for _, _, number in found]
    peer.ask(now=9.8 + 8.4)  # a new session of ten seconds
    assert peer.apis() == [METADATA]


@pytest.mark.case("N15")
def test_a_pause_that_the_broker_asks_for_is_kept_before_the_session_is_renewed() -> None:
    peer = Authenticated().established()
    peer.ask(now=8.0)
    peer.apis()
    answer = MetadataResponse(throttle_time_ms=3_000, brokers=[], topics=[], cluster_id="c")
    peer.feed(answer_frame(MetadataRequest, 12, peer.number, answer), now=8.0)
    future = peer.ask(now=8.1)
    peer.turn(8.2)
    assert peer.take() == b""
    peer.turn(11.0)
    assert peer.connection.state is State.REAUTHENTICATING
    peer.authenticate(11.0)
    assert peer.apis() == [METADATA]
    peer.feed(metadata(peer.number))
    assert future.done


def draining() -> tuple[Authenticated, Any, Any]:
    """A request in flight, and one that waits for the renewal."""
    peer = Authenticated().established()
    first = peer.ask(now=8.0, deadline=12.0)
    peer.apis()
    return peer, first, peer.ask(now=9.6, deadline=30.0)


def test_a_request_in_flight_that_is_overdue_ends_the_connection() -> None:
    peer, first, second = draining()
    with pytest.raises(RequestTimeoutError) as caught:
        peer.turn(12.1)
    peer.connection.close(caught.value)
    assert isinstance(first.error, OutcomeUnknownError)
    assert type(second.error) is ConnectError  # it was never sent: it may be sent elsewhere


def test_a_request_that_waits_for_too_long_says_for_what() -> None:
    peer, _, _ = draining()
    late = peer.ask(now=9.7, deadline=9.9)
    peer.turn(9.95)
    assert "the session had to be renewed" in late.error.why


@pytest.mark.parametrize("answered", ["nothing", "SaslHandshake", "all but the token"])
def test_a_renewal_that_takes_too_long_ends_the_connection(answered: str) -> None:
    peer = Authenticated(login("OAUTHBEARER"))
    peer.connection.connected(0.0, 100.0)
    peer.apis()
    peer.feed(offers(offer=WITH_SASL))
    peer.allow(0.0)
    work = peer.connection.take_work()
    assert work is not None
    peer.connection.computed(work(), None, 0.0)
    peer.accept(0.0)
    waiting = peer.ask(now=9.6)
    peer.turn(9.6)
    if answered != "nothing":
        peer.allow(9.6)
    if answered == "SaslHandshake":
        work = peer.connection.take_work()
        assert work is not None
        peer.connection.computed(work(), None, 9.6)
    assert peer.connection.next_deadline() == 9.6 + SETUP
    with pytest.raises(ConnectError) as caught:
        peer.turn(9.6 + SETUP)
    peer.connection.close(caught.value)
    assert type(waiting.error) is ConnectError
    assert ("provider of tokens" in caught.value.do) is (answered == "all but the token")


def test_a_refusal_fails_what_waits() -> None:
    peer, first, second = draining()
    peer.feed(metadata(peer.number), now=9.7)
    peer.turn(9.7)
    peer.allow(9.7)
    with pytest.raises(AuthError) as caught:
        peer.accept(9.7, code=58)
    peer.connection.close(caught.value)
    assert first.error is None
    assert second.error is caught.value


def test_a_refusal_of_another_connection_ends_the_renewal_before_anything_is_sent() -> None:
    peer, _, second = draining()
    peer.feed(metadata(peer.number), now=9.7)
    refusal = peer.login.refused(AuthError("no"))
    with pytest.raises(AuthError):
        peer.turn(9.7)
    assert peer.take() == b""
    peer.connection.close(refusal)
    assert second.error is refusal


def test_a_result_after_the_end_is_ignored() -> None:
    peer = Authenticated(login("OAUTHBEARER"))
    peer.connection.connected(0.0, 100.0)
    peer.apis()
    peer.feed(offers(offer=WITH_SASL))
    peer.allow(0.0)
    work = peer.connection.take_work()
    assert work is not None
    assert peer.connection.take_work() is None
    peer.connection.close()
    peer.connection.computed(work(), None, 1.0)
    assert peer.take() == b""
    assert peer.connection.take_work() is None


def test_an_idle_session_is_over_after_its_whole_length() -> None:
    peer = Authenticated().established()
    assert not peer.connection.session_is_over(9.9, last_used=0.0)
    assert peer.connection.session_is_over(10.0, last_used=0.0)
    assert not peer.connection.session_is_over(10.0, last_used=0.1)
    peer.ask(now=1.0)
    assert not peer.connection.session_is_over(20.0, last_used=1.0)


@pytest.mark.case("X19")
def test_sessions_are_reported_without_secrets() -> None:
    seen: list[str] = []
    peer = Authenticated(hooks=Hooks(log=lambda level, area, text: seen.append(f"{level} {area} {text}")))
    peer.established()
    peer.ask(now=9.6)
    peer.turn(9.6)
    peer.authenticate(9.6)
    told = [line for line in seen if line.startswith("debug auth")]
    assert told == [
        f"debug auth {NODE}: authenticated as me with PLAIN, for 10 s",
        f"debug auth {NODE}: re-authenticated as me with PLAIN, for 10 s",
    ]
