"""Apicurio Registry on loopback: the paths of its REST API, of version 2 or 3, from an id to a schema. Not a test."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit


@dataclass
class Artifact:
    """A version of an artifact. ``references``: names of imports, and the artifacts that they are."""

    kind: str
    content: str
    references: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        api, found = self.server.api, self.server.artifacts
        path = urlsplit(self.path).path.removeprefix(f"/apis/registry/{api}")
        match path.split("/")[1:]:
            case ["system", "info"] if path != urlsplit(self.path).path:
                return self._send(200, {"version": api})
            case ["ids", "globalIds" | "contentIds" as space, number, *rest]:
                offset = 0 if space == "globalIds" else 100
                names = dict(enumerate(found, start=1 + offset))
                name = names.get(int(number), "")
            case ["groups", "default", "artifacts", name, "versions", "1", *rest]:
                rest = rest if api == "v2" else rest or ["metadata"]
            case _:
                name, rest = "", []
        if name not in found:
            return self._send(
                404, {"error_code": 404, "message": f"No artifact with ID '{name}'", "name": "NotFound"}
            )
        one = found[name]
        if rest == ["references"]:
            rows = [
                {"groupId": None, "artifactId": artifact, "version": "1", "name": imported}
                for imported, artifact in one.references.items()
            ]
            return self._send(200, rows)
        content = "application/x-protobuf" if one.kind == "PROTOBUF" else "application/json"
        headers = {"X-Registry-ArtifactType": one.kind} if api == "v3" else {}
        return self._send(200, one.content, content, **headers)

    def _send(self, status: int, body: Any, kind: str = "application/json", **headers: str) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: str
    artifacts: dict[str, Artifact]
    asked: list[str]


class Apicurio:
    """Use as a context manager. The global ids of ``artifacts`` count from 1, the ids of their contents from 101."""

    def __init__(self, api: str, artifacts: dict[str, Artifact]) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.api, self._server.artifacts = api, artifacts
        self.asked = self._server.asked = []
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
