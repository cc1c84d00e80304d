"""``kcli config``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "show": (
        "kcli.commands.config.show:show_config",
        "show the client options that are set, from all sources",
    ),
    "check": ("kcli.commands.config.check:check_config", "check the options of all sources"),
}
OF_CLUSTERS = ("KCLI_BOOTSTRAP_SERVER", "KCLI_X_KEY", "KAFKA_BOOTSTRAP_SERVERS")
"""Variables that these commands explain; they contact no cluster."""


@click.group(
    "config",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli config show --origin", "each option that is set, and where"),
        ("kcli config check", "everything that is wrong with the configuration"),
    ),
)
def config() -> None:
    """Show and check the client options of all sources."""
