"""An HTTP proxy on loopback: tunnels by CONNECT, and plain HTTP by whole URLs. Not a test."""

import http.client
import select
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_CONNECT(self) -> None:
        self.server.asked.append((f"CONNECT {self.path}", self.headers.get("Proxy-Authorization", "")))
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as target:
            self.send_response(200)
            self.end_headers()
            pair = {self.connection: target, target: self.connection}
            while True:
                for ready in select.select([*pair], [], [], 30)[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    pair[ready].sendall(data)

    def do_GET(self) -> None:
        self.server.asked.append((f"{self.command} {self.path}", self.headers.get("Proxy-Authorization", "")))
        url = urlsplit(self.path)
        target = http.client.HTTPConnection(url.hostname or "", url.port or 80)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        target.request(self.command, url.path, data, headers=dict(self.headers.items()))
        answer = target.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        target.close()

    do_POST = do_GET  # noqa: N815 - http.server's name

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    asked: list[tuple[str, str]]


class Proxy:
    """A context manager. With a ``context`` it speaks TLS itself. ``asked``: request lines without the version, and
    the proxy's credentials.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.asked = self._server.asked = []
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
