"""``kcli config``: its verbs and options. What they do is in ``_config_show.py`` and ``_config_check.py``."""

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation

OF_CLUSTERS = ("KCLI_BOOTSTRAP_SERVER", "KCLI_X_KEY", "KAFKA_BOOTSTRAP_SERVERS")
"""Variables that these commands explain; they contact no cluster."""


@group(
    "config",
    examples=(
        ("kcli config show --origin", "each option that is set, and where"),
        ("kcli config check", "everything that is wrong with the configuration"),
    ),
)
def config() -> None:
    """Show and check the client options of all sources."""


@config.command(
    "show",
    changes=False,
    local=True,
    reads=("XDG_CONFIG_HOME", *OF_CLUSTERS),
    examples=(
        ("kcli config show", "the options that a command would use"),
        ("kcli config show --profile prod --origin", "those of a profile, and where each is set"),
        ("kcli config show -o json", "for scripts"),
    ),
)
@click.option(
    "--origin", is_flag=True, help="show where each value comes from: option, variable, file and line"
)
@pass_invocation
def show_config(inv: Invocation, /, origin: bool) -> int:
    """Show the client options that are set, from all sources.

    Options of the command line count too, as in `kcli config show -F FILE`. Secrets are hidden; those in files, commands
    and the keyring are not read. No broker is contacted.
    """
    from kcli.commands._config_show import show  # client options are loaded when the command runs

    return show(inv, origin=origin)


@config.command(
    "check",
    changes=False,
    local=True,
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
    from kcli.commands._config_check import check  # client options are loaded when the command runs

    return check(inv)
