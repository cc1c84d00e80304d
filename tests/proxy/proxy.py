"""A proxy before each broker of a real cluster, that knows Kafka's requests and answers and breaks what it is told to.

``with Proxy(kafka.bootstrap) as proxy:`` and let the client under test start from ``proxy.bootstrap``: every address
that brokers tell is replaced by the proxy's own. One background thread; all methods may be called from any thread.
Not for TLS, SASL, or clients that are newer than kcli's message tables.

Frames (``frame_knobs.py``): swallow, swallow_schedule, delay, drip, cut, hold. Connections (``link_knobs.py``):
reset_all, half_close, lifetime, bandwidth, black_hole, stop_reading, refuse, heal. The record (``exchange.py``):
produces, exchanges, connections, in_flight, tell, and its judges epochs_bumped_with_in_flight and numbers_used_twice;
``wait_for`` waits until it shows something. A request whose client has gone still reaches its broker, as bytes on a
wire do.
"""

from collections.abc import Callable
from typing import Self, TypeVar

from kcli.core.protocol.api import Request
from tests.proxy.epochs import EarlyBump
from tests.proxy.exchange import ConnectionRecord, Exchange
from tests.proxy.frame_knobs import FrameKnobs
from tests.proxy.hub import Hub
from tests.proxy.link_knobs import LinkKnobs
from tests.proxy.log import Log

T = TypeVar("T")


class Proxy(FrameKnobs, LinkKnobs):
    """Its record is in ``produces``, ``exchanges``, ``connections``. Leaving it raises if it could not do its work."""

    def __init__(self, bootstrap: str) -> None:
        self._hub = Hub(bootstrap)

    def __enter__(self) -> Self:
        try:
            self._hub.start()
        except BaseException:
            self._hub.stop()
            raise
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self._hub.stop()
        if self.log.errors and exc_type is None:
            raise AssertionError("the proxy failed:\n" + "\n".join(self.log.errors))

    @property
    def bootstrap(self) -> str:
        """What a client has to be given."""
        return ",".join(f"{host}:{port}" for host, port in (d.address for d in self._hub.doors_of(None)))

    @property
    def nodes(self) -> list[int]:
        """The brokers' ids."""
        return sorted(self._hub.doors)

    def port(self, node: int) -> int:
        """Where the proxy of a node listens."""
        return self._hub.doors[node].address[1]

    # --- the record ----------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        return self._hub.log

    @property
    def produces(self) -> list[Exchange]:
        """All Produce requests so far, with the heads of their batches and what became of them."""
        return self.log.produces

    @property
    def connections(self) -> list[ConnectionRecord]:
        """All connections so far."""
        return list(self.log.connections)

    def exchanges(self, api: type[Request] | int | None = None, node: int | None = None) -> list[Exchange]:
        """All requests so far, in the order in which they came."""
        return self.log.of(api, node)

    def in_flight(self, api: type[Request] | int | None = None, node: int | None = None) -> list[Exchange]:
        """Requests that the client has neither an answer to nor seen the connection of end."""
        return self.log.in_flight(api, node)

    def epochs_bumped_with_in_flight(self) -> list[EarlyBump]:
        """Every bump of a producer's epoch while batches were in flight; must be empty. See ``epochs.py``."""
        return list(self.log.epochs.found)

    def numbers_used_twice(self) -> list[str]:
        """Retries that were not the same bytes under the same numbers; must be empty."""
        return self.log.numbers_used_twice()

    @property
    def epoch_bumps(self) -> int:
        """How often a producer asked for a new epoch."""
        return self.log.epochs.bumps

    def wait_for(self, found: Callable[[], T], timeout: float = 120.0, what: str = "it") -> T:
        """What ``found`` says once that is true; it is asked again whenever the record changes."""
        return self.log.wait_for(found, timeout, what)

    def tell(self, last: int | None = None, api: type[Request] | int | None = None) -> str:
        """The record as text, a line a request."""
        return self.log.tell(last, api)
