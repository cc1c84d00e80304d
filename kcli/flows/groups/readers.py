"""Which groups read a topic."""

from collections.abc import Sequence

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError


def readers_of(admin: Admin, listed: Sequence[ListedGroup], topic: str) -> Survey[list[ListedGroup]]:
    """The groups with committed offsets of ``topic``, or with a member that subscribes to it or is assigned to it."""
    names = [row.group_id for row in listed]
    committed = admin.fetch_offsets(dict.fromkeys(names)) if names else {}
    with_offsets = {
        name
        for name, offsets in committed.items()
        if not isinstance(offsets, KcliError) and any(tp.topic == topic for tp in offsets)
    }
    others = [row.group_id for row in listed if row.group_id not in with_offsets and row.state != "Empty"]
    described = admin.describe_groups(others) if others else {}
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
        if not isinstance(error, UnsupportedError | NotFoundError):
            unknown.append(Missing(f"whether group {name} reads {topic}", "", error))
    return Survey([row for row in listed if row.group_id in with_offsets | with_members], unknown)
