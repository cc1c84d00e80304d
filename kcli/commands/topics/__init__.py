"""``kcli topics``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "topics",
    cls=Group,
    examples=(("kcli topics list", "all topics"), ("kcli topics describe orders", "one topic")),
)
def topics() -> None:
    """List, describe, create, change, trim and delete topics."""
