"""Which requests change a cluster: each API that kcli has is in one of these tables. Not a test."""

from collections.abc import Iterable
from typing import Any

from tests.fake.journal import Seen

CHANGES = {
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AddRaftVoter", "AlterPartitionReassignments", "AlterReplicaLogDirs",
    "AlterShareGroupOffsets", "AlterUserScramCredentials", "ConsumerGroupHeartbeat", "CreateAcls",
    "CreateDelegationToken", "DeleteAcls", "DeleteGroups", "DeleteRecords", "DeleteShareGroupOffsets", "DeleteTopics",
    "ElectLeaders", "EndTxn", "ExpireDelegationToken", "Heartbeat", "InitProducerId", "JoinGroup", "LeaveGroup",
    "OffsetCommit", "OffsetDelete", "Produce", "PushTelemetry", "RemoveRaftVoter", "RenewDelegationToken",
    "ShareAcknowledge", "ShareFetch", "ShareGroupHeartbeat", "StreamsGroupHeartbeat",
    "StreamsGroupTopologyDescriptionUpdate", "SyncGroup", "TxnOffsetCommit", "UnregisterBroker",
    "UnregisterController", "WriteTxnMarkers",
}  # fmt: skip
CHANGES_UNLESS_CHECKED = {
    "AlterClientQuotas",
    "AlterConfigs",
    "CreatePartitions",
    "CreateTopics",
    "IncrementalAlterConfigs",
    "UpdateFeatures",
}
"""With ``validateOnly`` they change nothing, where the broker honours it."""
CREATES_TOPICS = {"Metadata"}
"""Creates the topics that it names, if it allows that."""
READS = {
    "ApiVersions", "ConsumerGroupDescribe", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
    "DescribeConfigs", "DescribeDelegationToken", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
    "DescribeQuorum", "DescribeShareGroupOffsets", "DescribeTopicPartitions", "DescribeTransactions",
    "DescribeUserScramCredentials", "Fetch", "FindCoordinator", "GetTelemetrySubscriptions", "ListConfigResources",
    "ListGroups", "ListOffsets", "ListPartitionReassignments", "ListTransactions", "OffsetFetch",
    "OffsetForLeaderEpoch", "SaslAuthenticate", "SaslHandshake", "ShareGroupDescribe", "StreamsGroupDescribe",
}  # fmt: skip
"""FindCoordinator is how groups are read at all; the first one of a cluster has brokers make their internal topic."""


def changes(seen: Iterable[Seen]) -> list[str]:
    """The APIs of the requests that could change something, in their order."""
    return [one.api for one in seen if _changes(one.api, one.request)]


def _changes(api: str, request: Any) -> bool:
    if api in CREATES_TOPICS:
        return bool(request.topics) and request.allow_auto_topic_creation
    return api in CHANGES or (api in CHANGES_UNLESS_CHECKED and not request.validate_only)
