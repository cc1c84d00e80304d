"""``kcli groups delete``: delete groups with all their committed offsets."""

from collections.abc import Sequence

import click

from kcli.commands.groups._options import empty_group_option, with_empty_group
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, option
from kcli.commands.shared.usage import usage
from kcli.output.progress import counted


@command(
    "delete",
    exits={1: "a named group does not exist, or none matches", 7: "the group has members"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli groups delete billing", "after its name is typed"),
        ("kcli groups delete billing --yes", "in a script"),
        ("kcli groups delete billing --dry-run", "only show what would be lost"),
        ("kcli groups delete --match 'console-consumer-*' --dry-run", "of all groups that match"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@option("--match", metavar="GLOB", help="all groups whose names match this shell pattern")
@empty_group_option()
@pass_invocation
def delete_groups(inv: Invocation, names: tuple[str, ...], match: str | None, empty_group: bool) -> int:
    """Delete groups with all their committed offsets.

    Each name has to be typed, unless --yes or --confirm NAME is given. Nothing is deleted before all questions are
    answered. A group with members is refused: exit code 7. The offsets are kept in a journal on this machine, from which
    `kcli undo ID` restores them.
    """
    names = with_empty_group(names, empty_group)
    if not names and match is None:
        raise usage(
            "groups delete: missing argument GROUP",
            why="it is required without --match",
            do="name groups, or use --match GLOB: `kcli groups list --match GLOB` lists those that match",
        )
    from kcli.flows.groups.delete import GroupDeletion  # clients are loaded when the command runs

    def check_confirm(names: Sequence[str]) -> None:
        left = [name for name in names if name not in inv.values.confirm]
        if inv.values.confirm and len(names) > 1 and left:
            raise usage(
                f"groups delete: --confirm does not name {counted(len(left), 'group')} that would be deleted",
                why="nothing was done",
                do=f"use --yes for all of them, or also --confirm {left[0]}",
            )

    check_confirm(unique(names))
    return run_change(inv, GroupDeletion(names, match, check_confirm))
