"""Groups with everything that brokers report: members, and the position in each partition."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass, field
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.names import own_group_note
from kcli.core.types import GroupPartition, TopicPartition
from kcli.flows.groups.offsets import Positions, missing_offsets, positions

if TYPE_CHECKING:  # loaded where groups are described and listed
    from kcli.core.admin.group_description import GroupDescription, MemberDescription
    from kcli.core.admin.groups import ListedGroup

SHARE, STREAMS = "share", "streams"
"""Types of groups: the first have start offsets instead of commits (KIP-932), the others tasks (KIP-1071)."""
WITHOUT_MEMBERS = frozenset(("Empty", "Dead"))
"""States of groups, in Kafka's words."""


@dataclass(slots=True, eq=False, repr=False)
class Described:
    """One group. ``description`` is None for a group of which only the listing is known; ``note`` explains that.

    ``error`` is why its offsets could not be read: then there are none here. Without ``offsets`` none were requested.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    coordinator: int
    description: "GroupDescription | None" = None
    positions: Positions = field(default_factory=dict)
    note: str | None = None
    error: KcliError | None = None

    @property
    def members(self) -> "tuple[MemberDescription, ...]":
        """Its members, where they are known."""
        return self.description.members if self.description is not None else ()


def describe_groups(
    admin: Admin, names: Sequence[str], *, offsets: bool = True, listed: Iterable["ListedGroup"] = ()
) -> dict[str, Described | KcliError]:
    """Each group, or its error: NotFoundError for a group that does not exist.

    ``listed``: the result of ListGroups, if known; else it is requested where there is a share or streams group.
    """
    if offsets:
        admin.begin_fetch_offsets(names)
    described = admin.describe_groups(names, all_types=True) if names else {}
    rows = {row.group_id: row for row in listed}
    if not rows and any(isinstance(one, UnsupportedError) for one in described.values()):
        rows = {row.group_id: row for row in admin.list_groups().groups}
    owners = {name: assigned(one) for name, one in described.items() if not isinstance(one, KcliError)}
    shares = [name for name, one in described.items() if not isinstance(one, KcliError) and one.type == SHARE]
    read = {name: subscribed(one) for name, one in described.items() if not isinstance(one, KcliError)}
    by_group = positions(admin, owners, shares, read) if offsets else {}
    found: dict[str, Described | KcliError] = {}
    for name, one in described.items():
        if not isinstance(one, KcliError):
            found[name] = _described(one, by_group.get(name, {}))
        elif isinstance(one, UnsupportedError) and name in rows and rows[name].type in (SHARE, STREAMS):
            found[name] = _only_listed(rows[name], one)
        else:
            found[name] = one
    return found


def assigned(group: "GroupDescription") -> dict[TopicPartition, "MemberDescription"]:
    """The current owner of each partition; during a rebalance the first of several that claim it."""
    owners: dict[TopicPartition, MemberDescription] = {}
    for member in group.members:
        for tp in member.assignment or ():
            owners.setdefault(tp, member)
    return owners


def subscribed(group: "GroupDescription") -> frozenset[str] | None:
    """The topics that members subscribe to by name; None of a group without members."""
    if not group.members:
        return None
    return frozenset(topic for member in group.members for topic in member.subscription)


def owner_fields(member: "MemberDescription | None") -> dict[str, Any]:
    """The owner of a partition, for its row."""
    if member is None:
        return {"member_id": None, "client_id": None, "host": None}
    return {"member_id": member.member_id, "client_id": member.client_id, "host": member.host}


def commits_of(groups: Iterable[Described]) -> dict[GroupPartition, int]:
    """All committed offsets of the groups; start offsets of share groups are none."""
    return {
        GroupPartition(group.group_id, tp): position.committed.offset
        for group in groups
        for tp, position in group.positions.items()
        if position.committed is not None and not position.shared
    }


def missing_in(groups: Iterable[Described]) -> list[Missing]:
    """What could not be read of the positions of groups; once for a partition that several read."""
    positions = {
        GroupPartition(group.group_id, tp): position
        for group in groups
        for tp, position in group.positions.items()
    }
    return missing_offsets(
        {at.tp: position.error for at, position in positions.items()},
        {at: position.unread for at, position in positions.items()},
    )


def _described(group: "GroupDescription", found: Positions | KcliError) -> Described:
    error = found if isinstance(found, KcliError) else None
    return Described(
        group.group_id,
        group.type,
        group.state,
        group.protocol_type,
        group.coordinator,
        description=group,
        positions={} if isinstance(found, KcliError) else found,
        note="its offsets could not be read" if error is not None else own_group_note(group.group_id),
        error=error,
    )


def _only_listed(row: "ListedGroup", error: KcliError) -> Described:
    note = "its members and offsets could not be read"
    return Described(
        row.group_id, row.type, row.state, row.protocol_type, row.coordinator, note=note, error=error
    )
