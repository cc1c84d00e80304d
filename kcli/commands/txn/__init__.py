"""``kcli txn``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "txn",
    cls=Group,
    examples=(
        ("kcli txn list", "open transactions, and those that hang"),
        ("kcli txn describe --topic orders -p 3", "what holds this partition back"),
        ("kcli txn abort --topic orders -p 3", "end it, after a plan and a question"),
    ),
)
def txn() -> None:
    """Find the transactions that hold partitions back, and end them."""
