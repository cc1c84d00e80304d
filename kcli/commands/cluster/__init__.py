"""``kcli cluster``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "cluster",
    cls=Group,
    examples=(("kcli cluster describe", "brokers, controller, partitions in trouble"),),
)
def cluster() -> None:
    """Describe the cluster and its brokers."""
