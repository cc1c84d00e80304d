"""What Kafka's definitions do not say about the tables: which APIs, and what is special. By hand.

Places are ``Class.field``, with the names of the classes that are written.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

APIS = {
    "Produce": """record batches to partition leaders. v13 names topics by id (KIP-516).

Kafka 4.3.1 advertises v0 to v2 but closes the connection on them; this table begins at v3.
""",
    "Fetch": "record batches from partitions; sessions since v7 (KIP-227), topic ids since v13.",
    "ListOffsets": "offsets by timestamp or by place (−1 end, −2 start, −3 newest timestamp, …).",
    "Metadata": "brokers, topics, partitions and their leaders.",
    "OffsetCommit": "positions of a group, kept by its coordinator. By topic id since v10.",
    "OffsetFetch": "committed positions; several groups since v8 (KIP-709), topic ids since v10.",
    "FindCoordinator": "who coordinates groups and transactions; many keys in one request since v4 (KIP-699).",
    "JoinGroup": "a member joins a classic group; the answer waits for the other members.",
    "Heartbeat": "a member of a classic group is alive.",
    "LeaveGroup": "members leave a classic group; several since v3 (KIP-345).",
    "SyncGroup": "the leader hands in the assignment of a classic group, every member gets its own.",
    "DescribeGroups": "classic groups with members and assignments.",
    "ListGroups": "the groups that a broker coordinates.",
    "SaslHandshake": """which SASL mechanism follows; the response lists those that the broker offers.

Version 1 means that the tokens travel in SaslAuthenticate (KIP-152), version 0 that they follow without a header.
""",
    "ApiVersions": "what a broker offers, asked first on every connection (KIP-35, 511, 584).",
    "CreateTopics": "new topics, sent to the controller; topic ids in the answer since v7.",
    "DeleteTopics": "topics to be deleted, by name or, since v6, by id.",
    "DeleteRecords": "records before an offset, to be removed by the partition's leader (KIP-107).",
    "InitProducerId": "a producer id and epoch for idempotence and transactions (KIP-98, 360, 890).",
    "OffsetForLeaderEpoch": "where a leader epoch ends in the log: how truncation is noticed (KIP-320).",
    "AddPartitionsToTxn": "partitions that a transaction is about to write to; clients use v0 to v3 (KIP-98).",
    "AddOffsetsToTxn": "a group whose offsets a transaction is about to commit (KIP-98).",
    "EndTxn": "commits or aborts a transaction; since v5 the answer carries the next epoch (KIP-890).",
    "WriteTxnMarkers": "ends a transaction in its partitions; brokers say it to each other, and tools to brokers.",
    "TxnOffsetCommit": "offsets that become committed with the transaction (KIP-98, KIP-447, KIP-890).",
    "DescribeAcls": "the ACLs that a filter matches (KIP-140, KIP-290).",
    "CreateAcls": "ACLs to be added (KIP-140, KIP-290).",
    "DeleteAcls": "the ACLs that filters match, to be removed (KIP-140, KIP-290).",
    "DescribeConfigs": "configurations of topics and brokers with their sources.",
    "AlterConfigs": "whole configurations replaced; for brokers without IncrementalAlterConfigs (KIP-133).",
    "AlterReplicaLogDirs": "replicas to be moved to another log directory of the same broker (KIP-113).",
    "DescribeLogDirs": "what lies in a broker's log directories, in bytes (KIP-113, KIP-827).",
    "SaslAuthenticate": """one message of a SASL mechanism, and the response to it (KIP-152).

