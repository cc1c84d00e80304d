"""The open transactions that keep read_committed readers of a partition from its end (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.transactions import ProducerDescription
    from kcli.flows.lag.sample import LagSample


def held_back(admin: Admin, sample: LagSample) -> dict[TopicPartition, str]:
    """A sentence for each partition whose last stable offset is below its end.

    Brokers before 2.8 do not report the producer, brokers before 3.0 not the transactional id.
    """
    behind = {tp: at for tp, log in sample.bounds.items() if (at := log.held_at) is not None}
    if not behind:
        return {}
    producers = admin.describe_producers(list(behind))
    holders = {tp: _holder(producers.get(tp)) for tp in behind}
    names = _names(admin, {one.producer_id for one in holders.values() if one is not None})
    return {
        tp: f"last stable offset {stable:,}" + _whose(holders[tp], names, sample.at_ms)
        for tp, stable in behind.items()
    }


def _holder(told: list[ProducerDescription] | KcliError | None) -> ProducerDescription | None:
    """The producer whose open transaction began first."""
    if told is None or isinstance(told, KcliError):
        return None
    return min((one for one in told if one.open_since >= 0), key=lambda one: one.open_since, default=None)


def _names(admin: Admin, producer_ids: Iterable[int]) -> Mapping[int, str]:
    wanted = sorted(producer_ids)
    if not wanted:
        return {}
    try:
        listing = admin.list_transactions(producer_ids=wanted)
    except KcliError:
        return {}  # then only the producer id is reported
    return {one.producer_id: one.transactional_id for one in listing.transactions}


def _whose(holder: ProducerDescription | None, names: Mapping[int, str], now: int) -> str:
    if holder is None:
        return ": behind it a transaction is open"
    name = names.get(holder.producer_id)
    who = f"transactional id {name}" if name is not None else f"producer {holder.producer_id}"
    quiet = max(0, now - holder.last_timestamp) // 1000 if holder.last_timestamp >= 0 else None
    since = "" if quiet is None else f", last written to {quiet:,} s ago"
    return f": a transaction of {who} is open{since}"
