"""A Cluster on a clock of its own, whose brokers answer as a test says. Not a test."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.cluster import retry
from kcli.core.cluster.brokers import CONTROL
from kcli.core.cluster.cluster import Cluster
from kcli.core.connection.handshake import BrokerApiVersions
from kcli.core.connection.plan import Broker, Plan
from kcli.core.errors import ConnectError, KcliError
from kcli.core.future import Future
from kcli.core.net.loop import Loop
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kcli.core.types import Node
from tests.protocol.tables import requests
from tests.unit.core.net.fakes import Clock, FakeSelector, loop_on

Answer = Any
"""A Response, an error, or None: no answer ever comes."""
Script = Callable[[Node, Request], Answer]


class ScriptedBrokers:
    """Stands in for Brokers: notes what is sent, and answers after ``delay`` seconds by ``script``.

    ``shortest`` is what plans and windows are told of the connection: its shortest round trip.
    """

    def __init__(self, loop: Loop, script: Script) -> None:
        self.loop = loop
        self.script = script
        self.delay = 0.01
        self.shortest = 0.0
        self.sent: list[tuple[float, Node, str, Request]] = []
        self.ready: set[int] = set()
        self.down: dict[int, float] = {}
        self.failures: dict[int, KcliError] = {}
        self.waiting: dict[int, int] = {}
        self.versions: dict[int, tuple[int, int]] = {r.api_key: r.versions for r in requests()}
        """What all of them offer, for plans."""

    def send(
        self,
        node: Node,
        purpose: str,
        request: Request | Plan,
        future: Future[Any],
        now: float,
        deadline: float,
    ) -> None:
        if isinstance(request, Plan):
            self._carry_out(node, purpose, request, future, deadline)
            return
        self.sent.append((self.loop.now(), node, purpose, request))
        answer = self.script(node, request)
        if isinstance(answer, ConnectError):
            self.failures[node.id] = answer
        if isinstance(answer, BaseException):
            self._later(self.delay, (future, None, answer))
        elif answer is None:
            self._later(deadline - self.loop.now(), (future, None, ConnectError(f"no reply from {node}")))
        else:
            self._later(self.delay, (future, answer, None))

    def refusal(self, now: float) -> KcliError | None:
        return None

    def _carry_out(self, node: Node, purpose: str, plan: Plan, future: Future[Any], deadline: float) -> None:
        try:
            broker = Broker(str(node), BrokerApiVersions(self.versions, {}), self.shortest)
            parts = plan.begin(broker, future)
        except KcliError as error:
            self._later(self.delay, (future, None, error))
            return
        for request, answer in parts:
            self.send(node, purpose, request, answer, self.loop.now(), deadline)
        if not parts:
            self._later(self.delay, (future, [], None))

    def _later(self, delay: float, completion: Any) -> None:
        self.loop.at(self.loop.now() + delay, lambda: self.loop.complete(completion))

    def available(self, node: Node, _purpose: str, now: float) -> bool:
        return now >= self.down.get(node.id, 0.0)

    def retry_at(self, node: Node, _purpose: str) -> float:
        return self.down.get(node.id, 0.0)

    def failure(self, node: Node, _purpose: str) -> KcliError | None:
        return self.failures.get(node.id)

    def offer(self, node: Node, _purpose: str) -> Any:
        return "offer" if node.id in self.ready else None

    def round_trip(self, _node: Node, _purpose: str) -> float:
        return self.shortest

    def pending(self, node: Node, _purpose: str) -> int:
        return self.waiting.get(node.id, 0)

    def close_idle(self, now: float) -> None:
        """Nothing is ever idle here."""

    def asked(self, kind: type[Request]) -> list[tuple[float, Node, Request]]:
        return [(at, node, request) for at, node, _, request in self.sent if isinstance(request, kind)]


def broker(number: int) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=number, host=f"b{number}", port=9092)


def partition(number: int, leader: int = 1, epoch: int = 5, error: int = 0) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=[leader],
        isr_nodes=[leader],
    )


def topic(
    name: str, *partitions: MetadataResponsePartition, error: int = 0, topic_id: bytes = b"i" * 16
) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=error, name=name, topic_id=topic_id, partitions=list(partitions))


def answer(
    *topics: MetadataResponseTopic, brokers: tuple[int, ...] = (1, 2), controller: int = 1
) -> MetadataResponse:
    return MetadataResponse(
        brokers=[broker(n) for n in brokers], topics=list(topics), cluster_id="c", controller_id=controller
    )


def cluster_on(
    monkeypatch: pytest.MonkeyPatch, script: Script, **values: Any
) -> tuple[Cluster, ScriptedBrokers, Clock]:
    """A cluster whose time passes by waiting only, with the same waits between retries every time."""
    monkeypatch.setattr(retry, "_RANDOM", random.Random(1))
    clock = Clock()
    loop = loop_on(FakeSelector(clock), monkeypatch)
    values = {"bootstrap_servers": "boot:9092", **values}
    cluster = Cluster(ClientOptions(**values), loop=loop)
    brokers = ScriptedBrokers(loop, script)
    cluster.brokers = brokers  # type: ignore[assignment]
    return cluster, brokers, clock


def metadata_of(*topics: MetadataResponseTopic, **values: Any) -> Script:
    """Answers Metadata with those of ``topics`` that were asked for; other requests with nothing."""

    def script(_node: Node, request: Request) -> Answer:
        if not isinstance(request, MetadataRequest):
            return None
        names = None if request.topics is None else {t.name for t in request.topics}
        return answer(*(t for t in topics if names is None or t.name in names), **values)

    return script


__all__ = [
    "CONTROL",
    "ScriptedBrokers",
    "answer",
    "broker",
    "cluster_on",
    "metadata_of",
    "partition",
    "topic",
]
