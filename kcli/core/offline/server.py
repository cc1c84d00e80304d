"""The server of a cluster of log directories: a thread that reads requests from socket pairs and answers them in order.

No port is opened: a client gets its end of a pair from ``connect``. The records of a fetch go from the file to the
socket in the kernel (``sendfile``). The thread starts with the first connection and ends with the last.

Requests of a connection are answered one after the other, as brokers do. A handler that has nothing to say yet is asked
again when the request's ``max_wait_ms`` is over.
"""

import contextlib
import selectors
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from kcli.core import clock
from kcli.core.errors import KcliError, ProtocolError
from kcli.core.offline.answers import ANSWERS, Handler
from kcli.core.offline.directories import Directories
from kcli.core.offline.file_slices import FileSlice
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.api import API_VERSIONS, Request, Response
from kcli.core.protocol.codec import Buffer
from kcli.core.types import TopicPartition

SOCKET_BYTES = 4 << 20
"""For each end; the system gives what it allows."""
_PIECE = 1 << 20
_HEAD = struct.Struct(">hhi")
_SIZE = struct.Struct(">i")
_LARGEST_REQUEST = 64 << 20


class Server:
    """``connect`` may be called from any thread."""

    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._lock = threading.Lock()  # guards the fields below
        self._new: list[_Conversation] = []
        self._wake: socket.socket | None = None
        """None while no thread runs."""

    def connect(self, node_id: int) -> tuple[socket.socket, Callable[[], KcliError | None]]:
        """The client's end of a new connection to this broker, not blocking, and what says why the other end was closed.

        All brokers are this process: the number is for what each of them answers for itself.
        """
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        one = _Conversation(ours, self._directories, node_id)
        with self._lock:
            self._new.append(one)
            if self._wake is None:
                waiting, self._wake = socket.socketpair()
                self._wake.setblocking(False)
                threading.Thread(
                    target=self._run, args=(waiting,), name="kcli-log-directories", daemon=True
                ).start()
            else:
                with contextlib.suppress(BlockingIOError):  # full: it is awake already
                    self._wake.send(b"\0")
        return theirs, lambda: one.failure

    def failure(self, tp: TopicPartition, offset: int) -> KcliError | None:
        """Why a partition cannot be read at an offset, with file and position; None if it can."""
        with self._directories.lock:
            return self._directories.failure(tp, offset)

    def _run(self, waiting: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, waiting:
            waiting.setblocking(False)
            selector.register(waiting, selectors.EVENT_READ)
            conversations: dict[int, _Conversation] = {}
            while True:
                with self._lock:
                    for one in self._new:
                        conversations[one.end.fileno()] = one
                        selector.register(one.end, selectors.EVENT_READ)
                    self._new.clear()
                    if not conversations:
                        # Under the lock, together with the look at what is new.
                        assert self._wake is not None
                        self._wake.close()
                        self._wake = None
                        self._directories.close()
                        return
                due = min(one.due for one in conversations.values())
                wait = None if due == _NEVER else max(0.0, due - clock.monotonic())
                ready = {key.fd: events for key, events in selector.select(wait)}
                if ready.pop(waiting.fileno(), 0):
                    waiting.recv(4096)
                now = clock.monotonic()
                for number, one in list(conversations.items()):
                    if number in ready or one.due <= now:
                        if not one.advance(now, readable=bool(ready.get(number, 0) & selectors.EVENT_READ)):
                            selector.unregister(one.end)
                            one.end.close()
                            del conversations[number]
                        else:
                            selector.modify(one.end, one.wanted)


_NEVER = float("inf")


class EndedError(Exception):
    """The conversation is over: the client has closed its end, or what it sent is no request."""


class _Conversation:
    """One connection: reads a request, answers it, and then reads the next one."""

    def __init__(self, end: socket.socket, directories: Directories, node_id: int) -> None:
        self.end = end
        self.due = _NEVER
        """When the request that waits has to be answered."""
        self.failure: KcliError | None = None
        """Why a request was not answered, which ends the connection."""
        self._directories = directories
        self._node_id = node_id
        self._received = bytearray()
        self._outgoing: deque[Buffer | FileSlice] = deque()
        self._again: Callable[[], None] | None = None

    @property
    def wanted(self) -> int:
        """The events to be watched."""
        if self._outgoing:
            return selectors.EVENT_READ | selectors.EVENT_WRITE
        return selectors.EVENT_READ

    def advance(self, now: float, *, readable: bool) -> bool:
        """Does what can be done without waiting; False: the connection has ended, and ``failure`` may say why."""
        try:
            self._advance(now, readable=readable)
        except (OSError, EndedError):
            return False
        except KcliError as error:
            self.failure = error
            return False
        except Exception as error:  # noqa: BLE001 - a defect; the client's thread reports it
            self.failure = ProtocolError(f"{self._directories.name} cannot be read", why=repr(error))
            self.failure.__cause__ = error
            return False
        return True

    def _advance(self, now: float, *, readable: bool) -> None:
        if readable:
            self._receive()
        if self._again is not None and now >= self.due:
            again, self._again, self.due = self._again, None, _NEVER
            again()
        while self._send() and self._again is None and self._next(now):
            pass

    def _receive(self) -> None:
        try:
            data = self.end.recv(_PIECE)
        except BlockingIOError:
            return
        if not data:
            raise EndedError
        self._received += data

    def _next(self, now: float) -> bool:
        """Answers the next request, if it has arrived."""
        if len(self._received) < 4:
            return False
        (size,) = _SIZE.unpack_from(self._received)
        if not _HEAD.size + 2 <= size <= _LARGEST_REQUEST:
            raise EndedError
        if len(self._received) < 4 + size:
            return False
        frame = memoryview(bytes(self._received[4 : 4 + size]))
        del self._received[: 4 + size]
        key, version, correlation_id = _HEAD.unpack_from(frame)
        _, start = codec.read_nullable_string(frame, _HEAD.size)
        answered = ANSWERS.get(key)
        if answered is None or not answered.first <= version <= answered.last:
            raise EndedError  # it was not offered
        kind, handler = answered.load()
        flexible = version >= kind.flexible
        start = codec.skip_tagged(frame, start) if flexible else start
        request, _ = compiler.decode(kind, frame, start, version, flexible=flexible)
        self._answer(request, handler, version, correlation_id, now)
        return True

    def _answer(
        self, request: Request, handler: Handler, version: int, correlation_id: int, now: float
    ) -> None:
        with self._directories.lock:
            self._directories.asked_node = self._node_id
            response = handler(self._directories, request, version)
        if response is not None:
            self._outgoing.extend(frame_of(type(request), response, version, correlation_id))
            return
        self.due = now + request.__dict__["max_wait_ms"] / 1000
        request.__dict__["max_wait_ms"] = 0
        self._again = lambda: self._answer(request, handler, version, correlation_id, self.due)

    def _send(self) -> bool:
        """Whether all has been sent."""
        outgoing = self._outgoing
        try:
            while outgoing:
                first = outgoing.popleft()
                rest = first.send(self.end) if isinstance(first, FileSlice) else self._send_bytes(first)
                if len(rest):
                    outgoing.appendleft(rest)
        except BlockingIOError:
            outgoing.appendleft(first)
        return not outgoing

    def _send_bytes(self, part: Buffer) -> Buffer:
        return memoryview(part)[self.end.send(part) :]


def frame_of(
    kind: type[Request], answer: Response, version: int, correlation_id: int
) -> list[Buffer | FileSlice]:
    """The whole response, its length in front; slices of files among its buffers."""
    flexible = version >= kind.flexible
    body, splices = compiler.encode(answer, version, flexible=flexible)
    parts: list[Any] = [part for part in codec.join_splices(body, splices) if len(part)]
    head = _SIZE.pack(correlation_id)
    if flexible and kind.api_key != API_VERSIONS:
        head += b"\0"
    size = len(head) + sum(map(len, parts))
    return [_SIZE.pack(size) + head, *parts]
