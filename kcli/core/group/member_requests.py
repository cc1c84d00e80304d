"""Builds a member's JoinGroup and SyncGroup requests. Pure."""

from collections.abc import Sequence

from kcli.core.group.consumer_protocol import PROTOCOL_TYPE
from kcli.core.group.membership import Membership
from kcli.core.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kcli.core.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_FIRST_WITH_INSTANCES = 5  # JoinGroup: an older coordinator would treat a static member like any other


def join_request(
    member: Membership, session_timeout_ms: int, protocols: Sequence[JoinGroupRequestProtocol]
) -> JoinGroupRequest:
    """The rebalance timeout is the time between polls (KIP-62): a member that does not poll does not join either."""
    request = JoinGroupRequest(
        group_id=member.group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=int(member.max_poll_interval * 1000),
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=list(protocols),
    )
    if member.instance_id is not None:
        request.require_version(_FIRST_WITH_INSTANCES)
    return request


def sync_request(
    member: Membership, joined: JoinGroupResponse, rows: Sequence[SyncGroupRequestAssignment]
) -> SyncGroupRequest:
    """``rows``: the leader's assignments; empty for the other members."""
    return SyncGroupRequest(
        group_id=member.group_id,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=member.instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=joined.protocol_name,
        assignments=list(rows),
    )