Version 1 returns for how long the session is valid (KIP-368), in milliseconds; 0 means without limit.
""",
    "CreatePartitions": "more partitions for topics that exist (KIP-195).",
    "CreateDelegationToken": "a new delegation token (KIP-48), from v3 for another owner (KIP-373).",
    "RenewDelegationToken": "a later expiry of a delegation token, which its HMAC names (KIP-48).",
    "ExpireDelegationToken": "another expiry of a delegation token, or its end at once (KIP-48).",
    "DescribeDelegationToken": "the delegation tokens that a client may see, with their HMACs (KIP-48, KIP-373).",
    "DeleteGroups": "groups to be deleted, with their offsets.",
    "ElectLeaders": "a leader among the replicas of partitions, the preferred or any (KIP-183, KIP-460).",
    "IncrementalAlterConfigs": "single configuration keys to be set, removed or extended (KIP-339).",
    "AlterPartitionReassignments": "other replicas for partitions, or the end of a reassignment (KIP-455).",
    "ListPartitionReassignments": "the partitions whose replicas are being moved (KIP-455).",
    "OffsetDelete": "committed positions to be forgotten (KIP-496).",
    "DescribeClientQuotas": "the quotas of users, client ids and IP addresses (KIP-546, KIP-612).",
    "AlterClientQuotas": "quotas of users, client ids and IP addresses to be set or removed (KIP-546, KIP-612).",
    "DescribeUserScramCredentials": "the SCRAM mechanisms and iterations of users (KIP-554). Never a password.",
    "AlterUserScramCredentials": "SCRAM credentials to be set or removed (KIP-554).",
    "DescribeQuorum": "the controllers of a KRaft cluster (KIP-595, KIP-836, KIP-853).",
    "UpdateFeatures": "levels of the cluster's features, the metadata version among them (KIP-584, KIP-778).",
    "DescribeCluster": "the brokers and the id of a cluster (KIP-700).",
    "DescribeProducers": "the producers that a partition's leader knows (KIP-664).",
    "UnregisterBroker": "a broker that is gone for good, to be forgotten by the controllers (KIP-631).",
    "DescribeTransactions": "transactional ids with their state and partitions (KIP-664).",
    "ListTransactions": "the transactional ids that a broker coordinates (KIP-664).",
    "ConsumerGroupHeartbeat": "joins, keeps and leaves a group of the new protocol (KIP-848).",
    "ConsumerGroupDescribe": "groups of the new protocol with members and assignments (KIP-848).",
    "GetTelemetrySubscriptions": "which of its metrics a client is asked for, and how often (KIP-714).",
    "PushTelemetry": "metrics of a client for the plugins of the broker (KIP-714).",
    "ListConfigResources": "what has a configuration of its own (KIP-1142); v0 lists client metrics (KIP-714).",
    "DescribeTopicPartitions": "partitions of topics in pages, with their eligible leader replicas (KIP-966).",
    "ShareGroupHeartbeat": "joins, keeps and leaves a share group (KIP-932).",
    "ShareGroupDescribe": "share groups with members and assignments (KIP-932).",
    "ShareFetch": "record batches for a member of a share group, and its acknowledgements (KIP-932).",
    "ShareAcknowledge": "acknowledgements of acquired records without a fetch (KIP-932).",
    "AddRaftVoter": "one more voter of the quorum of controllers (KIP-853).",
    "RemoveRaftVoter": "a voter to leave the quorum of controllers (KIP-853).",
    "StreamsGroupHeartbeat": "joins, keeps and leaves a streams group, with topology and tasks (KIP-1071).",
    "StreamsGroupDescribe": "streams groups with topology, members and tasks (KIP-1071).",
    "DescribeShareGroupOffsets": "where share groups are (KIP-932); their lag since v1 (KIP-1226).",
    "AlterShareGroupOffsets": "where a share group without members starts from next (KIP-932).",
    "DeleteShareGroupOffsets": "topics that a share group without members forgets (KIP-932).",
    "StreamsGroupTopologyDescriptionUpdate": "a member's description of its topology, for tools (KIP-1331).",
    "UnregisterController": "a controller that is gone for good, to be forgotten by the others (KIP-1312).",
}
"""The APIs that clients may use, by key, and what each is for: the docstring of its module. Brokers and controllers keep
the others to themselves.
"""

DATA = {
    "consumer_protocol": (
        """What members of a ``consumer`` group say to each other inside JoinGroup and SyncGroup; no API of its own.

Brokers pass these bytes on unread. Each stands behind an INT16 with its version. Later versions only add fields
at the end, so that a version from the future is read as the newest one known here.
""",
        ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
    ),
    "control_records": (
        """Records of control batches in ``__cluster_metadata`` and its snapshots: notes of KRaft (KIP-595, KIP-853).

Each begins with its version, which is its first field. All versions are flexible.
""",
        (
            "LeaderChangeMessage",
            "SnapshotHeaderRecord",
            "SnapshotFooterRecord",
            "KRaftVersionRecord",
            "VotersRecord",
        ),
    ),
}
"""Modules of tables that travel inside other messages: the docstring, and the definitions by name."""


class Records(NamedTuple):
    """The records of one internal topic: the docstring, and the jar with the definitions.

    ``former``: definitions that it has no longer, and the last Kafka that had them. ``without``: those that no table is
    made of.
    """

    about: str
    artifact: str
    former: Mapping[str, str] = MappingProxyType({})
    without: frozenset[str] = frozenset()


RECORDS = {
    "group_records": Records(
        """Records of group coordinators in ``__consumer_offsets``. Pure.

