"""One connection of a client and its counterpart to the broker: pairs answers with requests, and ends in many ways.

Four tasks: two read, two write. What a client wrote before its end still goes to the broker, as bytes on a wire do,
and the broker's answers to it are still read and recorded. Runs in the proxy's thread.
"""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataResponse
from kcli.core.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.proxy import messages
from tests.proxy.addresses import Address, rewrite, topic_names
from tests.proxy.exchange import ConnectionRecord, Exchange, Fate
from tests.proxy.lane import Lane, NotFramesError
from tests.proxy.log import Log
from tests.proxy.passing import FIN, REQUEST, RESET, RESPONSE, Frame, Passing
from tests.proxy.rules import Rules
from tests.proxy.tables import reads_answer, reads_request
from tests.proxy.wire import Wire, WireClosed

_DRAIN = 30.0  # seconds for a broker to take in what a client has left behind
_LINGER = 10.0  # seconds for a client to notice a FIN


class Link:
    """``run`` is its whole life. ``ours`` tells the proxy's address for a node and its true address."""

    def __init__(
        self,
        record: ConnectionRecord,
        client: socket.socket,
        *,
        log: Log,
        rules: Rules,
        ours: Callable[[int, Address], Address],
    ) -> None:
        self.record = record
        self.client = Wire(client)
        self.upstream: Wire | None = None
        self._log, self._rules, self._ours = log, rules, ours
        self._loop = asyncio.get_running_loop()
        self._deaf = False
        self._at_broker: deque[Exchange] = deque()
        self._open: dict[Exchange, None] = {}
        self._up = Lane(
            self.client,
            head=messages.REQUEST_HEAD.size,
            headed=self._request_headed,
            completed=self._request_completed,
        )

    async def run(self, upstream: Any, family: int) -> None:
        """``upstream`` is a socket address. None: nobody is there, and nobody answers."""
        try:
            if upstream is not None and not await self._connect(upstream, family):
                return
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_client())
                tasks.create_task(self._write_upstream())
                if self.upstream is not None:
                    down = Lane(
                        self.upstream,
                        head=messages.ANSWER_HEAD.size,
                        headed=self._answer_headed,
                        completed=self._answer_completed,
                    )
                    tasks.create_task(self._relay_answers(down))
        finally:
            self._over("closed with the proxy")
            self.client.close()
            if self.upstream is not None:
                self.upstream.close()

    def silence(self) -> None:
        """Nothing is forwarded any more, in neither direction, until the client closes the connection."""
        self.record.silent = True
        self._log.changed()

    def end(self, kind: str, how: str, *, deaf: bool = True) -> bool:
        """Ends it towards the client, by FIN or RST; whether it stood. ``deaf``: later requests are not taken."""
        stood = self.record.ended_at is None
        self._over(how)
        self._deaf = self._deaf or deaf
        if kind == RESET:
            self.client.reset()
        elif not self.client.closed:
            self.client.half_close()
            if deaf:
                self._loop.call_later(_LINGER, self.client.close)
        return stood

    # --- the four tasks ------------------------------------------------------------------------------

    async def _connect(self, address: Any, family: int) -> bool:
        sock = socket.socket(family, socket.SOCK_STREAM)
        self.upstream = Wire(sock)
        self.upstream.narrow(self.client.bytes_per_second)
        try:
            await self._loop.sock_connect(sock, address)
        except OSError as error:
            self.end(RESET, f"the broker cannot be reached: {error}")
            return False
        return not self.client.closed

    async def _read_client(self) -> None:
        how = "closed by the client"
        try:
            await self._up.read()
        except WireClosed:
            how = "closed by the proxy"
        except OSError as error:
            how = f"reset by the client: {error}"
        except NotFramesError as error:
            self._log.errors.append(f"node {self.record.node}: a client sent {error}")
            self.end(RESET, "reset, for it was not Kafka")
        self.record.truncated = self._up.truncated
        self._over(how)

    async def _write_upstream(self) -> None:
        while (frame := await self._up.next()) is not None:
            try:
                await self._request(frame)
            except OSError:
                pass  # the broker is gone: who reads its answers ends the connection
            finally:
                self._up.took()
        if self.upstream is not None:
            self.upstream.half_close()
            self._loop.call_later(0 if self.record.silent else _DRAIN, self.upstream.close)

    async def _relay_answers(self, down: Lane) -> None:
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(self._read_upstream(down))
            while (frame := await down.next()) is not None:
                try:
                    await self._answer(down, frame)
                except OSError as error:
                    self._over(f"the client takes no more: {error}")
                    if frame.exchange is not None:
                        frame.exchange.fate = Fate.LOST
                finally:
                    down.took()
        if not self.record.silent and reader.result():
            self.end(reader.result(), f"the broker ended it by {reader.result()}")

    async def _read_upstream(self, down: Lane) -> str:
        try:
            await down.read()
        except WireClosed:
            return ""
        except OSError:
            return RESET
        except NotFramesError as error:
            self._log.errors.append(f"node {self.record.node}: the broker sent {error}")
            return RESET
        return FIN

    # --- requests ------------------------------------------------------------------------------------

    def _request_headed(self, frame: Frame) -> None:
        size, api, version, correlation_id = messages.REQUEST_HEAD.unpack_from(frame.data)
        record = self.record
        exchange = frame.exchange = Exchange(
            frame.at, record.node, record.number, api, version, correlation_id, size
        )
        frame.ignored = self._deaf
        record.requests += 1
        self._open[exchange] = None
        self._log.begin(exchange)
        if record.ended_at is not None:
            self._close(exchange, Fate.LOST)

    def _request_completed(self, frame: Frame) -> None:
        exchange = frame.exchange
        assert exchange is not None
        if not reads_request(exchange.api):
            return
        body = exchange.body = messages.read_request(exchange.api, exchange.version, frame.data)
        if isinstance(body, InitProducerIdRequest):
            self._log.epochs.asked(exchange, body)
        elif isinstance(body, ProduceRequest):
            exchange.batches = messages.batch_heads(body, self._log.topic_names)
            exchange.body = None  # it looks into the frame
            if exchange.over_at is None:
                self._log.epochs.produced(exchange, self._is_over)
            if not body.expects_response:
                self._close(exchange, Fate.NO_ANSWER)
        self._log.changed()

    async def _request(self, frame: Frame) -> None:
        exchange = frame.exchange
        assert exchange is not None
        passing = Passing(frame, exchange, REQUEST)
        if self._rules.needs_whole(passing) and not await self._up.until(frame, frame.size):
            return
        if frame.ignored or self.record.silent:
            return
        await self._rules.treat(passing)
        if passing.dropped or self.record.silent or self.upstream is None:
            return
        if await self._emit(self._up, self.upstream, passing):
            exchange.reached = True
            if exchange.fate is not Fate.NO_ANSWER:
                self._at_broker.append(exchange)

    # --- answers -------------------------------------------------------------------------------------

    def _answer_headed(self, frame: Frame) -> None:
        _, correlation_id = messages.ANSWER_HEAD.unpack_from(frame.data)
        if not self._at_broker or self._at_broker[0].correlation_id != correlation_id:
            raise NotFramesError(f"an answer to request {correlation_id}, which is not the next one")
        frame.exchange = self._at_broker.popleft()

    def _answer_completed(self, frame: Frame) -> None:
        exchange = frame.exchange
        assert exchange is not None
        exchange.answered_at = time.monotonic()
        if reads_answer(exchange.api, exchange.version):
            answer = messages.read_answer(exchange.api, exchange.version, frame.data)
            if isinstance(answer, MetadataResponse):
                self._log.topic_names.update(topic_names(answer))
            elif isinstance(answer, ProduceResponse):
                exchange.errors = messages.errors_of(answer, self._log.topic_names)
            if rewrite(answer, self._ours):
                frame.replace(
                    messages.write_answer(exchange.api, exchange.version, exchange.correlation_id, answer)
                )
        self._log.changed()

    async def _answer(self, down: Lane, frame: Frame) -> None:
        exchange = frame.exchange
        assert exchange is not None
        passing = Passing(frame, exchange, RESPONSE)
        whole = reads_answer(exchange.api, exchange.version) or self._rules.needs_whole(passing)
        if whole and not await down.until(frame, len(frame.data)):
            return
        if self.record.silent or self.record.ended_at is not None:
            return  # nobody is there whose answer could be treated
        await self._rules.treat(passing)
        if passing.dropped or self.record.silent or self.record.ended_at is not None:
            return
        if not passing.swallow:
            await self._emit(down, self.client, passing)
            return
        await down.until(frame, len(frame.data))
        exchange.swallowed, exchange.fate = passing.swallow, Fate.SWALLOWED
        if passing.swallow == RESET:
            self.end(RESET, "reset after a swallowed answer")
        else:
            self.silence()

    # --- inside --------------------------------------------------------------------------------------

    async def _emit(self, lane: Lane, target: Wire, passing: Passing) -> bool:
        """Sends the frame, as far as it comes; whether all of it went out.

        Nothing else runs between its last byte and the return. An answer counts as had before that byte: the
        client may be quick.
        """
        frame, sent, end = passing.frame, 0, passing.end_of_cut()
        size = len(frame.data)
        while sent < end:
            if sent and passing.piece:
                await asyncio.sleep(passing.pause)
            if not await lane.until(frame, min(end, sent + (passing.piece or 1))):
                return False
            stop = min(frame.filled, end, sent + (passing.piece or end))
            if stop == size and passing.way == RESPONSE:
                self._close(passing.exchange, Fate.ANSWERED)
            await target.send(memoryview(frame.data)[sent:stop])
            sent = stop
        if passing.cut is not None:
            self.silence()
            self.end(passing.cut[1], f"cut off after {end} bytes of a frame")
        return sent == size

    def _is_over(self) -> bool:
        """Whether the client has seen this connection end, or has ended it."""
        return self.record.ended_at is not None or self.client.peer_has_closed()

    def _over(self, how: str) -> None:
        if self.record.ended_at is not None:
            return
        self.record.ended_at, self.record.how = time.monotonic(), how
        for exchange in list(self._open):
            self._close(exchange, Fate.LOST)
        self._log.changed()

    def _close(self, exchange: Exchange, fate: Fate) -> None:
        self._open.pop(exchange, None)
        self._log.end(exchange, fate)
