"""The client credentials grant: what is sent, what is accepted, and what each refusal says. No socket."""

import base64
import json
from typing import Any
from urllib.parse import parse_qs

import pytest

from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError
from kcli.core.net.http_messages import Answer, NoAnswerError, Request, UntrustedError
from kcli.core.secret import Secret
from kcli.core.tokens.endpoint import MAX_BODY, Grant, TokenEndpoint, parse_endpoint

pytestmark = pytest.mark.case("S11")
CANARY = "c4n4ry/+%"
URL = "https://idp.example:8443/realms/a/token?x=1"
TOKEN = {"access_token": "abc.def", "expires_in": 300}


class Server:
    """Answers with the next of ``answers``: an exception, a text which is why there is none, or (status, body)."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.clock: Clock | None = None
        self.takes = 0.0
        """Seconds that pass with each answer."""

    def send(self, request: Request) -> Answer:
        self.requests.append(request)
        assert self.clock is not None
        self.clock.now += self.takes
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise NoAnswerError(request.address, answer)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Answer(request.address, status, {}, data[: request.limit], len(data) <= request.limit)


class Clock:
    """Stands still, except for pauses and what a test adds."""

    def __init__(self, pauses: list[float]) -> None:
        self.now = 0.0
        self._pauses = pauses

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._pauses.append(seconds)


def client(
    server: Server, *, pauses: list[float] | None = None, timeout: float = 9.0, **grant: Any
) -> TokenEndpoint:
    settings = {
        "client_id": "kc li",
        "client_secret": Secret(CANARY),
        "scope": "",
        "extensions": {"a": "b"},
    } | grant
    clock = server.clock = Clock(pauses if pauses is not None else [])
    return TokenEndpoint(
        parse_endpoint(URL),
        Grant(**settings),
        timeout=timeout,
        send=server.send,
        monotonic=clock.read,
        now=lambda: 1_000.0,
        sleep=clock.sleep,
    )


def test_what_is_sent_and_what_comes_back() -> None:
    server = Server((200, TOKEN))
    token = client(server, scope="kafka read").fetch()
    (sent,) = server.requests
    assert (sent.method, sent.target) == ("POST", "/realms/a/token?x=1")
    assert parse_qs((sent.body or b"").decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["kafka read"],
    }
    assert (
        base64.b64decode(sent.headers["Authorization"].removeprefix("Basic ")).decode() == f"kc li:{CANARY}"
    )
    assert (token.value.reveal(), token.expires_at, token.extensions) == ("abc.def", 1_300.0, {"a": "b"})


def test_the_credentials_are_url_encoded_on_request() -> None:
    server = Server((200, TOKEN))
    client(server, url_encoded=True).fetch()
    sent = base64.b64decode(server.requests[0].headers["Authorization"].removeprefix("Basic ")).decode()
    assert sent == "kc%20li:c4n4ry%2F%2B%25"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://idp/token", "unencrypted"),
        ("file:///etc/token", "names a file"),
        ("ftp://idp/token", "no https address"),
        ("https://", "no https address"),
        ("https://idp:port/", "no https address"),
        ("https://idp/#x", "no https address"),
        ("https://idp/a b", "no https address"),
        ("https://idp/a\nb", "no https address"),
        ("https://user:pw@idp/", "credentials"),
        ("idp/token", "no https address"),
        ("", "no https address"),
    ],
)
def test_only_https_addresses_are_accepted(url: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_endpoint(url)
    assert why in caught.value.why
    assert "pw" not in str(caught.value)


REFUSALS: list[tuple[Any, type[KcliError], str]] = [
    (
        (401, {"error": "invalid_client", "error_description": "Bad\x1b[31m credentials"}),
        AuthError,
        "invalid_client: Bad [31m credentials (HTTP 401)",
    ),
    ((400, b"<html>"), AuthError, "HTTP 400"),
    ((400, {"error": 7}), AuthError, "HTTP 400"),
    ((302, b""), AuthError, "redirects are not followed"),
    ((307, b""), AuthError, "redirects are not followed"),
    ((200, b"no json"), AuthError, "not JSON with an access_token"),
    ((200, [1]), AuthError, "not JSON with an access_token"),
    ((200, {}), AuthError, "not JSON with an access_token"),
    ((200, {"access_token": 7}), AuthError, "not JSON with an access_token"),
    ((200, b"[" * 100_000), AuthError, "not JSON with an access_token"),
    ((200, b'{"access_token": "' + b"a" * MAX_BODY + b'"}'), AuthError, "not JSON with an access_token"),
    ((200, {"access_token": "a b"}), AuthError, "RFC 6750"),
    ((200, {"access_token": ""}), AuthError, "empty"),
    (UntrustedError(parse_endpoint(URL), "self-signed certificate"), AuthError, "self-signed"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "why"), REFUSALS)
def test_a_refusal_is_reported_at_once(answer: Any, kind: type[KcliError], why: str) -> None:
    server, pauses = Server(answer), list[float]()
    with pytest.raises(kind) as caught:
        client(server, pauses=pauses).fetch()
    assert why in caught.value.why
    assert caught.value.do
    assert CANARY not in f"{caught.value} {caught.value.do}"
    assert pauses == []


TEMPORARY = [*((status, b"") for status in (408, 429, 500, 503)), "refused"]


@pytest.mark.parametrize("answer", TEMPORARY)
def test_a_temporary_failure_is_tried_again(answer: Any) -> None:
    server, pauses = Server(answer, (200, TOKEN)), list[float]()
    assert client(server, pauses=pauses).fetch().value.reveal() == "abc.def"
    assert pauses == [pytest.approx(0.2, rel=0.21)]


@pytest.mark.parametrize("answer", TEMPORARY)
def test_three_temporary_failures_end_it(answer: Any) -> None:
    server, pauses = Server(answer, answer, answer), list[float]()
    with pytest.raises(ConnectError) as caught:
        client(server, pauses=pauses).fetch()
    assert pauses == [pytest.approx(0.2, rel=0.21), pytest.approx(0.4, rel=0.21)]
    assert "idp.example:8443" in caught.value.what
    assert caught.value.why


def test_all_tries_share_one_time_limit() -> None:
    server = Server(*["no response in time"] * 3)
    server.takes = 1.5
    with pytest.raises(ConnectError) as caught:
        client(server, timeout=2.0).fetch()
    assert caught.value.why == "no response in time"
    first, second = (request.seconds for request in server.requests)
    assert (first, second < 0.5) == (2.0, True)


@pytest.mark.parametrize(
    ("seconds", "expires_at"),
    [
        (60, 1_060.0),
        (60.5, 1_060.5),
        ("60", 1_060.0),
        ("x", None),
        (None, None),
        (True, None),
        (float("inf"), None),
    ],
)
def test_the_expiry_beside_an_opaque_token(seconds: Any, expires_at: float | None) -> None:
    server = Server((200, json.dumps({"access_token": "t", "expires_in": seconds}).encode()))
    assert client(server).fetch().expires_at == expires_at
