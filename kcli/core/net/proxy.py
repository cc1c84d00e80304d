"""A proxy on the way to the brokers: its address, and the exchange that turns a connection to it into one to a broker.

SOCKS5 (RFC 1928, with the login of RFC 1929) and HTTP CONNECT (RFC 9110, section 9.3.6). Pure: bytes in, bytes out. The
proxy sees host and port of the broker; TLS and SASL are with the broker itself. Loaded by clients with ``proxy.url``.
"""

import base64
import re
import socket
from collections.abc import Callable, Generator

from kcli.core.classes import NamedTuple
from kcli.core.connection.admission import Admission
from kcli.core.errors import ConfigError, ConnectError, KcliError, ProxyRefusedError
from kcli.core.net.resolve import is_literal
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret

SOCKS5, SOCKS5H, HTTP = "socks5", "socks5h", "http"
_PORTS = {SOCKS5: 1080, SOCKS5H: 1080, HTTP: 8080}
_MOST = 1 << 16  # bytes of one answer
_LONGEST = 255  # bytes of a name, a user or a password in SOCKS5
_FORMS = "write socks5h://HOST:PORT, socks5://HOST:PORT or http://HOST:PORT"
_CHECK_LOGIN = "check proxy.username and proxy.password"


class Proxy(NamedTuple):
    """``scheme``: socks5 (names of brokers are looked up here), socks5h (by the proxy) or http (likewise)."""

    scheme: str
    host: str
    port: int
    username: str
    password: Secret

    def __str__(self) -> str:
        return f"{self.scheme}://{_joined(self.host, self.port)}"


def proxy_of(options: ClientOptions) -> Proxy | None:
    """The proxy of a client; ConfigError for what names none."""
    text = options.proxy_url
    if not text:
        for key, given in (
            ("proxy.username", options.proxy_username),
            ("proxy.password", options.proxy_password),
        ):
            if given:
                raise ConfigError(
                    f"{key} is given without proxy.url",
                    why="no proxy is named",
                    do="name it, or leave it out",
                )
        return None
    scheme, colon, rest = text.partition("://")
    rest = rest.removesuffix("/")
    if "@" in text:
        raise _unusable(
            rest.rpartition("@")[2], "there is a login in it", "give proxy.username and proxy.password"
        )
    if scheme.lower() not in _PORTS or not colon:
        known = f"{scheme}:// is not supported" if colon else "it does not say what kind of proxy it is"
        raise _unusable(text, known, _FORMS)
    parts = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/?#\[\]]+)(?::(\d{1,5}))?", rest)
    port = int(parts[2] or _PORTS[scheme.lower()]) if parts else 0
    if parts is None or not 0 < port < 65_536:
        raise _unusable(text, "a proxy is named by its host and its port alone", _FORMS)
    if options.proxy_password and not options.proxy_username:
        raise ConfigError(
            "proxy.password is given without proxy.username", why="a login has both", do="add proxy.username"
        )
    host = parts[1].strip("[]")
    if options.proxy_username and not (options.allow_plaintext_secrets or _is_loopback(host)):
        raise ConfigError(
            f"the login for the proxy {scheme.lower()}://{_joined(host, port)} would be sent without encryption",
            why="SOCKS5 and HTTP know no other way",
            do="use a proxy that wants no login, or a tunnel to it on this machine; --allow-plaintext-secrets allows it, "
            "and in a profile allow.plaintext.secrets=true",
        )
    return Proxy(scheme.lower(), host, port, options.proxy_username, options.proxy_password)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and is_literal(host))


def _unusable(text: str, why: str, do: str) -> ConfigError:
    return ConfigError(f"proxy.url={text!r} is no address of a proxy", why=why, do=do)


class _Exchange(NamedTuple):
    """Bytes to send, and how long the answer is: 0 while that cannot be said yet."""

    data: bytes
    length: Callable[[bytes], int]


