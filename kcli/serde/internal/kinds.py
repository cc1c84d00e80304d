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
    """One kind of record. ``name`` is Kafka's, without Key and Value."""

    number: int
    name: str
    key: type[Struct]
    value: type[Struct]


_GROUP_RECORDS = (
    # Key version 0 predates 0.8.2.2; its values went through the same versions as those of key version 1.
    RecordKind(0, "OffsetCommit", g.OffsetCommitKey, g.OffsetCommitValue),
    RecordKind(1, "OffsetCommit", g.OffsetCommitKey, g.OffsetCommitValue),
    RecordKind(2, "GroupMetadata", g.GroupMetadataKey, g.GroupMetadataValue),
    RecordKind(3, "ConsumerGroupMetadata", g.GroupIdKey, g.ConsumerGroupMetadataValue),
    RecordKind(4, "ConsumerGroupPartitionMetadata", g.GroupIdKey, g.ConsumerGroupPartitionMetadataValue),
    RecordKind(5, "ConsumerGroupMemberMetadata", g.GroupMemberKey, g.ConsumerGroupMemberMetadataValue),
    RecordKind(
        6, "ConsumerGroupTargetAssignmentMetadata", g.GroupIdKey, g.ConsumerGroupTargetAssignmentMetadataValue
    ),
    RecordKind(
        7, "ConsumerGroupTargetAssignmentMember", g.GroupMemberKey, g.ConsumerGroupTargetAssignmentMemberValue
    ),
    RecordKind(
        8,
        "ConsumerGroupCurrentMemberAssignment",
        g.GroupMemberKey,
        g.ConsumerGroupCurrentMemberAssignmentValue,
    ),
    RecordKind(9, "ShareGroupPartitionMetadata", g.GroupIdKey, g.ShareGroupPartitionMetadataValue),  # 3.9
    RecordKind(10, "ShareGroupMemberMetadata", g.GroupMemberKey, g.ShareGroupMemberMetadataValue),
    RecordKind(11, "ShareGroupMetadata", g.GroupIdKey, g.ShareGroupMetadataValue),
    RecordKind(
        12, "ShareGroupTargetAssignmentMetadata", g.GroupIdKey, g.ShareGroupTargetAssignmentMetadataValue
    ),
    RecordKind(
        13, "ShareGroupTargetAssignmentMember", g.GroupMemberKey, g.ShareGroupTargetAssignmentMemberValue
    ),
    RecordKind(
        14, "ShareGroupCurrentMemberAssignment", g.GroupMemberKey, g.ShareGroupCurrentMemberAssignmentValue
    ),
    RecordKind(15, "ShareGroupStatePartitionMetadata", g.GroupIdKey, g.ShareGroupStatePartitionMetadataValue),
    RecordKind(
        16, "ConsumerGroupRegularExpression", g.RegularExpressionKey, g.ConsumerGroupRegularExpressionValue
    ),
    RecordKind(17, "StreamsGroupMetadata", g.GroupIdKey, g.StreamsGroupMetadataValue),
    RecordKind(19, "StreamsGroupMemberMetadata", g.GroupMemberKey, g.StreamsGroupMemberMetadataValue),
    RecordKind(
        20, "StreamsGroupTargetAssignmentMetadata", g.GroupIdKey, g.StreamsGroupTargetAssignmentMetadataValue
    ),
    RecordKind(
        21, "StreamsGroupTargetAssignmentMember", g.GroupMemberKey, g.StreamsGroupTargetAssignmentMemberValue
    ),
    RecordKind(
        22,
        "StreamsGroupCurrentMemberAssignment",
        g.GroupMemberKey,
        g.StreamsGroupCurrentMemberAssignmentValue,
    ),
    RecordKind(23, "StreamsGroupTopology", g.GroupIdKey, g.StreamsGroupTopologyValue),
)

KINDS: dict[str, dict[int, RecordKind]] = {
    "consumer_offsets": {kind.number: kind for kind in _GROUP_RECORDS},
    "transaction_state": {0: RecordKind(0, "TransactionLog", t.TransactionLogKey, t.TransactionLogValue)},
    "share_group_state": {
        0: RecordKind(0, "ShareSnapshot", s.SharePartitionKey, s.ShareSnapshotValue),
        1: RecordKind(1, "ShareUpdate", s.SharePartitionKey, s.ShareUpdateValue),
    },
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
