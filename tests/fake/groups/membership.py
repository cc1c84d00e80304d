"""SyncGroup, Heartbeat and LeaveGroup of classic groups."""

from asyncio import Future

from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.leave_group import MemberIdentity
from kcli.core.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.classic_group import ClassicGroup, State
from tests.fake.groups.rebalance import Rebalances, synced

_FIRST_NAMING_PROTOCOL = 5  # KIP-559


class Memberships:
    """What members do between joining and leaving. RefusedError becomes the answer's code."""

    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances = rebalances

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, parked: Future[SyncGroupResponse]) -> None:
        """Followers are parked until the leader's assignment is there."""
        group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
        if _differs(request.protocol_type, group.protocol_type) or _differs(
            request.protocol_name, group.protocol
        ):
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is State.PREPARING:
            raise RefusedError(Code.REBALANCE_IN_PROGRESS)
        self._rebalances.synced(group, request.member_id)
        member = group.members[request.member_id]
        if group.state is State.STABLE:
            parked.set_result(synced(group, member))
            return
        member.syncing = parked
        if group.leader == member.id:
            self._rebalances.assign(group, {a.member_id: bytes(a.assignment) for a in request.assignments})

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> None:
        """Counts during a rebalance too, although the answer is an error."""
        group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
        self._rebalances.touch(group, group.members[request.member_id])
        if group.state is State.PREPARING:
            raise RefusedError(Code.REBALANCE_IN_PROGRESS)

    def leave(self, group: ClassicGroup, leavers: list[MemberIdentity]) -> list[int]:
        """A code for each. Anybody may take anybody out; a static member also by its instance id alone."""
        codes = []
        for who in leavers:
            try:
                self._rebalances.drop(group, _leaver(group, who))
                codes.append(int(Code.NONE))
            except RefusedError as refused:
                codes.append(refused.code)
        if Code.NONE in codes:
            self._rebalances.after_drop(group)
        return codes


def check_sync(request: SyncGroupRequest, version: int) -> None:
    """What is wrong whatever the group is like."""
    if not request.group_id:
        raise RefusedError(Code.INVALID_GROUP_ID)
    unnamed = request.protocol_type is None or request.protocol_name is None
    if unnamed and version >= _FIRST_NAMING_PROTOCOL:
        raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL)


def _leaver(group: ClassicGroup, who: MemberIdentity) -> str:
    if who.member_id in group.pending:
        return who.member_id
    if who.member_id:
        group.check_member(who.member_id, who.group_instance_id)
        return who.member_id
    found = group.static_ids.get(who.group_instance_id or "")
    if found is None:
        raise RefusedError(Code.UNKNOWN_MEMBER_ID)
    return found


def _differs(asked: str | None, actual: str | None) -> bool:
    return asked is not None and actual is not None and asked != actual
