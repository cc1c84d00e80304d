"""``kcli config``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group

OF_CLUSTERS = ("KCLI_BOOTSTRAP_SERVER", "KCLI_X_KEY", "KAFKA_BOOTSTRAP_SERVERS")
"""Variables that these commands explain; they contact no cluster."""


@click.group(
    "config",
    cls=Group,
    examples=(
        ("kcli config show --origin", "each option that is set, and where"),
        ("kcli config check", "everything that is wrong with the configuration"),
    ),
)
def config() -> None:
    """Show and check the client options of all sources."""