_Exchanges = Generator[_Exchange, bytes, None]


class Tunnel:
    """The exchange on one connection to the proxy. ``outgoing`` is to be written; ``is_open`` once the proxy has
    connected to the broker, ``has_begun`` once it was written to. ``received`` raises errors that name the proxy.
    """

    def __init__(self, proxy: Proxy, host: str, port: int, admission: Admission | None = None) -> None:
        self.proxy = proxy
        self._admission = admission
        self.is_open = False
        self.outgoing = b""
        self.has_begun = False
        self._buffer = b""
        self._length: Callable[[bytes], int] = len
        self._where = _joined(host, port)
        name = _name(proxy, host, port)
        self._exchanges = (_connect if proxy.scheme == HTTP else _socks)(proxy, name, port)
        self._continue(None)

    def sent(self, count: int) -> None:
        """``count`` bytes of ``outgoing`` were written."""
        self.has_begun = True
        self.outgoing = self.outgoing[count:]

    def received(self, data: bytes) -> None:
        """The next bytes of the proxy."""
        self._buffer += data
        while not self.is_open:
            length = self._length(self._buffer)
            if not length or len(self._buffer) < length:
                if len(self._buffer) > _MOST:
                    raise _not_spoken(self.proxy)
                return
            answer, self._buffer = self._buffer[:length], self._buffer[length:]
            self._continue(answer)
        if self._buffer:  # a broker says nothing before it is asked
            raise _not_spoken(self.proxy)

    def ended(self) -> ConnectError:
        """The error for a proxy that closes the connection before the tunnel is open."""
        return ConnectError(
            f"the proxy {self.proxy} closed the connection before it reached {self._where}",
            why="it does not accept this client, or is another kind of proxy",
            do="check proxy.url, and what the proxy logs",
        )

    def overdue(self, waited: str) -> ConnectError:
        """The error for a proxy that does not answer in time."""
        return ConnectError(
            f"the proxy {self.proxy} has not connected to {self._where} in {waited}",
            why="it accepts connections but does not answer",
            do="check proxy.url, and whether the proxy reaches that address",
        )

    def _continue(self, answer: bytes | None) -> None:
        try:
            step = next(self._exchanges) if answer is None else self._exchanges.send(answer)
        except StopIteration:
            self.is_open = True
            if self._admission is not None:
                self._admission.accepted()
        except ProxyRefusedError as error:
            if self._admission is not None:
                self._admission.refused(error)
            raise
        else:
            self.outgoing, self._length = step


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _not_spoken(proxy: Proxy) -> ConnectError:
    language = "HTTP" if proxy.scheme == HTTP else "SOCKS5"
    return ConnectError(
        f"the proxy {proxy} does not speak {language}",
        why=f"its answer is none of {language}",
        do="check scheme and port of proxy.url",
    )


def _refused(proxy: Proxy, host: str, port: int, why: str) -> KcliError:
    return ConnectError(
        f"the proxy {proxy} did not connect to {_joined(host, port)}",
        why=why,
        do="check the address, and whether the proxy may and can reach it",
    )


def _name(proxy: Proxy, host: str, port: int) -> str:
    """As it is sent: brokers say their names themselves, so one may be none, and end the line of a request."""
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        name = ""
    if not name.isprintable() or not name or " " in name:
        raise _refused(proxy, host, port, "it is no name that a proxy can be given")
    return name


# --- SOCKS5 --------------------------------------------------------------------------------------

_NO_LOGIN, _LOGIN, _NONE_ACCEPTED = 0, 2, 255
_REPLIES = {
    1: "it failed",
    2: "its rules do not allow it",
    3: "the network is unreachable",
    4: "the host is unreachable, or its name is not known there",
    5: "the connection was refused",
    6: "the connection timed out",
    7: "it does not connect to others",
    8: "it does not support this kind of address",
}


