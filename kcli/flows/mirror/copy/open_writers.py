"""Who holds records of the source back: the producers of open transactions, by transactional id where brokers tell it."""

from collections.abc import Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.transactions import ProducerDescription, TransactionDescription
from kcli.core.consumer.open_transactions import OpenTransaction
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.output.tables import time_text


def open_writers(admin: Admin, waits: Mapping[TopicPartition, OpenTransaction]) -> dict[TopicPartition, str]:
    """A description of the transaction that each partition waits for (KIP-664); brokers before 2.8 name no producer, and
    without permission nothing is told of its transactional id.
    """
    try:
        producers = admin.describe_producers(list(waits))
    except KcliError:
        return {}
    first = {
        tp: writer
        for tp, found in producers.items()
        if not isinstance(found, KcliError)
        if (writer := _first(found, waits[tp].last_stable_offset)) is not None
    }
    named = _transactions(admin, {one.producer_id for one in first.values()}) if first else {}
    return {tp: _text(waits[tp], writer, named.get(writer.producer_id)) for tp, writer in first.items()}


def _first(found: list[ProducerDescription], stable: int) -> ProducerDescription | None:
    opened = [one for one in found if 0 <= one.open_since <= stable]
    return min(opened, key=lambda one: one.open_since, default=None)


def _transactions(admin: Admin, producer_ids: set[int]) -> dict[int, TransactionDescription]:
    """The open transactions of these producers."""
    try:
        listed = admin.list_transactions(producer_ids=sorted(producer_ids)).transactions
        found = admin.describe_transactions([one.transactional_id for one in listed])
    except KcliError:
        return {}
    return {one.producer_id: one for one in found.values() if isinstance(one, TransactionDescription)}


def _text(wait: OpenTransaction, writer: ProducerDescription, known: TransactionDescription | None) -> str:
    name = f"producer {writer.producer_id}"
    if known is not None:
        name += f" (transactional id {known.transactional_id})"
    since = ""
    if known is not None and known.start_ms >= 0:
        since = f" since {time_text(known.start_ms)}"
    elif writer.last_timestamp >= 0:
        since = f", which wrote last at {time_text(writer.last_timestamp)}"
    return f"an open transaction of {name}{since}, from offset {wait.last_stable_offset} on"
