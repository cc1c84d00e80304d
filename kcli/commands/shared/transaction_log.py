"""Reads the transactions from the log of their coordinators, where brokers list none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.flows.transactions.coordinated import ReadLog

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription


def log_reader(inv: Invocation) -> ReadLog:
    """Reads every transactional id of the cluster, with its last state; noted the first time."""
    noted = False

    def read(admin: Admin) -> Sequence[TransactionDescription]:
        nonlocal noted
        # Only with old brokers: it loads the consumer.
        from kcli.flows.transactions.state_log import read_state_log

        if not noted:
            noted = True
            inv.talk.note("brokers before Kafka 3.0 do not list transactions: reading __transaction_state")
        options = inv.inner_options(
            ConsumerOptions,
            group_id="",
            enable_auto_commit=False,
            isolation_level="read_uncommitted",
            max_poll_records=WHOLE_BATCHES,
        )
        return read_state_log(admin, options, inv.hooks, inv.timeout)

    return read
