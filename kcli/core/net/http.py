"""An HTTP connection as clients of foreign services open it: through a proxy if the environment names one, with what its
failures mean.

Blocks its caller, so that a client's loop leaves it to the worker thread. Who uses it follows no redirect: it would carry
credentials to another address.
"""

import base64
import http.client
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from kcli.core.classes import NamedTuple

_CHUNK = 1 << 16


class HttpConnection(Protocol):
    """The methods used of ``http.client.HTTPConnection``."""

    def request(self, method: str, url: str, body: Any = None, headers: Mapping[str, str] = ...) -> None: ...

    def getresponse(self) -> Any: ...

    def close(self) -> None: ...


class Proxy(NamedTuple):
    """An HTTP proxy. ``authorization``: the value of its header, or empty."""

    host: str
    port: int
    authorization: str = ""


def https_connection(
    host: str, port: int, timeout: float, context: ssl.SSLContext, proxy: Proxy | None = None
) -> http.client.HTTPSConnection:
    """Through ``proxy``, or else the proxy of HTTPS_PROXY where NO_PROXY does not exempt the host.

    A proxy sees the host and the port only: TLS is with the host. ``timeout``: seconds, of each step.
    """
    proxy = proxy or _proxy_of_environment(host)
    if proxy is None:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    tunnel = http.client.HTTPSConnection(proxy.host, proxy.port, timeout=timeout, context=context)
    tunnel.set_tunnel(host, port, {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {})
    return tunnel


def _proxy_of_environment(host: str) -> Proxy | None:
    named = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get("https")
    if not named:
        return None
    parts = urlsplit(named if "://" in named else f"http://{named}")
    authorization = ""
    if parts.username is not None:
        authorization = basic(unquote(parts.username), unquote(parts.password or ""))
    return Proxy(parts.hostname or "", parts.port or 8080, authorization)


def basic(name: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def read_body(response: Any, limit: int, deadline: float, now: Callable[[], float]) -> bytes:
    """The body, at most a little more than ``limit`` bytes: TimeoutError for one that comes byte by byte."""
    body = b""
    while len(body) <= limit and (part := response.read1(_CHUNK)):
        body += part
        if now() > deadline:
            raise TimeoutError
    return body


def failure(error: Exception) -> str:
    """Why there is no response, for an OSError or an HTTPException."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return f"the response is not HTTP ({type(error).__name__})"
