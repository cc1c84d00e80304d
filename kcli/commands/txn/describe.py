"""``kcli txn describe``: show a transactional id, or what holds partitions of a topic back."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.txn._options import topic_options


@command(
    "describe",
    examples=(
        ("kcli txn describe --topic orders -p 3", "which transaction holds this partition back, since when"),
        ("kcli txn describe payments-7", "one transactional id, with all its partitions"),
        ("kcli txn describe --topic orders -o json", "for scripts"),
    ),
)
@click.argument("name", required=False, metavar="[ID]")
@topic_options("the transactions in this topic")
@pass_invocation
def describe_transactions(
    inv: Invocation, name: str | None, topic: str | None, partitions: tuple[int, ...] | None
) -> int:
    """Show a transactional id, or what holds partitions of a topic back.

    A row per partition and open transaction, the one that holds the partition back first. WAITING counts the offsets
    after LAST-STABLE, which readers of committed records cannot read yet.

    STATE is open (its coordinator aborts it at its timeout), ending (the coordinator is writing the markers), hanging
    (no coordinator ends it: use `kcli txn abort`), free (nothing is open), or unknown. SINCE is when the transaction
    began; of a hanging one, the timestamp of its first record. Brokers do not report which client host a producer
    runs on.
    """
    from kcli.commands.txn import _describing  # clients are loaded when the command runs

    return _describing.describe_transactions(inv, name, topic, partitions)
