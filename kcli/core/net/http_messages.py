"""A request over HTTP, its answer, and why there is none. Pure."""

from collections.abc import Callable, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.net.http_address import HttpAddress

Sink = Callable[[], Callable[[bytes], object]]
"""Is called for each answer with a body for it, as a try may have been in vain; what it gives takes the chunks."""


class Answer(NamedTuple):
    """``headers`` by name in lower case. ``whole``: whether the body is not longer than the limit."""

    address: HttpAddress
    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True

    def header(self, name: str) -> str:
        """Empty if there is none."""
        return self.headers.get(name, "")


class Request(NamedTuple):
    """One exchange, within ``seconds``."""

    address: HttpAddress
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    seconds: float
    limit: int
    sink: Sink | None = None


class NoAnswerError(Exception):
    """Its text is why a try had no answer. ``lasting``: another try would not have one either."""

    lasting = False

    def __init__(self, address: HttpAddress, why: str) -> None:
        super().__init__(why)
        self.address = address


class ProxyRefusalError(NoAnswerError):
    """The proxy does not let the request through. ``do``: what to do about it."""

    lasting = True
    do = "check the login of the proxy, as in HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT, and what it allows"


class UntrustedError(NoAnswerError):
    """The certificate of the server was not accepted."""

    lasting = True


class ClientCertificateError(NoAnswerError):
    """The server accepts no client without a certificate that it trusts."""

    lasting = True
