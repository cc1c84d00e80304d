"""KIP-62 on the fake cluster: what the background thread does, what it leaves to the caller, what the group is told."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.producing import PATIENCE, numbers, quick, send
from tests.rewinding import others

OPTIONS: dict[str, Any] = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 50}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"t": 2}) as made:
        with quick(made, batch_size=16_384) as producer:
            for partition in range(2):
                send(producer, "t", partition, *numbers(10))
        yield made


def member(cluster: FakeCluster, **options: Any) -> Consumer:
    return Consumer(bootstrap_servers=cluster.bootstrap, group_id="g", **{**OPTIONS, **options})


def settle(consumer: Consumer, count: int = 2) -> None:
    give_up = time.monotonic() + PATIENCE
    while len(consumer.assignment) != count:
        assert time.monotonic() < give_up, consumer.assignment
        list(consumer.records(0.05))


def beats(cluster: FakeCluster) -> int:
    return len(cluster.seen(HeartbeatRequest))


@pytest.mark.case("S0-51", "S2-5")
def test_rebalances_and_callbacks_stay_in_the_callers_thread(cluster: FakeCluster) -> None:
    called: list[threading.Thread] = []

    def note(_places: list[TopicPartition]) -> None:
        called.append(threading.current_thread())

    with member(cluster) as consumer:
        consumer.subscribe("t", on_assigned=note, on_revoked=note)
        settle(consumer)
        with others(cluster.bootstrap, "t", "g", 1, **OPTIONS):
            settle(consumer, 1)
    assert len(called) >= 3
    assert set(called) == {threading.current_thread()}


@pytest.mark.case("S2-6")
def test_the_thread_is_there_from_the_subscription_to_the_close(cluster: FakeCluster) -> None:
    def running() -> bool:
        return "kcli-heartbeat" in [thread.name for thread in threading.enumerate()]

    with member(cluster) as consumer:
        assert not running()
        consumer.subscribe("t")
        assert running()
        settle(consumer)
    assert not running()


@pytest.mark.case("S0-40", "S2-7")
def test_heartbeats_have_a_connection_of_their_own_and_continue_while_the_caller_works(
    cluster: FakeCluster,
) -> None:
    with member(cluster) as consumer:
        consumer.subscribe("t")
        settle(consumer)
        before = beats(cluster)
        cluster.wait_until(lambda: beats(cluster) >= before + 5, PATIENCE)  # nobody polls
        used = {seen.connection for seen in cluster.seen(HeartbeatRequest)}
        assert len(used) == 1
        said = {type(seen.request).__name__ for seen in cluster.requests if seen.connection in used}
        assert said <= {"ApiVersionsRequest", "HeartbeatRequest", "LeaveGroupRequest"}


@pytest.mark.case("S2-9")
def test_heartbeats_continue_during_a_rebalance_until_the_caller_polls(cluster: FakeCluster) -> None:
    with member(cluster) as consumer:
        consumer.subscribe("t")
        settle(consumer)
        with others(cluster.bootstrap, "t", "g", 1, **OPTIONS):
            cluster.wait_until(lambda: cluster.group_state("g") == "PreparingRebalance", PATIENCE)
            before = beats(cluster)
            cluster.wait_until(lambda: beats(cluster) >= before + 5, PATIENCE)
            assert cluster.group_state("g") == "PreparingRebalance"
            settle(consumer, 1)


@pytest.mark.case("S2-8")
def test_the_rebalance_timeout_is_the_time_between_polls(cluster: FakeCluster) -> None:
    with member(cluster, max_poll_interval_ms=123_000, session_timeout_ms=9_000) as consumer:
        consumer.subscribe("t")
        settle(consumer)
    told = {
        (s.request.session_timeout_ms, s.request.rebalance_timeout_ms) for s in cluster.seen(JoinGroupRequest)
    }
    assert told == {(9_000, 123_000)}


@pytest.mark.case("S4-13", "S4-14")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_beyond_the_number_of_partitions_are_idle(cluster: FakeCluster, protocol: str) -> None:
    options = {**OPTIONS, "group_protocol": protocol}
    with others(cluster.bootstrap, "t", "g", 2, **options), member(cluster, **options) as consumer:
        consumer.subscribe("t")

        def shares() -> list[int]:
            return sorted(len(one.partitions) for one in cluster.group_members("g").values())

        give_up = time.monotonic() + PATIENCE
        while shares() != [0, 1, 1]:
            assert time.monotonic() < give_up, shares()
            list(consumer.records(0.05))