Values have their own versions; the first two bytes of a key are the record type.
""",
        "kafka-group-coordinator",
        # Brokers before 4.0 have written it.
        former={"ShareGroupPartitionMetadataKey": "3.9.2", "ShareGroupPartitionMetadataValue": "3.9.2"},
        # Those of OffsetCommit in their first version.
        without=frozenset({"LegacyOffsetCommitKey", "LegacyOffsetCommitValue"}),
    ),
    "transaction_records": Records(
        "Records of transaction coordinators in ``__transaction_state``. Pure.",
        "kafka-transaction-coordinator",
    ),
    "share_records": Records(
        "Records of share coordinators in ``__share_group_state`` (KIP-932). Pure.", "kafka-share-coordinator"
    ),
    "metadata_records": Records(
        "Records of the controllers in ``__cluster_metadata`` (KIP-631). Pure.", "kafka-metadata"
    ),
}

WHOLE = {"ConsumerProtocolSubscription.TopicPartition"}
"""``Message.Struct`` whose fields need no versions of their own, as the field that holds it has them: so that two
messages can share it.
"""

NEWEST_USED: dict[str, int] = {}
"""The newest version that is used, where it is not Kafka's newest. A version that Kafka calls unstable is never used."""

NO_NEWS = {"JoinGroup": 6, "SyncGroup": 4}
"""As ``no_news`` of kcli.core.protocol.api.Request."""

CLASSES = {
    # kcli.core.types has a TopicPartition.
    "ConsumerProtocolAssignment.TopicPartition": "TopicPartitions",
    "ConsumerProtocolSubscription.TopicPartition": "TopicPartitions",
    # In the definitions a request and its response have different structs of these names.
    "DescribeQuorumRequest.PartitionData": "PartitionData",
    "DescribeQuorumRequest.TopicData": "TopicData",
    "DescribeQuorumResponse.Listener": "DescribeQuorumListener",
    "DescribeQuorumResponse.Node": "DescribeQuorumNode",
    "DescribeQuorumResponse.PartitionData": "DescribeQuorumPartitionData",
    "DescribeQuorumResponse.ReplicaState": "DescribeQuorumReplicaState",
    "DescribeQuorumResponse.TopicData": "DescribeQuorumTopicData",
}
"""``Message.Struct`` → the name of its class, where Kafka's would not do."""

LONG_ARRAYS = {
    "ListGroupsResponse.groups",
    "OffsetFetchResponse.groups",
    "OffsetFetchResponseTopic.partitions",
    "OffsetFetchResponseTopics.partitions",
}
"""Thousands of elements on large clusters: kcli.core.protocol.row_shapes.LongArray."""

SEQUENCES = {"OffsetFetchResponseGroup.topics"}
"""Inside a long array, so no list either."""

VIEWS = {
    "DescribedGroupMember.member_assignment",
    "DescribedGroupMember.member_metadata",
    "JoinGroupRequestProtocol.metadata",
    "JoinGroupResponseMember.metadata",
    "SyncGroupRequestAssignment.assignment",
    "SyncGroupResponse.assignment",
}
"""More bytes that are used as views into what was received than those of which Kafka says so (``zeroCopy``)."""

SECRETS = {
    "AlterableConfig.value",
    "ConfigRecord.value",
    "CreateDelegationTokenResponse.hmac",
    "DescribedDelegationToken.hmac",
    "ExpireDelegationTokenRequest.hmac",
    "RenewDelegationTokenRequest.hmac",
    "SaslAuthenticateRequest.auth_bytes",
    "SaslAuthenticateResponse.auth_bytes",
    "ScramCredentialUpsertion.salted_password",
    "UserScramCredentialRecord.server_key",
    "UserScramCredentialRecord.stored_key",
}
"""Never shown, in no log and no traceback: passwords, what stands for them, and values of configurations."""

METHODS = {
    "ProduceRequest": '''
@property
def expects_response(self) -> bool:
    """With acks=0 the broker sends nothing back."""
    return self.acks != 0
''',
}
"""What classes can do beyond their fields."""
