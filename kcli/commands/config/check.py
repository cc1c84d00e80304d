"""``kcli config check``: check the options of all sources."""

from kcli.commands.config import OF_CLUSTERS
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "check",
    reads=("XDG_CONFIG_HOME", *OF_CLUSTERS),
    examples=(
        ("kcli config check", "all files, variables and profiles"),
        ("kcli config check -F client.properties", "also this file"),
    ),
)
@pass_invocation
def check_config(inv: Invocation, /) -> int:
    """Check the options of all sources: unknown keys, wrong values, unsafe or unreadable files, missing secrets, and all
    else that every command refuses before it connects.

    All profiles are checked, not only the one in use. Commands that print secrets are looked for, but not run. Exit
    code 2 if there is an error; warnings alone are 0. No broker is contacted.
    """
    from kcli.commands.config._problems import print_problems  # not for --help

    return print_problems(inv)
