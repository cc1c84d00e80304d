"""``kcli config show``: show the client options that are set, from all sources."""

from kcli.commands.config import OF_CLUSTERS
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "show",
    reads=("XDG_CONFIG_HOME", *OF_CLUSTERS),
    examples=(
        ("kcli config show", "the options that a command would use"),
        ("kcli config show --profile prod --origin", "those of a profile, and where each is set"),
        ("kcli config show -o json", "for scripts"),
    ),
)
@option("--origin", is_flag=True, help="show where each value comes from: option, variable, file and line")
@pass_invocation
def show_config(inv: Invocation, /, origin: bool) -> int:
    """Show the client options that are set, from all sources.

    Options of the command line count too, as in `kcli config show -F FILE`. Secrets are hidden; those in files, commands
    and the keyring are not read. No broker is contacted.
    """
    from kcli.commands.config._showing import show  # client options are loaded when the command runs

    return show(inv, origin=origin)
