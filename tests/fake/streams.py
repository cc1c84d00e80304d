"""The bytes of a connection to a node: as they are, or inside TLS. Loop thread only."""

import asyncio
import socket
import ssl

_PIECE = 65_536


class Plain:
    """Reads and writes a non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()

    async def recv_into(self, view: memoryview) -> int:
        return await self._loop.sock_recv_into(self._sock, view)

    async def sendall(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._sock, data)


class Tls(Plain):
    """The handshake is made by the first read or write; the server's end is ``tls``."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        super().__init__(sock)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._shaken = asyncio.Lock()
        self._done = False

    async def recv_into(self, view: memoryview) -> int:
        await self._handshake()
        while True:
            try:
                return self.tls.read(len(view), view)  # type: ignore[arg-type, return-value]
            except ssl.SSLWantReadError:
                if not await self._exchange():
                    return 0
            except ssl.SSLZeroReturnError:
                return 0

    async def sendall(self, data: bytes) -> None:
        await self._handshake()
        view = memoryview(data)
        while view:
            view = view[self.tls.write(view) :]
            await self._flush()

    async def _handshake(self) -> None:
        async with self._shaken:
            while not self._done:
                try:
                    self.tls.do_handshake()
                    self._done = True
                except ssl.SSLWantReadError:
                    if not await self._exchange():
                        raise ConnectionError("the client has gone in the handshake") from None
                finally:
                    await self._flush()  # the alert of a handshake that failed, too

    async def _exchange(self) -> bool:
        """Sends what TLS has to say, then waits for bytes; False at the end of the stream."""
        await self._flush()
        data = await self._loop.sock_recv(self._sock, _PIECE)
        self._incoming.write(data)
        return bool(data)

    async def _flush(self) -> None:
        if data := self._outgoing.read():
            await self._loop.sock_sendall(self._sock, data)
