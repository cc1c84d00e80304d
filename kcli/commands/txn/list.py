"""``kcli txn list``: list open transactions, and those that hang."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.txn._options import older_than_option, topic_options


@command(
    "list",
    examples=(
        ("kcli txn list", "of all coordinators and all partitions"),
        ("kcli txn list --topic orders -p 0-3", "only what is open in these partitions"),
        ("kcli txn list --match 'payments-*'", "of these producers"),
        ("kcli txn list --older-than 15m -o json", "for a monitor: what should have ended"),
    ),
)
@topic_options("only transactions in this topic")
@older_than_option
@option("--match", metavar="GLOB", help="only transactional ids that match this shell pattern")
@pass_invocation
def list_transactions(
    inv: Invocation,
    topic: str | None,
    partitions: tuple[int, ...] | None,
    older_than: float | None,
    match: str | None,
) -> int:
    """List open transactions, and those that hang.

    Readers of committed records wait at the first record of an open transaction. Its coordinator aborts it at its
    timeout. STATE is the coordinator's: Ongoing, PrepareCommit, PrepareAbort.

    Hanging are transactions that no coordinator ends: a row for each partition, without TRANSACTIONAL-ID, or with the
    id under which the coordinator knows the producer, but no such transaction. To find these, the offsets of all
    partitions are read, or of those that --topic and -p select.

    Brokers list only what the client may DESCRIBE. Brokers before Kafka 3.0 do not list transactions: then the log of
    the coordinators, __transaction_state, is read. Exit code 6 where some could not be read, 4 without permission.
    """
    from kcli.commands.txn import _listing  # clients are loaded when the command runs

    return _listing.list_transactions(inv, topic, partitions, older_than, match)
