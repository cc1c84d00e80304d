"""``kcli txn``: its verbs and options. What they do is in ``_txn_list_run.py`` and its neighbours."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import DURATION, PARTITIONS
from kcli.commands.shared.types import TOPIC

C = TypeVar("C", bound=Callable[..., Any])


_OLDER_THAN = click.option(
    "--older-than", type=DURATION, metavar="DUR", help="only transactions that are open for longer: 15m, 2h"
)


def _of_topic(meaning: str) -> Callable[[C], C]:
    """``--topic``, with what it selects, and its ``-p``."""

    def with_options(command: C) -> C:
        partitions = click.option(
            "-p", "--partitions", type=PARTITIONS, metavar="0,2,5-7", help="only these partitions of --topic"
        )
        return click.option("--topic", type=TOPIC, metavar="TOPIC", help=meaning)(partitions(command))

    return with_options


@group(
    "txn",
    examples=(
        ("kcli txn list", "open transactions, and those that hang"),
        ("kcli txn describe --topic orders -p 3", "what holds this partition back"),
        ("kcli txn abort --topic orders -p 3", "end it, after a plan and a question"),
    ),
)
def txn() -> None:
    """Find the transactions that hold partitions back, and end them."""


@txn.command(
    "list",
    changes=False,
    examples=(
        ("kcli txn list", "of all coordinators and all partitions"),
        ("kcli txn list --topic orders -p 0-3", "only what is open in these partitions"),
        ("kcli txn list --older-than 15m -o json", "for a monitor: what should have ended"),
    ),
)
@_of_topic("only transactions in this topic")
@_OLDER_THAN
@pass_invocation
def list_transactions(inv: Invocation, /, **flags: Any) -> int:
    """List open transactions, and those that hang.

    Readers of committed records wait at the first record of an open transaction. Its coordinator aborts it at its
    timeout. STATE is the coordinator's: Ongoing, PrepareCommit, PrepareAbort.

    Hanging are transactions that no coordinator ends: a row for each partition, without TRANSACTIONAL-ID, or with the
    id under which the coordinator knows the producer, but no such transaction. To find these, the offsets of all
    partitions are read, or of those that --topic and -p select.

    Brokers list only what the client may DESCRIBE. Brokers before Kafka 3.0 do not list transactions: then the log of
    the coordinators, __transaction_state, is read. Exit code 6 where some could not be read, 4 without permission.
    """
    from kcli.commands import _txn_list_run as run  # clients are loaded when the command runs

    return run.list_transactions(inv, **flags)


@txn.command(
    "describe",
    changes=False,
    examples=(
        ("kcli txn describe --topic orders -p 3", "which transaction holds this partition back, since when"),
        ("kcli txn describe payments-7", "one transactional id, with all its partitions"),
        ("kcli txn describe --topic orders -o json", "for scripts"),
    ),
)
@click.argument("name", required=False, metavar="[TXN_ID]")
@_of_topic("the transactions in this topic")
@pass_invocation
def describe_transactions(inv: Invocation, /, **flags: Any) -> int:
    """Show a transactional id, or what holds partitions of a topic back.

    A row per partition and open transaction, the one that holds the partition back first. WAITING counts the offsets
    after LAST-STABLE, which readers of committed records cannot read yet.

    STATE is open (its coordinator aborts it at its timeout), ending (the coordinator is writing the markers), hanging
    (no coordinator ends it: use `kcli txn abort`), free (nothing is open), or unknown. SINCE is when the transaction
    began; of a hanging one, the timestamp of its first record. Brokers do not report which client host a producer
    runs on.
    """
    from kcli.commands import _txn_describe_run as run  # clients are loaded when the command runs

    return run.describe_transactions(inv, **flags)


@txn.command(
    "abort",
    changes=True,
    examples=(
        ("kcli txn abort --topic orders -p 3", "what holds this partition back; shows the plan, and asks"),
        ("kcli txn abort payments-7", "the open transaction of an id; its client is fenced"),
        ("kcli txn abort --topic orders --older-than 1h --dry-run", "only show what would be aborted"),
    ),
)
@click.argument("name", required=False, metavar="[TXN_ID]")
@_of_topic("what holds this topic's partitions back")
@_OLDER_THAN
@pass_invocation
def abort_transactions(inv: Invocation, /, **flags: Any) -> int:
    """Abort an open transaction: its records are never read as committed.

    A transaction that its coordinator has is ended by fencing its producer: a client that still runs gets
    PRODUCER_FENCED and has to start anew. This may hurt a client at work, so the name has to be typed (or --yes,
    --confirm NAME).

    A hanging transaction is ended by an abort marker for its producer id and epoch, as kafka-transactions.sh does.
    Each is described again before it is ended, and the partitions are read back.

    Exit code 7 where the coordinator is already ending the transaction, 6 where some were not ended. Fencing needs WRITE
    on the transactional id, a marker ALTER on the cluster (CLUSTER_ACTION before Kafka 3.0).
    """
    from kcli.commands import _txn_abort_run as run  # clients are loaded when the command runs

    return run.abort_transactions(inv, **flags)
