"""Reads the log of the transaction coordinators with a consumer of its own, where brokers list no transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.types import TopicPartition
from kcli.flows.transactions.coordinated import ReadLog

if TYPE_CHECKING:
    from kcli.core.admin.transactions import TransactionDescription


def log_reader(inv: Invocation) -> ReadLog:
    """Reads every transactional id of the cluster, with its last state; noted the first time."""
    noted = False

    def read(admin: Admin) -> Sequence[TransactionDescription]:
        nonlocal noted
        if not noted:
            noted = True
            inv.talk.note("brokers before Kafka 3.0 do not list transactions: reading __transaction_state")
        return _read_log(inv, admin)

    return read


def _read_log(inv: Invocation, admin: Admin) -> Sequence[TransactionDescription]:
    # Only with old brokers: it loads the consumer.
    from kcli.core.consumer.consumer import Consumer
    from kcli.flows.transactions.state_log import TOPIC, logged_transactions

    topic = admin.describe_topics([TOPIC])[TOPIC]
    if isinstance(topic, NotFoundError):
        return []  # it is created with the first transaction of a cluster
    if isinstance(topic, KcliError):
        raise topic
    options = inv.inner_options(
        ConsumerOptions,
        group_id="",
        enable_auto_commit=False,
        isolation_level="read_uncommitted",
        max_poll_records=WHOLE_BATCHES,
    )
    with Consumer(options, hooks=inv.hooks) as consumer:
        partitions = [TopicPartition(TOPIC, part.partition) for part in topic.partitions]
        return logged_transactions(consumer, partitions, inv.timeout)
