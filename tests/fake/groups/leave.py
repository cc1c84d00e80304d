"""LeaveGroup, of classic and of KIP-848 groups: one member until v2, several since v3 (KIP-345)."""

from kcli.core.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.classic_group import ClassicGroup
from tests.fake.groups.consumer_group import ConsumerGroup
from tests.fake.groups.consumer_heartbeat import ConsumerHeartbeats
from tests.fake.groups.membership import Memberships
from tests.fake.groups.registry import Registry

_FIRST_WITH_MEMBERS = 3


class Leaves:
    """Anybody may put out anybody. An unknown group is no error of its own, its members are."""

    def __init__(self, registry: Registry, memberships: Memberships, heartbeats: ConsumerHeartbeats) -> None:
        self._registry = registry
        self._memberships = memberships
        self._heartbeats = heartbeats

    def leave(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        if not request.group_id:
            return LeaveGroupResponse(error_code=Code.INVALID_GROUP_ID)
        if version < _FIRST_WITH_MEMBERS:
            (code,) = self._codes(request.group_id, [MemberIdentity(member_id=request.member_id)])
            return LeaveGroupResponse(error_code=code)
        codes = self._codes(request.group_id, request.members)
        rows = [
            MemberResponse(member_id=who.member_id, group_instance_id=who.group_instance_id, error_code=code)
            for who, code in zip(request.members, codes, strict=True)
        ]
        return LeaveGroupResponse(error_code=Code.NONE, members=rows)

    def _codes(self, group_id: str, leavers: list[MemberIdentity]) -> list[int]:
        group = self._registry.find(group_id)
        if isinstance(group, ClassicGroup):
            return self._memberships.leave(group, leavers)
        if group is not None:
            return self._leave_consumer(group, leavers)
        return [int(Code.UNKNOWN_MEMBER_ID)] * len(leavers)

    def _leave_consumer(self, group: ConsumerGroup, leavers: list[MemberIdentity]) -> list[int]:
        """All at once, so that one who is named twice is found twice."""
        codes, gone = [], set()
        for who in leavers:
            try:
                gone.add(_member_of(group, who))
                codes.append(int(Code.NONE))
            except RefusedError as refused:
                codes.append(refused.code)
        if gone:
            self._heartbeats.remove(group, gone)
        return codes


def _member_of(group: ConsumerGroup, who: MemberIdentity) -> str:
    if who.group_instance_id is None:
        return group.member(who.member_id).id
    bearer = group.bearer(who.group_instance_id)
    if bearer is not None and not who.member_id:
        return bearer.id
    return group.static_member(who.member_id, who.group_instance_id).id
