"""``kcli groups remove-members``: remove members from a group."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP


@command(
    "remove-members",
    examples=(
        ("kcli groups remove-members billing billing-3", "a static member, by its instance id"),
        ("kcli groups remove-members billing --yes", "all members, without a question"),
        ("kcli groups remove-members billing --dry-run", "only show which would be removed"),
    ),
)
@click.argument("name", type=GROUP, metavar="GROUP")
@click.argument("members", nargs=-1, metavar="[MEMBER…]")
@pass_invocation
def remove_members(inv: Invocation, name: str, members: tuple[str, ...]) -> int:
    """Remove members from a group.

    MEMBER is a member id or an instance id; without MEMBER all members are removed. Use it for members that have died
    while the group still waits for them, static members above all: a consumer that is running rejoins at once.
    """
    from kcli.flows.groups.remove_members import MemberRemoval  # clients are loaded when the command runs

    return run_change(inv, MemberRemoval(name, unique(members)))
