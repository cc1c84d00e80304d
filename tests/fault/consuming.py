"""What the fault tests of groups share: impatient members, and polling several of them in turn. Not a test."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kcli.core import Consumer
from kcli.core.errors import KcliError
from kcli.core.types import Record, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.watching import Heard

PATIENCE = 120.0
"""Seconds after which a test gives up; far above what any member here waits for."""
GROUP = "g"
Places = frozenset[TopicPartition]


def tp(partition: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, partition)


def options(cluster: FakeCluster, **wishes: Any) -> dict[str, Any]:
    """Short pauses everywhere; nothing is committed by itself."""
    return {
        "bootstrap_servers": cluster.bootstrap,
        "group_id": GROUP,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 50,
        "session_timeout_ms": 10_000,
        "fetch_max_wait_ms": 50,
        "request_timeout_ms": 5_000,
        "default_api_timeout_ms": 10_000,
        "retry_backoff_ms": 20,
        "retry_backoff_max_ms": 100,
        "reconnect_backoff_ms": 10,
        "reconnect_backoff_max_ms": 50,
        "metadata_max_age_ms": 300,
        **wishes,
    }


class Member:
    """A consumer with its story: ``events`` are (what, partitions) of its callbacks, ``read`` what it was handed."""

    def __init__(self, cluster: FakeCluster, topics: Any = "t", **wishes: Any) -> None:
        self.fake = cluster
        self.heard = Heard()
        self.consumer = Consumer(hooks=self.heard.hooks, **options(cluster, **wishes))
        self.events: list[tuple[str, Places]] = []
        self.read: list[Record] = []
        if topics is not None:
            self.subscribe(topics)

    def subscribe(self, topics: Any) -> None:
        self.consumer.subscribe(
            topics,
            on_assigned=lambda partitions: self.happened("assigned", partitions),
            on_revoked=lambda partitions: self.happened("revoked", partitions),
            on_lost=lambda partitions: self.happened("lost", partitions),
        )

    def happened(self, what: str, partitions: list[TopicPartition]) -> None:
        """Tests replace it, or ``during``."""
        self.events.append((what, frozenset(partitions)))
        self.during(what, partitions)

    def during(self, what: str, partitions: list[TopicPartition]) -> None:
        """Called inside the callback."""

    def poll(self, timeout: float = 0.01) -> list[Record]:
        found = list(self.consumer.records(timeout))
        self.read += found
        return found

    def told(self, what: str) -> list[Places]:
        return [partitions for event, partitions in self.events if event == what]

    @property
    def partitions(self) -> Places:
        return self.consumer.assignment

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.read]


@contextmanager
def member(cluster: FakeCluster, topics: Any = "t", **wishes: Any) -> Iterator[Member]:
    found = Member(cluster, topics, **wishes)
    try:
        yield found
    finally:
        found.consumer.close(commit=False)


def fill(cluster: FakeCluster, partitions: int, count: int = 10, topic: str = "t") -> None:
    """``count`` records per partition, one a batch: ``b"partition:offset"``."""
    for partition in range(partitions):
        for offset in range(count):
            cluster.append(topic, partition, batch(f"{partition}:{offset}".encode()))


def turns(
    condition: Callable[[], object], *members: Member, what: str = "", timeout: float = PATIENCE
) -> None:
    """Polls the members in turn until the condition holds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited {timeout:g} s for {what or 'the condition'}"
        for one in members:
            one.poll()


def raised_by(one: Member, *others: Member) -> KcliError:
    """What its polls raise, sooner or later; the others are polled, too."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for other in others:
            other.poll()
        try:
            one.poll()
        except KcliError as error:
            return error
    raise AssertionError("no poll has raised anything")


def settle(*members: Member, partitions: int) -> None:
    """Until all members have their share, and together everything, nothing twice."""

    def settled() -> bool:
        shares = [one.partitions for one in members]
        stable = all(one.consumer._group is not None and one.consumer._group.is_stable for one in members)
        together = frozenset().union(*shares)
        return stable and len(together) == partitions == sum(map(len, shares)) and all(shares)

    turns(settled, *members, what="shares")


def offsets(cluster: FakeCluster, group: str = GROUP) -> dict[TopicPartition, int]:
    return cluster.committed_offsets(group)
