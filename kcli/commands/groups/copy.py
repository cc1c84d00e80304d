"""``kcli groups copy``: the options. What the command does is in ``_create_run.py``."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.types import GROUP
from kcli.commands.shared.usage import usage


@command(
    "copy",
    changes=True,
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
    from kcli.commands.groups._create_run import copy  # clients are loaded when the command runs

    return copy(inv, source, name)
