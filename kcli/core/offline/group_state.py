"""Groups and their committed offsets, as their coordinators had them, from ``__consumer_offsets``. Pure.

As a coordinator loads them: a group is there if its metadata is, or an offset of it. Offsets that have expired are there
until the coordinator deletes them, which the log then says.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.core.errors import ProtocolError
from kcli.core.offline.coordinator_log import CoordinatorLog, StoredValue
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records as stored
from kcli.core.protocol.stored.kinds import KINDS
from kcli.core.protocol.stored.reading import NEVER, struct_of, type_number
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
_MEMBERS = (
    stored.ConsumerGroupMemberMetadataValue,
    stored.ShareGroupMemberMetadataValue,
    stored.StreamsGroupMemberMetadataValue,
)


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

    ``records`` has the other values of the group, by their class: the members as they were when the coordinator wrote last
    are in it. ``pending`` has the partitions for which an open transaction has written an offset.
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

    @property
    def last_members(self) -> int:
        """How many members it had when the coordinator wrote last."""
        if self.group_type == CLASSIC:
            return len(self.metadata.members) if self.metadata is not None else 0
        return sum(len(self.records.get(kind, ())) for kind in _MEMBERS)

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
        for key, stored_value in _in_order(log.values):
            row = self._decoded(key, stored_value)
            if row is not None:
                self._keep(*row)
        for written in log.pending.values():
            for key in written:
                decoded = self._key(key)
                if isinstance(decoded, stored.OffsetCommitKey):
                    self._group(decoded.group).pending.add(TopicPartition(decoded.topic, decoded.partition))

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

    def _key(self, key: bytes) -> Any:
        kind = KINDS["consumer_offsets"].get(type_number(key))
        return None if kind is None else struct_of(kind.key, key, 2, 0, NEVER)

    def _decoded(self, key: bytes, stored_value: StoredValue) -> tuple[Any, Any] | None:
        offset, value = stored_value
        try:
            number, version = type_number(key), type_number(value)
            kind = KINDS["consumer_offsets"].get(number)
            cls: Any = kind.value if kind is not None else None
            if kind is None or not cls.versions[0] <= version <= cls.versions[1]:
                self.unknown[f"{kind.name if kind else f'type {number}'} version {version}"] += 1
                return None
            return self._key(key), struct_of(cls, value, 2, version, cls.flexible)
        except ProtocolError as error:
            raise ProtocolError(
                f"the record of {TOPIC} at offset {offset} cannot be read", why=str(error)
            ) from None


def _in_order(values: Mapping[bytes, StoredValue]) -> Iterable[tuple[bytes, StoredValue]]:
    """In log order: of two types that a group has had, the later one counts."""
    return sorted(values.items(), key=lambda item: item[1].offset)
