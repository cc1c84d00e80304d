"""``kcli txn``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.txn.list:list_transactions", "list open transactions, and those that hang"),
    "describe": (
        "kcli.commands.txn.describe:describe_transactions",
        "show a transactional id, or what holds partitions of a topic back",
    ),
    "abort": (
        "kcli.commands.txn.abort:abort_transactions",
        "abort an open transaction: its records are never read as committed",
    ),
}


@click.group(
    "txn",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli txn list", "open transactions, and those that hang"),
        ("kcli txn describe --topic orders -p 3", "what holds this partition back"),
        ("kcli txn abort --topic orders -p 3", "end it, after a plan and a question"),
    ),
)
def txn() -> None:
    """Find the transactions that hold partitions back, and end them."""
