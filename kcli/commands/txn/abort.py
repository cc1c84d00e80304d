"""``kcli txn abort``: abort an open transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.transaction_log import log_reader
from kcli.commands.txn._options import older_than_option, topic_options
from kcli.commands.txn._scope import check_scope, surveyed
from kcli.core.admin.admin import Admin
from kcli.core.types import TopicPartition

if TYPE_CHECKING:  # loaded when the command runs
    from kcli.flows.transactions.held import Survey


@command(
    "abort",
    examples=(
        ("kcli txn abort --topic orders -p 3", "what holds this partition back; shows the plan, and asks"),
        ("kcli txn abort payments-7", "the open transaction of an id; its client is fenced"),
        ("kcli txn abort --topic orders --older-than 1h --dry-run", "only show what would be aborted"),
    ),
)
@click.argument("name", required=False, metavar="[ID]")
@topic_options("what holds this topic's partitions back")
@older_than_option
@pass_invocation
def abort_transactions(
    inv: Invocation,
    name: str | None,
    topic: str | None,
    partitions: tuple[int, ...] | None,
    older_than: float | None,
) -> int:
    """Abort an open transaction: its records are never read as committed.

    A transaction that its coordinator has is ended by fencing its producer: a client that still runs gets
    PRODUCER_FENCED and has to start anew. This may hurt a client at work, so the name has to be typed (or --yes,
    --confirm NAME).

    A hanging transaction is ended by an abort marker for its producer id and epoch, as kafka-transactions.sh does.
    Each is described again before it is ended, and the partitions are read back.

    Exit code 7 where the coordinator is already ending the transaction, 6 where some were not ended. Fencing needs WRITE
    on the transactional id, a marker ALTER on the cluster (CLUSTER_ACTION before Kafka 3.0). --dry-run cannot see
    whether WRITE is permitted: brokers do not report what a client may do with a transactional id.
    """
    from kcli.flows.transactions.abort import (  # clients are loaded when the command runs
        Scope,
        TransactionAbort,
    )

    check_scope("abort", name, topic, partitions, needed=True)
    scope = Scope(name or None, topic, partitions, older_than)
    reader = log_reader(inv)

    def find(admin: Admin, wanted: Sequence[TopicPartition]) -> Survey:
        return surveyed(inv, admin, wanted, reader, lacks_partitions=topic is None)

    return run_change(inv, TransactionAbort(scope, reader, find, lambda: inv.timeout))
