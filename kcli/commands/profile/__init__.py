"""``kcli profile``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "profile",
    cls=Group,
    examples=(
        ("kcli profile add prod -b kafka1:9093 -X security.protocol=SASL_SSL", "a cluster under a name"),
        ("kcli profile use prod", "the cluster of all commands that name no other"),
        ("kcli topics list --profile test", "another one for one command"),
    ),
)
def profile() -> None:
    """Name clusters: their brokers, options and secrets, and what protects them."""
