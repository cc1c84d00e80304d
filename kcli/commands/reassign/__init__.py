"""``kcli reassign``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "reassign",
    cls=Group,
    examples=(
        ("kcli reassign plan --topic orders moves.json", "balance a topic over all brokers"),
        ("kcli reassign run moves.json --throttle 50MB/s --watch", "move it, and wait for the end"),
    ),
)
def reassign() -> None:
    """Move replicas of partitions to other brokers, and change how many there are."""
