"""A client's connection to a node: requests are read, carried out and answered one after the other, as Kafka does."""

import asyncio
import socket
import ssl
import struct
from typing import TYPE_CHECKING

from kcli.core.errors import ProtocolError
from kcli.core.protocol.api import API_VERSIONS
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake import wire
from tests.fake.apis import BY_KEY, too_new
from tests.fake.codes import Code
from tests.fake.exchange import EndError, Exchange, Sink
from tests.fake.journal import ConnectionSeen
from tests.fake.sasl import Session
from tests.fake.state import Context
from tests.fake.streams import Plain, Tls

if TYPE_CHECKING:
    from tests.fake.node import Node

MAX_REQUEST = 104_857_600
"""socket.request.max.bytes: a larger frame closes the connection."""
_SIZE = struct.Struct(">i")
_LINGER = struct.pack("ii", 1, 0)


class Connection(Sink):
    """``ending`` is how the socket is closed: ``close`` in order, ``reset`` with RST."""

    def __init__(self, node: "Node", sock: socket.socket, seen: ConnectionSeen) -> None:
        self.seen = seen
        self.ending = ""
        self._node = node
        self._sock = sock
        tls = node.tls
        self._stream = Plain(sock) if tls is None else Tls(sock, tls)
        self.session = Session()

    async def serve(self) -> None:
        """Until one of the two sides has had enough."""
        settings = self._node.state.settings
        try:
            async with asyncio.timeout(settings.max_connection_age):
                while (frame := await self._read_frame()) is not None:
                    await self._handle(frame)
        except EndError as end:
            self.ending = end.how
        except TimeoutError:
            self.ending = self.ending or "close"
        except OSError as error:  # with TLS also a handshake that failed
            if isinstance(error, ssl.SSLError):
                self._node.state.journal.note(f"node {self._node.id}: {error}")
        except asyncio.CancelledError:
            self.ending = self.ending or "reset"
            raise
        except ProtocolError as error:
            self.ending = "close"
            self._node.state.journal.note(f"node {self._node.id}: {error}")
        except Exception as error:  # noqa: BLE001 - a bug of the fake; the cluster raises it when it is closed
            self.ending = "reset"
            self._node.state.bugs.append(error)

    async def send(self, data: bytes) -> None:
        await self._node.running.wait()
        await self._stream.sendall(data)

    def close(self) -> None:
        """When ``serve`` has ended, or was never begun."""
        if self.ending == "reset":
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        # Noted first: who sees the connection end may look here at once.
        self._node.state.journal.disconnected(self.seen, self.ending or "by the client")
        self._node.state.share.disconnected(self._node.id, self.session)
        self._sock.close()

    # --- inside ------------------------------------------------------------------------------------

    async def _read_frame(self) -> memoryview | None:
        """The next request; None when the client has closed the connection."""
        async with asyncio.timeout(self._node.state.settings.idle_timeout):
            head = await self._read(_SIZE.size)
        if head is None:
            return None
        (size,) = _SIZE.unpack(head)
        if not 0 < size <= MAX_REQUEST:
            raise ProtocolError(f"a request of {size} bytes")
        return await self._read(size)

    async def _read(self, size: int) -> memoryview | None:
        data = memoryview(bytearray(size))
        filled = 0
        while filled < size:
            await self._node.running.wait()
            count = await self._stream.recv_into(data[filled:])
            if not count:
                return None
            filled += count
        await self._node.running.wait()
        return data

    async def _handle(self, frame: memoryview) -> None:
        node = self._node
        header = wire.read_header(frame)
        self.seen.client_id = header.client_id
        api = BY_KEY.get(header.api_key)
        first, last = node.offered().get(header.api_key, (0, -1))
        if header.api_key == API_VERSIONS and header.version > last:
            answer = too_new(node.offered())
            await self.send(wire.encode_answer(ApiVersionsRequest, answer, 0, header.correlation_id))
            return
        known = api is not None and max(first, api.kind.versions[0]) <= header.version <= last
        if api is None or not known:
            node.state.journal.note(f"node {node.id}: api {header.api_key} v{header.version} is not offered")
            raise EndError("close", "closed")
        request, left = wire.decode_request(api.kind, header, frame)
        if left:  # librdkafka 2.16 does it in Metadata v13
            node.state.journal.note(f"{left} bytes too many behind {api.kind.api_name} v{header.version}")
        if node.state.settings.sasl is not None and not self.session.may(api.kind):
            node.state.journal.note(f"node {node.id}: {api.kind.api_name} without a session")
            raise EndError("close", "closed")
        seen = node.state.journal.arrived(self.seen, api.kind, request, header.version, header.correlation_id)
        ctx = Context(node.state, node.id, header.version, header.client_id, "/127.0.0.1", self.session)
        exchange = Exchange(seen, ctx, api.handler, self, request, correlation_id=header.correlation_id)
        try:
            await self._carry_out(exchange)
        except EndError as end:
            node.state.journal.settled(seen, end.outcome)
            if end.how == "silence":
                await self._ignore_the_rest()
            if end.how != "skip":
                raise
        except BaseException:
            node.state.journal.settled(seen, "closed")
            raise

    async def _ignore_the_rest(self) -> None:
        """Takes what still comes, silently, until the client gives up."""
        unread = memoryview(bytearray(65_536))
        while await self._stream.recv_into(unread):
            pass

    async def _carry_out(self, exchange: Exchange) -> None:
        seen = exchange.seen
        faults = self._node.script.plan(seen)
        for fault in faults:
            await fault.on_request(exchange)
        if exchange.answer is None:
            exchange.answer = await exchange.handler(exchange.ctx, exchange.request)
            seen.applied = True
        for fault in faults:
            await fault.on_answer(exchange)
        seen.answer = exchange.answer
        if exchange.answer is None or not seen.request.expects_response:
            self._unanswered(exchange)
            return
        exchange.frame = self._encode(exchange)
        for fault in faults:
            await fault.on_frame(exchange)
        for fault in faults:
            await fault.on_send(exchange)
        self._node.state.journal.settled(seen, "answered")  # first: who has the answer may look at once
        if not exchange.sent:
            await self.send(exchange.frame)
        if self.session.failed:
            raise EndError("close", "answered")

    def _encode(self, exchange: Exchange) -> bytes:
        kind, version = exchange.seen.kind, exchange.seen.version
        if exchange.body is not None:
            return wire.frame_of(kind, exchange.body, version, exchange.correlation_id)
        assert exchange.answer is not None
        if (
            isinstance(exchange.answer, ApiVersionsResponse)
            and exchange.answer.error_code == Code.UNSUPPORTED_VERSION
        ):
            version = 0  # so that any client can read it (KIP-511)
        return wire.encode_answer(kind, exchange.answer, version, exchange.correlation_id)

    def _unanswered(self, exchange: Exchange) -> None:
        """acks=0 gets no answer; when something went wrong the connection is closed, so that the client notices."""
        self._node.state.journal.settled(exchange.seen, "no answer")
        if exchange.seen.kind is ProduceRequest and exchange.seen.codes:
            raise EndError("close", "no answer")
