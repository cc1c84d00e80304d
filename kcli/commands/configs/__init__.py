"""``kcli configs``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "configs",
    cls=Group,
    examples=(
        ("kcli configs describe topics orders", "what is set for a topic, and where"),
        ("kcli configs alter topics orders --set retention.ms=3600000", "change one key"),
    ),
)
def configs() -> None:
    """Show and change configurations of topics, brokers, groups, broker loggers and client metrics."""
