"""``kcli groups copy``: commit the offsets of one group for another."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.confirm import may_be_agreed
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP
from kcli.commands.shared.usage import usage


@command(
    "copy",
    exits={6: "the offsets of some partitions are not set", 7: "the group to write has members"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli groups copy billing billing-test", "a group that starts where billing is now"),
        ("kcli groups copy billing billing-v2 --dry-run", "the plan; nothing is changed"),
    ),
)
@click.argument("source", type=GROUP, metavar="A")
@click.argument("name", type=GROUP, metavar="B")
@pass_invocation
def copy_group(inv: Invocation, source: str, name: str) -> int:
    """Copy the committed offsets of group A to group B, with metadata and leader epochs.

    A may have members; B must have none, and need not exist. Other committed offsets of B are not changed. Shows a plan
    first, stores the previous offsets of B for `kcli groups rewind B --undo`, and verifies every partition afterwards.
    """
    if source == name:
        raise usage(
            "groups copy: A and B are the same group", why="nothing would change", do="name two groups"
        )
    from kcli.flows.transfer.create import group_copy  # clients are loaded when the command runs

    return run_change(
        inv,
        group_copy(source, name, inv.cluster_name, again=inv.yes, dry=inv.dry_run or not may_be_agreed(inv)),
    )
