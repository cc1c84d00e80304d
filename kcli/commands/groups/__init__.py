"""``kcli groups``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "groups",
    cls=Group,
    examples=(
        ("kcli groups list", "all groups of the cluster"),
        ("kcli groups lag billing", "how far a group is behind, by partition"),
        ("kcli groups describe billing", "the offsets and members of one group"),
    ),
)
def groups() -> None:
    """List, describe and change groups and their committed offsets."""
