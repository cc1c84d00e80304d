"""``kcli profile remove``: remove a profile."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE


@command(
    "remove",
    reads=("XDG_CONFIG_HOME",),
    outputs=(),
    examples=(("kcli profile remove test", "after a question"),),
)
@click.argument("name", type=PROFILE)
@pass_invocation
def remove_profile(inv: Invocation, name: str) -> int:
    """Remove a profile. Secrets that it only points to stay where they are."""
    from kcli.commands.profile._editing import remove  # client options are loaded when the command runs

    return remove(inv, name)
