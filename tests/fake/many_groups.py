"""Thousands of groups in a fake cluster at once, without a client for each: members, commits, and logs that grow."""

from kcli.core.group.consumer_protocol import Assignment, Subscription, encode_assignment, encode_subscription
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.groups.classic_group import Member, State
from tests.fake.groups.coordinator import Groups
from tests.fake.groups.offsets import Committed

_FOREVER = 1e9
_RECORDS = 100
"""What a partition gets at a time."""


class ManyGroups:
    """``groups`` groups of ``members`` members; each has committed in all ``partitions`` of one of ``topics`` topics.

    Each partition has ten ``batches`` in the beginning, and the next broker for its leader. ``move`` lets logs and
    commits grow.
    """

    def __init__(
        self,
        cluster: FakeCluster,
        groups: int,
        partitions: int,
        *,
        topics: int = 10,
        members: int = 4,
        batches: int = 10,
    ) -> None:
        self._cluster, self._partitions = cluster, partitions
        self.topics = [f"topic-{n:03}" for n in range(topics)]
        self.names = [f"group-{n:05}" for n in range(groups)]
        self.batch = bytes(
            batch_of([Record("", 0, n, 1_700_000_000_000 + n, 0, None, b"v") for n in range(_RECORDS)]).raw
        )
        nodes = cluster.node_ids
        for number, topic in enumerate(self.topics):
            first = number * partitions
            replicas = {
                p: [nodes[(first + p + copy) % len(nodes)] for copy in range(min(3, len(nodes)))]
                for p in range(partitions)
            }
            cluster.create_topic(topic, partitions, replicas=replicas)
        for _ in range(batches):
            self.move()
        cluster.with_groups(lambda g: [self._add(g, *group, members) for group in enumerate(self.names)])

    def move(self, commits: int = 0) -> None:
        """Each partition gets a batch; the first ``commits`` groups read as much."""
        for topic in self.topics:
            for partition in range(self._partitions):
                self._cluster.append(topic, partition, self.batch)
        self._cluster.with_groups(lambda g: [self._commit(g, n, _RECORDS) for n in range(commits)])

    def _add(self, groups: Groups, number: int, name: str, members: int) -> None:
        places = [TopicPartition(self._topic(number), p) for p in range(self._partitions)]
        group = groups._do.registry.classic_for_offsets(name)
        group.generation, group.state, group.protocol = 1, State.STABLE, "range"
        subscription = encode_subscription(Subscription((self._topic(number),)))
        for index in range(members):
            own = encode_assignment(Assignment(tuple(places[index::members])))
            member = Member(
                f"{name}-{index}", None, f"client-{index}", "/127.0.0.1", _FOREVER, _FOREVER,
                {"range": subscription}, own, is_new=False,
            )  # fmt: skip
            group.add(member, "consumer")
        if not members:
            group.state = State.EMPTY
        for tp in places:
            groups._do.offsets.commit(name, tp, Committed(number % 1_000, 0, ""))

    def _commit(self, groups: Groups, number: int, records: int) -> None:
        for tp, at in groups._do.offsets.of(self.names[number]).items():
            groups._do.offsets.commit(
                self.names[number], tp, Committed(at.offset + records, at.leader_epoch, "")
            )

    def _topic(self, number: int) -> str:
        return self.topics[number % len(self.topics)]