def _socks(proxy: Proxy, host: str, port: int) -> _Exchanges:
    methods = bytes((_NO_LOGIN, _LOGIN) if proxy.username else (_NO_LOGIN,))
    version, method = yield _Exchange(bytes((5, len(methods))) + methods, lambda _data: 2)
    if version != 5:
        raise _not_spoken(proxy)
    if method == _NONE_ACCEPTED or method not in methods:
        raise ProxyRefusedError(
            f"the proxy {proxy} refused this client",
            why="it accepts no login by name and password" if proxy.username else "it wants a login",
            do=_CHECK_LOGIN if proxy.username else "give proxy.username and proxy.password",
        )
    if method == _LOGIN:
        user, password = _short(proxy.username), _short(proxy.password.reveal())
        _version, status = yield _Exchange(b"\1" + user + password, lambda _data: 2)
        if status:
            raise ProxyRefusedError(
                f"the proxy {proxy} refused the login of {proxy.username}",
                why=f"status {status} (RFC 1929)",
                do=_CHECK_LOGIN,
            )
    answer = yield _Exchange(b"\5\1\0" + _socks_address(host) + port.to_bytes(2, "big"), _reply_length)
    if answer[0] != 5:
        raise _not_spoken(proxy)
    if answer[1]:
        raise _refused(
            proxy, host, port, f"{_REPLIES.get(answer[1], 'it failed')} (SOCKS5 reply {answer[1]})"
        )


def _socks_address(host: str) -> bytes:
    if is_literal(host):
        plain = host.partition("%")[0]
        return (
            b"\4" + socket.inet_pton(socket.AF_INET6, plain)
            if ":" in plain
            else b"\1" + socket.inet_aton(plain)
        )
    return b"\3" + _short(host)


def _short(text: str) -> bytes:
    """``text`` after a byte that says how long it is."""
    data = text.encode()
    if len(data) > _LONGEST:
        raise ConfigError(
            "a name, user or password is too long for SOCKS5",
            why=f"it has {len(data)} bytes, and at most {_LONGEST} are possible",
            do="use a proxy of HTTP (http://HOST:PORT)",
        )
    return bytes((len(data),)) + data


def _reply_length(data: bytes) -> int:
    if len(data) >= 2 and (data[0] != 5 or data[1]):
        return 2  # a refusal may end there
    if len(data) < 5:
        return 0
    return {1: 10, 4: 22, 3: 7 + data[4]}.get(data[3], 10)


# --- HTTP CONNECT --------------------------------------------------------------------------------


def _connect(proxy: Proxy, host: str, port: int) -> _Exchanges:
    where = _joined(host.partition("%")[0], port)
    lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}", "User-Agent: kcli"]
    if proxy.username:
        login = f"{proxy.username}:{proxy.password.reveal()}".encode()
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(login).decode()}")
    answer = yield _Exchange("".join(f"{line}\r\n" for line in (*lines, "")).encode(), _head_length)
    status = re.match(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n", answer)
    if status is None:
        raise _not_spoken(proxy)
    reason = "".join(one for one in (status[2] or b"").decode("ascii", "replace") if one.isprintable())[:100]
    said = f"HTTP {status[1].decode()} {reason}".rstrip()
    if status[1] == b"407":
        raise ProxyRefusedError(
            f"the proxy {proxy} refused this client",
            why=said,
            do=_CHECK_LOGIN if proxy.username else "give proxy.username and proxy.password",
        )
    if not status[1].startswith(b"2"):
        raise _refused(proxy, host, port, said)


def _head_length(data: bytes) -> int:
    """The bytes of the head, with the empty line; what cannot become HTTP any more is an answer as it is."""
    if not data.startswith(b"HTTP/"[: len(data)]):
        return len(data)
    end = re.search(rb"\r?\n\r?\n", data)
    if end is None:
        return 0
    # Of a refusal, which has a body, nothing more is read.
    return end.end() if re.match(rb"HTTP/1\.[01] 2", data) else len(data)
