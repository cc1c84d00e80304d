"""Which groups read a topic."""

from collections.abc import Collection, Sequence

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE


def readers_of(admin: Admin, listed: Sequence[ListedGroup], topic: str) -> Survey[list[ListedGroup]]:
    """The groups with committed offsets of ``topic``, or start offsets, or with a member that subscribes to it or is
    assigned to it.
    """
    names = [row.group_id for row in listed]
    shares = [row.group_id for row in listed if row.type == SHARE]
    others = dict.fromkeys(name for name in names if name not in shares)
    committed: dict[str, Collection[TopicPartition] | KcliError] = {
        **(admin.fetch_offsets(others) if others else {}),
        **(admin.share_offsets(shares) if shares else {}),
    }
    with_offsets = {
        name
        for name, offsets in committed.items()
        if not isinstance(offsets, KcliError) and any(tp.topic == topic for tp in offsets)
    }
    live = [row.group_id for row in listed if row.group_id not in with_offsets and row.state != "Empty"]
    described = admin.describe_groups(live, all_types=True) if live else {}
    with_members = {
        name
        for name, group in described.items()
        if not isinstance(group, KcliError)
        for member in group.members
        if topic in member.subscription
        or any(tp.topic == topic for tp in (*(member.assignment or ()), *(member.target or ())))
    }
    unknown: list[Missing] = []
    for name in names:
        error: object = committed.get(name)
        if not isinstance(error, KcliError):
            error = described.get(name)
        if name in with_members or not isinstance(error, KcliError):
            continue
        if not isinstance(error, NotFoundError):
            unknown.append(Missing(f"whether group {name} reads {topic}", "", error))
    return Survey([row for row in listed if row.group_id in with_offsets | with_members], unknown)
