"""Reads the log of the transaction coordinators, with a consumer of its own."""

from collections.abc import Sequence

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.admin.transactions import TransactionDescription
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.types import TopicPartition
from kcli.flows.transactions.state_log import TOPIC, logged_transactions


def read_log(inv: Invocation, admin: Admin) -> Sequence[TransactionDescription]:
    """Every transactional id of the cluster, with its last state."""
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
