"""What is in the requests for first records: each has room for one offset of a partition."""

from kcli.core.admin.first_records import _Position, _request, _split_shares
from kcli.core.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_a_partition_is_at_most_once_in_a_request() -> None:
    first, second, third, other = _Position(T0, 5), _Position(T0, 9), _Position(T0, 7), _Position(T1, 5)
    items = [(first, 5), (second, 9), (other, 6), (third, 7)]
    assert _split_shares(items) == [[(first, 5), (other, 6)], [(second, 9)], [(third, 7)]]


def test_positions_that_moved_to_the_same_offset_stay_two() -> None:
    moved = [(_Position(T0, 5), 8), (_Position(T0, 6), 8)]
    assert _split_shares(moved) == [[moved[0]], [moved[1]]]


def test_a_request_asks_from_the_current_position_for_its_share_of_bytes() -> None:
    request = _request(
        [(_Position(T0, 5), 5), (_Position(U0, 1), 4), (_Position(T1, 2), 2)],
        1 << 20,
        1000,
        committed_only=True,
    )
    assert [
        (topic.topic, [(one.partition, one.fetch_offset) for one in topic.partitions])
        for topic in request.topics
    ] == [
        ("t", [(0, 5), (1, 2)]),
        ("u", [(0, 4)]),
    ]
    assert {one.partition_max_bytes for topic in request.topics for one in topic.partitions} == {1000}
    assert (request.max_bytes, request.isolation_level) == (1000, 1)
