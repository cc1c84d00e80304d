"""An HTTP server on a loopback address that answers as a test wants. Not a test."""

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

NOT_LOOPBACK = "127.0.0.2"
"""An address of this machine that kcli does not know as one."""


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        owner = self.server.owner
        names = {name.lower(): value for name, value in self.headers.items()}
        owner.asked.append(Asked(self.command, self.path, names))
        (owner.script.pop(0) if owner.script else owner.answer)(self)

    do_POST = do_PUT = do_HEAD = do_CONNECT = do_GET  # noqa: N815 - http.server's names

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: "Server"

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, *_: Any) -> None:
        """A client that leaves is no news."""


Behave = Callable[[BaseHTTPRequestHandler], None]


def says(status: int, body: bytes = b"", **headers: str) -> Behave:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return answer


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


class Server:
    """A context manager. ``script``: the next answers; ``answer``: the others."""

    def __init__(
        self, answer: Behave, context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> None:
        self.answer, self.script = answer, list[Behave]()
        self.asked: list[Asked] = []
        self.connections = 0
        self.gone = threading.Event()
        """Ends answers without end."""
        self._server = _Server((host, 0), _Handler)
        self._server.owner = self
        self.url = f"http{'s' if context else ''}://{host}:{self._server.server_address[1]}"
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def without_end(self, head: bytes, piece: bytes, pause: float) -> Behave:
        """Sends the head, and then pieces until the client is gone, or the test ends."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.close_connection = True
            handler.wfile.write(head)
            while not self.gone.wait(pause):
                handler.wfile.write(piece)
                handler.wfile.flush()

        return answer

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gone.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)
