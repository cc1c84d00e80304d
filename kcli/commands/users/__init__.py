"""``kcli users``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "users",
    cls=Group,
    examples=(
        ("kcli users list", "who can authenticate with SCRAM"),
        ("kcli users set alice", "a new user, or a new password; asks for it"),
    ),
)
def users() -> None:
    """List, set and delete users: their SCRAM credentials."""
