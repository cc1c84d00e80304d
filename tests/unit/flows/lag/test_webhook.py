"""Webhooks: what is sent, what is tried again, and what is never shown. Connections and time are made up."""

from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.core.net.http_address import HttpAddress
from kcli.core.net.http_messages import Answer, NoAnswerError, Request, UntrustedError
from kcli.flows.lag.notification import NotReportedError
from kcli.flows.lag.webhook import Webhook, parse_webhook

URL = "https://ops:p%40ss@hooks.example:8443/services/T0/SECRET?sig=S3"


def nearly(seconds: float) -> Any:
    return pytest.approx(seconds, rel=0.21)


class Server:
    """Answers with ``statuses``, one after the other; an exception is raised. Time passes in pauses only."""

    def __init__(self, *statuses: int | Exception) -> None:
        self.statuses = list(statuses)
        self.requests: list[Request] = []
        self.now = 0.0
        self.pauses: list[float] = []

    def send(self, request: Request) -> Answer:
        assert request.seconds > 0
        self.requests.append(request)
        answer = self.statuses.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Answer(request.address, answer, {}, b"")

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def post(self, url: str = URL, seconds: float = 10.0, *, stopped: bool = False) -> None:
        hook = Webhook(parse_webhook(url), send=self.send, now=lambda: self.now, sleep=self.sleep)
        hook(b"{}", seconds, lambda: stopped)


def test_a_document_is_posted_with_the_credentials_of_the_url() -> None:
    server = Server(204)
    server.post()
    (sent,) = server.requests
    assert (sent.method, sent.target, sent.body) == ("POST", "/services/T0/SECRET?sig=S3", b"{}")
    assert sent.headers == {
        "Content-Type": "application/json",
        "Idempotency-Key": sent.headers["Idempotency-Key"],
        "Authorization": "Basic b3BzOnBAc3M=",
    }
    server.statuses = [204]
    server.post()
    assert server.requests[1].headers["Idempotency-Key"] != sent.headers["Idempotency-Key"]


@pytest.mark.parametrize("first", [500, 503, 429, 408, NoAnswerError(HttpAddress(True, "h", 443), "refused")])
def test_what_another_try_may_change_is_tried_again(first: int | Exception) -> None:
    server = Server(first, 200)
    server.post()
    first_try, second = server.requests
    assert (
        first_try.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    )  # the receiver knows it again
    assert server.pauses == [nearly(0.5)]


def test_tries_are_limited_and_their_pauses_double() -> None:
    server = Server(*[500] * 9)
    with pytest.raises(NotReportedError, match=r"https://hooks\.example:8443") as caught:
        server.post(seconds=100.0)
    assert server.pauses == [nearly(0.5), nearly(1.0), nearly(2.0), nearly(4.0)]
    assert caught.value.why == "https://hooks.example:8443: HTTP 500"


def test_no_try_begins_after_the_time_is_over() -> None:
    server = Server(*[500] * 9)
    with pytest.raises(NotReportedError):
        server.post(seconds=1.2)
    assert server.pauses == [nearly(0.5)]


def test_nothing_is_tried_again_after_a_stop() -> None:
    server = Server(500, 200)
    with pytest.raises(NotReportedError):
        server.post(stopped=True)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (302, "HTTP 302, and redirects are not followed"),
        (401, "HTTP 401"),
        (404, "HTTP 404"),
        (UntrustedError(HttpAddress(True, "h", 443), "self-signed"), "its certificate was not accepted"),
    ],
)
def test_what_stays_is_not_tried_again(answer: int | Exception, why: str) -> None:
    server = Server(answer, 200)
    with pytest.raises(NotReportedError) as caught:
        server.post()
    assert len(server.requests) == 1
    assert why in caught.value.why


@pytest.mark.parametrize("answer", [500, 302, 404, NoAnswerError(HttpAddress(True, "h", 443), "boom")])
def test_nothing_of_the_url_but_the_host_is_shown(answer: int | Exception) -> None:
    server = Server(*[answer] * 9)
    with pytest.raises(NotReportedError) as caught:
        server.post()
    for text in (
        *vars(caught.value).values(),
        str(caught.value),
        repr(parse_webhook(URL)),
        str(parse_webhook(URL)),
    ):
        for secret in ("ops", "ass", "SECRET", "S3", "b3Bz"):
            assert secret not in str(text)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks",
        "ftp://h/x",
        "https://",
        "https://h:port/",
        "https://h/#f",
        "https://h/ü",
        "https://h/a b",
        "https://h/\n",
    ],
)
def test_what_is_no_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="--webhook is no URL") as caught:
        parse_webhook(url)
    assert caught.value.do


def test_credentials_over_plain_http_are_refused() -> None:
    with pytest.raises(ConfigError, match="credentials for http://h:80 would travel unencrypted"):
        parse_webhook("http://u:p@h/x")
    assert parse_webhook("http://u:p@h/x", allow_plaintext_secrets=True).address.authorization
    assert parse_webhook("http://u:p@127.0.0.1:1/x").address.authorization
    assert (parse_webhook("http://h").target, parse_webhook("http://[::1]:8/x").address.port) == ("/", 8)
