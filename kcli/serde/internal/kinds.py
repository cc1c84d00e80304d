"""The record types of internal topics: from the number in a key's first two bytes to tables. Pure.

Kafka calls the number the key's version; since 4.0 also the record's type. An unknown type is from a newer broker.
"""

from dataclasses import dataclass

from kcli.core.protocol.schema import Struct
from kcli.serde.internal import group_records as g
from kcli.serde.internal import share_records as s
from kcli.serde.internal import transaction_records as t


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One kind of record."""

    number: int
    key: type[Struct]
    value: type[Struct]

    @property
    def name(self) -> str:
        """Kafka's name, without Key and Value."""
        return self.value.__name__.removesuffix("Value")


def _kinds(*kinds: RecordKind) -> dict[int, RecordKind]:
    return {kind.number: kind for kind in kinds}


KINDS: dict[str, dict[int, RecordKind]] = {
    "consumer_offsets": _kinds(
        # Key version 0 predates 0.8.2.2; its values went through the same versions as those of key version 1.
        RecordKind(0, g.OffsetCommitKey, g.OffsetCommitValue),
        RecordKind(1, g.OffsetCommitKey, g.OffsetCommitValue),
        RecordKind(2, g.GroupMetadataKey, g.GroupMetadataValue),
        RecordKind(3, g.GroupIdKey, g.ConsumerGroupMetadataValue),
        RecordKind(4, g.GroupIdKey, g.ConsumerGroupPartitionMetadataValue),
        RecordKind(5, g.GroupMemberKey, g.ConsumerGroupMemberMetadataValue),
        RecordKind(6, g.GroupIdKey, g.ConsumerGroupTargetAssignmentMetadataValue),
        RecordKind(7, g.GroupMemberKey, g.ConsumerGroupTargetAssignmentMemberValue),
        RecordKind(8, g.GroupMemberKey, g.ConsumerGroupCurrentMemberAssignmentValue),
        RecordKind(9, g.GroupIdKey, g.ShareGroupPartitionMetadataValue),  # 3.9
        RecordKind(10, g.GroupMemberKey, g.ShareGroupMemberMetadataValue),
        RecordKind(11, g.GroupIdKey, g.ShareGroupMetadataValue),
        RecordKind(12, g.GroupIdKey, g.ShareGroupTargetAssignmentMetadataValue),
        RecordKind(13, g.GroupMemberKey, g.ShareGroupTargetAssignmentMemberValue),
        RecordKind(14, g.GroupMemberKey, g.ShareGroupCurrentMemberAssignmentValue),
        RecordKind(15, g.GroupIdKey, g.ShareGroupStatePartitionMetadataValue),
        RecordKind(16, g.RegularExpressionKey, g.ConsumerGroupRegularExpressionValue),
        RecordKind(17, g.GroupIdKey, g.StreamsGroupMetadataValue),
        RecordKind(19, g.GroupMemberKey, g.StreamsGroupMemberMetadataValue),
        RecordKind(20, g.GroupIdKey, g.StreamsGroupTargetAssignmentMetadataValue),
        RecordKind(21, g.GroupMemberKey, g.StreamsGroupTargetAssignmentMemberValue),
        RecordKind(22, g.GroupMemberKey, g.StreamsGroupCurrentMemberAssignmentValue),
        RecordKind(23, g.GroupIdKey, g.StreamsGroupTopologyValue),
    ),
    "transaction_state": _kinds(RecordKind(0, t.TransactionLogKey, t.TransactionLogValue)),
    "share_group_state": _kinds(
        RecordKind(0, s.SharePartitionKey, s.ShareSnapshotValue),
        RecordKind(1, s.SharePartitionKey, s.ShareUpdateValue),
    ),
}
"""By serde, then by number."""

TRANSACTION_STATES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}
"""Kafka's names for ``transaction_status``."""
