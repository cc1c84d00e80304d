"""Transactions from the log of their coordinators, ``__transaction_state``: for brokers before 3.0, which list none.

The log is compacted by transactional id, so the last record of an id is its state as the coordinator has it. Runs in
the consumer's poll.
"""

from collections.abc import Sequence
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.admin.transactions import TransactionDescription
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError, NotFoundError, TimedOutError
from kcli.core.hooks import Hooks
from kcli.core.options import ConsumerOptions
from kcli.core.types import Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget, known_bounds, read_spans
from kcli.flows.groups.commit_times import decoded
from kcli.serde.errors import DecodeError
from kcli.serde.internal.serde import InternalTopicSerde
from kcli.serde.serde import JsonValue, SerdeContext

TOPIC = "__transaction_state"
_MOST_BYTES = 1 << 30


def read_state_log(
    admin: Admin, options: ConsumerOptions, hooks: Hooks, seconds: float
) -> list[TransactionDescription]:
    """Every transactional id of the cluster, with its last state, by a consumer of these options; see below."""
    topic = admin.describe_topics([TOPIC])[TOPIC]
    if isinstance(topic, NotFoundError):
        return []  # it is created with the first transaction of a cluster
    if isinstance(topic, KcliError):
        raise topic
    with Consumer(options, hooks=hooks) as consumer:
        partitions = [TopicPartition(TOPIC, part.partition) for part in topic.partitions]
        return logged_transactions(consumer, partitions, seconds)


def logged_transactions(
    consumer: Consumer, partitions: Sequence[TopicPartition], seconds: float
) -> list[TransactionDescription]:
    """Every transactional id of these partitions of the log, with its last state; TimedOutError if time is up before.

    The consumer must read whole batches and ``read_uncommitted``; it is left assigned.
    """
    budget = Budget(_MOST_BYTES, seconds)
    bounds = known_bounds(consumer, partitions, seconds)
    missing = [tp for tp in partitions if tp not in bounds.ends]
    if missing:
        raise TimedOutError(
            f"the transactions in {missing[0]} are unknown",
            why="its end could not be read",
            do=f"check that the brokers that host {TOPIC} are running",
        )
    serde = InternalTopicSerde("transaction_state")
    found: dict[str, TransactionDescription] = {}

    def keep(record: Record) -> bool:
        name = _transactional_id(serde, record)
        if name is None:
            return False
        found.pop(name, None)
        data = decoded(serde, record)
        if data is not None:
            found[name] = _described(name, data)
        return False

    spans = {tp: range(bounds.starts[tp], end) for tp, end in bounds.ends.items() if end > bounds.starts[tp]}
    read_spans(consumer, spans, keep, budget)
    if budget.spent:
        raise TimedOutError(
            f"the transactions in {TOPIC} could not all be read in {seconds:.0f} s",
            why="there are many of them, or the brokers are slow",
            do="allow more time with --timeout",
        )
    return [found[name] for name in sorted(found)]


def _transactional_id(serde: InternalTopicSerde, record: Record) -> str | None:
    if record.key is None:
        return None
    try:
        key: JsonValue = serde.decode(record.key, SerdeContext(record.topic, part="key"))
    except DecodeError:
        return None
    data = key.get("data") if isinstance(key, dict) else None
    name = data.get("transactional_id") if isinstance(data, dict) else None
    return name if isinstance(name, str) else None


def _described(name: str, data: dict[str, Any]) -> TransactionDescription:
    rows = data["transaction_partitions"] or []
    return TransactionDescription(
        transactional_id=name,
        state=str(data["transaction_status"]),
        producer_id=data["producer_id"],
        producer_epoch=data["producer_epoch"],
        timeout_ms=data["transaction_timeout_ms"],
        start_ms=data["transaction_start_timestamp_ms"],
        partitions=tuple(
            TopicPartition(row["topic"], number) for row in rows for number in row["partition_ids"]
        ),
        coordinator=-1,
    )
