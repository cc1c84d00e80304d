"""One broker: a port, the connections to it, and whether it lives. Loop thread only."""

import asyncio
import functools
import socket
import ssl
from collections.abc import Mapping

from tests.fake.apis import VERSIONS
from tests.fake.connection import Connection
from tests.fake.fetch_sessions import Sessions
from tests.fake.script import Script
from tests.fake.state import State

HOST = "127.0.0.1"


class Node:
    """Its port stays reserved while it is stopped: a second socket is bound to it and never listens."""

    def __init__(self, number: int, state: State, script: Script, port: int = 0) -> None:
        self.id = number
        self.state = state
        self.script = script
        self.rack: str | None = None
        self.host = HOST
        self.tls: ssl.SSLContext | None = state.settings.tls
        self._reserve = _bound(port)
        self.port: int = self._reserve.getsockname()[1]
        self.capped: dict[int, tuple[int, int]] = {}
        self.hidden: set[int] = set()
        self.connections: dict[Connection, asyncio.Task[None]] = {}
        self.running = asyncio.Event()
        self.fetch_sessions = Sessions()
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return self._accepting is not None

    def offered(self) -> Mapping[int, tuple[int, int]]:
        """Versions by API key."""
        if not (self.capped or self.hidden):
            return VERSIONS
        rows = {**VERSIONS, **self.capped}
        return {key: versions for key, versions in rows.items() if key not in self.hidden}

    def start(self) -> None:
        if self._accepting is not None:
            return
        self._listener = _bound(self.port)
        if self.state.settings.receive_buffer is not None:
            size = self.state.settings.receive_buffer
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        self._listener.listen(256)
        self.running.set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept(self._listener))

    async def stop(self, how: str = "reset") -> None:
        """Refuses connections from now on; what was being done is left undone."""
        accepting, self._accepting = self._accepting, None
        if accepting is not None:
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        await self.disconnect(how)
        self.fetch_sessions = Sessions()

    async def disconnect(self, how: str = "reset", *, of: int | None = None) -> int:
        """Ends all connections (or the one with the number ``of``); how many there were."""
        chosen = {c: task for c, task in self.connections.items() if of is None or c.seen.number == of}
        for connection, task in chosen.items():
            connection.ending = how
            task.cancel()
        await asyncio.gather(*chosen.values(), return_exceptions=True)
        return len(chosen)

    async def close(self) -> None:
        """For ever: the port is given back."""
        self.running.set()
        await self.stop()
        self._reserve.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            sock, address = await loop.sock_accept(listener)
            try:
                await self.running.wait()
            except asyncio.CancelledError:
                sock.close()
                raise
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, sock, self.state.journal.connected(self.id, address[1]))
            task = loop.create_task(connection.serve())
            self.connections[connection] = task
            task.add_done_callback(functools.partial(self._ended, connection))

    def _ended(self, connection: Connection, _task: "asyncio.Task[None]") -> None:
        del self.connections[connection]
        connection.close()


def _bound(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((HOST, port))
    sock.setblocking(False)
    return sock
