"""Requests to group coordinators: is this the right node? Then ``groups.Groups`` answers."""

from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kcli.core.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kcli.core.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from kcli.core.types import TopicPartition
from tests.fake.coordinators import GROUP
from tests.fake.groups.coordinator import Groups

if TYPE_CHECKING:
    from tests.fake.state import Context, Handler


def _of_one_group(answer: Any) -> "Handler":
    """The request names one group; another node's is refused."""

    async def handle(ctx: "Context", request: Any) -> Response:
        groups = ctx.state.groups
        groups.tick(ctx.state.now)
        if ctx.state.coordinators.of(GROUP, request.group_id) != ctx.node:
            return groups.not_coordinator(request, ctx.version)
        found: Response = await answer(groups, request, **_caller(ctx))
        return found

    return handle


def _of_many_groups(answer: Any) -> "Handler":
    """The request is about several groups, or all: each is judged on its own."""

    async def handle(ctx: "Context", request: Any) -> Response:
        def here(group: str) -> bool:
            return ctx.state.coordinators.of(GROUP, group) == ctx.node

        ctx.state.groups.tick(ctx.state.now)
        found: Response = await answer(ctx.state.groups, request, here=here, **_caller(ctx))
        return found

    return handle


def _caller(ctx: "Context") -> dict[str, Any]:
    return {"version": ctx.version, "client_id": ctx.client_id, "client_host": ctx.client_host}


async def _fetch_offsets(ctx: "Context", request: OffsetFetchRequest) -> Response:
    """Several groups since v8 (KIP-709)."""
    many = ctx.version >= _FIRST_WITH_GROUPS
    handler = _of_many_groups(Groups.fetch_offsets) if many else _of_one_group(Groups.fetch_offsets)
    answer = await handler(ctx, request)
    assert answer is not None
    return answer


async def _share_offsets(ctx: "Context", request: DescribeShareGroupOffsetsRequest) -> Response:
    """The coordinator asks the leaders for the ends; one without a leader has none."""
    ends = {
        TopicPartition(name, number): part.log.high_watermark
        for name, topic in ctx.state.topics.by_name.items()
        for number, part in enumerate(topic.partitions)
    }
    return await _of_many_groups(partial(Groups.share_offsets, ends=ends))(ctx, request)


_FIRST_WITH_GROUPS = 8

GROUP_APIS: tuple[tuple[type[Request], int, int, "Handler"], ...] = (
    (OffsetCommitRequest, 2, 10, _of_one_group(Groups.commit)),
    (OffsetFetchRequest, 1, 10, _fetch_offsets),
    (JoinGroupRequest, 0, 9, _of_one_group(Groups.join)),
    (HeartbeatRequest, 0, 4, _of_one_group(Groups.heartbeat)),
    (LeaveGroupRequest, 0, 5, _of_one_group(Groups.leave)),
    (SyncGroupRequest, 0, 5, _of_one_group(Groups.sync)),
    (DescribeGroupsRequest, 0, 6, _of_many_groups(Groups.describe)),
    (ListGroupsRequest, 0, 5, _of_many_groups(Groups.list_groups)),
    (DeleteGroupsRequest, 0, 3, _of_many_groups(Groups.delete)),
    (OffsetDeleteRequest, 0, 0, _of_one_group(Groups.delete_offsets)),
    (ConsumerGroupHeartbeatRequest, 0, 1, _of_one_group(Groups.consumer_heartbeat)),
    (ConsumerGroupDescribeRequest, 0, 1, _of_many_groups(Groups.consumer_describe)),
    (ShareGroupDescribeRequest, 1, 1, _of_many_groups(Groups.share_describe)),
    (StreamsGroupDescribeRequest, 0, 1, _of_many_groups(Groups.streams_describe)),
    (StreamsGroupHeartbeatRequest, 0, 1, _of_one_group(Groups.streams_heartbeat)),
    (DescribeShareGroupOffsetsRequest, 0, 1, _share_offsets),
    (AlterShareGroupOffsetsRequest, 0, 0, _of_one_group(Groups.alter_share_offsets)),
    (DeleteShareGroupOffsetsRequest, 0, 0, _of_one_group(Groups.delete_share_offsets)),
)
"""Request, first and last version, who answers."""
