"""A schema registry in the test's process, on loopback: Confluent's documented REST API, as far as clients use it.

Not a test. What the documentation says is kept: error codes, one id per schema however many subjects have it,
versions per subject, references, ``?format=serialized``, basic auth. ``fail`` and ``lie`` make it misbehave on command.
"""

import base64
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID, uuid5

from google.protobuf import descriptor_pb2

from kcli.serde.protobuf.descriptors import from_registry

_NAMESPACE = UUID(int=7)


@dataclass
class Stored:
    """One schema; ``body`` is what was posted."""

    id: int
    body: dict[str, Any]

    @property
    def guid(self) -> str:
        return str(uuid5(_NAMESPACE, json.dumps(self.body, sort_keys=True)))


class RefusedError(Exception):
    """An answer with an error code of the registry's own."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass
class FakeRegistry:
    """The registry's content, and what it was asked."""

    credentials: tuple[str, str] | None = None
    schemas: list[Stored] = field(default_factory=list)
    subjects: dict[str, list[Stored]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    failures: list[tuple[int, int, str]] = field(default_factory=list)
    lies: list[bytes] = field(default_factory=list)

    def fail(self, status: int, code: int = 0, message: str = "out of order", times: int = 1) -> None:
        """The next answers are this error."""
        self.failures += [(status, code or status, message)] * times

    def lie(self, body: bytes) -> None:
        """The next answer is 200 with these bytes."""
        self.lies.append(body)

    def register(self, subject: str, body: dict[str, Any]) -> int:
        """As POST /subjects/{subject}/versions."""
        for ref in body.get("references", ()):
            if not 1 <= ref["version"] <= len(self.subjects.get(ref["subject"], ())):
                raise RefusedError(
                    422, 42201, f"Invalid schema: no version {ref['version']} of {ref['subject']}"
                )
        stored = self._same(self.schemas, body)
        if stored is None:
            _check(body)
            stored = Stored(len(self.schemas) + 1, body)
            self.schemas.append(stored)
        versions = self.subjects.setdefault(subject, [])
        if stored not in versions:
            versions.append(stored)
        return stored.id

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        serialized = query.get("format") == ["serialized"]
        if method == "GET" and (found := re.fullmatch(r"/schemas/ids/(\d+)", path)):
            return self._schema(self._by_id(int(found[1])), serialized)
        if method == "GET" and (found := re.fullmatch(r"/schemas/guids/([0-9a-f-]+)", path)):
            stored = next((s for s in self.schemas if s.guid == found[1]), None)
            if stored is None:
                raise RefusedError(404, 40403, f"Schema {found[1]} not found")
            return self._schema(stored, serialized)
        if method == "GET" and (found := re.fullmatch(r"/schemas/ids/(\d+)/versions", path)):
            stored = self._by_id(int(found[1]))
            rows = [(name, versions) for name, versions in self.subjects.items() if stored in versions]
            return [{"subject": name, "version": v.index(stored) + 1} for name, v in rows]
        if method == "GET" and path == "/subjects":
            return sorted(self.subjects)
        if found := re.fullmatch(r"/subjects/([^/]+)(/versions(?:/(\w+))?)?", path):
            return self._subject(method, unquote(found[1]), bool(found[2]), found[3], serialized, body)
        raise RefusedError(404, 404, "HTTP 404 Not Found")

    def _subject(
        self, method: str, subject: str, versions: bool, version: str | None, serialized: bool, body: Any
    ) -> Any:
        if method == "POST" and versions:
            number = self.register(subject, _plain(body))
            return {"id": number, "guid": self._by_id(number).guid, **body}
        if subject not in self.subjects:
            raise RefusedError(404, 40401, f"Subject '{subject}' not found.")
        stored = self.subjects[subject]
        if method == "POST":
            same = self._same(stored, _plain(body))
            if same is None:
                raise RefusedError(404, 40403, "Schema not found")
            return self._version(subject, stored.index(same), serialized)
        if version is None:
            return list(range(1, len(stored) + 1))
        number = len(stored) if version == "latest" else int(version)
        if not 1 <= number <= len(stored):
            raise RefusedError(404, 40402, f"Version {version} not found.")
        return self._version(subject, number - 1, serialized)

    def _version(self, subject: str, index: int, serialized: bool) -> dict[str, Any]:
        stored = self.subjects[subject][index]
        whole = {"subject": subject, "version": index + 1, "id": stored.id}
        return {**whole, **self._schema(stored, serialized)}

    def _schema(self, stored: Stored, serialized: bool) -> dict[str, Any]:
        body = {**stored.body, "guid": stored.guid}
        if serialized and body.get("schemaType") == "PROTOBUF":
            references = {
                ref["name"]: self.subjects[ref["subject"]][ref["version"] - 1].body["schema"]
                for ref in self._all_references(body)
            }
            body["schema"] = _serialized(body["schema"], references)
        return body

    def _all_references(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        found = []
        for ref in body.get("references", ()):
            inner = self.subjects[ref["subject"]][ref["version"] - 1].body
            found += [*self._all_references(inner), ref]
        return found

    def _by_id(self, number: int) -> Stored:
        if not 1 <= number <= len(self.schemas):
            raise RefusedError(404, 40403, f"Schema {number} not found")
        return self.schemas[number - 1]

    @staticmethod
    def _same(among: list[Stored], body: dict[str, Any]) -> Stored | None:
        return next((stored for stored in among if stored.body == body), None)


def _plain(body: Any) -> dict[str, Any]:
    kept = {key: body[key] for key in ("schema", "schemaType", "references") if body.get(key)}
    if kept.get("schemaType") == "AVRO":
        del kept["schemaType"]
    if kept.get("references"):
        kept["references"] = [
            {k: ref[k] for k in ("name", "subject", "version")} for ref in kept["references"]
        ]
    return kept


def _check(body: dict[str, Any]) -> None:
    if body.get("schemaType", "AVRO") == "PROTOBUF":
        return
    try:
        json.loads(body["schema"])
    except ValueError as error:
        raise RefusedError(422, 42201, f"Invalid schema: {error}") from None


def _serialized(text: str, references: dict[str, str]) -> str:
    try:
        descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except ValueError:
        return base64.b64encode(from_registry(text, references).file.serialized_pb).decode()
    return text


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

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
            body = {"error_code": error.code, "message": error.message}
            self._send(error.status, json.dumps(body).encode())

    def _answer(self, registry: FakeRegistry, method: str, data: bytes) -> Any:
        if registry.failures:
            raise RefusedError(*registry.failures.pop(0))
        if registry.credentials is not None:
            wanted = base64.b64encode(":".join(registry.credentials).encode()).decode()
            if self.headers.get("Authorization") != f"Basic {wanted}":
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
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "RunningRegistry":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(120)
