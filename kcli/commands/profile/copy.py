"""``kcli profile copy``: a profile with the options of another one."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE, option


@command(
    "copy",
    exits={7: "a profile of the new name exists"},
    reads=("XDG_CONFIG_HOME",),
    outputs=(),
    examples=(("kcli profile copy prod prod-admin", "the same options and marks under another name"),),
)
@click.argument("source", type=PROFILE, metavar="A")
@click.argument("target", metavar="B")
@option("--replace", is_flag=True, help="replace a profile of the new name")
@pass_invocation
def copy_profile(inv: Invocation, source: str, target: str, replace: bool) -> int:
    """Add a profile B with the options and marks of A.

    Secrets that A only points to are pointed to by B as well; those that stand in A in plain text are then in the file
    twice. A may be a profile of /etc/kcli: B is one of the user. Exit code 7 if B exists.
    """
    from kcli.commands.profile._editing import copy  # client options are loaded when the command runs

    return copy(inv, source, target, replace=replace)
