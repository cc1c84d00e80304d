"""Commits by column: a mapping like any other, of answers that hold nothing but offsets."""

from kcli.core.admin.commit_columns import CommitColumns, CommitReader
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from kcli.core.types import OffsetAndMetadata, TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LAST = 9


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
