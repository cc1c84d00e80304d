"""A proxy on loopback that speaks SOCKS5 (RFC 1928, 1929) and HTTP CONNECT on one port, as a client's first byte says.

    with Proxy(names={"b-1.internal": "127.0.0.1"}) as proxy:
        ...                       # a client with proxy_url=proxy.url("socks5h")
        assert proxy.asked == [("b-1.internal", 9092)]

``names`` are those that the proxy alone can look up; ``ADDRESS:PORT`` also leads to another port. A ``login`` is required
of clients where it is given.
"""

import asyncio
import base64
import ipaddress
import socket
import threading
from collections.abc import Mapping
from typing import Self


class Proxy:
    """``asked``: the addresses that clients wanted; ``logins``: what they presented; ``silent``: nothing is answered."""

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        login: tuple[str, str] | None = None,
        *,
        silent: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self._names = names or {}
        self._login = login
        self._silent = silent
        self.asked: list[tuple[str, int]] = []
        self.logins: list[tuple[str, str]] = []
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.host, self.port = host, int(self._listener.getsockname()[1])
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def url(self, scheme: str) -> str:
        return (
            f"{scheme}://[{self.host}]:{self.port}"
            if ":" in self.host
            else f"{scheme}://{self.host}:{self.port}"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(120)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(120)
        self._listener.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, sock=self._listener))
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._silent:
                await reader.read()
                return
            first = await reader.readexactly(1)
            upstream = await (self._socks if first == b"\5" else self._connect)(reader, writer)
            if upstream is not None:
                await self._pass(reader, writer, *upstream)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, has gone
        finally:
            writer.close()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
    ) -> None:
        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
            target.close()

        try:
            await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        finally:
            far_writer.close()

    async def _reached(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        self.asked.append((host, port))
        known, _, other = (
            self._names.get(host, host).partition(":") if host in self._names else (host, "", "")
        )
        port = int(other or port)
        try:
            ipaddress.ip_address(known)
            return await asyncio.open_connection(known, port)
        except (OSError, ValueError):
            return None

    async def _socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        wanted = 0 if self._login is None else 2
        writer.write(bytes((5, wanted if wanted in methods else 255)))
        if wanted not in methods:
            return None
        if self._login is not None:
            await reader.readexactly(1)
            user = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
            self.logins.append((user, password))
            writer.write(b"\1\0" if (user, password) == self._login else b"\1\1")
            if (user, password) != self._login:
                return None
        kind = (await reader.readexactly(4))[3]
        length = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        data = await reader.readexactly(length)
        host = data.decode() if kind == 3 else str(ipaddress.ip_address(data))
        port = int.from_bytes(await reader.readexactly(2), "big")
        upstream = await self._reached(host, port)
        # In two pieces, as networks may deliver it.
        answer = b"\5\0\0\1\0\0\0\0\0\0" if upstream is not None else b"\5\5\0\1\0\0\0\0\0\0"
        writer.write(answer[:3])
        await writer.drain()
        writer.write(answer[3:])
        return upstream

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        head = (b"C" + await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        host, _, port = head[0].split(" ")[1].rpartition(":")
        fields = dict(line.split(": ", 1) for line in head[1:] if line)
        login = None
        if "Proxy-Authorization" in fields:
            text = base64.b64decode(fields["Proxy-Authorization"].removeprefix("Basic ")).decode()
            user, _, password = text.partition(":")
            login = (user, password)
            self.logins.append(login)
        if self._login is not None and login != self._login:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno")
            return None
        upstream = await self._reached(host.strip("[]"), int(port))
        if upstream is None:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nnope")
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
        return upstream
