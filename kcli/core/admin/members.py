"""Removes members from their groups: many at once, each with its own result. LeaveGroup (KIP-345) does it for classic
groups and those of KIP-848; to a streams group the last heartbeat of the member is sent in its place (KIP-1071).
"""

from collections.abc import Collection, Iterator, Mapping

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, fan_out
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import NONE, UNKNOWN_MEMBER_ID
from kcli.core.errors import ConfigError, KcliError, NotFoundError, too_old
from kcli.core.names import group_argument
from kcli.core.permissions import on_group
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kcli.core.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

_FIRST_WITH_MANY = 3
_LEAVES = -1
"""The epoch of a member's last heartbeat: it leaves for good, also a static one."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member by its id, or a static member by its instance id alone; if both are given they must match."""

    member_id: str = ""
    instance_id: str | None = None

    def __str__(self) -> str:
        return self.member_id or f"with instance id {self.instance_id}"


class _Leaving(NamedTuple):
    group: str
    member: GroupMember

    def __str__(self) -> str:
        return f"{self.member} of group {self.group}"


def remove_members(
    cluster: Cluster,
    coordinators: Coordinators,
    wanted: Mapping[str, Collection[GroupMember]],
    deadline: float,
    *,
    reason: str | None = None,
    streams: Collection[str] = (),
) -> dict[str, dict[GroupMember, KcliError | None]]:
    """Removes members; they find out with their next request. None: removed. ``streams``: those of the groups that are
    streams groups, whose members have to be named by their ids.

    NotFoundError for a member that the group does not have. ``reason`` is for the broker's log (KIP-800). Below v3
    there is one request per member, and static members cannot be identified by their instance id.
    """
    items = {_Leaving(group, member): None for group, members in wanted.items() for member in members}
    if any(not member.member_id and member.instance_id is None for _, member in items):
        raise ConfigError("a member to be removed must be named by its id or its instance id")
    unsure: set[_Leaving] = set()

    def ask(broker: Broker, items: Items[_Leaving, None]) -> Iterator[Part[_Leaving]]:
        version = broker.version(LeaveGroupRequest)
        groups: dict[str, list[_Leaving]] = {}
        for key, _ in items:
            groups.setdefault(key.group, []).append(key)
        for group, keys in groups.items():
            if group in streams:
                yield from (Part(_last_heartbeat(key), [key]) for key in keys)
            elif version >= _FIRST_WITH_MANY:
                yield Part(_request(group, keys, reason), keys)
            else:
                yield from (Part(_single(broker, key, version), [key]) for key in keys)

    def read(
        response: LeaveGroupResponse | StreamsGroupHeartbeatResponse, part: Part[_Leaving]
    ) -> Iterator[tuple[_Leaving, int | KcliError, None]]:
        if isinstance(response, StreamsGroupHeartbeatResponse):
            yield from ((key, _verdict(key, response.error_code, unsure), None) for key in part.keys)
            return
        if response.error_code != NONE or not getattr(part.request, "members", ()):
            yield from ((key, _verdict(key, response.error_code, unsure), None) for key in part.keys)
        rows = {_name(row.member_id, row.group_instance_id): row.error_code for row in response.members}
        for key in part.keys:
            code = rows.get(_name(key.member.member_id, key.member.instance_id))
            if code is not None:
                yield key, _verdict(key, code, unsure), None

    route = ToCoordinator[_Leaving](cluster, coordinators, lambda key: key.group)
    found = fan_out(
        cluster,
        items,
        route,
        ask,
        read,
        deadline,
        "removing member",
        unsure=unsure,
        needs=lambda key: [on_group("READ", key.group)],
    )
    removed: dict[str, dict[GroupMember, KcliError | None]] = {group: {} for group in wanted}
    for key, outcome in found.items():
        removed[key.group][key.member] = outcome
    return removed


def _name(member_id: str, instance_id: str | None) -> tuple[str, str | None]:
    """The key of a row of the response, which may include the member id of a static member that was not requested."""
    return (member_id, None) if instance_id is None else ("", instance_id)


def _request(group: str, keys: Collection[_Leaving], reason: str | None) -> LeaveGroupRequest:
    members = [
        MemberIdentity(
            member_id=key.member.member_id, group_instance_id=key.member.instance_id, reason=reason
        )
        for key in keys
    ]
    return LeaveGroupRequest(group_id=group, members=members)


def _last_heartbeat(key: _Leaving) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(
        group_id=key.group,
        member_id=key.member.member_id,
        member_epoch=_LEAVES,
        endpoint_information_epoch=-1,
        instance_id=key.member.instance_id,
    )


def _single(broker: Broker, key: _Leaving, version: int) -> LeaveGroupRequest | KcliError:
    if not key.member.member_id:
        what = f"{broker.name} cannot remove a static member by its instance id"
        return too_old(what, _FIRST_WITH_MANY, version)
    return LeaveGroupRequest(group_id=key.group, member_id=key.member.member_id)


def _verdict(key: _Leaving, code: int, unsure: Collection[_Leaving]) -> int | KcliError:
    if code != UNKNOWN_MEMBER_ID:
        return code
    if key in unsure:  # removed by the attempt whose response was lost
        return NONE
    return NotFoundError(
        f"group {key.group} has no member {key.member}",
        why="it has left, or was removed already",
        do=f"`kcli groups describe {group_argument(key.group)} --members` lists the members",
    )
