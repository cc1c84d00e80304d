"""An identity provider of OAuth 2: a token endpoint over https in a thread. Not a test.

    with IdentityProvider(authority.broker("localhost")) as provider:
        provider.grant = lambda: {"access_token": "abc", "expires_in": 60}
        ... provider.url ... provider.requests

It answers every request with ``status``, ``headers`` and the JSON of ``grant()``, and keeps what was sent.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

import pytest


@dataclass(frozen=True)
class Granted:
    """A request; ``form`` is its body, ``user`` and ``password`` those of its Authorization header, as they are."""

    path: str
    form: Mapping[str, list[str]]
    user: str
    password: str


class IdentityProvider:
    """Use as a context manager."""

    def __init__(self, context: ssl.SSLContext, grant: Callable[[], Any] | None = None) -> None:
        self.grant = grant or (lambda: {"access_token": "abc", "expires_in": 3_600})
        self.status = 200
        self.headers: dict[str, str] = {}
        self.requests: list[Granted] = []
        self._patch = pytest.MonkeyPatch()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                kind, _, text = self.headers.get("Authorization", "").partition(" ")
                assert kind == "Basic"
                user, _, password = base64.b64decode(text).decode().partition(":")
                provider.requests.append(Granted(self.path, parse_qs(body.decode()), user, password))
                answer = provider.grant()
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(provider.status)
                for name, value in {"Content-Length": str(len(data)), **provider.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                """A redirect that was followed would come as this."""
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """A client that does not accept the certificate leaves."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/oauth2/token"

    def __enter__(self) -> Self:
        for name in ("NO_PROXY", "no_proxy"):  # whatever proxy this machine has
            self._patch.setenv(name, "localhost")
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._patch.undo()
