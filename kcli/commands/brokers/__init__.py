"""``kcli brokers``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "brokers",
    cls=Group,
    examples=(("kcli brokers list", "brokers with their state, roles and versions"),),
)
def brokers() -> None:
    """List and describe brokers, and take them out of the cluster."""
