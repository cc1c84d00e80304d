"""``kcli tokens``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "tokens",
    cls=Group,
    examples=(
        ("kcli tokens list", "which delegation tokens there are, and the time left"),
        ("kcli tokens create --hmac-file token.secret", "a token of this client"),
    ),
)
def tokens() -> None:
    """List, create, renew and expire delegation tokens: passwords of limited life, which clients use with SCRAM."""
