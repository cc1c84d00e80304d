"""The broker's side of a Connection, in memory. Not a test: makes frames, and reads what was to be sent."""

import struct
from typing import Any

from kcli.core.connection.ahead import Expected
from kcli.core.connection.connection import Completion, Connection
from kcli.core.connection.plan import Plan
from kcli.core.connection.sasl.login import Login
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.api import API_VERSIONS, Request, Response
from kcli.core.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import Node

NODE = Node(1, "broker", 9092)
OFFER = {0: (3, 11), 1: (4, 17), 3: (0, 12), 18: (0, 4)}


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def answer_frame(request: type[Request], version: int, correlation_id: int, answer: Response) -> bytes:
    """The whole frame of an answer."""
    flexible = version >= request.flexible
    out, splices = compiler.encode(answer, version, flexible=flexible)
    body = b"".join(codec.join_splices(out, splices))
    tags = b"\0" if flexible and request.api_key != API_VERSIONS else b""
    return framed(struct.pack(">i", correlation_id) + tags + body)


def offers(
    correlation_id: int = 0, version: int = 3, error: int = 0, offer: Any = None, throttle_ms: int = 0
) -> bytes:
    keys = [
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in (OFFER if offer is None else offer).items()
    ]
    answer = ApiVersionsResponse(error_code=error, api_keys=keys, throttle_time_ms=throttle_ms)
    return answer_frame(ApiVersionsRequest, version, correlation_id, answer)


def metadata(correlation_id: int, cluster: str = "c", version: int = 12) -> bytes:
    answer = MetadataResponse(brokers=[], topics=[], cluster_id=cluster)
    return answer_frame(MetadataRequest, version, correlation_id, answer)


class Peer:
    """A Connection with what it completed and a way to feed it."""

    def __init__(
        self,
        hooks: Hooks = NO_HOOKS,
        max_frame: int = 1_000_000,
        *,
        expected: Expected | None = None,
        login: Login | None = None,
    ) -> None:
        self.completed: list[Completion] = []
        self.connection = Connection(
            NODE, client_id="me", max_frame_bytes=max_frame, complete=self._complete, hooks=hooks, login=login,
            expected=expected,
        )  # fmt: skip

    def _complete(self, completion: Completion) -> None:
        self.completed.append(completion)
        future, value, error = completion
        if error is not None:
            future.set_error(error)
        else:
            future.set_result(value)

    def ready(self) -> "Peer":
        """Connected and through the handshake."""
        self.connection.connected(0.0, 100.0)
        self.take()
        self.feed(offers())
        return self

    def ask(
        self, request: Request | Plan | None = None, *, now: float = 0.0, deadline: float = 30.0
    ) -> Future[Any]:
        future: Future[Any] = Future()
        self.connection.request(request or MetadataRequest(topics=[]), future, now, deadline)
        return future

    def feed(self, data: bytes, *, step: int = 1 << 30, now: float = 0.0) -> None:
        """Hands over bytes as a socket would, at most ``step`` at a time."""
        pos = 0
        while pos < len(data):
            room = self.connection.frames.writable()
            count = min(step, len(room), len(data) - pos)
            room[:count] = data[pos : pos + count]
            pos += count
            self.connection.received(count, now)

    def take(self, limit: int = 1 << 30) -> bytes:
        """What the connection wants to write, at most ``limit`` bytes of it; taken as written."""
        data = b"".join(self.connection.outgoing)[:limit]
        self.connection.wrote(len(data))
        return data

    def sent(self) -> list[tuple[int, int, int]]:
        """(api key, version, correlation id) of each whole frame that waits to be written; takes them."""
        data, found = self.take(), []
        while data:
            size, key, version, correlation_id = struct.unpack(">ihhi", data[:12])
            found.append((key, version, correlation_id))
            data = data[4 + size :]
        return found
