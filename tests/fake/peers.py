"""Peers that are no Kafka brokers, or broken ones: raw bytes on a loopback port, no cluster behind them.

    with Peer(PEERS["http"]) as peer:
        ...                       # a client on peer.address
        assert len(peer.connects) <= 12

One thread accepts, one more serves each connection; ``close`` ends them all.
"""

import contextlib
import itertools
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Self

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.fake import wire

_INT32 = struct.Struct(">i")
_LINGER = struct.pack("ii", 1, 0)
Serve = Callable[["Conversation"], None]
"""What a peer does with one connection; the connection is closed in order when it returns."""


class Conversation:
    """One accepted connection."""

    def __init__(self, sock: socket.socket, peer: "Peer") -> None:
        self._sock = sock
        self._peer = peer

    def request(self) -> bytes:
        """The next frame of the client, its length included; ConnectionError when it has gone."""
        head = self._read(_INT32.size)
        return head + self._read(_INT32.unpack(head)[0])

    def some(self) -> bytes:
        """Whatever comes first, frame or not."""
        data = self._sock.recv(65_536)
        self._peer.received += data
        return data

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def linger(self) -> None:
        """Reads and says nothing until the client has gone."""
        while self.some():
            pass

    def reset(self) -> None:
        """The connection ends with RST."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._sock.recv(size - len(data))
            if not piece:
                raise ConnectionError("the client has gone")
            data += piece
        self._peer.received += data
        return data


class Peer:
    """A listening socket. ``connects`` are the times of accepted connections, ``received`` all bytes of all."""

    def __init__(self, serve: Serve, *, port: int = 0) -> None:
        self._serve = serve
        self.connects: list[float] = []
        self.received = bytearray()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, name="peer", daemon=True)]
        self._closed = False

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        """Closes the port and all connections, and waits for the threads."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(120)  # after this no connection and no thread is added
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(120)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connects.append(time.monotonic())
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(sock)
            thread = threading.Thread(target=self._converse, args=(sock,), name="peer", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._serve(Conversation(sock, self))
        self._open.discard(sock)
        sock.close()


def silence(peer: Conversation) -> None:
    """Accepts, reads, never says a word."""
    peer.linger()


def close_at_once(peer: Conversation) -> None:
    """Accepts and closes, as a load balancer without a backend does."""


def reset_at_once(peer: Conversation) -> None:
    """Accepts and resets."""
    peer.reset()


def close_after_request(peer: Conversation) -> None:
    """Reads the first request and closes: a broker that expects TLS or SASL, or knows no such version."""
    peer.request()


def says(data: bytes) -> Serve:
    """Answers the first bytes with ``data`` and waits for the client to go."""

    def serve(peer: Conversation) -> None:
        peer.some()
        peer.send(data)
        peer.linger()

    return serve


def greets(data: bytes) -> Serve:
    """Speaks first, as mail servers and databases do."""

    def serve(peer: Conversation) -> None:
        peer.send(data)
        peer.linger()

    return serve


def answers(change: Callable[[bytes], Iterator[bytes]]) -> Serve:
    """A right answer to ApiVersions, sent as ``change`` makes it: in pieces, cut, or with bytes exchanged."""

    def serve(peer: Conversation) -> None:
        frame = peer.request()
        header = wire.read_header(memoryview(frame)[4:])
        right = wire.encode_answer(ApiVersionsRequest, _OFFER, min(header.version, 3), header.correlation_id)
        for piece in change(right):
            peer.send(piece)
        peer.linger()

    return serve


def drip(seconds: float) -> Serve:
    """A right answer, a byte at a time, ``seconds`` apart."""

    def pieces(frame: bytes) -> Iterator[bytes]:
        for byte in frame:
            time.sleep(seconds)
            yield bytes([byte])

    return answers(pieces)


def cut_in_the_middle(peer: Conversation) -> None:
    """Half of a right answer, then the end."""
    frame = peer.request()
    correlation = frame[8:12]
    peer.send(_INT32.pack(100) + correlation + b"\0" * 40)


def endless(peer: Conversation) -> None:
    """A frame of the largest size allowed that never ends: its content comes as fast as it is taken."""
    peer.request()
    peer.send(_INT32.pack(100 << 20))
    for _ in itertools.repeat(None):
        peer.send(b"\0" * 65_536)


def _wrong_number(frame: bytes) -> Iterator[bytes]:
    (number,) = _INT32.unpack_from(frame, 4)
    yield frame[:4] + _INT32.pack(number + 7) + frame[8:]


def _too_long(frame: bytes) -> Iterator[bytes]:
    yield _INT32.pack(len(frame) - 4 + 8) + frame[4:] + b"\xee" * 8


def _null_array(frame: bytes) -> Iterator[bytes]:
    body = frame[4:8] + b"\0\0" + b"\0" + b"\0\0\0\0" + b"\0"  # error 0, a null compact array
    yield _INT32.pack(len(body)) + body


def _nothing_offered(frame: bytes) -> Iterator[bytes]:
    body = frame[4:8] + b"\0\0" + b"\1" + b"\0\0\0\0" + b"\0"
    yield _INT32.pack(len(body)) + body


def _always_unsupported(frame: bytes) -> Iterator[bytes]:
    """Error 35 whatever is asked, with the version that was refused as the one to use (B14)."""
    body = frame[4:8] + struct.pack(">hihhh", 35, 1, 18, 0, 3)
    yield _INT32.pack(len(body)) + body


_OFFER = ApiVersionsResponse(error_code=0, api_keys=[])
_HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"

PEERS: dict[str, Serve] = {
    "silence": silence,
    "close at once": close_at_once,
    "reset at once": reset_at_once,
    "close after request": close_after_request,
    "http": says(_HTTP),
    "tls": says(_TLS_ALERT),
    "ssh": greets(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "smtp": greets(b"220 mail.example.org ESMTP\r\n"),
    "redis": says(b"-ERR unknown command\r\n"),
    "garbage": says(bytes(range(200, 256)) * 4),
    "frame of 2^31-1": says(_INT32.pack(2**31 - 1) + b"\0" * 64),
    "negative frame": says(_INT32.pack(-5) + b"\0" * 64),
    "empty frame": says(_INT32.pack(0)),
    "wrong correlation id": answers(_wrong_number),
    "bytes behind the answer": answers(_too_long),
    "null array": answers(_null_array),
    "nothing offered": answers(_nothing_offered),
    "always unsupported": answers(_always_unsupported),
    "drip": drip(0.02),
    "cut in the middle": cut_in_the_middle,
    "endless frame": endless,
}
"""By name; what is a function of a number (``drip``) is here with a usual one."""
