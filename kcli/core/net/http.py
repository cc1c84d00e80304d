"""The client of HTTP services: schema registries, token endpoints, webhooks, repositories of jars. The rules are the same
for all of them; proxies, TLS and deadlines are those of ``http_exchange.py``.

- **Retries**: a failed connection, and 408, 429, 500, 502, 503 and 504, at the next address if there are several, after
  pauses that double, or as long as Retry-After says. Every request may be sent twice: whoever posts what is not
  idempotent gives an Idempotency-Key. A certificate that is not accepted is not tried again.
- **Redirects** are not followed, as they would carry credentials to another address. Where a client has none, a policy
  may allow some: for GET and HEAD, and never from https to http.
- **Sizes**: an answer ends at the policy's limit.
- **Tokens** that are refused with 401 are renewed, once for a request.

Blocks its caller, so that a client's loop leaves it to the worker thread. Clock, sleep and the single exchange are
injected, so that the tests of policies need neither sockets nor time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin

from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic, wall
from kcli.core.errors import ConfigError
from kcli.core.net.http_address import HttpAddress, parse_http
from kcli.core.net.http_messages import Answer, NoAnswerError, Request, Sink

if TYPE_CHECKING:
    import ssl

    from kcli.core.net.http_exchange import Connections

TEMPORARY = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that another try may change."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LEAST = 0.001
_LONGEST_WAIT = 60.0
"""Seconds that a server may ask to wait for."""


class Policy(NamedTuple):
    """``tries``: at most, with pauses between them in seconds; ``request_seconds``: of one try. ``limit``: bytes of an
    answer; ``redirects``: that are followed.
    """

    tries: int
    first_pause: float
    longest_pause: float
    limit: int
    request_seconds: float = inf
    redirects: int = 0


class Tokens(Protocol):
    """Bearer tokens."""

    def text(self) -> str:
        """The token that is sent."""

    def renew(self) -> bool:
        """Fetches another in place of one that was refused; whether it is another."""


class UnansweredError(Exception):
    """No try had an answer that lasts. ``reasons``: of each, with its address."""

    def __init__(self, reasons: Sequence[tuple[HttpAddress, str]]) -> None:
        super().__init__("; ".join(dict.fromkeys(why for _, why in reasons)))
        self.reasons = reasons


def _never() -> bool:
    return False


def _status(answer: Answer) -> str:
    return f"HTTP {answer.status}"


class HttpClient:
    """Requests to one service at ``addresses``, starting with the one that answered last. ``context`` is called for the
    first connection by https. ``why`` says in words what a temporary status means; ``wire`` is told each step.

    With one address and no tokens it serves several threads.
    """

    def __init__(
        self,
        addresses: Sequence[HttpAddress],
        policy: Policy,
        context: Callable[[], ssl.SSLContext],
        *,
        proxy: HttpAddress | None = None,
        tokens: Tokens | None = None,
        why: Callable[[Answer], str] = _status,
        wire: Callable[[str], None] | None = None,
        send: Callable[[Request], Answer] | None = None,
        now: Callable[[], float] = monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._addresses, self._policy, self.tokens = addresses, policy, tokens
        self._why, self._wire = why, wire or (lambda _line: None)
        self._now, self._sleep = now, sleep
        self._context, self._proxy, self._send = context, proxy, send
        self._connections: Connections | None = None
        self._busy: dict[HttpAddress, float] = {}
        self._current = 0

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = {},
        *,
        seconds: float = inf,
        sink: Sink | None = None,
        stopped: Callable[[], bool] = _never,
    ) -> Answer:
        """The first answer that is not temporary, within ``seconds``; a NoAnswerError that is lasting, or
        UnansweredError. No try begins after ``stopped``. ConfigError for a header that cannot be sent.
        """
        reasons: list[tuple[HttpAddress, str]] = []
        deadline = self._now() + seconds
        for attempt in range(self._policy.tries):
            address = self._addresses[self._current]
            if attempt:
                pause = max(self._pause(attempt), asked := self._busy.pop(address, 0.0) - self._now())
                if stopped() or asked > _LONGEST_WAIT or self._now() + pause >= deadline:
                    break
                self._sleep(pause)
            try:
                answer = self._admitted(address, method, target, body, headers, deadline, sink)
                if answer.status not in TEMPORARY:
                    return answer
                why = self._why(answer)
                if wait := _retry_after(answer.header("retry-after")):
                    self._busy[address] = self._now() + wait
                    why += f", to be asked again in {wait:,.0f} s"
                reasons.append((address, why))
            except NoAnswerError as error:
                self._wire(f"✗ {address} {method} {target} {error}")
                if error.lasting:
                    raise
                reasons.append((address, str(error)))
            self._current = (self._current + 1) % len(self._addresses)
        raise UnansweredError(reasons)

    def close(self) -> None:
        """Closes the connections."""
        if self._connections is not None:
            self._connections.close()

    def _admitted(
        self,
        address: HttpAddress,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
        sink: Sink | None,
    ) -> Answer:
        """The answer, of a renewed token if the first was refused."""
        for again in (False, True):
            allowed = dict(headers)
            if self.tokens is not None:
                allowed["Authorization"] = f"Bearer {self.tokens.text()}"
            elif address.authorization:
                allowed["Authorization"] = address.authorization
            seconds = max(_LEAST, min(self._policy.request_seconds, deadline - self._now()))
            request = Request(
                address, method, f"{address.path}{target}", allowed, body, seconds, self._policy.limit, sink
            )
            answer = self._followed(request)
            if again or answer.status != 401 or self.tokens is None or not self.tokens.renew():
                break
        return answer

    def _followed(self, request: Request) -> Answer:
        """The answer at the end of the redirects that are followed."""
        answer = self._exchanged(request)
        for _ in range(self._policy.redirects):
            if answer.status not in _REDIRECTS or request.method not in ("GET", "HEAD"):
                break
            here = request.address
            there = urljoin(f"{here.origin}{request.target}", answer.header("location"))
            found = parse_http(there.partition("#")[0])  # a fragment is for browsers
            if found is None or (here.secure and not found.secure):
                break
            headers = dict(request.headers)
            if found.origin != here.origin:
                headers.pop("Authorization", None)
            address = found._replace(path="", authorization="")
            request = request._replace(address=address, target=found.path, headers=headers)
            answer = self._exchanged(request)
        return answer

    def _exchanged(self, request: Request) -> Answer:
        for name, value in request.headers.items():
            if not (value.isascii() and value.isprintable()):
                raise ConfigError(
                    f"the header {name} cannot be sent to {request.address}",
                    why="its value has other characters than the printable ones of ASCII",
                    do="correct the option that it is from",
                )
        target = request.target.removeprefix(request.address.path)
        begun, what = self._now(), f"{request.address} {request.method} {target}"
        self._wire(f"→ {what} {len(request.body or b'')} bytes")
        answer = (self._send or self._connected().send)(request)
        took = (self._now() - begun) * 1000
        self._wire(f"← {what} {answer.status} {len(answer.body)} bytes {took:.0f} ms")
        return answer

    def _connected(self) -> Connections:
        if self._connections is None:
            from kcli.core.net.http_exchange import Connections  # urllib3 and TLS

            self._connections = Connections(self._context, self._proxy)
        return self._connections

    def _pause(self, attempt: int) -> float:
        pause: float = min(self._policy.longest_pause, self._policy.first_pause * 2 ** (attempt - 1))
        return pause * random.uniform(0.8, 1.2)


def _retry_after(text: str) -> float:
    """Seconds, or a date (RFC 9110); 0 for what is neither."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    if not text:
        return 0.0
    import email.utils  # large, and only for a date

    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - wall())
    except (TypeError, ValueError, OverflowError):
        return 0.0
