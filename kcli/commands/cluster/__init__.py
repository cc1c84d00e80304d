"""``kcli cluster``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "cluster",
    cls=Group,
    examples=(
        ("kcli cluster describe", "brokers, controller, partitions in trouble"),
        ("kcli cluster check --if-stopped 2", "is all well, and may broker 2 be stopped?"),
    ),
)
def cluster() -> None:
    """Describe and check the cluster."""
