"""``kcli profile rename``: give a profile another name."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE


@command(
    "rename",
    exits={7: "a profile of the new name exists"},
    reads=("XDG_CONFIG_HOME",),
    outputs=(),
    examples=(("kcli profile rename prod prod-eu", "its options, secrets and marks stay as they are"),),
)
@click.argument("old", type=PROFILE, metavar="A")
@click.argument("new", metavar="B")
@pass_invocation
def rename_profile(inv: Invocation, old: str, new: str) -> int:
    """Rename profile A to B; its options, secrets and marks stay as they are.

    The current profile stays the current one. Journals of `kcli undo` and jobs of `kcli mirror` name clusters by their
    ids, and are not affected; lines of scripts that have --profile A are. Exit code 7 if B exists.
    """
    from kcli.commands.profile._editing import rename  # client options are loaded when the command runs

    return rename(inv, old, new)
