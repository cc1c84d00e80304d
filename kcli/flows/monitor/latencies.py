"""How long brokers take to answer, as seen from here: from each request's bytes to those of its response."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from kcli.core.hooks import Hooks
from kcli.core.types import Node
from kcli.flows.monitor.cluster_reading import Latency

_SENT = "→"
_MOST = 10_000  # of requests without an answer: connections that ended


class Latencies:
    """Listens to clients by ``hooks``; ``take`` returns what was measured since the last call."""

    def __init__(self, hooks: Hooks, clock: Callable[[], float] = perf_counter) -> None:
        self.hooks = Hooks(hooks.log, self._wire)
        self._inner, self._clock = hooks.wire, clock
        self._sent: dict[tuple[int, int, str], float] = {}
        self._times: dict[int, list[float]] = {}

    def take(self) -> dict[int, Latency]:
        """By node id; bootstrap addresses, whose ids are unknown, are left out."""
        times, self._times = self._times, {}
        return {
            node: Latency(len(some), sum(some) / len(some) * 1000, max(some) * 1000)
            for node, some in sorted(times.items())
            if node >= 0
        }

    def _wire(self, direction: str, node: Node, correlation: int, api: str, version: int, size: int) -> Any:
        if self._inner is not None:
            self._inner(direction, node, correlation, api, version, size)
        key = node.id, correlation, api
        if direction == _SENT:
            if len(self._sent) >= _MOST:
                self._sent.clear()
            self._sent[key] = self._clock()
        elif (began := self._sent.pop(key, None)) is not None:
            self._times.setdefault(node.id, []).append(self._clock() - began)
