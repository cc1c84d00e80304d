"""OffsetCommit, and commits inside of transactions: who may, and what becomes of each partition."""

from collections.abc import Iterable, Mapping

from kcli.core.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.classic_group import ClassicGroup, State
from tests.fake.groups.offsets import Committed, Offsets
from tests.fake.groups.other_groups import StreamsGroup
from tests.fake.groups.rebalance import Rebalances
from tests.fake.groups.registry import Registry, not_found
from tests.fake.groups.settings import Settings
from tests.fake.groups.topics import Place, Topics

_FIRST_WITH_MEMBER_EPOCH = 9
_FIRST_WITH_TOPIC_IDS = 10
_TXN_FIRST_WITH_TOPIC_IDS = 6
"""TxnOffsetCommit; its codes are those of OffsetCommit since then (KIP-1319)."""

Name = tuple[str, bytes]
"""A topic as a request names it: by its name, or by its id since v10; the other one is empty."""


class Commits:
    """Bounds of offsets are not checked; no broker does."""

    def __init__(
        self, registry: Registry, offsets: Offsets, topics: Topics, rebalances: Rebalances, settings: Settings
    ) -> None:
        self._registry = registry
        self._offsets = offsets
        self._topics = topics
        self._rebalances = rebalances
        self._settings = settings

    def commit(self, request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
        """The broker turns down what does not exist; the coordinator is asked about the rest, if there is any."""
        turned_down: list[tuple[tuple[Name, int], int]] = []
        rest: list[tuple[tuple[Name, int], TopicPartition, OffsetCommitRequestPartition]] = []
        for topic in request.topics:
            name, unknown = self._resolve(topic.name, bytes(topic.topic_id), version)
            for row in topic.partitions:
                asked = ((topic.name, bytes(topic.topic_id)), row.partition_index)
                tp = TopicPartition(name or "", row.partition_index)
                if tp in self._topics:
                    rest.append((asked, tp, row))
                else:
                    turned_down.append((asked, unknown))
        codes = self._store(request, version, {tp: row for _, tp, row in rest}) if rest else {}
        return _answer(turned_down + [(asked, codes[tp]) for asked, tp, _ in rest])

    def commit_in_transaction(
        self,
        group_id: str,
        producer_id: int,
        offsets: Mapping[TopicPartition, tuple[int, int, str | None]],
        *,
        generation: int,
        member_id: str,
        instance_id: str | None,
        version: int,
    ) -> dict[TopicPartition, int]:
        """Code by partition; what is accepted stays invisible until the transaction ends."""
        codes = dict.fromkeys(offsets, int(Code.UNKNOWN_TOPIC_OR_PARTITION))
        known = {tp: value for tp, value in offsets.items() if tp in self._topics}
        if not group_id:
            return dict.fromkeys(offsets, int(Code.INVALID_GROUP_ID))
        if not known:
            return codes
        try:
            self._check_transactional(group_id, generation, member_id, instance_id, known, version)
        except RefusedError as refused:
            return codes | dict.fromkeys(known, refused.code)
        for tp, (offset, leader_epoch, metadata) in known.items():
            codes[tp] = self._check_metadata(metadata)
            if codes[tp] == Code.NONE:
                value = Committed(offset, leader_epoch, metadata or "")
                self._offsets.commit_in_transaction(producer_id, group_id, tp, value)
        return codes

    def _resolve(self, name: str, topic_id: bytes, version: int) -> tuple[str | None, int]:
        """The topic's name, and what is said of its partitions when they do not exist."""
        if version < _FIRST_WITH_TOPIC_IDS:
            return name, Code.UNKNOWN_TOPIC_OR_PARTITION
        found = self._topics.name_of(topic_id)
        return found, Code.UNKNOWN_TOPIC_OR_PARTITION if found is not None else Code.UNKNOWN_TOPIC_ID

    def _store(
        self,
        request: OffsetCommitRequest,
        version: int,
        rows: Mapping[TopicPartition, OffsetCommitRequestPartition],
    ) -> dict[TopicPartition, int]:
        try:
            self._check(request, version, rows)
        except RefusedError as refused:
            return dict.fromkeys(rows, refused.code)
        codes = {}
        for tp, row in rows.items():
            codes[tp] = self._check_metadata(row.committed_metadata)
            if codes[tp] == Code.NONE:
                value = Committed(
                    row.committed_offset, row.committed_leader_epoch, row.committed_metadata or ""
                )
                self._offsets.commit(request.group_id, tp, value)
        return codes

    def _check(
        self, request: OffsetCommitRequest, version: int, partitions: Iterable[TopicPartition]
    ) -> None:
        """May they commit? Who commits to a group that is not there makes it, unless they claim to be a member."""
        group, generation = self._registry.find(request.group_id), request.generation_id_or_member_epoch
        other = self._registry.others.by_id.get(request.group_id)
        if isinstance(other, StreamsGroup):  # without members anybody may commit
            if other.members and request.member_id not in other.members:
                raise RefusedError(Code.UNKNOWN_MEMBER_ID)
            return
        if group is None:
            if generation >= 0:
                modern = version >= _FIRST_WITH_MEMBER_EPOCH
                raise not_found(request.group_id, None) if modern else RefusedError(Code.ILLEGAL_GENERATION)
            group = self._registry.classic_for_offsets(request.group_id)
        if isinstance(group, ClassicGroup):
            group.check_commit(request.member_id, request.group_instance_id, generation, transactional=False)
            if group.state in (State.STABLE, State.PREPARING):
                self._rebalances.touch(group, group.members[request.member_id])
        else:
            group.check_commit(request.member_id, generation, version, self._with_ids(partitions))

    def _with_ids(self, partitions: Iterable[TopicPartition]) -> list[Place]:
        return [(self._topics.id_of(tp.topic) or NO_UUID, tp.partition) for tp in partitions]

    def _check_transactional(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        instance_id: str | None,
        partitions: Iterable[TopicPartition],
        version: int,
    ) -> None:
        says_more = version >= _TXN_FIRST_WITH_TOPIC_IDS
        group = self._registry.find(group_id)
        if group is None:
            if generation >= 0:
                raise not_found(group_id, None) if says_more else RefusedError(Code.ILLEGAL_GENERATION)
            group = self._registry.classic_for_offsets(group_id)
        if isinstance(group, ClassicGroup):
            group.check_commit(member_id, instance_id, generation, transactional=True)
        else:
            ids = self._with_ids(partitions)
            stale = Code.STALE_MEMBER_EPOCH if says_more else Code.ILLEGAL_GENERATION
            group.check_transactional_commit(member_id, instance_id, generation, ids, stale)

    def _check_metadata(self, metadata: str | None) -> int:
        too_large = len(metadata or "") > self._settings.max_metadata
        return int(Code.OFFSET_METADATA_TOO_LARGE if too_large else Code.NONE)


def _answer(codes: list[tuple[tuple[Name, int], int]]) -> OffsetCommitResponse:
    rows = (
        (name, OffsetCommitResponsePartition(partition_index=partition, error_code=code))
        for (name, partition), code in codes
    )
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
            for (name, topic_id), partitions in by_topic(rows)
        ]
    )
