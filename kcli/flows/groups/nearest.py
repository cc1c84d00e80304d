"""Remedies for names of groups and topics that do not exist."""

from collections.abc import Collection, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.names import THERE_ARE, group_argument, unknown_group
from kcli.core.near_names import near_names


def name_nearest(admin: Admin, found: Mapping[str, object]) -> None:
    """Adds the nearest names as a remedy to the errors of groups that do not exist, with a single ListGroups."""
    missing = {name: error for name, error in found.items() if isinstance(error, NotFoundError)}
    if not missing:
        return
    try:
        known = [row.group_id for row in admin.list_groups().groups]
    except KcliError:
        known = []  # the errors are still reported
    for name, error in missing.items():
        error.do = nearest_text(name, known)


def without_commits(admin: Admin, group: str) -> KcliError:
    """Why a group has no commits: it does not exist, is of another type, or has not committed yet."""
    listing = admin.list_groups()
    known = {row.group_id: row.type for row in listing.groups}
    if known.get(group) == "share":
        return NotFoundError(
            f"share group {group} has no start offsets",
            why="it has read nothing yet, or its start offsets were deleted",
            do=f"`kcli groups describe {group_argument(group)}` shows its members",
        )
    if group in known or listing.is_partial:
        return NotFoundError(
            f"group {group} has no committed offsets",
            why="its members have not committed yet, or its commits have expired",
            do=f"`kcli groups describe {group_argument(group)}` shows its members",
        )
    return unknown_group(group, nearest_text(group, known))


def nearest_text(name: str, known: Collection[str]) -> str:
    """The remedy for a mistyped name."""
    near = near_names(name, [one for one in known if one != name], 3)
    return f"did you mean {', '.join(near)}?" if near else THERE_ARE


def topics_without_groups(admin: Admin, topics: Collection[str]) -> tuple[list[str], list[KcliError]]:
    """Notes on those topics that exist, and the errors of the others, for topics that no group reads."""
    described = admin.describe_topics(sorted(topics)) if topics else {}
    notes = [
        f"none of the groups that this client may describe has an offset or a member for topic {name}"
        for name, found in described.items()
        if not isinstance(found, KcliError)
    ]
    return notes, [found for found in described.values() if isinstance(found, KcliError)]
