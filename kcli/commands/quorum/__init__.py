"""``kcli quorum``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "quorum",
    cls=Group,
    examples=(
        ("kcli quorum describe", "leader, voters and observers, and how far each is behind"),
        ("kcli quorum remove-controller 3", "controller 3 is to be replaced"),
    ),
)
def quorum() -> None:
    """Describe the quorum of the controllers (KRaft), add controllers to its voters and remove them."""
