"""Which groups read a topic."""

from collections.abc import Collection, Sequence

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE


def readers_of(
    admin: Admin, listed: Sequence[ListedGroup], topics: Collection[str]
) -> Survey[dict[str, list[ListedGroup]]]:
    """By topic the groups with committed offsets of it, or start offsets, or with a member that subscribes to it or is
    assigned to it.
    """
    names = [row.group_id for row in listed]
    shares = [row.group_id for row in listed if row.type == SHARE]
    others = dict.fromkeys(name for name in names if name not in shares)
    committed: dict[str, Collection[TopicPartition] | KcliError] = {
        **(admin.fetch_offsets(others) if others else {}),
        **(admin.share_offsets(shares) if shares else {}),
    }
    read: dict[str, set[str]] = {name: set() for name in names}
    for name, offsets in committed.items():
        if not isinstance(offsets, KcliError):
            read[name].update(tp.topic for tp in offsets)
    live = [
        row.group_id for row in listed if row.state != "Empty" and not read[row.group_id].issuperset(topics)
    ]
    described = admin.describe_groups(live, all_types=True) if live else {}
    for name, group in described.items():
        for member in () if isinstance(group, KcliError) else group.members:
            read[name].update(member.subscription)
            read[name].update(tp.topic for tp in (*(member.assignment or ()), *(member.target or ())))
    unknown: list[Missing] = []
    for name in names:
        error: object = committed.get(name)
        if not isinstance(error, KcliError):
            error = described.get(name)
        left = [topic for topic in topics if topic not in read[name]]
        if left and isinstance(error, KcliError) and not isinstance(error, NotFoundError):
            unknown.append(Missing(f"whether group {name} reads {', '.join(left)}", "", error))
    found = {topic: [row for row in listed if topic in read[row.group_id]] for topic in topics}
    return Survey(found, unknown)
