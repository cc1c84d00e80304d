"""JoinGroup: who may join, under which member id, and whether that begins a rebalance."""

import uuid
from asyncio import Future

from kcli.core.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.caller import Caller
from tests.fake.groups.classic_group import ClassicGroup, Member, State
from tests.fake.groups.rebalance import Rebalances, joined, refused_join
from tests.fake.groups.settings import Settings

_FIRST_REQUIRING_MEMBER_ID = 4  # KIP-394
_FIRST_SKIPPING_ASSIGNMENT = 9  # KIP-814

Parked = Future[JoinGroupResponse]


class Joins:
    """``join`` puts the answer into ``parked``, now or when the rebalance completes."""

    def __init__(self, rebalances: Rebalances, settings: Settings) -> None:
        self._rebalances = rebalances
        self._settings = settings

    def check(self, request: JoinGroupRequest) -> None:
        """What is wrong whatever the group is like."""
        if not request.group_id:
            raise RefusedError(Code.INVALID_GROUP_ID)
        seconds = request.session_timeout_ms / 1000
        if not self._settings.min_session_timeout <= seconds <= self._settings.max_session_timeout:
            raise RefusedError(Code.INVALID_SESSION_TIMEOUT)

    def join(self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, parked: Parked) -> None:
        """RefusedError for a request that is answered with an error code."""
        if not group.accepts(request.member_id, self._settings.max_size):
            group.remove(request.member_id)
            parked.set_result(refused_join(Code.GROUP_MAX_SIZE_REACHED))
            return
        if not group.supports(request.protocol_type, [p.name for p in request.protocols]):
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if not request.member_id:
            self._join_new(group, request, caller, parked)
        elif request.member_id in group.pending:
            if request.group_instance_id is not None:
                parked.set_result(refused_join(Code.UNKNOWN_SERVER_ERROR))  # an IllegalStateException there
            else:
                self._add(group, request, caller, request.member_id, parked)
        else:
            group.check_member(request.member_id, request.group_instance_id)
            self._join_again(group, request, group.members[request.member_id], parked)

    def _join_new(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, parked: Parked
    ) -> None:
        instance = request.group_instance_id
        member_id = f"{caller.client_id if instance is None else instance}-{uuid.uuid4()}"
        if instance is not None and instance in group.static_ids:
            self._replace_static(group, request, caller, member_id, parked)
        elif instance is None and caller.version >= _FIRST_REQUIRING_MEMBER_ID:
            self._rebalances.await_pending(group, member_id, request.session_timeout_ms / 1000)
            parked.set_result(refused_join(Code.MEMBER_ID_REQUIRED, member_id))
        else:
            self._add(group, request, caller, member_id, parked)

    def _add(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, member_id: str, parked: Parked
    ) -> None:
        member = Member(
            id=member_id,
            instance_id=request.group_instance_id,
            client_id=caller.client_id,
            client_host=caller.host,
            session_timeout=0.0,
            rebalance_timeout=0.0,
            protocols={},
        )
        _update(member, request, parked)
        self._rebalances.add(group, member, request.protocol_type)

    def _join_again(
        self, group: ClassicGroup, request: JoinGroupRequest, member: Member, parked: Parked
    ) -> None:
        """A follower that asks for what it has gets it again; a leader that joins wants a rebalance."""
        unchanged = list(_protocols(request).items()) == list(member.protocols.items())
        follows = group.state is State.STABLE and group.leader != member.id
        if unchanged and (group.state is State.COMPLETING or follows):
            parked.set_result(joined(group, member))
            return
        _update(member, request, parked)
        self._rebalances.advance(group)

    def _replace_static(
        self, group: ClassicGroup, request: JoinGroupRequest, caller: Caller, member_id: str, parked: Parked
    ) -> None:
        """A static member is back: a new member id, the old one is fenced, the assignment stays (KIP-345).

        Outside of a rebalance nobody else notices, unless the protocol would change.
        """
        former_id, former_leader = group.static_ids[request.group_instance_id or ""], group.leader
        member = self._rebalances.replace(group, former_id, member_id)
        _update(member, request, parked)
        if group.state is State.STABLE and group.choose_protocol() == group.protocol:
            skips = caller.version >= _FIRST_SKIPPING_ASSIGNMENT
            answer = joined(group, member, skip=skips and group.leader == member_id)
            if not skips:
                answer.leader, answer.members = former_leader or "", []
            member.answer_join(answer)
        elif group.state is State.PREPARING:
            self._rebalances.advance(group)
        else:
            self._rebalances.prepare(group)


def _update(member: Member, request: JoinGroupRequest, parked: Parked) -> None:
    """What a member says of itself with each JoinGroup; version 0 has one timeout for both."""
    rebalance = (
        request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms
    )
    member.session_timeout = request.session_timeout_ms / 1000
    member.rebalance_timeout = rebalance / 1000
    member.protocols = _protocols(request)
    member.joining = parked


def _protocols(request: JoinGroupRequest) -> dict[str, bytes]:
    """Copies: the request's bytes are views into a receive buffer."""
    return {protocol.name: bytes(protocol.metadata) for protocol in request.protocols}
