"""``kcli users delete``: delete SCRAM credentials of a user."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.users._types import NAME, mechanism_option


@command(
    "delete",
    examples=(
        ("kcli users delete alice", "after a plan, and when the name is typed"),
        ("kcli users delete alice --mechanism SCRAM-SHA-256 --yes", "only this one, in a script"),
        ("kcli users delete alice --dry-run", "only show what would be deleted"),
    ),
)
@click.argument("name", type=NAME, metavar="NAME")
@mechanism_option("only the credential of this mechanism; repeatable")
@pass_invocation
def delete_user(inv: Invocation, name: str, mechanisms: tuple[str, ...]) -> int:
    """Delete SCRAM credentials of a user: all of them, unless --mechanism is given.

    The name has to be typed, or given with --confirm; --yes answers, too. Connections that are authenticated stay until
    they are closed or have to authenticate again. ACLs and quotas of the user stay. This needs ALTER and DESCRIBE on the
    cluster.
    """
    from kcli.flows.users.delete import UserDeletion  # clients are loaded when the command runs

    return run_change(inv, UserDeletion({name: mechanisms}))
