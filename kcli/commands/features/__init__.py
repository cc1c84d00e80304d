"""``kcli features``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "features",
    cls=Group,
    examples=(
        ("kcli features list", "the levels that are in effect, and those that brokers support"),
        ("kcli features upgrade --release-version 4.4 --dry-run", "what an upgrade would change and forbid"),
    ),
)
def features() -> None:
    """List, upgrade and downgrade the features of the cluster, such as metadata.version."""
