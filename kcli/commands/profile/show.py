"""``kcli profile show``: show the options of one profile, with the lines where they stand; secrets are hidden."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE


@command(
    "show",
    reads=("XDG_CONFIG_HOME", "KCLI_BOOTSTRAP_SERVER"),
    examples=(
        ("kcli profile show prod", "its options, secrets hidden"),
        ("kcli profile show", "of the current one"),
    ),
)
@click.argument("name", required=False, type=PROFILE, metavar="[NAME]")
@pass_invocation
def show_profile(inv: Invocation, name: str | None) -> int:
    """Show the options of one profile, with the lines where they stand; secrets are hidden."""
    from kcli.commands.profile._showing import show  # client options are loaded when the command runs

    return show(inv, name)
