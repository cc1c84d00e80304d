"""Addresses of HTTP services, and which of them may be sent credentials. Pure; ``str`` shows no secret."""

from urllib.parse import unquote, urlsplit

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


class HttpAddress(NamedTuple):
    """A server. ``path`` is in front of the target of each request; ``authorization`` the value of the header, or empty.

    Its text has the path, but neither a query nor credentials.
    """

    secure: bool
    host: str
    port: int
    path: str = ""
    authorization: str = ""

    def __str__(self) -> str:
        return f"{self.origin}{self.path.partition('?')[0]}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def origin(self) -> str:
        """``https://HOST:PORT``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"

    @property
    def on_loopback(self) -> bool:
        """Whether nothing leaves this machine."""
        return self.host in LOOPBACK


def parse_http(url: str) -> HttpAddress | None:
    """``path`` is that of the URL with its query, at least ``/``; credentials in it become ``authorization``. None for
    what is no address of HTTP, or has a fragment.
    """
    try:
        parts = urlsplit(url)
        port = _PORTS.get(parts.scheme) if parts.port is None else parts.port
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        return None
    if (
        not port
        or parts.scheme not in _PORTS
        or not host
        or parts.fragment
        or not url.isprintable()
        or " " in url
    ):
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authorization = ""
    if parts.username is not None:
        authorization = basic(unquote(parts.username), unquote(parts.password or ""))
    return HttpAddress(parts.scheme == "https", host, port, path, authorization)


def basic(name: str, password: str) -> str:
    """The value of an Authorization header (RFC 7617)."""
    import base64  # only with credentials

    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def refuse_plaintext(
    address: HttpAddress, url: str, do: str = "use https, or say --allow-plaintext-secrets"
) -> None:
    """ConfigError for credentials that would leave the machine by plain HTTP; ``url`` names what the address is from."""
    if not (address.secure or address.on_loopback):
        raise ConfigError(
            f"credentials for {address} would travel unencrypted",
            why=f"{url} begins with http",
            do=do,
        )
