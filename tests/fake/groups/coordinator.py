"""The group coordinator of the fake cluster: classic groups and KIP-848, without sockets. Loop thread only.

Each API is a coroutine; ``join`` and ``sync`` wait as long as a broker lets the request wait. Nothing else waits:
time passes only in ``tick``. One object serves all nodes; ``here`` says which groups the asked node coordinates.
Its answers are those of Apache Kafka 4.3.1, of which a few live conversions are left out (see ``registry.py``).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages import alter_share_group_offsets as altering
from kcli.core.protocol.messages import delete_share_group_offsets as deleting
from kcli.core.protocol.messages import share_group_describe as share
from kcli.core.protocol.messages import streams_group_describe as streams
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
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kcli.core.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kcli.core.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kcli.core.protocol.messages.share_group_describe import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kcli.core.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from kcli.core.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kcli.core.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.groups import listing, other_groups
from tests.fake.groups.caller import Caller
from tests.fake.groups.consumer_checks import check_heartbeat
from tests.fake.groups.deletion import answer_order
from tests.fake.groups.inspection import Inspection
from tests.fake.groups.machinery import Machinery
from tests.fake.groups.membership import check_sync
from tests.fake.groups.rebalance import refused_join, refused_sync
from tests.fake.groups.refusal import fit_join, refusal, refused_heartbeat
from tests.fake.groups.settings import Settings
from tests.fake.groups.topics import Topic

Here = Callable[[str], bool]


def everywhere(_group_id: str) -> bool:
    """The asked node coordinates all groups."""
    return True


class Groups(Inspection):
    """``topics`` gives the cluster's topics as they are; ``settings`` are the fields of ``Settings``."""

    def __init__(
        self, topics: Callable[[], Mapping[str, Topic]], now: Callable[[], float], **settings: Any
    ) -> None:
        self.settings = Settings(**settings)
        super().__init__(Machinery(topics, now, self.settings))

    # The server's side

    def tick(self, now: float) -> None:
        """Lets time pass: sessions, rebalances and delays that are over by ``now``."""
        self._do.deadlines.run(now)

    def forget_topic(self, name: str) -> None:
        """A topic was deleted: its offsets vanish."""
        self._do.offsets.forget_topic(name)

    def add_other(self, group: other_groups.OtherGroup) -> None:
        """A share or a streams group, as it is to be from now on."""
        self._do.registry.others.by_id[group.id] = group

    def refusal(self, request: Request, version: int, code: int) -> Response:
        """The answer to any request of the group APIs with ``code`` where that API and version has it."""
        return refusal(request, version, code)

    def not_coordinator(self, request: Request, version: int) -> Response:
        """The group is coordinated elsewhere."""
        return refusal(request, version, Code.NOT_COORDINATOR)

    def txn_commit(
        self,
        group_id: str,
        producer_id: int,
        offsets: Mapping[TopicPartition, tuple[int, int, str | None]],
        *,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        version: int = 5,
    ) -> dict[TopicPartition, int]:
        """TxnOffsetCommit, the transaction already judged: (offset, leader epoch, metadata) becomes a code."""
        return self._do.commits.commit_in_transaction(
            group_id,
            producer_id,
            offsets,
            generation=generation_id,
            member_id=member_id,
            instance_id=group_instance_id,
            version=version,
        )

    def complete_txn(self, producer_id: int, committed: bool) -> None:
        """The transaction's marker is written: its offsets become visible, or vanish."""
        self._do.offsets.complete(producer_id, committed=committed)

    # Members of classic groups

    async def join(
        self, request: JoinGroupRequest, *, version: int, client_id: str, client_host: str
    ) -> JoinGroupResponse:
        """Waits for the other members. When it is cancelled, the member stays until its session times out."""
        parked: asyncio.Future[JoinGroupResponse] = asyncio.get_running_loop().create_future()
        try:
            self._do.joins.check(request)
            group = self._do.registry.classic_to_join(request.group_id, request.member_id)
            self._do.joins.join(group, request, Caller(version, client_id, client_host), parked)
        except RefusedError as refused:
            return fit_join(refused_join(refused.code, request.member_id), version)
        return fit_join(await parked, version)

    async def sync(
        self, request: SyncGroupRequest, *, version: int, client_id: str, client_host: str
    ) -> SyncGroupResponse:
        """Waits for the leader's assignment."""
        parked: asyncio.Future[SyncGroupResponse] = asyncio.get_running_loop().create_future()
        try:
            check_sync(request, version)
            group = self._do.registry.classic_with_members(request.group_id)
            self._do.memberships.sync(group, request, parked)
        except RefusedError as refused:
            return refused_sync(refused.code)
        return await parked

    async def heartbeat(
        self, request: HeartbeatRequest, *, version: int, client_id: str, client_host: str
    ) -> HeartbeatResponse:
        try:
            if not request.group_id:
                raise RefusedError(Code.INVALID_GROUP_ID)
            group = self._do.registry.classic_with_members(request.group_id)
            self._do.memberships.heartbeat(group, request)
        except RefusedError as refused:
            return HeartbeatResponse(error_code=refused.code)
        return HeartbeatResponse(error_code=Code.NONE)

    async def leave(
        self, request: LeaveGroupRequest, *, version: int, client_id: str, client_host: str
    ) -> LeaveGroupResponse:
        return self._do.leaves.leave(request, version)

    # Members of KIP-848 groups

    async def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, *, version: int, client_id: str, client_host: str
    ) -> ConsumerGroupHeartbeatResponse:
        do, epoch = self._do, request.member_epoch
        try:
            check_heartbeat(request, version)
            if epoch < 0:
                return do.heartbeats.leave(do.registry.consumer(request.group_id), request)
            find = do.registry.consumer_to_join if epoch == 0 else do.registry.consumer
            caller = Caller(version, client_id, client_host)
            return do.heartbeats.heartbeat(find(request.group_id), request, caller)
        except RefusedError as refused:
            return refused_heartbeat(refused.code, refused.message)

    # Members of streams groups

    async def streams_heartbeat(
        self, request: StreamsGroupHeartbeatRequest, *, version: int, client_id: str, client_host: str
    ) -> StreamsGroupHeartbeatResponse:
        """The last one of a member."""
        assert request.member_epoch == -1, "no member of a streams group runs here"
        try:
            group = self._do.registry.others.streams(request.group_id)
        except RefusedError as refused:
            return other_groups.refused_last_heartbeat(refused.code, refused.message)
        return other_groups.last_heartbeat(group, request)

    # Offsets

    async def commit(
        self, request: OffsetCommitRequest, *, version: int, client_id: str, client_host: str
    ) -> OffsetCommitResponse:
        return self._do.commits.commit(request, version)

    async def fetch_offsets(
        self,
        request: OffsetFetchRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> OffsetFetchResponse:
        return self._do.fetches.fetch(request, version, here)

    async def delete_offsets(
        self, request: OffsetDeleteRequest, *, version: int, client_id: str, client_host: str
    ) -> OffsetDeleteResponse:
        return self._do.deletions.delete_offsets(request)

    # Groups as a whole

    async def list_groups(
        self,
        request: ListGroupsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> ListGroupsResponse:
        rows = [listing.listed(group) for group in self._do.registry.all() if here(group.id)]
        others = self._do.registry.others.by_id.values()
        rows += [listing.listed_other(group) for group in others if here(group.id)]
        shown = [row for row in rows if listing.is_listed(row, request)]
        return ListGroupsResponse(error_code=Code.NONE, groups=shown)

    async def describe(
        self,
        request: DescribeGroupsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> DescribeGroupsResponse:
        operations = self.settings.operations if request.include_authorized_operations else listing.NOT_ASKED
        rows = [
            listing.describe_classic(self._do.registry, group, version, operations=operations)
            if here(group)
            else listing.undescribed_classic(group, Code.NOT_COORDINATOR)
            for group in request.groups
        ]
        return DescribeGroupsResponse(groups=rows)

    async def consumer_describe(
        self,
        request: ConsumerGroupDescribeRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> ConsumerGroupDescribeResponse:
        do = self._do
        operations = self.settings.operations if request.include_authorized_operations else listing.NOT_ASKED
        rows = [
            listing.describe_consumer(do.registry, do.topics, group, operations=operations)
            if here(group)
            else listing.undescribed(group, Code.NOT_COORDINATOR)
            for group in request.group_ids
        ]
        return ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=rows)

    async def share_describe(
        self,
        request: ShareGroupDescribeRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> ShareGroupDescribeResponse:
        operations = self.settings.operations if request.include_authorized_operations else listing.NOT_ASKED

        def described(group: str) -> share.DescribedGroup:
            if not here(group):
                return other_groups.undescribed_share(group, Code.NOT_COORDINATOR)
            try:
                found = self._do.registry.others.share(group)
            except RefusedError as refused:
                return other_groups.undescribed_share(group, refused.code, refused.message)
            return other_groups.describe_share(found, self._do.topics, operations=operations)

        return ShareGroupDescribeResponse(throttle_time_ms=0, groups=list(map(described, request.group_ids)))

    async def streams_describe(
        self,
        request: StreamsGroupDescribeRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> StreamsGroupDescribeResponse:
        operations = self.settings.operations if request.include_authorized_operations else listing.NOT_ASKED

        def described(group: str) -> streams.DescribedGroup:
            if not here(group):
                return other_groups.undescribed_streams(group, Code.NOT_COORDINATOR)
            try:
                found = self._do.registry.others.streams(group)
            except RefusedError as refused:
                return other_groups.undescribed_streams(group, refused.code, refused.message)
            return other_groups.describe_streams(found, operations=operations)

        return StreamsGroupDescribeResponse(
            throttle_time_ms=0, groups=list(map(described, request.group_ids))
        )

    async def share_offsets(
        self,
        request: DescribeShareGroupOffsetsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
        ends: Mapping[TopicPartition, int],
    ) -> DescribeShareGroupOffsetsResponse:
        """A group that is not there, or of another type, has none, which is no error."""
        rows = []
        for asked in request.groups:
            found = self._do.registry.others.by_id.get(asked.group_id)
            if not here(asked.group_id):
                rows.append(other_groups.no_places(asked.group_id, Code.NOT_COORDINATOR))
            elif isinstance(found, other_groups.ShareGroup):
                rows.append(other_groups.share_places(found, ends, self._do.topics))
            else:
                rows.append(other_groups.no_places(asked.group_id, Code.NONE))
        return DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=rows)

    async def alter_share_offsets(
        self,
        request: altering.AlterShareGroupOffsetsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
    ) -> altering.AlterShareGroupOffsetsResponse:
        registry, known = self._do.registry, self._do.registry.find(request.group_id) is not None
        return other_groups.alter_places(registry.others, request, self._do.topics, known=known)

    async def delete_share_offsets(
        self,
        request: deleting.DeleteShareGroupOffsetsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
    ) -> deleting.DeleteShareGroupOffsetsResponse:
        registry, known = self._do.registry, self._do.registry.find(request.group_id) is not None
        return other_groups.delete_places(registry.others, request, self._do.topics, known=known)

    async def delete(
        self,
        request: DeleteGroupsRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        here: Here = everywhere,
    ) -> DeleteGroupsResponse:
        """In an order of its own, each group once."""
        rows = [
            self._do.deletions.delete_group(group)
            if here(group)
            else DeletableGroupResult(group_id=group, error_code=Code.NOT_COORDINATOR)
            for group in sorted(set(request.groups_names), key=answer_order)
        ]
        return DeleteGroupsResponse(throttle_time_ms=0, results=rows)
