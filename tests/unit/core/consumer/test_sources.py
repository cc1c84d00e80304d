"""Whom a partition is read from, and how much a broker may be asked for."""

import pytest

from kcli.core.cluster.metadata import ClusterView, PartitionView, TopicView
from kcli.core.cluster.retry import Backoff
from kcli.core.consumer.fetch_session import FetchSession
from kcli.core.consumer.sources import Source, source_of
from kcli.core.consumer.subscription import PartitionState, Span
from kcli.core.types import Node, TopicPartition

P0 = TopicPartition("t", 0)


def state(replica: int = -1, until: float = 100.0) -> PartitionState:
    found = PartitionState(P0, Span(0), 1, lambda _state: None)
    found.read_replica, found.replica_until = replica, until
    return found


def view(
    leader: int = 1, *, offline: tuple[int, ...] = (), nodes: tuple[int, ...] = (1, 2, 3)
) -> ClusterView:
    partition = PartitionView(0, leader, 0, replicas=(1, 2), isr=(1, 2), offline=offline)
    return ClusterView(
        nodes={number: Node(number, "h", number) for number in nodes},
        topics={"t": TopicView("t", partitions=(partition,))},
    )


def test_the_leader_unless_it_has_named_a_replica() -> None:
    assert source_of(state(), view(), 0.0) == 1
    assert source_of(state(2), view(), 0.0) == 2
    assert source_of(state(), view(leader=-1), 0.0) is None
    assert source_of(state(2), view(leader=-1), 0.0) is None


@pytest.mark.parametrize(
    ("found", "seen", "now"),
    [
        (state(2), view(), 100.0),  # its time is over
        (state(3), view(), 0.0),  # no replica of this partition
        (state(2), view(nodes=(1,)), 0.0),
        (state(2), view(offline=(2,)), 0.0),
    ],
)
def test_a_former_replica_is_forgotten(found: PartitionState, seen: ClusterView, now: float) -> None:
    assert source_of(found, seen, now) == 1
    assert found.read_replica == -1


def source() -> Source:
    return Source(1, FetchSession(), Backoff(0.1, 1.0))


def test_one_answer_may_come_while_another_is_handed_out() -> None:
    found = source()
    assert found.room(share=100, most=1_000) == 50
    assert found.room(share=100, most=30) == 30
    found.held = 50
    assert found.room(share=100, most=1_000) == 50
    found.held = 51
    assert found.room(share=100, most=1_000) == 0
    found.release(51)
    assert found.room(share=100, most=1_000) == 50


def test_there_is_always_room_for_one() -> None:
    assert source().room(share=0, most=1_000) == 1


def test_failures_are_waited_out_longer_and_longer() -> None:
    found = source()
    found.failed(10.0)
    first = found.not_before
    found.failed(10.0)
    assert 10.0 < first < found.not_before
    found.worked()
    assert found.not_before == 0.0
