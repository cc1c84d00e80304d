"""Posts a document to a URL, and shows of the URL the host only: paths of webhooks are secrets.

A response that another try may change is followed by another try, within the time of the delivery; a document may so
arrive twice, each time with the same Idempotency-Key.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from kcli.core import clock
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.net.http import HttpClient, Policy, UnansweredError
from kcli.core.net.http_address import HttpAddress, parse_http, refuse_plaintext
from kcli.core.net.http_messages import Answer, NoAnswerError, Request, UntrustedError
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores
from kcli.flows.lag.notification import NotReportedError

_POLICY = Policy(tries=5, first_pause=0.5, longest_pause=4.0, limit=1 << 16)


class WebhookUrl(NamedTuple):
    """``target`` is the path with the query. Its text has only the host."""

    address: HttpAddress
    target: str

    def __str__(self) -> str:
        return self.address.origin

    def __repr__(self) -> str:
        return str(self)


def parse_webhook(url: str, *, allow_plaintext_secrets: bool = False) -> WebhookUrl:
    """ConfigError for what is no URL, and for credentials that would travel unencrypted; neither shows the URL."""
    found = parse_http(url)
    if found is None or not url.isascii():
        raise ConfigError(
            "groups lag: --webhook is no URL",
            why="it is http or https, a host, and perhaps a port, a path and a query",
            do="--webhook https://HOST/PATH",
        )
    address = found._replace(path="")
    if address.authorization and not allow_plaintext_secrets:
        refuse_plaintext(address, "the URL of --webhook")
    return WebhookUrl(address, found.path)


class Webhook:
    """Called with a document, as a ``Deliver``: NotReportedError where no response says that it was taken."""

    def __init__(
        self,
        url: WebhookUrl,
        *,
        send: Callable[[Request], Answer] | None = None,
        now: Callable[[], float] = clock.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url
        context = lambda: make_context(Stores(prefix="webhook"))  # noqa: E731
        self._client = HttpClient([url.address], _POLICY, context, send=send, now=now, sleep=sleep)

    def __call__(self, document: bytes, seconds: float, stopped: Callable[[], bool]) -> None:
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        try:
            answer = self._client.ask(
                "POST", self._url.target, document, headers, seconds=seconds, stopped=stopped
            )
        except UntrustedError as error:
            raise self._not_reported(f"its certificate was not accepted: {error}") from None
        except (UnansweredError, NoAnswerError) as error:
            raise self._not_reported(str(error)) from None
        finally:
            self._client.close()  # the next one may be hours away
        if not 200 <= answer.status < 300:
            redirects = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
            raise self._not_reported(f"HTTP {answer.status}{redirects}")

    def _not_reported(self, why: str) -> NotReportedError:
        return NotReportedError(
            f"{self._url} took no document",
            why=f"{self._url}: {why}",
            do="check the URL of --webhook, and that its server runs",
        )
