"""A member rewinds its group from its own loop (the client proposal's ``rewind_offsets``), on the fake cluster."""

import time
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.errors import ConfigError, KcliError
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, numbers, quick, send
from tests.rewinding import others

PARTITIONS = 4
TARGETS = {TopicPartition("t", partition): 3 + partition for partition in range(PARTITIONS)}
OPTIONS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "heartbeat_interval_ms": 100,
    "auto_commit_interval_ms": 50,
    "retry_backoff_ms": 20,
}
PROTOCOLS = pytest.mark.parametrize(
    "options",
    [
        {"partition_assignment_strategy": "range"},
        {"partition_assignment_strategy": "cooperative-sticky"},
        {"group_protocol": "consumer"},
    ],
    ids=["eager", "cooperative", "consumer"],
)


@pytest.fixture
def cluster():
    with FakeCluster(3, topics={"t": PARTITIONS}) as made:
        with quick(made, batch_size=16_384) as producer:
            for partition in range(PARTITIONS):
                send(producer, "t", partition, *numbers(50))
        yield made


def read_until(consumer: Consumer, done: Any) -> None:
    give_up = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < give_up:
        list(consumer.records(0.05))
    assert done()


@PROTOCOLS
def test_all_members_go_on_where_the_rewind_says(cluster: FakeCluster, options: dict[str, Any]) -> None:
    told: list[tuple[str, list[TopicPartition]]] = []
    with others(cluster.bootstrap, "t", "g", 2, **OPTIONS, **options) as group:  # noqa: SIM117 - the group is there first
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **OPTIONS, **options) as consumer:
            consumer.subscribe(
                "t",
                on_assigned=lambda places: told.append(("assigned", places)),
                on_revoked=lambda places: told.append(("revoked", places)),
            )
            read_until(consumer, lambda: 1 <= len(consumer.assignment) <= 2)
            read_until(consumer, lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
            group.watch()
            found = consumer.rewind_offsets(TARGETS, PATIENCE)
            assert found == {where: OffsetAndMetadata(offset) for where, offset in TARGETS.items()}
            give_up = time.monotonic() + PATIENCE
            while len(group.first) < PARTITIONS and time.monotonic() < give_up:
                for record in consumer.records(0.05):
                    group.note(record.partition, record.offset)
            assert group.first == {where.partition: offset for where, offset in TARGETS.items()}
    assert "revoked" in [what for what, _ in told[1:]]


@PROTOCOLS
def test_alone_in_its_group_it_rewinds_too(cluster: FakeCluster, options: dict[str, Any]) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **OPTIONS, **options) as consumer:
        consumer.subscribe("t")
        read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS)
        consumer.rewind_offsets({TopicPartition("t", 0): 7}, PATIENCE)
        read_until(consumer, lambda: consumer.assignment and consumer.position(TopicPartition("t", 0)) == 50)
        assert cluster.group_state("g") == "Stable"


def test_what_this_member_read_elsewhere_is_committed_first(cluster: FakeCluster) -> None:
    slow = {**OPTIONS, "auto_commit_interval_ms": 60_000}
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **slow) as consumer:
        consumer.subscribe("t")
        read_until(
            consumer,
            lambda: (
                len(consumer.assignment) == PARTITIONS
                and all(consumer.position(where) == 50 for where in TARGETS)
            ),
        )
        consumer.rewind_offsets({TopicPartition("t", 0): 7}, PATIENCE)
        offsets = {where.partition: offset for where, offset in cluster.committed_offsets("g").items()}
        assert offsets == {0: 7, 1: 50, 2: 50, 3: 50}


def test_a_rewind_that_fails_before_its_commit_changes_nothing_and_the_group_goes_on(
    cluster: FakeCluster,
) -> None:
    with others(cluster.bootstrap, "t", "g", 1, **OPTIONS) as group:  # noqa: SIM117 - the group is there first
        with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **OPTIONS) as consumer:
            consumer.subscribe("t")
            read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
            read_until(consumer, lambda: list(cluster.committed_offsets("g").values()) == [50] * PARTITIONS)
            cluster.fail(LeaveGroupRequest, 30)  # GROUP_AUTHORIZATION_FAILED
            with pytest.raises(KcliError, match="GROUP_AUTHORIZATION_FAILED"):
                consumer.rewind_offsets(TARGETS, PATIENCE)
            read_until(consumer, lambda: len(consumer.assignment) == PARTITIONS // 2)
    assert set(cluster.committed_offsets("g").values()) == {50}
    assert group.failures == []


def test_who_is_no_member_is_refused(cluster: FakeCluster) -> None:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id="g") as consumer:
        consumer.assign([TopicPartition("t", 0)])
        with pytest.raises(ConfigError, match="for members"):
            consumer.rewind_offsets(TARGETS)
    assert cluster.seen(OffsetCommitRequest) == []
