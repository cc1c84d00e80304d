"""A schema registry in the test's process, on loopback: HTTP in front of a ``FakeRegistry``. Not a test."""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.registry.fake import FakeRegistry, RefusedError


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: the second would wait for 40 ms
    server: "_Server"

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def do_PUT(self) -> None:
        self._do("PUT")

    def do_DELETE(self) -> None:
        self._do("DELETE")

    def do_OPTIONS(self) -> None:
        self._do("OPTIONS")

    def _do(self, method: str) -> None:
        registry = self.server.registry
        size = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(size)
        registry.asked.append(f"{method} {self.path}")
        registry.headers.append(dict(self.headers.items()))
        if registry.lies:
            self._send(200, registry.lies.pop(0))
            return
        try:
            self._send(200, json.dumps(self._answer(registry, method, data)).encode())
        except RefusedError as error:
            self._send(error.status, json.dumps(error.body).encode())

    def _answer(self, registry: FakeRegistry, method: str, data: bytes) -> Any:
        if registry.failures:
            raise RefusedError(*registry.failures.pop(0))
        wanted = None if registry.tokens is None else {f"Bearer {token}" for token in registry.tokens}
        if registry.credentials is not None:
            wanted = {f"Basic {base64.b64encode(':'.join(registry.credentials).encode()).decode()}"}
        if wanted is not None and self.headers.get("Authorization") not in wanted:
            raise RefusedError(401, 401, "Unauthorized")
        parts = urlsplit(self.path)
        with self.server.lock:
            return registry.answer(
                method, parts.path, parse_qs(parts.query), json.loads(data) if data else None
            )

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    registry: FakeRegistry
    lock: threading.Lock
    accepted = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.accepted += 1
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is none."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class RunningRegistry:
    """A FakeRegistry that answers on loopback; a context manager. ``context`` makes it speak TLS."""

    def __init__(self, registry: FakeRegistry | None = None, context: Any = None) -> None:
        self.content = registry or FakeRegistry()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.registry = self.content
        self._server.lock = threading.Lock()
        self._scheme = "http"
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def connections(self) -> int:
        """How many were accepted."""
        return self._server.accepted

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "RunningRegistry":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)
