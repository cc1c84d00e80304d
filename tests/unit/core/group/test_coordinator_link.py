"""The way to a coordinator that dies, moves, or is not named yet."""

from typing import Any

import pytest

from kcli.core.cluster.cluster import Cluster
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import Node
from tests.unit.core.cluster.scripted import answer, cluster_on

pytestmark = pytest.mark.case("G6")


class World:
    """Which brokers metadata names, and which of them is the coordinator."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.named: tuple[int, ...] = (1, 2)
        self.coordinator = 2
        self.cluster, _, _ = cluster_on(monkeypatch, self._script)
        self.cluster.connect(5)
        self.link = CoordinatorLink(self.cluster, "g")

    def _script(self, _node: Node, request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            return answer(brokers=self.named)
        row = Coordinator(key="g", node_id=self.coordinator, host=f"b{self.coordinator}", port=9092)
        return FindCoordinatorResponse(coordinators=[row])

    def node_within(self, seconds: float) -> int | None:
        """The coordinator's id, asked for until it is known."""
        loop = self.cluster.loop
        end = loop.now() + seconds
        while (node := self.link.node(loop.now())) is None and loop.now() < end:
            self.cluster.poll(max(0.0, min(self.link.wake_at, end) - loop.now()))
        return node.id if node is not None else None


def refresh(cluster: Cluster) -> None:
    before = cluster.view.version
    cluster.request_refresh()
    while cluster.view.version == before:
        cluster.poll(1)


def test_a_coordinator_that_died_while_idle_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata without the broker was all that told of its death: the link waited for its return (seen on 4.3.1)."""
    world = World(monkeypatch)
    assert world.node_within(5) == 2
    world.named, world.coordinator = (1, 3), 3
    refresh(world.cluster)
    assert world.node_within(5) == 3


def test_a_topic_missing_in_metadata_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch)
    world.coordinator = 3
    assert world.node_within(5) is None
    assert "node 3" in str(world.link.error)
    world.named = (1, 2, 3)
    assert world.node_within(5) == 3
