"""The table of APIs: the versions that are offered (those of Apache Kafka 4.4.0) and who answers. And ApiVersions.

Versions are offered as a real broker does: Produce from 0, although versions below 3 close the connection
(librdkafka compresses only for brokers that offer them).
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kcli.core.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kcli.core.protocol.messages.add_raft_voter import AddRaftVoterRequest
from kcli.core.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcli.core.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kcli.core.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kcli.core.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcli.core.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kcli.core.protocol.messages.create_acls import CreateAclsRequest
from kcli.core.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.delete_acls import DeleteAclsRequest
from kcli.core.protocol.messages.delete_records import DeleteRecordsRequest
from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kcli.core.protocol.messages.list_transactions import ListTransactionsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from kcli.core.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kcli.core.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest
from kcli.core.protocol.messages.update_features import UpdateFeaturesRequest
from kcli.core.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.fake.acl_admin import create_acls, delete_acls, describe_acls
from tests.fake.broker_admin import describe_cluster, unregister_broker
from tests.fake.codes import Code
from tests.fake.config_admin import describe_configs, incremental_alter_configs, list_config_resources
from tests.fake.controller_admin import add_raft_voter, describe_quorum, remove_raft_voter
from tests.fake.coordinators import find_coordinator
from tests.fake.feature_admin import finalized, supported, update_features
from tests.fake.fetch import fetch
from tests.fake.group_requests import GROUP_APIS
from tests.fake.leader_epochs import offset_for_leader_epoch
from tests.fake.list_offsets import list_offsets
from tests.fake.log_dirs import alter_replica_log_dirs, describe_log_dirs
from tests.fake.metadata import describe_topic_partitions, metadata
from tests.fake.produce import produce
from tests.fake.producer_admin import (
    describe_producers,
    describe_transactions,
    list_transactions,
    write_txn_markers,
)
from tests.fake.producer_ids import init_producer_id
from tests.fake.quota_admin import alter_client_quotas, describe_client_quotas
from tests.fake.record_admin import delete_records
from tests.fake.replica_admin import (
    alter_partition_reassignments,
    elect_leaders,
    list_partition_reassignments,
)
from tests.fake.sasl import sasl_authenticate, sasl_handshake
from tests.fake.share_groups import share_acknowledge, share_fetch, share_heartbeat
from tests.fake.token_admin import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from tests.fake.topic_admin import create_partitions, create_topics, delete_topics
from tests.fake.txn_requests import add_offsets_to_txn, add_partitions_to_txn, end_txn, txn_offset_commit
from tests.fake.user_admin import alter_user_scram_credentials, describe_user_scram_credentials

if TYPE_CHECKING:
    from tests.fake.state import Context, Handler

_SOFTWARE_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")
_FIRST_WITH_NAME = 3


class Api(NamedTuple):
    """One row: what is offered, who answers."""

    kind: type[Request]
    first: int
    last: int
    handler: "Handler"


async def api_versions(ctx: "Context", request: ApiVersionsRequest) -> ApiVersionsResponse:
    """What this node offers. A version that is too new is answered by ``too_new`` instead."""
    named = ctx.version < _FIRST_WITH_NAME or _is_legal(request)
    offered = ctx.state.nodes[ctx.node].offered()
    return ApiVersionsResponse(
        error_code=0 if named else Code.INVALID_REQUEST,
        api_keys=_rows(offered) if named else [],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in supported(ctx.state).items()
        ],
        finalized_features_epoch=1,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in finalized(ctx.state).items()
        ],
    )


def too_new(offered: Mapping[int, tuple[int, int]]) -> ApiVersionsResponse:
    """The answer, in v0, to an ApiVersions of a version that is not offered (KIP-511): one row only."""
    own = {key: versions for key, versions in offered.items() if key == ApiVersionsRequest.api_key}
    return ApiVersionsResponse(error_code=Code.UNSUPPORTED_VERSION, api_keys=_rows(own))


APIS: tuple[Api, ...] = (
    Api(ProduceRequest, 0, 13, produce),
    Api(FetchRequest, 4, 18, fetch),
    Api(ListOffsetsRequest, 1, 11, list_offsets),
    Api(MetadataRequest, 0, 13, metadata),
    Api(DescribeTopicPartitionsRequest, 0, 0, describe_topic_partitions),
    Api(FindCoordinatorRequest, 0, 6, find_coordinator),
    Api(ApiVersionsRequest, 0, 5, api_versions),
    Api(SaslHandshakeRequest, 0, 1, sasl_handshake),
    Api(SaslAuthenticateRequest, 0, 2, sasl_authenticate),
    Api(CreateTopicsRequest, 2, 7, create_topics),
    Api(DeleteTopicsRequest, 1, 6, delete_topics),
    Api(InitProducerIdRequest, 0, 5, init_producer_id),
    Api(OffsetForLeaderEpochRequest, 2, 4, offset_for_leader_epoch),
    Api(AddPartitionsToTxnRequest, 0, 5, add_partitions_to_txn),
    Api(AddOffsetsToTxnRequest, 0, 4, add_offsets_to_txn),
    Api(EndTxnRequest, 0, 5, end_txn),
    Api(TxnOffsetCommitRequest, 0, 6, txn_offset_commit),
    Api(DescribeConfigsRequest, 1, 4, describe_configs),
    Api(IncrementalAlterConfigsRequest, 0, 1, incremental_alter_configs),
    Api(DescribeAclsRequest, 1, 3, describe_acls),
    Api(CreateAclsRequest, 1, 3, create_acls),
    Api(DeleteAclsRequest, 1, 3, delete_acls),
    Api(DescribeClientQuotasRequest, 0, 1, describe_client_quotas),
    Api(AlterClientQuotasRequest, 0, 1, alter_client_quotas),
    Api(DescribeUserScramCredentialsRequest, 0, 0, describe_user_scram_credentials),
    Api(AlterUserScramCredentialsRequest, 0, 0, alter_user_scram_credentials),
    Api(CreateDelegationTokenRequest, 1, 3, create_delegation_token),
    Api(RenewDelegationTokenRequest, 1, 2, renew_delegation_token),
    Api(ExpireDelegationTokenRequest, 1, 2, expire_delegation_token),
    Api(DescribeDelegationTokenRequest, 1, 3, describe_delegation_token),
    Api(ListConfigResourcesRequest, 0, 1, list_config_resources),
    Api(CreatePartitionsRequest, 0, 3, create_partitions),
    Api(DeleteRecordsRequest, 0, 2, delete_records),
    Api(DescribeClusterRequest, 0, 2, describe_cluster),
    Api(DescribeQuorumRequest, 0, 2, describe_quorum),
    Api(UpdateFeaturesRequest, 0, 2, update_features),
    Api(UnregisterBrokerRequest, 0, 0, unregister_broker),
    Api(AddRaftVoterRequest, 0, 1, add_raft_voter),
    Api(RemoveRaftVoterRequest, 0, 0, remove_raft_voter),
    Api(DescribeLogDirsRequest, 1, 5, describe_log_dirs),
    Api(AlterReplicaLogDirsRequest, 1, 2, alter_replica_log_dirs),
    Api(AlterPartitionReassignmentsRequest, 0, 1, alter_partition_reassignments),
    Api(ListPartitionReassignmentsRequest, 0, 0, list_partition_reassignments),
    Api(ElectLeadersRequest, 0, 2, elect_leaders),
    Api(DescribeProducersRequest, 0, 0, describe_producers),
    Api(ListTransactionsRequest, 0, 2, list_transactions),
    Api(DescribeTransactionsRequest, 0, 0, describe_transactions),
    Api(WriteTxnMarkersRequest, 1, 2, write_txn_markers),
    Api(ShareGroupHeartbeatRequest, 1, 1, share_heartbeat),
    Api(ShareFetchRequest, 1, 2, share_fetch),
    Api(ShareAcknowledgeRequest, 1, 2, share_acknowledge),
    *(Api(*row) for row in GROUP_APIS),
)
BY_KEY = {api.kind.api_key: api for api in APIS}
VERSIONS: Mapping[int, tuple[int, int]] = {key: (api.first, api.last) for key, api in BY_KEY.items()}
"""Of a node that nobody has changed."""


def _rows(offered: Mapping[int, tuple[int, int]]) -> list[ApiVersion]:
    return list(_rows_of(tuple(sorted(offered.items()))))


@functools.cache  # nothing changes a row, and each connection begins with all of them
def _rows_of(offered: tuple[tuple[int, tuple[int, int]], ...]) -> list[ApiVersion]:
    return [ApiVersion(api_key=key, min_version=first, max_version=last) for key, (first, last) in offered]


def _is_legal(request: ApiVersionsRequest) -> bool:
    texts = (request.client_software_name, request.client_software_version)
    return all(text and set(text) <= _SOFTWARE_NAME for text in texts)
