"""``kcli segments``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group("segments", cls=Group, examples=(("kcli segments list /data/kafka", "what is there"),))
def segments() -> None:
    """List, read, check and restore the files of a broker's log."""
