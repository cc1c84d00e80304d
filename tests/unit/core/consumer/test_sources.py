"""Whom a partition is read from, in which lane, and how much a broker may be asked for."""

import pytest

from kcli.core.cluster.metadata import ClusterView, PartitionView, TopicView
from kcli.core.consumer.fetch_session import Ask
from kcli.core.consumer.sources import MOST_LANES, Lane, Source, source_of
from kcli.core.consumer.subscription import PartitionState, Span
from kcli.core.options import ConsumerOptions
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


MB = 1 << 20


def source(window: int = 0, partitions: int = 1, **options: int) -> Source:
    """A broker with so many partitions, placed in its lanes, and a window of so many bytes."""
    found = Source(1, ConsumerOptions(**options))  # type: ignore[arg-type]
    place(found, 0, partitions)
    found.window.size = window
    place(found, 0, partitions)
    return found


def place(found: Source, first: int, count: int) -> None:
    """As the fetcher does it: out of the old lane, then into the new one."""
    for number in range(first, first + count):
        tp = TopicPartition("t", number)
        before = next((lane for lane in found.lanes if tp in lane.session.wanted), None)
        lane = found.lane_of(before)
        if before is not None and before is not lane:
            before.session.drop(tp)
        lane.session.want(tp, Ask(1, 0, 0))


def widths(found: Source) -> list[int]:
    return [len(lane.session.wanted) for lane in found.lanes]


def test_one_answer_may_come_while_another_is_handed_out() -> None:
    found = source()
    assert found.room(share=100) == 50
    assert source(fetch_max_bytes=30).room(share=100) == 30
    found.held = 50
    assert found.room(share=100) == 50
    found.held = 51
    assert found.room(share=100) == 0
    found.release(51)
    assert found.room(share=100) == 50


def test_there_is_always_room_for_one() -> None:
    assert source().room(share=0) == 1


def test_failures_are_waited_out_longer_and_longer() -> None:
    lane: Lane = source().lanes[0]
    lane.failed(10.0)
    first = lane.not_before
    lane.failed(10.0)
    assert 10.0 < first < lane.not_before
    lane.worked()
    assert lane.not_before == 0.0


# --- a broker that is far away -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "partitions", "lanes"),
    [
        (0, 8, [8]),
        (16 * MB, 8, [8]),
        (17 * MB, 8, [4, 4]),
        (40 * MB, 8, [3, 3, 2]),
        (64 * MB, 8, [2, 2, 2, 2]),
        (640 * MB, 8, [2] * MOST_LANES),
        (640 * MB, 2, [1, 1, 0, 0]),
    ],
)
def test_a_window_above_a_fetch_has_several_lanes(window: int, partitions: int, lanes: list[int]) -> None:
    assert sorted(widths(source(window, partitions)), reverse=True) == lanes


def test_a_partition_stays_while_its_fetch_is_in_flight() -> None:
    """Its response would come, and the same records be fetched again in the other lane."""
    found = source(0, 4)
    found.lanes[0].asked, found.window.size = 1, 64 * MB
    place(found, 0, 4)
    assert widths(found) == [4]
    found.lanes[0].asked = 0
    place(found, 0, 4)
    assert widths(found) == [1, 1, 1, 1]


def test_a_smaller_window_leaves_lanes() -> None:
    found = source(64 * MB, 4)
    assert not any(map(found.is_left, found.lanes))
    found.window.size = 0
    assert list(map(found.is_left, found.lanes)) == [False, True, True, True]
    place(found, 0, 4)
    assert widths(found) == [4, 0, 0, 0]


@pytest.mark.parametrize("partitions", [1, 2, 4, 40])
@pytest.mark.parametrize("window", [0, 20 * MB, 64 * MB, 10_000 * MB])
def test_what_is_asked_for_and_held_stays_within_the_share(window: int, partitions: int) -> None:
    found, share = source(window, partitions), 96 * MB
    busy = [lane for lane in found.lanes if lane.session.wanted]
    for lane in busy:
        lane.asked = found.room(share)
        assert lane.asked
        found.asked += lane.asked
    assert sum(lane.asked for lane in busy) <= share
    # One of them is returned, and the next one of its lane is asked for meanwhile.
    found.held, found.asked = busy[0].asked + 200_000, found.asked - busy[0].asked
    again = found.room(share)
    assert again
    assert found.held + found.asked + again <= share


def test_a_lone_partition_is_asked_for_more_at_once() -> None:
    found = source(32 * MB, 1)
    assert found.room(96 * MB) == 32 * MB
    assert found.partition_bytes(found.lanes[0]) == 32 * MB
    near = source(0, 1)
    assert near.room(96 * MB) == ConsumerOptions().fetch_max_bytes
    assert near.partition_bytes(near.lanes[0]) == ConsumerOptions().max_partition_fetch_bytes


def test_options_that_were_set_are_obeyed() -> None:
    found = source(640 * MB, 1, fetch_max_bytes=3 * MB, max_partition_fetch_bytes=2 * MB)
    assert found.room(96 * MB) == 3 * MB
    assert found.partition_bytes(found.lanes[0]) == 2 * MB
    assert source(640 * MB, 1, receive_message_max_bytes=20 * MB).room(96 * MB) == 19 * MB
