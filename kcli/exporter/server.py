"""Serves the pages of a site over HTTP or TLS: a thread for each connection, one request on each.

prometheus_client has a server too; its TLS handshakes run in the thread that accepts connections, where one silent client
stops all others, and it makes its page anew for every scrape (decision 0105).
"""

from __future__ import annotations

import errno
import html
import os
import socket
import socketserver
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Protocol
from urllib.parse import parse_qs

from kcli.core.clock import monotonic
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.exporter.address import Address
from kcli.exporter.exposition import Packed, document, gzipped
from kcli.exporter.negotiation import accepts_gzip, chosen_format
from kcli.exporter.tls import ServerTls
from kcli.exporter.users import Users

READY, STOPPING = "READY=1", "STOPPING=1"
_CONNECTIONS = 64
_PATIENCE = 10.0  # seconds for a handshake, a line of the request, or a piece of the page
_PIECE = 1 << 18
_FIELDS = 16  # of a query
_LAST_SCRAPES = 2.0  # seconds for the responses under way when it ends
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1><p>{state}</p>
<ul>{links}</ul></body></html>
"""


class Site(Protocol):
    """What is served. Its methods are called by the threads of connections."""

    @property
    def title(self) -> str:
        """Whose pages they are."""

    @property
    def checks(self) -> Mapping[str, Callable[[], str]]:
        """By path: what is wrong at the moment, which is status 503; empty where nothing is, 200."""

    @property
    def targets(self) -> Collection[str]:
        """What ``/probe?target=`` accepts, and nothing else: a target is never an address to connect to."""

    def parts(self, form: str, scrapes: int, target: str = "") -> Sequence[Packed]:
        """The page of metrics in one of the ``exposition.FORMATS``, of one of the ``targets`` or of all.

        ``scrapes``: how many were sent, with this one.
        """

    @property
    def state(self) -> str:
        """A sentence for people."""


class PortTakenError(KcliError):
    """Another program uses the port."""

    exit_code = ExitCode.REFUSED


class Server:
    """Raises PortTakenError or ConfigError where it cannot listen."""

    def __init__(
        self,
        address: Address,
        site: Site,
        *,
        tls: ServerTls | None = None,
        users: Users | None = None,
        headers: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.site, self.tls, self.users, self.headers = site, tls, users, headers
        self._lock, self._scrapes = Lock(), 0
        self.slots = BoundedSemaphore(_CONNECTIONS)
        self._listener = _listen(address, self)
        host, port = self._listener.server_address[:2]
        self.address = Address(address.host and str(host), int(port))
        self._thread = Thread(
            target=self._listener.serve_forever, args=(0.1,), name="kcli-exporter-http", daemon=True
        )

    @property
    def url(self) -> str:
        """The address of the page; a server for all addresses names this machine."""
        host, port = self.address
        shown = Address(socket.gethostname() if host in ("", "0.0.0.0", "::") else host, port)  # noqa: S104 - compared
        return f"http{'s' if self.tls else ''}://{shown}/metrics"

    def start(self) -> None:
        """Accepts connections."""
        self._thread.start()

    def close(self) -> None:
        """Accepts no more, and gives the responses under way two seconds. Also before the start."""
        if self._thread.ident is not None:  # else shutdown would wait for it
            self._listener.shutdown()
        self._listener.server_close()
        until = monotonic() + _LAST_SCRAPES
        for _ in range(_CONNECTIONS):
            if not self.slots.acquire(timeout=max(0.0, until - monotonic())):
                return

    def metrics(self, form: str, target: str = "", *, compressed: bool) -> list[bytes]:
        """The page now; see ``Site.parts``."""
        with self._lock:
            self._scrapes += 1
            scrapes = self._scrapes
        parts = self.site.parts(form, scrapes, target)
        return gzipped(form, parts) if compressed else document(form, parts)


class _Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int], exporter: Server) -> None:
        self.address_family, self.exporter = family, exporter
        super().__init__(address, _Handler, bind_and_activate=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Closes the connection where there are too many."""
        if self.exporter.slots.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:
                self.exporter.slots.release()
                raise
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """In the connection's thread: the handshake, then the request."""
        try:
            request.settimeout(_PATIENCE)
            if self.exporter.tls is not None:
                request = self.exporter.tls.context().wrap_socket(request, server_side=True)
        except OSError:  # among them all errors of TLS
            self.shutdown_request(request)
        else:
            super().process_request_thread(request, client_address)
        finally:
            self.exporter.slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone, or sends nonsense, is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        site = self.server.exporter.site
        pages = {"/metrics": self._metrics, "/": self._root, **dict.fromkeys(site.checks, self._check)}
        if site.targets:
            pages["/probe"] = self._probe
        serve = pages.get(path)
        users = self.server.exporter.users
        if users is not None and not users.admit(self.headers.get("Authorization", "")):
            self._send(
                HTTPStatus.UNAUTHORIZED,
                [b"401 Unauthorized\n"],
                ("WWW-Authenticate", f'Basic realm="{site.title}"'),
            )
        elif serve is None:
            probe = ["/probe?target="] if site.targets else []
            there = " and ".join(["/metrics", *probe, *site.checks])
            self._send(HTTPStatus.NOT_FOUND, [f"404 Not Found: there are {there}\n".encode()])
        else:
            serve()

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def _probe(self) -> None:
        """The page of one target, as exporters for several have it."""
        site = self.server.exporter.site
        try:
            named = parse_qs(self.path.partition("?")[2], max_num_fields=_FIELDS).get("target", [])
        except ValueError:
            named = []
        if len(named) == 1 and named[0] in site.targets:
            self._metrics(named[0])
        else:
            text = f"400 Bad Request: target must be one of {', '.join(site.targets)}\n"
            self._send(HTTPStatus.BAD_REQUEST, [text.encode("utf-8", "replace")])

    def _metrics(self, target: str = "") -> None:
        form = chosen_format(", ".join(self.headers.get_all("Accept", ())))
        compressed = accepts_gzip(", ".join(self.headers.get_all("Accept-Encoding", ())))
        headers = [("Vary", "Accept, Accept-Encoding"), ("Content-Encoding", "gzip")]
        self._send(
            HTTPStatus.OK,
            self.server.exporter.metrics(form, target, compressed=compressed),
            *headers[: 2 if compressed else 1],
            kind=form,
        )

    def _check(self) -> None:
        trouble = self.server.exporter.site.checks[self.path.partition("?")[0]]()
        status = HTTPStatus.SERVICE_UNAVAILABLE if trouble else HTTPStatus.OK
        self._send(status, [f"{trouble or 'ok'}\n".encode("utf-8", "replace")])

    def _root(self) -> None:
        site = self.server.exporter.site
        links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in ("/metrics", *site.checks))
        text = _PAGE.format(title=site.title, state=html.escape(site.state), links=links)
        self._send(HTTPStatus.OK, [text.encode("utf-8", "replace")], kind="text/html")

    def _send(
        self, status: HTTPStatus, pieces: Sequence[bytes], *headers: tuple[str, str], kind: str = "text/plain"
    ) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(sum(map(len, pieces)))),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
            *headers,
            *{"X-Content-Type-Options": "nosniff", **self.server.exporter.headers()}.items(),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        if self.command == "HEAD":
            return
        for piece in pieces:
            for start in range(0, len(piece), _PIECE):  # the timeout is for each: a scraper may be slow
                self.wfile.write(memoryview(piece)[start : start + _PIECE])

    def version_string(self) -> str:
        return "kcli"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Writes nothing: the number of scrapes is a metric."""


def _listen(address: Address, server: Server) -> _Listener:
    host = address.host
    try:
        family, name = _family(host, address.port)
        listener = _Listener(family, (name, address.port), server)
    except OSError as error:
        raise _cannot(address, error) from None
    try:
        if family == socket.AF_INET6:
            listener.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(host)))
        listener.server_bind()
        listener.server_activate()
    except OSError as error:
        listener.server_close()
        raise _cannot(address, error) from None
    return listener


def _family(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    """The kind of address, and the address itself."""
    if not host and socket.has_dualstack_ipv6():
        return socket.AF_INET6, "::"
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return found[0], str(found[4][0])


def _cannot(address: Address, error: OSError) -> KcliError:
    if error.errno == errno.EADDRINUSE:
        return PortTakenError(
            f"port {address.port} on {address.host or 'this machine'} is taken",
            why="another program uses it, perhaps another exporter",
            do="choose another with --listen HOST:PORT, or end that program",
        )
    why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    do = "choose a port from 1024 on" if error.errno == errno.EACCES else "give an address of this machine"
    return ConfigError(f"cannot listen on {address}", why=(why or str(error)).lower(), do=do)


def notify(text: str) -> None:
    """Reports to systemd that the service is ready, or stops (sd_notify(3)): a datagram to ``$NOTIFY_SOCKET``.

    Errors are ignored, as sd_notify's callers do.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = "\0" + path[1:] if path[0] == "@" else path
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.connect(address)
            sender.sendall(text.encode())
    except OSError:
        return
