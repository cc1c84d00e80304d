"""``kcli profile use``: make a profile the current one."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE


@command(
    "use",
    reads=("XDG_CONFIG_HOME",),
    outputs=(),
    examples=(("kcli profile use prod", "for all commands without --profile and KCLI_PROFILE"),),
)
@click.argument("name", type=PROFILE)
@pass_invocation
def use_profile(inv: Invocation, name: str) -> int:
    """Make a profile the current one."""
    from kcli.commands.profile._editing import use  # client options are loaded when the command runs

    return use(inv, name)
