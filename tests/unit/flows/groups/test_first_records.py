"""How many places are asked for at a time."""

from collections import Counter

from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import MOST, MOST_OF_PARTITION, PartitionOffset, request_batches


def place(partition: int, offset: int) -> PartitionOffset:
    return TopicPartition("t", partition), offset


def test_each_position_is_requested_once_and_few_share_a_request() -> None:
    places = [place(0, 5), place(1, 5), place(0, 3), place(0, 5)]
    assert list(request_batches(places)) == [[place(0, 5), place(1, 5), place(0, 3)]]
    assert list(request_batches([])) == []


def test_requests_are_bounded_by_partition_and_in_all() -> None:
    places = [place(0, at) for at in range(500)] + [place(number, 7) for number in range(1, 10_000)]
    asked = list(request_batches(places))
    assert sorted(one for some in asked for one in some) == sorted(places)
    assert max(map(len, asked)) == MOST
    assert len(asked) == -(-500 // MOST_OF_PARTITION) + 2  # the first wave takes three
    assert all(max(Counter(tp for tp, _ in some).values()) <= MOST_OF_PARTITION for some in asked)
