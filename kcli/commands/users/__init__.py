"""``kcli users``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.users.list:list_users", "list users with SCRAM credentials"),
    "set": (
        "kcli.commands.users.set:set_user",
        "set the password of a user: makes SCRAM credentials, or replaces them",
    ),
    "delete": ("kcli.commands.users.delete:delete_user", "delete SCRAM credentials of a user"),
}


@click.group(
    "users",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli users list", "who can authenticate with SCRAM"),
        ("kcli users set alice", "a new user, or a new password; asks for it"),
    ),
)
def users() -> None:
    """List, set and delete users: their SCRAM credentials."""
