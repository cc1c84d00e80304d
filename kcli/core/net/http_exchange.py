"""One exchange with an HTTP server. Only this module knows ``urllib3``.

- **Proxies** are those of the environment (``http_proxies.py``), unless a client has one of its own. TLS is with the
  server; a proxy sees its host and port only.
- **TLS** is by ``tls/context.py``: verified, at least 1.2.
- **Deadlines** are for the whole of it, from the resolution of the name to the last byte: it runs in a thread that is
  left behind when time is up. A body that goes into a ``sink`` takes as long as it needs; there the limit is that of
  each step.
"""

import ssl
from collections.abc import Callable
from math import inf
from threading import Thread
from typing import Any, TypeVar

import urllib3
from urllib3.exceptions import HTTPError, LocationValueError, ProxyError
from urllib3.exceptions import TimeoutError as SlowError

from kcli.core.net.http_address import HttpAddress
from kcli.core.net.http_messages import (
    Answer,
    ClientCertificateError,
    NoAnswerError,
    ProxyRefusalError,
    Request,
    UntrustedError,
)
from kcli.core.net.http_proxies import proxy_of_environment
from kcli.core.net.tls.context import make_context
from kcli.core.net.tls.stores import Stores

_CHUNK = 1 << 16
_CONNECTIONS = 4
"""That are kept for each server."""
_WANTS_CERTIFICATE = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_UNKNOWN")
"""Words in OpenSSL's names of the alerts by which a server refuses the client's certificate, or that there is none."""


_T = TypeVar("_T")


class Connections:
    """Connections by urllib3, kept open for each way: plain or TLS, and the proxy."""

    def __init__(self, context: Callable[[], ssl.SSLContext], proxy: HttpAddress | None = None) -> None:
        self._context, self._proxy = context, proxy
        self._managers: dict[tuple[bool, HttpAddress | None], urllib3.PoolManager] = {}

    def send(self, request: Request) -> Answer:
        """The answer; NoAnswerError. ConfigError for a proxy or a TLS context that cannot be made."""
        proxy = self._proxy or proxy_of_environment(request.address)
        manager = self._manager(request.address.secure, proxy)
        try:
            if request.sink is not None or request.seconds == inf:
                answer = _exchange(manager, request)
            else:
                answer = _within(request.seconds, lambda: _exchange(manager, request))
        except (HTTPError, TimeoutError) as error:  # an OSError is of the sink
            raise _no_answer(request.address, proxy, error) from None
        if proxy is not None and answer.status == 407:  # without TLS it answers as a server would
            raise ProxyRefusalError(request.address, f"the proxy {proxy.origin}: HTTP 407")
        return answer

    def close(self) -> None:
        """They are opened again for the next request."""
        while self._managers:
            self._managers.popitem()[1].clear()

    def _manager(self, secure: bool, proxy: HttpAddress | None) -> urllib3.PoolManager:
        manager = self._managers.get((secure, proxy))
        return manager or self._managers.setdefault((secure, proxy), self._made(secure, proxy))

    def _made(self, secure: bool, proxy: HttpAddress | None) -> urllib3.PoolManager:
        settings: dict[str, Any] = {"maxsize": _CONNECTIONS}
        if secure:
            context = self._context()
            settings["ssl_context"] = context
            settings["assert_hostname"] = None if context.check_hostname else False
        if proxy is None:
            return urllib3.PoolManager(**settings)
        to_proxy = make_context(Stores(prefix="proxy")) if proxy.secure else None
        if to_proxy is not None and not secure:
            settings["ssl_context"] = to_proxy
        headers = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}
        return urllib3.ProxyManager(
            proxy.origin, proxy_headers=headers, proxy_ssl_context=to_proxy, **settings
        )


def _exchange(manager: urllib3.PoolManager, request: Request) -> Answer:
    response = manager.urlopen(
        request.method,
        f"{request.address.origin}{request.target}",
        body=request.body,
        headers={"User-Agent": "kcli", **request.headers},
        redirect=False,
        retries=False,
        timeout=urllib3.Timeout(total=None if request.seconds == inf else request.seconds),
        preload_content=False,
        decode_content=False,
    )
    body, whole = b"", True
    try:
        if request.sink is not None and response.status == 200:
            take = request.sink()
            for chunk in response.stream(_CHUNK):
                take(chunk)
        else:
            # Until nothing more comes: only then is a body that ends before its Content-Length an error.
            while (whole := len(body) <= request.limit) and (
                more := response.read(request.limit + 1 - len(body))
            ):
                body += more
            if not whole:
                response.close()  # what follows is not read
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(request.address, response.status, headers, body, whole)
    except BaseException:
        response.close()
        raise
    finally:
        response.release_conn()


def _within(seconds: float, work: Callable[[], _T]) -> _T:
    """What ``work`` returns; TimeoutError after ``seconds``, with the thread left behind: it ends with its own limits,
    and neither a resolver nor a server that sends byte by byte holds anybody longer.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            errors.append(error)

    thread = Thread(target=run, name="kcli-http", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError
    return results[0]


def _no_answer(address: HttpAddress, proxy: HttpAddress | None, error: Exception) -> NoAnswerError:
    cause = _innermost(error)
    of_proxy = proxy if isinstance(error, ProxyError) else None
    if isinstance(cause, ssl.SSLCertVerificationError) and of_proxy is None:
        return UntrustedError(address, cause.verify_message or str(cause))
    reason = str(getattr(cause, "reason", None) or "") if isinstance(cause, ssl.SSLError) else ""
    if "ALERT" in reason and any(word in reason for word in _WANTS_CERTIFICATE) and of_proxy is None:
        return ClientCertificateError(address, f"the TLS handshake failed ({reason})")
    why = _words(cause)
    if of_proxy is not None:
        kind = ProxyRefusalError if "failed: 4" in why else NoAnswerError
        return kind(address, f"the proxy {of_proxy.origin}: {why}")
    if address.secure and isinstance(cause, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError):
        why += ", as where a server demands a certificate of the client"  # its alert is lost where it closes at once
    if proxy is not None:
        why += f" (through the proxy {proxy.origin})"
    return NoAnswerError(address, why)


def _words(cause: BaseException) -> str:
    if isinstance(cause, TimeoutError | SlowError):
        return "no response in time"
    if isinstance(cause, LocationValueError):
        return "its name cannot be looked up"
    if type(cause).__name__ == "IncompleteRead":  # there is one of urllib3, and one of what it is built on
        return "the response breaks off"
    if isinstance(cause, OSError):
        return cause.strerror or str(cause) or type(cause).__name__
    return f"the response is not HTTP ({type(cause).__name__})"


def _innermost(error: BaseException) -> BaseException:
    """The system's own error; urllib3 wraps it up to three layers deep."""
    while True:
        inner = getattr(error, "original_error", None) or error.__cause__
        if not isinstance(inner, BaseException):
            inner = next((one for one in error.args if isinstance(one, BaseException)), None)
        if inner is None or inner is error:
            return error
        error = inner
