"""``kcli groups``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.groups.list:list_groups", "list groups of all kinds"),
    "lag": ("kcli.commands.groups.lag:lag", "show how far groups are behind, in records and in time"),
    "describe": (
        "kcli.commands.groups.describe:describe_groups",
        "show members, assignments and offsets of groups",
    ),
    "rewind": ("kcli.commands.groups.rewind:rewind", "move committed offsets back or forward, and undo that"),
    "export": ("kcli.commands.groups.export:export_groups", "write committed offsets to a file"),
    "import": ("kcli.commands.groups.import_offsets:import_offsets", "commit the offsets of a file"),
    "copy": ("kcli.commands.groups.copy:copy_group", "copy the committed offsets of one group to another"),
    "create": (
        "kcli.commands.groups.create:create_group",
        "create a group that starts at a given offset or time",
    ),
    "delete": ("kcli.commands.groups.delete:delete_groups", "delete groups with their committed offsets"),
    "delete-offsets": (
        "kcli.commands.groups.delete_offsets:delete_offsets",
        "delete committed offsets of a group",
    ),
    "remove-members": ("kcli.commands.groups.remove_members:remove_members", "remove members from a group"),
}


@click.group(
    "groups",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli groups list", "all groups of the cluster"),
        ("kcli groups lag billing", "how far a group is behind, by partition"),
        ("kcli groups describe billing", "the offsets and members of one group"),
    ),
)
def groups() -> None:
    """List, describe and change groups and their committed offsets."""
