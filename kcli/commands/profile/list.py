"""``kcli profile list``: list the profiles."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "list",
    reads=("XDG_CONFIG_HOME", "KCLI_BOOTSTRAP_SERVER"),
    examples=(("kcli profile list", "all profiles"), ("kcli profile list -o name", "their names only")),
)
@pass_invocation
def list_profiles(inv: Invocation) -> int:
    """List the profiles."""
    from kcli.commands.profile._showing import list_all  # client options are loaded when the command runs

    return list_all(inv)
