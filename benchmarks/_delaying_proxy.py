"""A port before one broker that holds what the broker answers for a time, as a distance does: each piece for as long as
every other one, so that pieces overlap and the rate is not limited.

What clients send is passed on at once; so the delay is that of a round trip. TCP's own windows are not part of it: the
proxy accepts whatever comes.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time

_PIECE = 1 << 18  # bytes


class DelayingProxy:
    """Listens from the start, on ``port``; ``upstream`` is the broker's port. ``delay``: seconds, may be changed."""

    def __init__(self, upstream: int) -> None:
        self.delay = 0.0
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accepts no more; connections end with their clients."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self._upstream))
            except OSError:
                client.close()
                continue
            for sock in (client, broker):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
            for target, ends in (
                (self._pass_on, (client, broker)),
                (self._read, (broker, held)),
                (self._write, (held, client)),
            ):
                threading.Thread(target=target, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        buffer = memoryview(bytearray(_PIECE))
        with contextlib.suppress(OSError):
            while count := source.recv_into(buffer):
                sink.sendall(buffer[:count])
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def _read(self, broker: socket.socket, held: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        piece = b"."
        while piece:
            try:
                piece = broker.recv(_PIECE)
            except OSError:
                piece = b""
            held.put((time.monotonic() + self.delay, piece))
        broker.close()

    def _write(self, held: queue.SimpleQueue[tuple[float, bytes]], client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                due, piece = held.get()
                wait = due - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                if not piece:
                    break
                client.sendall(piece)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
