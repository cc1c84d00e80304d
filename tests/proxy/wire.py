"""One non-blocking socket of the proxy: waits for bytes and room, can be paused, slowed down, half-closed, reset.

Not a stream: it knows no frames. Used by the proxy's thread only. Closing it wakes who waits with ``WireClosed``,
and takes the socket out of the selector first: the next socket gets the same descriptor.
"""

import asyncio
import contextlib
import select
import socket
import struct

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close() sends RST
_SLICES = 20  # a narrow wire is read so many times a second
_WINDOWS = 4  # and is announced as having room for a quarter of a second
TINY_WINDOW = 2_048


class WireClosed(ConnectionError):  # noqa: N818 - a state, not a mistake
    """This side has closed the socket."""


class Wire:
    """``receive`` and ``send`` raise OSError when the peer is gone; 0 bytes received are its FIN."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.bytes_per_second = 0.0
        self._loop = asyncio.get_running_loop()
        self._waiters: set[asyncio.Future[None]] = set()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._unread = True

    @property
    def closed(self) -> bool:
        return self.socket.fileno() < 0

    async def receive(self, room: memoryview) -> int:
        """Writes what has come into ``room``; how many bytes."""
        while True:
            await self._may_read.wait()
            self._refuse_if_closed()
            rate = self.bytes_per_second
            try:
                count = self.socket.recv_into(room[: max(1, int(rate / _SLICES))] if rate else room)
            except (BlockingIOError, InterruptedError):
                await self._wait(self._loop.add_reader, self._loop.remove_reader)
                continue
            self._unread = False
            if rate and count:
                await asyncio.sleep(count / rate)
            return count

    async def send(self, data: memoryview) -> None:
        """Returns when the system has taken all of it."""
        while data:
            self._refuse_if_closed()
            try:
                data = data[self.socket.send(data) :]
            except (BlockingIOError, InterruptedError):
                await self._wait(self._loop.add_writer, self._loop.remove_writer)

    def pause(self) -> None:
        """Reads nothing from now on; what the peer continues sending fills the buffers on the way."""
        self._may_read.clear()

    def resume(self) -> None:
        self._may_read.set()

    def narrow(self, bytes_per_second: float) -> None:
        """Reads so much a second; 0: no limit. On a new connection the rest waits at the peer.

        Not on others: a window that shrinks under packets on their way loses them, and stalls for seconds.
        """
        self.bytes_per_second = bytes_per_second
        if bytes_per_second and self._unread:
            with contextlib.suppress(OSError):
                window = max(TINY_WINDOW, int(bytes_per_second / _WINDOWS))
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)

    def peer_has_closed(self) -> bool:
        """Whether a FIN or RST has come, even with bytes in front of it that nobody has read yet."""
        if self.closed:
            return True
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))

    def half_close(self) -> None:
        """FIN: the peer reads the end; what it sends still comes in."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """RST, at once."""
        with contextlib.suppress(OSError):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close()

    def close(self) -> None:
        if self.closed:
            return
        self._loop.remove_reader(self.socket)
        self._loop.remove_writer(self.socket)
        self.socket.close()
        self._may_read.set()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(WireClosed("closed by the proxy"))

    # --- inside --------------------------------------------------------------------------------------

    async def _wait(self, add, remove) -> None:  # type: ignore[no-untyped-def]
        """Until the selector sees the socket ready for what ``add`` asks for."""
        waiter = self._loop.create_future()
        self._waiters.add(waiter)
        add(self.socket, _done, waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if not self.closed:
                remove(self.socket)

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise WireClosed("closed by the proxy")


def _done(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
