"""What the fault tests of the admin client share: an admin that gives up soon, groups with members. Not a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kcli.core import Admin
from kcli.core.hooks import Hooks
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.groups import asks
from tests.fake.raw_client import RawClient
from tests.fault.producing import PATIENCE

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
LIKE_2_8: Mapping[type[Request], int] = {FindCoordinatorRequest: 3, OffsetFetchRequest: 7}
"""What Kafka 2.8 offers of the requests that later versions can send for many groups at once."""


class Wire:
    """The order of requests and answers on each connection; ``round_trips`` counts turns from asking to hearing."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, str]] = []
        self.hooks = Hooks(wire=self._note)

    def _note(self, way: str, node: Any, _number: int, api: str, _version: int, _size: int) -> None:
        self.lines.append((way, node.id, api))

    def round_trips(self, api: type[Request]) -> int:
        """How often the client waited: requests that go out before the first answer comes share one round trip.

        Counted per broker, the greatest of them: brokers are asked at the same time.
        """
        ways: dict[int, list[str]] = {}
        for way, node, name in self.lines:
            if name == api.api_name:
                ways.setdefault(node, []).append(way)
        return max((_turns(row) for row in ways.values()), default=0)


def _turns(ways: list[str]) -> int:
    return sum(1 for before, now in zip(["←", *ways], ways, strict=False) if (before, now) == ("←", "→"))


@contextmanager
def administrator(cluster: FakeCluster, timeout: float = PATIENCE, **options: Any) -> Iterator[Admin]:
    """An admin client with short pauses between its tries."""
    wishes: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap,
        "retry_backoff_ms": 5,
        "retry_backoff_max_ms": 20,
        "reconnect_backoff_ms": 10,
    }
    with Admin(timeout=timeout, **{**wishes, **options}) as admin:
        yield admin


def at(offset: int, metadata: str = "") -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, metadata)


def committed(cluster: FakeCluster, groups: Mapping[str, Mapping[TopicPartition, int]]) -> None:
    """Groups without members that have committed these offsets."""
    with administrator(cluster) as admin:
        wanted = {g: {tp: at(offset) for tp, offset in rows.items()} for g, rows in groups.items()}
        outcome = admin.commit_offsets(wanted)
        assert all(error is None for rows in outcome.values() for error in rows.values()), outcome


def group_at(cluster: FakeCluster, node: int, hint: str = "g") -> str:
    """The name of a group that a node coordinates."""
    names = (f"{hint}{number}" for number in range(1000))
    return next(name for name in names if cluster.coordinator("group", name) == node)


class Member:
    """A member of a classic group, alone in it and with all partitions of t; it says nothing after it has joined."""

    def __init__(self, cluster: FakeCluster, group: str, *, instance: str | None = None) -> None:
        self.group, self.instance = group, instance
        protocols = {"range": asks.subscription("t")}
        with RawClient(cluster.address(cluster.coordinator("group", group))) as client:
            request = asks.join(group=group, instance=instance, protocols=protocols)
            answer = client.ask(request, 7)
            if answer.error_code:
                request = asks.join(answer.member_id, group=group, instance=instance, protocols=protocols)
                answer = client.ask(request, 7)
            self.id, self.generation = answer.member_id, answer.generation_id
            share = {self.id: asks.assignment({"t": [0, 1, 2]})}
            client.ask(asks.sync(self.id, self.generation, share, group, instance=instance), 5)
        assert cluster.group_state(group) == "Stable"


def modern_member(cluster: FakeCluster, group: str, member_id: str = "m") -> None:
    """A member of a KIP-848 group that is subscribed to t and has been given all of it."""
    with RawClient(cluster.address(cluster.coordinator("group", group))) as client:
        answer = client.ask(asks.consumer_join(member_id, "t", group=group), 1)
        assert answer.error_code == 0
