"""OffsetFetch: committed positions of one group, or of many since v8; by topic id since v10."""

from collections.abc import Callable, Iterable, Mapping

from kcli.core.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.consumer_group import ConsumerGroup
from tests.fake.groups.offsets import Committed, Offsets
from tests.fake.groups.registry import Registry
from tests.fake.groups.topics import Topics

_FIRST_WITH_GROUPS = 8
_FIRST_WITH_TOPIC_IDS = 10

NOTHING = Committed(-1, -1, "")


class Fetches:
    """A group that is not there has no offsets, which is no error."""

    def __init__(self, registry: Registry, offsets: Offsets, topics: Topics) -> None:
        self._registry = registry
        self._offsets = offsets
        self._topics = topics

    def fetch(
        self, request: OffsetFetchRequest, version: int, here: Callable[[str], bool]
    ) -> OffsetFetchResponse:
        """Every form of request is answered as if it were of v8, and then put into its own form."""
        if version >= _FIRST_WITH_GROUPS:
            groups = [
                self._group(asked, request.require_stable, version)
                if here(asked.group_id)
                else OffsetFetchResponseGroup(group_id=asked.group_id, error_code=Code.NOT_COORDINATOR)
                for asked in request.groups
            ]
            return OffsetFetchResponse(groups=groups)
        return _in_old_form(self._group(_in_new_form(request), request.require_stable, version))

    def _group(self, asked: OffsetFetchRequestGroup, stable: bool, version: int) -> OffsetFetchResponseGroup:
        group = self._registry.find(asked.group_id)
        try:
            if isinstance(group, ConsumerGroup):
                group.check_fetch(asked.member_id, asked.member_epoch)
        except RefusedError as refused:
            return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=refused.code)
        if asked.topics is None:
            topics = self._all_topics(asked.group_id, stable, version)
        else:
            topics = [self._topic(asked.group_id, topic, stable, version) for topic in asked.topics]
        return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)

    def _all_topics(self, group_id: str, stable: bool, version: int) -> list[OffsetFetchResponseTopics]:
        """Also by id; a topic that was just deleted has none and is left out then."""
        answer = []
        committed = self._offsets.of(group_id)
        for name, partitions in by_topic(committed):
            topic_id = self._topics.id_of(name)
            if topic_id is not None or version < _FIRST_WITH_TOPIC_IDS:
                rows = self._rows(group_id, name, partitions, committed, stable)
                answer.append(
                    OffsetFetchResponseTopics(name=name, topic_id=topic_id or NO_UUID, partitions=rows)
                )
        return answer

    def _topic(
        self, group_id: str, asked: OffsetFetchRequestTopics, stable: bool, version: int
    ) -> OffsetFetchResponseTopics:
        name: str | None = asked.name
        if version >= _FIRST_WITH_TOPIC_IDS:
            name = self._topics.name_of(bytes(asked.topic_id))
        if name is None:
            rows = [_row(p, NOTHING, Code.UNKNOWN_TOPIC_ID) for p in asked.partition_indexes]
        else:
            committed = self._offsets.of(group_id)
            rows = self._rows(group_id, name, asked.partition_indexes, committed, stable)
        return OffsetFetchResponseTopics(name=asked.name, topic_id=bytes(asked.topic_id), partitions=rows)

    def _rows(
        self,
        group_id: str,
        name: str,
        partitions: Iterable[int],
        committed: Mapping[TopicPartition, Committed],
        stable: bool,
    ) -> list[OffsetFetchResponsePartitions]:
        rows = []
        for partition in partitions:
            tp = TopicPartition(name, partition)
            if stable and self._offsets.is_pending(group_id, tp):
                rows.append(_row(partition, NOTHING, Code.UNSTABLE_OFFSET_COMMIT))
            else:
                rows.append(_row(partition, committed.get(tp, NOTHING), Code.NONE))
        return rows


def _row(partition: int, value: Committed, code: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=value.offset,
        committed_leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        error_code=code,
    )


def _in_new_form(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in topics
        ],
    )


def _in_old_form(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=row.partition_index,
                    committed_offset=row.committed_offset,
                    committed_leader_epoch=row.committed_leader_epoch,
                    metadata=row.metadata,
                    error_code=row.error_code,
                )
                for row in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)
