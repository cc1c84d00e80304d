"""A request of any group API refused as a whole: the code at the place where that API and version has one."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcli.core.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kcli.core.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kcli.core.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kcli.core.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kcli.core.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kcli.core.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kcli.core.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kcli.core.protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kcli.core.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from kcli.core.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from kcli.core.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tests.fake.groups.listing import undescribed, undescribed_classic
from tests.fake.groups.other_groups import (
    no_places,
    refused_last_heartbeat,
    unaltered,
    undeleted,
    undescribed_share,
    undescribed_streams,
)
from tests.fake.groups.rebalance import refused_join, refused_sync

_JOIN_GROUP_WITHOUT_PROTOCOL = 7
_OFFSET_FETCH_WITH_CODE = 2
_OFFSET_FETCH_WITH_GROUPS = 8


def refusal(request: Request, version: int, code: int) -> Response:
    """As KafkaApis makes it out of an error. TypeError for an API that is none of groups."""
    match request:
        case JoinGroupRequest():
            return fit_join(refused_join(code, request.member_id), version)
        case SyncGroupRequest():
            return refused_sync(code)
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case ListGroupsRequest():
            return ListGroupsResponse(error_code=code, groups=[])
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code, topics=[])
        case AlterShareGroupOffsetsRequest():
            return unaltered(code)
        case DeleteShareGroupOffsetsRequest():
            return undeleted(code)
        case OffsetCommitRequest():
            return _commit(request, code)
        case TxnOffsetCommitRequest():
            return _commit_in_transaction(request, code)
        case OffsetFetchRequest():
            return _fetch(request, version, code)
        case ConsumerGroupHeartbeatRequest():
            return refused_heartbeat(code)
        case ConsumerGroupDescribeRequest():
            rows = [undescribed(group, code) for group in request.group_ids]
            return ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=rows)
        case ShareGroupDescribeRequest():
            shares = [undescribed_share(group, code) for group in request.group_ids]
            return ShareGroupDescribeResponse(throttle_time_ms=0, groups=shares)
        case StreamsGroupDescribeRequest():
            streams = [undescribed_streams(group, code) for group in request.group_ids]
            return StreamsGroupDescribeResponse(throttle_time_ms=0, groups=streams)
        case StreamsGroupHeartbeatRequest():
            return refused_last_heartbeat(code)
        case DescribeShareGroupOffsetsRequest():
            places = [no_places(asked.group_id, code) for asked in request.groups]
            return DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=places)
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(groups=[undescribed_classic(g, code) for g in request.groups])
        case DeleteGroupsRequest():
            results = [DeletableGroupResult(group_id=g, error_code=code) for g in request.groups_names]
            return DeleteGroupsResponse(throttle_time_ms=0, results=results)
    raise TypeError(f"{request.api_name} is not asked of group coordinators")


def fit_join(answer: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """The chosen protocol may be null only since v7."""
    if version < _JOIN_GROUP_WITHOUT_PROTOCOL and answer.protocol_name is None:
        answer.protocol_name = ""
    return answer


def refused_heartbeat(code: int, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=code, error_message=message, member_epoch=0, heartbeat_interval_ms=0
    )


def _commit(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=bytes(topic.topic_id),
                partitions=[
                    OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _commit_in_transaction(request: TxnOffsetCommitRequest, code: int) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        throttle_time_ms=0,
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=bytes(topic.topic_id),
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _fetch(request: OffsetFetchRequest, version: int, code: int) -> OffsetFetchResponse:
    """By group since v8; once from v2 to v7; v1 has a code only in its partitions."""
    if version >= _OFFSET_FETCH_WITH_GROUPS:
        groups = [OffsetFetchResponseGroup(group_id=g.group_id, error_code=code) for g in request.groups]
        return OffsetFetchResponse(groups=groups)
    if version >= _OFFSET_FETCH_WITH_CODE:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=p, committed_offset=-1, error_code=code)
                    for p in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )
