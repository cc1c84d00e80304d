"""The port that stands for one broker: accepts, refuses, and is the same port again afterwards.

A second socket holds the port while nobody listens, so that no other process gets it. Runs in the proxy's thread.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

from tests.proxy.addresses import Address
from tests.proxy.wire import TINY_WINDOW

HOST = "127.0.0.1"
_BACKLOG = 128


class Door:
    """``black``: whoever comes in is never answered. ``deaf``: nothing they say is read."""

    def __init__(
        self, node: int, upstream: Address, welcome: "Callable[[Door, socket.socket], None]"
    ) -> None:
        self.node = node
        self.black = False
        self.deaf = False
        self._welcome = welcome
        self._holder = _bound((HOST, 0))
        self.address: Address = (HOST, self._holder.getsockname()[1])
        self._accepting: asyncio.Task[None] | None = None
        self.leads_to(upstream)

    def leads_to(self, upstream: Address) -> None:
        """The broker's true address, looked up once."""
        self.upstream = upstream
        family, _, _, _, found = socket.getaddrinfo(*upstream, type=socket.SOCK_STREAM)[0]
        self.target: tuple[Any, int] = (found, family)

    async def open(self) -> None:
        """Listens (again). What the listener's window was is forgotten."""
        await self.shut()
        listener = _bound(self.address)
        if self.deaf:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY_WINDOW)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(listener))

    async def shut(self) -> None:
        """Connecting is refused from now on."""
        task, self._accepting = self._accepting, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def close(self) -> None:
        await self.shut()
        self._holder.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                client, _ = await loop.sock_accept(listener)
                self._welcome(self, client)


def _bound(address: Address) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind(address)
    return sock
