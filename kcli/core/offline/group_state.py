"""Groups and their committed offsets, as their coordinators had them, from ``__consumer_offsets``. Pure.

As a coordinator loads them: a group is there if its metadata is, or an offset of it. Offsets that have expired are there
until the coordinator deletes them, which the log then says.
"""

from collections import Counter
from typing import Any

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.offline.coordinator_log import CoordinatorLog, key_struct, stored_records
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records as stored
from kcli.core.protocol.stored.kinds import KINDS
from kcli.core.protocol.stored.reading import type_number
from kcli.core.types import TopicPartition

TOPIC = "__consumer_offsets"
CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
_METADATA = (
    stored.GroupMetadataValue,
    stored.ConsumerGroupMetadataValue,
    stored.ShareGroupMetadataValue,
    stored.StreamsGroupMetadataValue,
)
_TYPES = {"Group": CLASSIC, "Consumer": CONSUMER, "Share": SHARE, "Streams": STREAMS}
"""By how the names of the records begin."""


class Committed(NamedTuple):
    """A committed offset; times in ms since the epoch, −1 where the record has none. ``topic_id`` is since Kafka 4.1."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    topic_id: bytes


@dataclass(slots=True)
class StoredGroup:
    """A group. ``epoch`` is the generation of a classic one.

    ``records`` has the other keys and values of the group, by the class of the values: the members as they were last, for
    example. ``pending`` has the partitions for which an open transaction has written an offset.
    """

    group_id: str
    group_type: str = CLASSIC
    metadata: Any = None
    offsets: dict[TopicPartition, Committed] = field(default_factory=dict)
    pending: set[TopicPartition] = field(default_factory=set)
    records: dict[type[Struct], list[tuple[Any, Any]]] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """The generation, or the epoch of the group; −1 where there are only offsets."""
        if self.metadata is None:
            return -1
        return int(self.metadata.generation if self.group_type == CLASSIC else self.metadata.epoch)

    @property
    def protocol_type(self) -> str:
        """As brokers list it: empty for a group without members ever."""
        if self.group_type == CLASSIC:
            return self.metadata.protocol_type if self.metadata is not None else ""
        return self.group_type

    def value(self, kind: type[Struct]) -> Any:
        """The value of this class, of which a group has at most one; None without it."""
        rows = self.records.get(kind)
        return rows[0][1] if rows else None


class GroupState:
    """The groups of some partitions by id. ``unknown`` counts records of a type or version that is not known."""

    def __init__(self) -> None:
        self.groups: dict[str, StoredGroup] = {}
        self.unknown: Counter[str] = Counter()

    def add(self, log: CoordinatorLog) -> None:
        """Adds the groups of one partition."""
        for key, value in stored_records(log, TOPIC, self.unknown):
            self._keep(key, value)
        for written in log.pending.values():
            for raw in written:
                kind = KINDS["consumer_offsets"].get(type_number(raw))
                pending = key_struct(kind, raw) if kind is not None else None
                if isinstance(pending, stored.OffsetCommitKey):
                    tp = TopicPartition(pending.topic, pending.partition)
                    self._group(pending.group).pending.add(tp)

    def _group(self, group_id: str) -> StoredGroup:
        return self.groups.setdefault(group_id, StoredGroup(group_id))

    def _keep(self, key: Any, value: Any) -> None:
        if isinstance(key, stored.OffsetCommitKey):
            self._group(key.group).offsets[TopicPartition(key.topic, key.partition)] = Committed(
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp,
                value.expire_timestamp,
                value.topic_id,
            )
            return
        group = self._group(key.group if isinstance(key, stored.GroupMetadataKey) else key.group_id)
        group.group_type = next(
            kind for prefix, kind in _TYPES.items() if type(value).__name__.startswith(prefix)
        )
        if isinstance(value, _METADATA):
            group.metadata = value
        else:
            group.records.setdefault(type(value), []).append((key, value))
