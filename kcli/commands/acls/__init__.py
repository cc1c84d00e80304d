"""``kcli acls``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "acls",
    cls=Group,
    examples=(
        ("kcli acls list --topic orders --pattern match", "who may do what with a topic"),
        ("kcli acls create --principal User:alice --operation read --topic orders", "allow it"),
    ),
)
def acls() -> None:
    """List, check, create and delete ACLs: who may do what."""
