"""``kcli quotas``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "quotas",
    cls=Group,
    examples=(
        ("kcli quotas list", "all quotas"),
        ("kcli quotas alter --user alice --set producer_byte_rate=10MB/s", "limit a user"),
    ),
)
def quotas() -> None:
    """Show and change quotas of users, client ids and IP addresses."""
