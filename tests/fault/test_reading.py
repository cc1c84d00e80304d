"""A consumer of assigned partitions while brokers are slow and leaders move."""

import threading

import pytest

from kcli.core import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, numbers, quick, send


def filled(cluster: FakeCluster, count: int = 10) -> dict[TopicPartition, Span]:
    """Three partitions with records, and all of them to be read."""
    with quick(cluster) as producer:
        for partition in range(3):
            send(producer, "t", partition, *numbers(count, f"{partition}-"))
        assert producer.flush(PATIENCE)
    return {TopicPartition("t", p): Span(0, count) for p in range(3)}


@pytest.mark.case("S0-38")
def test_one_poll_asks_all_brokers_and_hands_out_what_has_come() -> None:
    with (
        FakeCluster(3, topics={"t": 3}) as cluster,
        Consumer(bootstrap_servers=cluster.bootstrap) as consumer,
    ):
        spans = filled(cluster)
        held = cluster.hold(FetchRequest, node=1)
        consumer.assign(spans)
        seen: set[int] = set()
        while len(seen) < 2:
            seen |= {fetched.tp.partition for fetched in consumer.poll(PATIENCE)}
        slow = next(p for p in range(3) if cluster.leader("t", p) == 1)
        assert seen == {0, 1, 2} - {slow}
        assert {s.node for s in cluster.seen(FetchRequest)} == {1, 2, 3}
        held.release()
        while not consumer.done:
            seen |= {fetched.tp.partition for fetched in consumer.poll(PATIENCE)}
        assert seen == {0, 1, 2}


@pytest.mark.case("S0-39", "S4-19")
def test_a_moved_leader_is_found_and_nothing_is_read_twice() -> None:
    with (
        FakeCluster(3, topics={"t": 3}) as cluster,
        Consumer(bootstrap_servers=cluster.bootstrap) as consumer,
    ):
        spans = filled(cluster, 30)
        consumer.assign(spans)
        values = [record.value for record in consumer.records(PATIENCE)]
        for partition in range(3):
            cluster.move_leader("t", partition, cluster.leader("t", partition) % 3 + 1)
        while not consumer.done:
            values += [record.value for record in consumer.records(PATIENCE)]
        expected = [value for p in range(3) for value in numbers(30, f"{p}-")]
        assert sorted(v or b"" for v in values) == sorted(expected)


@pytest.mark.case("S0-7", "S2-6")
def test_a_consumer_of_assigned_partitions_has_no_thread() -> None:
    with FakeCluster(1, topics={"t": 3}) as cluster:
        spans = filled(cluster)
        before = set(threading.enumerate())
        with Consumer(bootstrap_servers=cluster.bootstrap) as consumer:
            consumer.assign(spans)
            while not consumer.done:
                list(consumer.records(PATIENCE))
                assert set(threading.enumerate()) == before
