"""Every API in every version it is offered in: it answers, and it can be refused, in bytes that kcli's tables read."""

import itertools

import pytest

from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kcli.core.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from kcli.core.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestedEntryData,
)
from kcli.core.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kcli.core.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kcli.core.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kcli.core.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kcli.core.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kcli.core.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kcli.core.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kcli.core.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kcli.core.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kcli.core.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.describe_topic_partitions import TopicRequest as DescribedTopic
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kcli.core.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kcli.core.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kcli.core.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from kcli.core.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcli.core.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kcli.core.protocol.messages.share_fetch import FetchTopic as ShareFetchTopic
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kcli.core.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcli.core.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kcli.core.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest
from kcli.core.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kcli.core.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.fake.apis import APIS
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch, produce_request

TOPIC, GROUP, TXN = "t", "g", "x"
_numbers = itertools.count()
PRODUCER = {"transactional_id": TXN, "producer_id": 1, "producer_epoch": 0}


def requests(version, topic_id):
    """One sample of each API."""
    committed = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    by_id = {"topic_id": topic_id}
    fetched = FetchTopic(
        topic=TOPIC,
        topic_id=topic_id,
        partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)],
    )
    added = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
    yield produce_request(TOPIC if version < 13 else topic_id, batch(b"x"))
    yield FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=1, topics=[fetched])
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    yield ListOffsetsRequest(replica_id=-1, topics=[asked])
    yield MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    yield DescribeTopicPartitionsRequest(topics=[DescribedTopic(name=TOPIC)])
    yield FindCoordinatorRequest(key=GROUP, coordinator_keys=[GROUP])
    yield ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    yield SaslHandshakeRequest(mechanism="PLAIN")
    yield SaslAuthenticateRequest(auth_bytes=b"")
    new = CreatableTopic(
        name=f"v{version}", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    yield CreateTopicsRequest(topics=[new])
    yield DeleteTopicsRequest(topics=[DeleteTopicState(name="u")], topic_names=["u"], timeout_ms=1000)
    yield InitProducerIdRequest(transactional_id=TXN, transaction_timeout_ms=1000)
    epoch = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    yield OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=[epoch])])
    yield AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TXN,
        v3_and_below_topics=added,
        transactions=[AddPartitionsToTxnTransaction(transactional_id=TXN, topics=added)],
    )
    yield AddOffsetsToTxnRequest(**PRODUCER, group_id=GROUP)
    yield EndTxnRequest(**PRODUCER, committed=True)
    in_txn = TxnOffsetCommitRequestTopic(
        name=TOPIC, partitions=[TxnOffsetCommitRequestPartition(**committed)]
    )
    yield TxnOffsetCommitRequest(**PRODUCER, group_id=GROUP, topics=[in_txn])
    resource = DescribeConfigsResource(resource_type=2, resource_name=TOPIC, configuration_keys=None)
    yield DescribeConfigsRequest(resources=[resource])
    change = AlterableConfig(name="retention.ms", config_operation=0, value="1")
    changed = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[change])
    yield IncrementalAlterConfigsRequest(resources=[changed])
    allowed = {"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    yield CreateAclsRequest(creations=[AclCreation(resource_type=2, resource_name=TOPIC, **allowed)])
    yield DescribeAclsRequest(resource_type_filter=2, operation=1, permission_type=1)
    yield DeleteAclsRequest(
        filters=[DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)]
    )
    yield DescribeClientQuotasRequest(components=[])
    limited = RequestedEntryData(
        entity=[EntityData(entity_type="user", entity_name="a")],
        ops=[OpData(key="request_percentage", value=5.0)],
    )
    yield AlterClientQuotasRequest(entries=[limited])
    yield DescribeUserScramCredentialsRequest(users=None)
    stored = ScramCredentialUpsertion(name="a", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")
    yield AlterUserScramCredentialsRequest(deletions=[], upsertions=[stored])
    listener = Listener(name="CONTROLLER", host="h", port=9093)
    yield AddRaftVoterRequest(
        cluster_id=None, timeout_ms=1000, voter_id=4, voter_directory_id=bytes(16), listeners=[listener]
    )
    yield RemoveRaftVoterRequest(cluster_id=None, voter_id=4, voter_directory_id=bytes(16))
    yield UnregisterBrokerRequest(broker_id=9)
    level = FeatureUpdateKey(feature="transaction.version", max_version_level=2)
    yield UpdateFeaturesRequest(feature_updates=[level])
    yield CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)
    yield RenewDelegationTokenRequest(hmac=b"h", renew_period_ms=-1)
    yield ExpireDelegationTokenRequest(hmac=b"h", expiry_time_period_ms=-1)
    yield DescribeDelegationTokenRequest(owners=None)
    yield ListConfigResourcesRequest(resource_types=[16])
    grown = CreatePartitionsTopic(name=TOPIC, count=2 + next(_numbers), assignments=None)
    yield CreatePartitionsRequest(topics=[grown], timeout_ms=1000)
    cut = DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)])
    yield DeleteRecordsRequest(topics=[cut], timeout_ms=1000)
    yield DescribeClusterRequest()
    yield DescribeQuorumRequest(
        topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
    )
    yield DescribeLogDirsRequest(topics=None)
    moved = ReassignableTopic(name=TOPIC, partitions=[ReassignablePartition(partition_index=0, replicas=[1])])
    yield AlterPartitionReassignmentsRequest(topics=[moved])
    onto = AlterReplicaLogDir(path="/fake/1", topics=[AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])])
    yield AlterReplicaLogDirsRequest(dirs=[onto])
    yield ListPartitionReassignmentsRequest(topics=None)
    yield ElectLeadersRequest(
        election_type=0, topic_partitions=[TopicPartitions(topic=TOPIC, partitions=[0])]
    )
    yield DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0])])
    yield ListTransactionsRequest()
    yield DescribeTransactionsRequest(transactional_ids=[TXN])
    marked = WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])
    marker = WritableTxnMarker(
        producer_id=7, producer_epoch=0, transaction_result=False, topics=[marked], coordinator_epoch=0
    )
    yield WriteTxnMarkersRequest(markers=[marker])
    plain = OffsetCommitRequestTopic(
        name=TOPIC, **by_id, partitions=[OffsetCommitRequestPartition(**committed)]
    )
    yield OffsetCommitRequest(group_id=GROUP, topics=[plain])
    many = OffsetFetchRequestTopics(name=TOPIC, **by_id, partition_indexes=[0])
    yield OffsetFetchRequest(
        group_id=GROUP,
        topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])],
        groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=[many])],
    )
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")
    yield JoinGroupRequest(
        group_id=f"join{next(_numbers)}",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=[protocol],
    )
    yield SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="m", assignments=[])
    yield HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="m")
    yield LeaveGroupRequest(group_id=GROUP, member_id="m", members=[MemberIdentity(member_id="m")])
    yield DescribeGroupsRequest(groups=[GROUP])
    yield ListGroupsRequest()
    yield DeleteGroupsRequest(groups_names=[GROUP])
    dropped = OffsetDeleteRequestTopic(
        name=TOPIC, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
    )
    yield OffsetDeleteRequest(group_id=GROUP, topics=[dropped])
    yield ConsumerGroupHeartbeatRequest(
        group_id="k", member_id="a", member_epoch=0, rebalance_timeout_ms=1000,
        subscribed_topic_names=[TOPIC], topic_partitions=[],
    )  # fmt: skip
    yield ConsumerGroupDescribeRequest(group_ids=["k"])
    yield ShareGroupDescribeRequest(group_ids=["k"])
    yield StreamsGroupDescribeRequest(group_ids=["k"])
    yield StreamsGroupHeartbeatRequest(
        group_id="k", member_id="a", member_epoch=-1, endpoint_information_epoch=-1
    )
    altered = AlterShareGroupOffsetsRequestTopic(
        topic_name=TOPIC,
        partitions=[AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)],
    )
    yield AlterShareGroupOffsetsRequest(group_id="shared", topics=[altered])
    yield DeleteShareGroupOffsetsRequest(
        group_id="shared", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=TOPIC)]
    )
    yield DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id="k", topics=None)]
    )

    yield ShareGroupHeartbeatRequest(
        group_id="s", member_id="a", member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    topics = [ShareFetchTopic(topic_id=topic_id, partitions=[])]
    yield ShareFetchRequest(
        group_id="s", member_id="a", share_session_epoch=0, max_wait_ms=0, min_bytes=0, max_records=1,
        topics=topics, forgotten_topics_data=[],
    )  # fmt: skip
    row = AcknowledgePartition(partition_index=0, acknowledgement_batches=[])
    held = [AcknowledgeTopic(topic_id=topic_id, partitions=[row])]
    yield ShareAcknowledgeRequest(group_id="s", member_id="a", share_session_epoch=1, topics=held)


VERSIONS = [
    pytest.param(api.kind, version, id=f"{api.kind.api_name}-v{version}")
    for api in APIS
    for version in range(max(api.first, api.kind.versions[0]), api.last + 1)
]


def sample(kind, version, topic_id):
    return next(r for r in requests(version, topic_id) if type(r) is kind)


@pytest.fixture(scope="module")
def cluster():
    with FakeCluster(1, topics={TOPIC: 1}) as made:
        yield made


@pytest.mark.parametrize(("kind", "version"), VERSIONS)
def test_answers_and_refuses(cluster, kind, version):
    if "u" not in [t.name for t in ask(cluster, MetadataRequest(topics=None), 9).topics]:
        cluster.create_topic("u")
    for applied in (False, True):
        cluster.fail(kind, -1, applied=applied)
        ask(cluster, sample(kind, version, cluster.topic_id(TOPIC)), version)
        assert -1 in cluster.seen(kind)[-1].codes
    ask(cluster, sample(kind, version, cluster.topic_id(TOPIC)), version)
    assert -1 not in cluster.seen(kind)[-1].codes


def ask(cluster, request, version):
    with RawClient(cluster.address(1)) as client:
        return client.ask(request, version)


def test_each_api_has_a_sample():
    assert {type(r) for r in requests(0, bytes(16))} == {api.kind for api in APIS}


def test_all_offered_versions_are_in_kclis_tables():
    assert all(api.last <= api.kind.versions[1] for api in APIS)
    assert ProduceRequest.versions[0] == 3
