"""DeleteGroups and OffsetDelete."""

import zlib

from kcli.core.protocol.messages.delete_groups import DeletableGroupResult
from kcli.core.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.classic_group import CONSUMER, ClassicGroup
from tests.fake.groups.offsets import Offsets
from tests.fake.groups.other_groups import StreamsGroup
from tests.fake.groups.registry import Group, Registry, not_found
from tests.fake.groups.settings import Settings
from tests.fake.groups.topics import Topics


class Deletions:
    """Only groups without members go; only offsets of topics that nobody reads."""

    def __init__(self, registry: Registry, offsets: Offsets, topics: Topics, settings: Settings) -> None:
        self._registry = registry
        self._offsets = offsets
        self._topics = topics
        self._settings = settings

    def delete_group(self, group_id: str) -> DeletableGroupResult:
        group = self._registry.find(group_id)
        other = self._registry.others.by_id.get(group_id)
        if other is not None and not other.members:
            code = Code.NONE
            del self._registry.others.by_id[group_id]
            self._offsets.delete_group(group_id)
        elif other is not None:
            code = Code.NON_EMPTY_GROUP
        elif group is None:
            code = Code.GROUP_ID_NOT_FOUND
        elif group.members:
            code = Code.NON_EMPTY_GROUP
        else:
            code = Code.NONE
            self._registry.drop(group_id)
            self._offsets.delete_group(group_id)
        return DeletableGroupResult(group_id=group_id, error_code=code)

    def delete_offsets(self, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        """What does not exist the broker turns down itself and tells first."""
        asked = [
            TopicPartition(topic.name, row.partition_index)
            for topic in request.topics
            for row in topic.partitions
        ]
        codes = {p: int(Code.UNKNOWN_TOPIC_OR_PARTITION) for p in asked if p not in self._topics}
        known = [tp for tp in asked if tp in self._topics]
        try:
            codes |= self._delete(request.group_id, known)
        except RefusedError as refused:
            return OffsetDeleteResponse(error_code=refused.code, topics=[])
        rows = (
            (tp.topic, OffsetDeleteResponsePartition(partition_index=tp.partition, error_code=code))
            for tp, code in codes.items()
        )
        topics = [OffsetDeleteResponseTopic(name=name, partitions=p) for name, p in by_topic(rows)]
        return OffsetDeleteResponse(error_code=Code.NONE, topics=topics)

    def _delete(self, group_id: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        group = self._find(group_id)
        codes = {}
        for tp in partitions:
            if self._is_subscribed(group, tp.topic):
                codes[tp] = int(Code.GROUP_SUBSCRIBED_TO_TOPIC)
            else:
                codes[tp] = int(Code.NONE)
                self._offsets.delete(group_id, tp)
        unused = not group.members and not self._offsets.of(group_id)
        if unused and self._settings.drops_groups_without_offsets:
            self._registry.drop(group_id)
        return codes

    def _find(self, group_id: str) -> Group | StreamsGroup:
        """Live groups that are not of consumers cannot be asked what they read."""
        if not group_id:
            raise RefusedError(Code.INVALID_GROUP_ID)
        group = self._registry.find(group_id)
        other = self._registry.others.by_id.get(group_id)
        if isinstance(other, StreamsGroup):
            return other
        if group is None:
            raise not_found(group_id, None)
        if isinstance(group, ClassicGroup) and group.members and group.protocol_type != CONSUMER:
            raise RefusedError(Code.NON_EMPTY_GROUP)
        return group

    def _is_subscribed(self, group: Group | StreamsGroup, topic: str) -> bool:
        if isinstance(group, ClassicGroup | StreamsGroup):
            return group.is_subscribed(topic)
        return group.is_subscribed(topic, self._topics)


def answer_order(group_id: str) -> int:
    """Brokers answer DeleteGroups in an order of their own; here it is always the same one."""
    return zlib.crc32(group_id.encode())
