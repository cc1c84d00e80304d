"""The proxy's record: every request and connection, who still waits, and a way to wait for what is to happen.

Written by the proxy's thread. Other threads read copies; ``wait_for`` sleeps until the record has changed.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kcli.core.protocol.api import Request
from tests.proxy.epochs import EpochJudge
from tests.proxy.exchange import BatchHead, ConnectionRecord, Exchange, Fate
from tests.proxy.tables import PRODUCE

T = TypeVar("T")


class Log:
    """``errors`` are mistakes of the proxy itself, or bytes that it could not read."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections: list[ConnectionRecord] = []
        self.errors: list[str] = []
        self.epochs = EpochJudge()
        self.topic_names: dict[bytes, str] = {}
        self._open: dict[Exchange, None] = {}
        self._changed = threading.Condition()

    # --- the proxy's thread --------------------------------------------------------------------------

    def begin(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self._open[exchange] = None
        self.changed()

    def end(self, exchange: Exchange, fate: Fate) -> None:
        """It is over for the client."""
        exchange.end(fate, time.monotonic())
        self._open.pop(exchange, None)
        self.epochs.over(exchange)
        self.changed()

    def changed(self) -> None:
        """Wakes who waits for something to happen."""
        with self._changed:
            self._changed.notify_all()

    # --- any thread ----------------------------------------------------------------------------------

    def of(self, api: type[Request] | int | None, node: int | None = None) -> list[Exchange]:
        """Requests in the order in which they came."""
        return [one for one in list(self.exchanges) if one.is_for(api) and node in (None, one.node)]

    def in_flight(self, api: type[Request] | int | None, node: int | None = None) -> list[Exchange]:
        """Requests whose answer the client still may hope for."""
        return [one for one in list(self._open) if one.is_for(api) and node in (None, one.node)]

    def wait_for(self, found: Callable[[], T], timeout: float, what: str = "it") -> T:
        """What ``found`` says once that is true; TimeoutError with the end of the record after ``timeout`` s."""
        with self._changed:
            said = self._changed.wait_for(found, timeout)
        if not said:
            raise TimeoutError(f"waited {timeout:g} s for {what}\n{self.tell(30)}")
        return said

    def tell(self, last: int | None = None, api: type[Request] | int | None = None) -> str:
        """The record as text, a line for each request."""
        exchanges = self.of(api)
        return "\n".join(map(str, exchanges[-last:] if last else exchanges))

    def numbers_used_twice(self) -> list[str]:
        """Sequence numbers that stood on different bytes: a retry must be the same batch (KIP-98)."""
        first: dict[tuple[str, int, int, int, int], BatchHead] = {}
        return [
            f"{batch} differs from {earlier} that was sent before"
            for exchange in self.produces
            for batch in exchange.batches
            if batch.producer_id >= 0
            for earlier in [first.setdefault(batch.place, batch)]
            if (batch.count, batch.crc) != (earlier.count, earlier.crc)
        ]

    @property
    def produces(self) -> list[Exchange]:
        return self.of(PRODUCE)
