"""Builds OffsetCommit and OffsetFetch requests of one group, and reads their responses. Pure.

Committed offsets are requested without a member id: a member epoch that is about to change would be refused, and
the response is the same. A string of more than 32767 bytes costs the connection, so strings and numbers of a
commit are checked (``unwritable``) before it joins others in a request, and those of a rewind before any member is
evicted for it (``tests/fault/test_rewind_offsets.py``, ``tests/unit/core/group/test_commits.py``).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter

from kcli.core.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kcli.core.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition

_TOPIC = attrgetter("topic")
_LAST_BY_NAME = 9  # of both requests; from version 10 on they identify topics by id
_FIRST_WITH_EPOCHS = 9  # OffsetCommit: the first version with member epochs (KIP-848)


def commit_request(
    group: GroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    by_epoch: bool = False,
) -> OffsetCommitRequest:
    """Commits by topic id (KIP-848) if every offset has one: a topic created anew under the same name gets no commit.

    ``by_epoch``: the generation is a member epoch, which older brokers would refuse anyway.
    """

    def topic(tp: TopicPartition) -> tuple[str, bytes]:
        return tp.topic, offsets[tp].topic_id

    in_order = sorted(offsets, key=lambda tp: (*topic(tp), tp.partition))
    request = OffsetCommitRequest(
        group_id=group.group_id,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=tp.partition,
                        committed_offset=offsets[tp].offset,
                        committed_leader_epoch=offsets[tp].leader_epoch,
                        committed_metadata=offsets[tp].metadata,
                    )
                    for tp in partitions
                ],
            )
            for (name, topic_id), partitions in groupby(in_order, topic)
        ],
    )
    if not have_ids(offsets):
        request.cap_version(_LAST_BY_NAME)
    if by_epoch:
        request.require_version(_FIRST_WITH_EPOCHS)
    return request


def have_ids(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
    """Whether a commit of these offsets can name its topics by their ids."""
    return all(offset.topic_id != NO_UUID for offset in offsets.values())


def read_commit(
    answer: OffsetCommitResponse, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> Iterator[tuple[TopicPartition, int]]:
    """Partition and error code of each row of the response to a commit of ``offsets``."""
    names = {offset.topic_id: tp.topic for tp, offset in offsets.items()}
    for topic in answer.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for partition in topic.partitions:
            yield TopicPartition(name, partition.partition_index), partition.error_code


def fetch_request(group_id: str, partitions: Iterable[TopicPartition]) -> OffsetFetchRequest:
    """Requests the committed offsets of ``partitions``; an error for those with a pending transactional commit."""
    rows = [
        (topic, [tp.partition for tp in of_topic]) for topic, of_topic in groupby(sorted(partitions), _TOPIC)
    ]
    request = OffsetFetchRequest(
        group_id=group_id,
        topics=[OffsetFetchRequestTopic(name=name, partition_indexes=parts) for name, parts in rows],
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=[OffsetFetchRequestTopics(name=name, partition_indexes=parts) for name, parts in rows],
            )
        ],
        require_stable=True,
    )
    request.cap_version(_LAST_BY_NAME)
    return request


def fetch_error(answer: OffsetFetchResponse) -> int:
    """The error code for the whole group."""
    return answer.groups[0].error_code if answer.groups else answer.error_code


def read_fetch(
    answer: OffsetFetchResponse,
) -> Iterator[tuple[TopicPartition, int, OffsetAndMetadata | None]]:
    """Partition, error code, and committed offset (None if there is none)."""
    topics = answer.groups[0].topics if answer.groups else answer.topics
    for topic in topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            found = OffsetAndMetadata(row.committed_offset, row.metadata or "", row.committed_leader_epoch)
            yield tp, row.error_code, found if row.committed_offset >= 0 else None
