"""A cluster larger than one machine can run, in a process of its own: ``python -m benchmarks._large_cluster SHARE``.

``SHARE`` of 100,000 partitions in 5,000 topics, 10,000 groups of 2 members with a commit in 20 partitions, and 1,000
brokers. Prints its addresses. For each line that it reads it prints, as JSON, what arrived since the last one: requests
by name, connections, and how many of these were open at once. Ends when its stdin does.

All partitions have the same log. What is asked of all brokers, or has all partitions, is encoded once.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from kcli.core.protocol import codec, compiler
from kcli.core.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.fake.cluster import FakeCluster
from tests.fake.coordinators import GROUP
from tests.fake.exchange import Exchange
from tests.fake.groups.listing import listed
from tests.fake.many_groups import ManyGroups
from tests.fake.script import FOREVER, Fault
from tests.fake.state import State

PARTITIONS, GROUPS, BROKERS = 100_000, 10_000, 1_000
OF_A_TOPIC, MEMBERS = 20, 2


@dataclass(frozen=True, slots=True)
class Size:
    """What there is of each."""

    partitions: int
    groups: int
    brokers: int

    @classmethod
    def of(cls, share: float) -> Size:
        """At least one of each."""
        topics = max(1, round(PARTITIONS * share / OF_A_TOPIC))
        return cls(topics * OF_A_TOPIC, max(1, round(GROUPS * share)), max(1, round(BROKERS * share)))


class EncodedOnce(Fault):
    """Answers that are the same each time, from their bytes; groups are looked up by coordinator, not one by one."""

    def __init__(self) -> None:
        self._bodies: dict[object, tuple[Any, bytes]] = {}
        self._groups: dict[int, list[ListedGroup]] = {}

    async def on_request(self, exchange: Exchange) -> None:
        """An answer that is there already."""
        key = _key(exchange)
        if key in self._bodies:
            exchange.answer, exchange.body = self._bodies[key]
        elif exchange.seen.kind is ListGroupsRequest:
            self._groups = self._groups or _by_coordinator(exchange.ctx.state)
            exchange.answer = ListGroupsResponse(error_code=0, groups=self._groups.get(exchange.ctx.node, []))

    async def on_answer(self, exchange: Exchange) -> None:
        """The first time."""
        key = _key(exchange)
        if key is not None and exchange.body is None:
            seen = exchange.seen
            assert exchange.answer is not None
            body, splices = compiler.encode(
                exchange.answer, seen.version, flexible=seen.version >= seen.kind.flexible
            )
            exchange.body = b"".join(codec.join_splices(body, splices))
            self._bodies[key] = exchange.answer, exchange.body


def _key(exchange: Exchange) -> object:
    request: Any = exchange.request
    if isinstance(request, MetadataRequest) and not request.topics:
        asked = request.topics is None, request.include_topic_authorized_operations
        return MetadataRequest, exchange.seen.version, asked
    if isinstance(request, ListGroupsRequest):
        return ListGroupsRequest, exchange.seen.version, exchange.ctx.node
    return None


def _by_coordinator(state: State) -> dict[int, list[ListedGroup]]:
    found: dict[int, list[ListedGroup]] = {}
    for group in state.groups._do.registry.all():
        found.setdefault(state.coordinators.of(GROUP, group.id), []).append(listed(group))
    return found


class LargeCluster:
    """``bootstrap`` names three of its brokers, as people write it."""

    def __init__(self, size: Size) -> None:
        self._cluster = FakeCluster(size.brokers, deep_check=False)
        topics = size.partitions // OF_A_TOPIC
        many = ManyGroups(self._cluster, size.groups, OF_A_TOPIC, topics=topics, members=MEMBERS, batches=0)
        self._share_log(many)
        self._cluster._rule(EncodedOnce(), (MetadataRequest, ListGroupsRequest), {"times": FOREVER})
        self.bootstrap = ",".join(self._cluster.address(node) for node in self._cluster.node_ids[:3])
        self.counts()

    def _share_log(self, many: ManyGroups) -> None:
        log = self._cluster._state.topics.by_name[many.topics[0]].partitions[0].log
        for place in self._cluster._state.topics.all_partitions():
            place.log = log
        for _ in range(10):
            self._cluster.append(many.topics[0], 0, many.batch)

    def counts(self) -> dict[str, int]:
        """What arrived since the last call."""
        journal = self._cluster._journal
        found = Counter(seen.api for seen in journal.requests)
        moments = sorted(
            moment
            for one in journal.connections
            for moment in ((one.opened, 1), (one.closed or float("inf"), -1))
        )
        open_now = most = 0
        for _, change in moments:
            open_now += change
            most = max(most, open_now)
        arrived = {**found, "connections": len(journal.connections), "open": most}
        journal.requests.clear()
        journal.connections.clear()
        return arrived

    def close(self) -> None:
        """Gives the ports back."""
        self._cluster.close()


def main(share: float) -> None:
    """Until stdin ends."""
    cluster = LargeCluster(Size.of(share))
    gc.freeze()  # a broker has no garbage collection over all that there is
    print(cluster.bootstrap, flush=True)
    for _ in sys.stdin:
        print(json.dumps(cluster.counts()), flush=True)
    cluster.close()


if __name__ == "__main__":
    main(float(sys.argv[1]))
