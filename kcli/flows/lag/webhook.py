"""Posts a document to a URL. It follows no redirect, and shows of the URL the host only: paths of webhooks are secrets.

A response that another try may change (a failed connection, 408, 429, 5xx) is followed by another try after a pause that
doubles, within the time of the delivery. Connections, clock and sleep are injected, so that tests need neither.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from kcli.core import clock
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConfigError
from kcli.core.net.http import HttpConnection, basic, failure, https_connection, read_body
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.flows.lag.notification import NotReportedError

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 4.0
_TRIES = 5
_TEMPORARY = (408, 429)
_MAX_BODY = 1 << 16
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """``target`` is the path with the query; ``authorization`` the header's value, or empty. Its text has neither."""

    secure: bool
    host: str
    port: int
    target: str = field(repr=False)
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"


def parse_webhook(url: str, *, allow_plaintext_secrets: bool = False) -> WebhookUrl:
    """ConfigError for what is no URL, and for credentials that would travel unencrypted; neither shows the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.fragment
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise ConfigError(
            "groups lag: --webhook is no URL",
            why="it is http or https, a host, and perhaps a port, a path and a query",
            do="--webhook https://HOST/PATH",
        )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authorization = ""
    if parts.username is not None:
        authorization = basic(unquote(parts.username), unquote(parts.password or ""))
    secure = parts.scheme == "https"
    found = WebhookUrl(secure, parts.hostname, port or (443 if secure else 80), target, authorization)
    if authorization and not (secure or allow_plaintext_secrets or found.host in _LOOPBACK):
        raise ConfigError(
            f"credentials for {found} would travel unencrypted",
            why="the URL of --webhook begins with http",
            do="use https, or say --allow-plaintext-secrets",
        )
    return found


class _Response(NamedTuple):
    status: int
    retried: bool
    why: str


class Webhook:
    """Called with a document, as a ``Deliver``: NotReportedError where no response says that it was taken."""

    def __init__(
        self,
        url: WebhookUrl,
        *,
        connect: Callable[[WebhookUrl, float], HttpConnection] | None = None,
        now: Callable[[], float] = clock.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url, self._now, self._sleep = url, now, sleep
        self._connect = connect or _Connector().connect

    def __call__(self, document: bytes, seconds: float, stopped: Callable[[], bool]) -> None:
        until, why, pause = self._now() + seconds, "", _FIRST_PAUSE
        for attempt in range(_TRIES):
            if attempt:
                if stopped() or self._now() + pause >= until:
                    break
                self._sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
            status, retried, why = self._post(document, until)
            if 200 <= status < 300:
                return
            if not retried:
                break
        raise NotReportedError(f"{self._url} took no document", why=f"{self._url}: {why}", do=_REMEDY)

    def _post(self, document: bytes, until: float) -> _Response:
        headers = {"Content-Type": "application/json", "User-Agent": "kcli"}
        if self._url.authorization:
            headers["Authorization"] = self._url.authorization
        try:
            connection = self._connect(self._url, max(0.01, until - self._now()))
            try:
                connection.request("POST", self._url.target, body=document, headers=headers)
                response = connection.getresponse()
                read_body(response, _MAX_BODY, until, self._now)
            finally:
                connection.close()
        except ssl.SSLCertVerificationError as error:
            return _Response(
                0, retried=False, why=f"its certificate was not accepted: {error.verify_message or error}"
            )
        except (OSError, http.client.HTTPException) as error:
            return _Response(0, retried=True, why=failure(error))
        status = int(response.status)
        if 300 <= status < 400:
            return _Response(status, retried=False, why=f"HTTP {status}, and redirects are not followed")
        return _Response(status, retried=status >= 500 or status in _TEMPORARY, why=f"HTTP {status}")


_REMEDY = "check the URL of --webhook, and that its server runs"


class _Connector:
    """Opens connections; the TLS context is made with the first that needs it. Plain HTTP uses no proxy."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    def connect(self, url: WebhookUrl, timeout: float) -> HttpConnection:
        if not url.secure:
            return http.client.HTTPConnection(url.host, url.port, timeout=timeout)
        self._context = self._context or make_context(Stores(prefix="webhook"))
        return https_connection(url.host, url.port, timeout, self._context)
