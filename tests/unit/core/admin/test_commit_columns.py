"""Commits by column: a mapping like any other, of answers that hold nothing but offsets."""

from itertools import permutations

import pytest

from kcli.core.admin.commit_columns import CommitColumns, CommitReader
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from kcli.core.types import OffsetAndMetadata, TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LAST = 9


@pytest.fixture(autouse=True)
def _as_large_responses_are_read(monkeypatch):
    monkeypatch.setattr(compiler, "_ENOUGH", -1)


def part(
    number: int, offset: int, *, error: int = 0, metadata: str | None = ""
) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=number,
        committed_offset=offset,
        committed_leader_epoch=number + 3,
        metadata=metadata,
        error_code=error,
    )


def answered(name: str, *parts: OffsetFetchResponsePartitions) -> OffsetFetchResponseTopics:
    """As it is read from the wire."""
    topic = OffsetFetchResponseTopics(name=name, partitions=list(parts))
    data = b"".join(codec.join_splices(*compiler.encode(topic, LAST, flexible=True)))
    return compiler.decode(OffsetFetchResponseTopics, memoryview(data), 0, LAST, flexible=True)[0]


def test_commits_are_in_the_order_of_topics_and_partitions() -> None:
    found = CommitReader().read([answered("u", part(0, 7)), answered("t", part(1, 6), part(0, 5))])
    assert found is not None
    assert list(found) == [T0, T1, U0]
    assert found.offsets == (5, 6, 7)
    assert found == {
        T0: OffsetAndMetadata(5, "", 3),
        T1: OffsetAndMetadata(6, "", 4),
        U0: OffsetAndMetadata(7, "", 3),
    }
    assert TopicPartition("u", 1) not in found
    assert len(found) == 3


def test_groups_with_the_same_partitions_share_their_names() -> None:
    reader = CommitReader()
    one = reader.read([answered("t", part(0, 5), part(1, 6))])
    other = reader.read([answered("t", part(1, 9), part(0, 8))])
    assert one is not None
    assert other is not None
    assert one.partitions is other.partitions
    assert other.offsets == (8, 9)


def test_anything_special_is_left_to_the_check_of_each_partition() -> None:
    read = CommitReader().read
    assert read([answered("t", part(0, 5), part(1, -1))]) is None
    assert read([answered("t", part(0, 5, error=3))]) is None
    assert read([answered("t", part(0, 5), part(1, 5, metadata="by hand"))]) is None
    assert read([answered("t", part(0, 5, metadata=None))]) is None
    assert read([answered("t", part(0, 5), part(0, 6))]) is None
    assert read([answered("t", part(0, 5)), answered("t", part(0, 6))]) is None
    assert read([answered("t")]) is None
    assert read([]) is None


def test_records_read_one_by_one_are_those_that_were_sent() -> None:
    topic = answered("t", part(0, 5), part(1, 6))
    assert [(one.partition_index, one.committed_offset, one.metadata) for one in topic.partitions] == [
        (0, 5, ""),
        (1, 6, ""),
    ]
    assert topic.partitions[1].committed_leader_epoch == 4
    assert len(topic.partitions[:1]) == 1
    assert "committed_offset=6" in repr(topic.partitions)


def test_a_mapping_prints_as_one() -> None:
    assert repr(CommitColumns((T0,), (5,), (-1,))) == repr({T0: OffsetAndMetadata(5, "", -1)})


Row = tuple[int, int, int, int]


def by_tuple(*topics: tuple[str, list[Row]]) -> list[tuple[str, tuple[tuple[int, ...], ...]]]:
    """As the kernel reads topics: number, offset, leader epoch and error of each partition, by column."""
    return [(name, tuple(zip(*rows, strict=True)) if rows else ((), (), (), ())) for name, rows in topics]


def test_columns_of_the_kernel_are_those_of_the_elements() -> None:
    reader = CommitReader()
    elements = reader.read([answered("u", part(0, 7)), answered("t", part(1, 6), part(0, 5), part(2, 9))])
    found = reader.read_tuples(
        by_tuple(("u", [(0, 7, 3, 0)]), ("t", [(1, 6, 4, 0), (0, 5, 3, 0), (2, 9, 5, 0)]))
    )
    assert elements is not None
    assert found is not None
    assert found.partitions is elements.partitions
    assert (
        (found.offsets, found.epochs) == (elements.offsets, elements.epochs) == ((5, 6, 9, 7), (3, 4, 5, 3))
    )


def test_any_order_of_partitions_gives_the_same_columns() -> None:
    reader = CommitReader()
    rows = [(number, number * 10, number, 0) for number in range(4)]
    found = [reader.read_tuples(by_tuple(("t", list(order)))) for order in permutations(rows)]
    assert {(one.offsets, one.epochs, id(one.partitions)) for one in found if one is not None} == {
        ((0, 10, 20, 30), (0, 1, 2, 3), id(found[0].partitions if found[0] else None))
    }
    assert None not in found


def test_anything_special_of_the_kernel_is_left_to_the_check_of_each_partition() -> None:
    read = CommitReader().read_tuples
    assert read(by_tuple(("t", [(0, 5, -1, 0), (1, -1, -1, 0)]))) is None
    assert read(by_tuple(("t", [(0, 5, -1, 3)]))) is None
    assert read(by_tuple(("t", [(1, 5, -1, 0), (0, 5, -1, 0), (1, 6, -1, 0)]))) is None
    assert read(by_tuple(("t", [(0, 5, -1, 0)]), ("t", [(0, 6, -1, 0)]))) is None
    assert read(by_tuple(("t", []))) is None
    assert read([]) is None
