"""Where each API carries error codes: per partition, per named thing, or once on top. Tables for ``refusals``."""

from dataclasses import dataclass
from typing import Any

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages import add_partitions_to_txn as add_partitions
from kcli.core.protocol.messages import (
    alter_client_quotas,
    alter_partition_reassignments,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    share_acknowledge,
    share_group_describe,
    streams_group_describe,
    txn_offset_commit,
)
from kcli.core.protocol.schema import Struct


@dataclass(frozen=True, slots=True)
class Parts:
    """Topics with partitions on both sides. ``asked_index`` "" says that the request has bare numbers."""

    asked_topics: str
    asked_partitions: str
    asked_index: str
    topics: str
    topic: type[Struct]
    partitions: str
    partition: type[Struct]
    index: str
    code: str = "error_code"


@dataclass(frozen=True, slots=True)
class InOrder:
    """A list of things without names: the entries of the answer are in the order of the request. ``same``: what they
    repeat of it.
    """

    asked: str
    rows: str
    row: type[Struct]
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A list of things with a name each. ``asked_key`` "" says that the request has bare names."""

    asked: str
    asked_key: str
    rows: str
    row: type[Struct]
    key: str


Shape = Parts | Named | InOrder | None
"""None: one code on top."""

_PARTS: dict[type[Request], Parts] = {
    produce.ProduceRequest: Parts(
        "topic_data", "partition_data", "index",
        "responses", produce.TopicProduceResponse,
        "partition_responses", produce.PartitionProduceResponse, "index",
    ),
    fetch.FetchRequest: Parts(
        "topics", "partitions", "partition",
        "responses", fetch.FetchableTopicResponse, "partitions", fetch.PartitionData, "partition_index",
    ),
    share_acknowledge.ShareAcknowledgeRequest: Parts(
        "topics", "partitions", "partition_index",
        "responses", share_acknowledge.ShareAcknowledgeTopicResponse,
        "partitions", share_acknowledge.PartitionData, "partition_index",
    ),
    list_offsets.ListOffsetsRequest: Parts(
        "topics", "partitions", "partition_index",
        "topics", list_offsets.ListOffsetsTopicResponse,
        "partitions", list_offsets.ListOffsetsPartitionResponse, "partition_index",
    ),
    offset_for_leader_epoch.OffsetForLeaderEpochRequest: Parts(
        "topics", "partitions", "partition",
        "topics", offset_for_leader_epoch.OffsetForLeaderTopicResult,
        "partitions", offset_for_leader_epoch.EpochEndOffset, "partition",
    ),
    add_partitions.AddPartitionsToTxnRequest: Parts(
        "v3_and_below_topics", "partitions", "",
        "results_by_topic_v3_and_below", add_partitions.AddPartitionsToTxnTopicResult,
        "results_by_partition", add_partitions.AddPartitionsToTxnPartitionResult,
        "partition_index", "partition_error_code",
    ),
    txn_offset_commit.TxnOffsetCommitRequest: Parts(
        "topics", "partitions", "partition_index",
        "topics", txn_offset_commit.TxnOffsetCommitResponseTopic,
        "partitions", txn_offset_commit.TxnOffsetCommitResponsePartition, "partition_index",
    ),
    offset_commit.OffsetCommitRequest: Parts(
        "topics", "partitions", "partition_index",
        "topics", offset_commit.OffsetCommitResponseTopic,
        "partitions", offset_commit.OffsetCommitResponsePartition, "partition_index",
    ),
    alter_share_group_offsets.AlterShareGroupOffsetsRequest: Parts(
        "topics", "partitions", "partition_index",
        "responses", alter_share_group_offsets.AlterShareGroupOffsetsResponseTopic,
        "partitions", alter_share_group_offsets.AlterShareGroupOffsetsResponsePartition, "partition_index",
    ),
    delete_records.DeleteRecordsRequest: Parts(
        "topics", "partitions", "partition_index",
        "topics", delete_records.DeleteRecordsTopicResult,
        "partitions", delete_records.DeleteRecordsPartitionResult, "partition_index",
    ),
    describe_producers.DescribeProducersRequest: Parts(
        "topics", "partition_indexes", "",
        "topics", describe_producers.TopicResponse,
        "partitions", describe_producers.PartitionResponse, "partition_index",
    ),
    offset_fetch.OffsetFetchRequest: Parts(
        "topics", "partition_indexes", "",
        "topics", offset_fetch.OffsetFetchResponseTopic,
        "partitions", offset_fetch.OffsetFetchResponsePartition, "partition_index",
    ),
    alter_partition_reassignments.AlterPartitionReassignmentsRequest: Parts(
        "topics", "partitions", "partition_index",
        "responses", alter_partition_reassignments.ReassignableTopicResponse,
        "partitions", alter_partition_reassignments.ReassignablePartitionResponse, "partition_index",
    ),
    elect_leaders.ElectLeadersRequest: Parts(
        "topic_partitions", "partitions", "",
        "replica_election_results", elect_leaders.ReplicaElectionResult,
        "partition_result", elect_leaders.PartitionResult, "partition_id",
    ),
}  # fmt: skip

_NAMED: dict[type[Request], Named] = {
    metadata.MetadataRequest: Named("topics", "name", "topics", metadata.MetadataResponseTopic, "name"),
    describe_topic_partitions.DescribeTopicPartitionsRequest: Named(
        "topics", "name", "topics", describe_topic_partitions.DescribeTopicPartitionsResponseTopic, "name"
    ),
    find_coordinator.FindCoordinatorRequest: Named(
        "coordinator_keys", "", "coordinators", find_coordinator.Coordinator, "key"
    ),
    create_topics.CreateTopicsRequest: Named(
        "topics", "name", "topics", create_topics.CreatableTopicResult, "name"
    ),
    delete_topics.DeleteTopicsRequest: Named(
        "topic_names", "", "responses", delete_topics.DeletableTopicResult, "name"
    ),
    describe_configs.DescribeConfigsRequest: Named(
        "resources", "resource_name", "results", describe_configs.DescribeConfigsResult, "resource_name"
    ),
    incremental_alter_configs.IncrementalAlterConfigsRequest: Named(
        "resources",
        "resource_name",
        "responses",
        incremental_alter_configs.AlterConfigsResourceResponse,
        "resource_name",
    ),
    create_partitions.CreatePartitionsRequest: Named(
        "topics", "name", "results", create_partitions.CreatePartitionsTopicResult, "name"
    ),
    describe_transactions.DescribeTransactionsRequest: Named(
        "transactional_ids",
        "",
        "transaction_states",
        describe_transactions.TransactionState,
        "transactional_id",
    ),
    describe_groups.DescribeGroupsRequest: Named(
        "groups", "", "groups", describe_groups.DescribedGroup, "group_id"
    ),
    delete_groups.DeleteGroupsRequest: Named(
        "groups_names", "", "results", delete_groups.DeletableGroupResult, "group_id"
    ),
    consumer_group_describe.ConsumerGroupDescribeRequest: Named(
        "group_ids", "", "groups", consumer_group_describe.DescribedGroup, "group_id"
    ),
    share_group_describe.ShareGroupDescribeRequest: Named(
        "group_ids", "", "groups", share_group_describe.DescribedGroup, "group_id"
    ),
    streams_group_describe.StreamsGroupDescribeRequest: Named(
        "group_ids", "", "groups", streams_group_describe.DescribedGroup, "group_id"
    ),
    delete_share_group_offsets.DeleteShareGroupOffsetsRequest: Named(
        "topics",
        "topic_name",
        "responses",
        delete_share_group_offsets.DeleteShareGroupOffsetsResponseTopic,
        "topic_name",
    ),
    describe_share_group_offsets.DescribeShareGroupOffsetsRequest: Named(
        "groups",
        "group_id",
        "groups",
        describe_share_group_offsets.DescribeShareGroupOffsetsResponseGroup,
        "group_id",
    ),
}
_IN_ORDER: dict[type[Request], InOrder] = {
    alter_user_scram_credentials.AlterUserScramCredentialsRequest: InOrder(
        "upsertions", "results", alter_user_scram_credentials.AlterUserScramCredentialsResult
    ),
    create_acls.CreateAclsRequest: InOrder("creations", "results", create_acls.AclCreationResult),
    alter_client_quotas.AlterClientQuotasRequest: InOrder(
        "entries", "entries", alter_client_quotas.EntryData, ("entity",)
    ),
    delete_acls.DeleteAclsRequest: InOrder("filters", "filter_results", delete_acls.DeleteAclsFilterResult),
}
_DELETE_BY_STATE = Named("topics", "name", "responses", delete_topics.DeletableTopicResult, "name")
_OFFSETS_BY_GROUP = Named("groups", "group_id", "groups", offset_fetch.OffsetFetchResponseGroup, "group_id")

READ_ONLY = frozenset(
    {
        fetch.FetchRequest,
        list_offsets.ListOffsetsRequest,
        offset_for_leader_epoch.OffsetForLeaderEpochRequest,
        metadata.MetadataRequest,
        describe_topic_partitions.DescribeTopicPartitionsRequest,
        find_coordinator.FindCoordinatorRequest,
        describe_configs.DescribeConfigsRequest,
        describe_groups.DescribeGroupsRequest,
        consumer_group_describe.ConsumerGroupDescribeRequest,
        share_group_describe.ShareGroupDescribeRequest,
        streams_group_describe.StreamsGroupDescribeRequest,
        describe_share_group_offsets.DescribeShareGroupOffsetsRequest,
        offset_fetch.OffsetFetchRequest,
        describe_acls.DescribeAclsRequest,
        describe_client_quotas.DescribeClientQuotasRequest,
        describe_cluster.DescribeClusterRequest,
        describe_log_dirs.DescribeLogDirsRequest,
        describe_producers.DescribeProducersRequest,
        describe_quorum.DescribeQuorumRequest,
        describe_transactions.DescribeTransactionsRequest,
        describe_user_scram_credentials.DescribeUserScramCredentialsRequest,
        list_transactions.ListTransactionsRequest,
        list_partition_reassignments.ListPartitionReassignmentsRequest,
    }
)
"""Nothing is changed by them: they are carried out and the code is put into their answer."""

BLANK: dict[type[Struct], dict[str, Any]] = {
    produce.PartitionProduceResponse: {"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1},
    fetch.PartitionData: {
        "high_watermark": -1,
        "last_stable_offset": -1,
        "log_start_offset": -1,
        "aborted_transactions": None,
        "records": [b""],
    },
    list_offsets.ListOffsetsPartitionResponse: {"timestamp": -1, "offset": -1, "leader_epoch": -1},
    offset_for_leader_epoch.EpochEndOffset: {"leader_epoch": -1, "end_offset": -1},
    offset_fetch.OffsetFetchResponsePartition: {"committed_offset": -1, "committed_leader_epoch": -1},
    offset_fetch.OffsetFetchResponseGroup: {"topics": []},
    metadata.MetadataResponseTopic: {"partitions": []},
    describe_topic_partitions.DescribeTopicPartitionsResponseTopic: {"partitions": [], "topic_id": bytes(16)},
    find_coordinator.Coordinator: {"node_id": -1, "host": "", "port": -1},
    init_producer_id.InitProducerIdResponse: {"producer_id": -1, "producer_epoch": -1},
    end_txn.EndTxnResponse: {"producer_id": -1, "producer_epoch": -1},
    delete_records.DeleteRecordsPartitionResult: {"low_watermark": -1},
    describe_producers.PartitionResponse: {"active_producers": []},
    incremental_alter_configs.AlterConfigsResourceResponse: {"resource_type": 2},  # a topic
    describe_log_dirs.DescribeLogDirsResponse: {"results": []},
    describe_acls.DescribeAclsResponse: {"resources": []},
    describe_client_quotas.DescribeClientQuotasResponse: {"entries": None},
    delete_acls.DeleteAclsFilterResult: {"matching_acls": []},
    describe_user_scram_credentials.DescribeUserScramCredentialsResponse: {"results": []},
    list_transactions.ListTransactionsResponse: {"transaction_states": []},
    list_partition_reassignments.ListPartitionReassignmentsResponse: {"topics": []},
    find_coordinator.FindCoordinatorResponse: {"node_id": -1, "host": "", "port": -1},
}
"""What else an entry says when it carries an error."""


def shape_of(kind: type[Request], version: int) -> Shape:
    """How the answer of this version is laid out."""
    if kind is find_coordinator.FindCoordinatorRequest and version < 4:
        return None
    if kind is add_partitions.AddPartitionsToTxnRequest and version >= 4:
        return None
    if kind is delete_topics.DeleteTopicsRequest and version >= 6:
        return _DELETE_BY_STATE
    if kind is offset_fetch.OffsetFetchRequest and version >= 8:
        return _OFFSETS_BY_GROUP
    return _PARTS.get(kind) or _NAMED.get(kind) or _IN_ORDER.get(kind)
