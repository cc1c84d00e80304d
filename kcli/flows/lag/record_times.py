"""When the first unread records were written, and which open transactions keep readers from them.

Times are read from the records themselves, or estimated from the time index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.first_records import PartitionOffset, first_unread_records
from kcli.flows.lag.partition_lag import INTERPOLATED, READ, UNKNOWN, RecordTime, unread_from, unread_of_share
from kcli.flows.lag.sample import GroupSample, LagSample

if TYPE_CHECKING:
    from kcli.core.admin.transactions import ProducerDescription

_ROUNDS = 60
_CLOSE_MS = 1_000


def unread_offsets(groups: Iterable[GroupSample], sample: LagSample) -> dict[PartitionOffset, None]:
    """The distinct offsets from which these groups have records to read."""
    found: dict[PartitionOffset, None] = {}
    for one in groups:
        for tp, commit in one.committed.items():
            bounds = sample.bounds[tp]
            first = unread_of_share(one, tp, bounds) if one.type == SHARE else unread_from(commit, bounds)
            if first is not None:
                found[tp, first] = None
    return found


def read_record_times(
    admin: Admin, offsets: Collection[PartitionOffset], sample: LagSample
) -> dict[PartitionOffset, RecordTime]:
    """Reads the records; where an open transaction blocks a group, the first record that it waits for."""
    found: dict[PartitionOffset, RecordTime] = {}
    records = first_unread_records(admin, offsets, sample.bounds)
    for offset, record in records.items():
        if isinstance(record, KcliError) or (record is not None and record.timestamp < 0):
            found[offset] = RecordTime(None, UNKNOWN)
        else:
            found[offset] = RecordTime(record.timestamp if record is not None else None, READ)
    return found


def estimate_record_times(
    admin: Admin, offsets: Iterable[PartitionOffset], sample: LagSample
) -> dict[PartitionOffset, RecordTime]:
    """Bisects the time of each offset, with one request to all leaders per round, until it is known to a second.

    No record is read: leaders look times up in their index. All searches in a partition use each response; the one with
    the widest interval chooses the next time. After 60 rounds the time is interpolated between the known points. The
    result can be wrong where timestamps do not increase.

    A partition whose leader does not answer is not asked again: each round would wait for it as long as a call may.
    """
    wanted: dict[TopicPartition, list[int]] = {}
    for tp, at in offsets:
        wanted.setdefault(tp, []).append(at)
    searches: dict[TopicPartition, list[TimeSearch]] = {}
    for tp, oldest in _look_up(admin, dict.fromkeys(wanted, 0)).items():
        bounds = sample.bounds[tp]
        assert bounds.end is not None  # there is something to read
        searches[tp] = [
            TimeSearch(at, (oldest.offset, oldest.timestamp), (bounds.end, sample.at_ms)) for at in wanted[tp]
        ]
    for _ in range(_ROUNDS):
        asked = {
            tp: max((one for one in some if not one.done), key=lambda one: one.width).middle
            for tp, some in searches.items()
            if not all(one.done for one in some)
        }
        if not asked:
            break
        answers = _look_up(admin, asked)
        for tp, middle in asked.items():
            if tp not in answers:
                del searches[tp]
                continue
            for one in searches[tp]:
                one.narrow(middle, answers[tp])
    found = {(tp, at): RecordTime(None, UNKNOWN) for tp, offsets in wanted.items() for at in offsets}
    return found | {(tp, one.at): one.time for tp, some in searches.items() for one in some}


class TimeSearch:
    """When the record at offset ``at`` was written, between two points: (offset, ms since the epoch). Pure."""

    def __init__(self, at: int, oldest: tuple[int, int], end: tuple[int, int]) -> None:
        self.at = at
        self._before, self._after = oldest, end

    @property
    def done(self) -> bool:
        """Whether the time is known, exactly or to a second."""
        return self._before[0] >= self.at or self.width <= _CLOSE_MS

    @property
    def width(self) -> int:
        """Milliseconds within which it lies."""
        return self._after[1] - self._before[1]

    @property
    def middle(self) -> int:
        """The time to look up next."""
        return (self._before[1] + self._after[1]) // 2

    def narrow(self, asked: int, first: OffsetInfo) -> None:
        """``first`` is the first record that is not older than ``asked``; an offset of −1 means there is none."""
        if first.offset < 0 or first.offset > self.at:
            after = self._after[0] if first.offset < 0 else min(first.offset, self._after[0])
            self._after = (after, min(asked, self._after[1]))
        elif first.timestamp >= self._before[1]:
            self._before = (first.offset, first.timestamp)

    @property
    def time(self) -> RecordTime:
        """What is known so far, interpolated linearly between two points."""
        (first, before), (last, after) = self._before, self._after
        if first >= self.at or last <= first:
            return RecordTime(before, INTERPOLATED)
        share = (self.at - first) / (last - first)
        return RecordTime(round(before + share * max(0, after - before)), INTERPOLATED)


def _look_up(admin: Admin, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetInfo]:
    offsets = admin.list_offsets(wanted) if wanted else {}
    return {
        tp: first
        for tp, first in offsets.items()
        if isinstance(first, OffsetInfo) and (first.offset >= 0 or wanted[tp] > 0)
    }


def open_transactions(admin: Admin, sample: LagSample) -> dict[TopicPartition, str]:
    """A note for each partition whose last stable offset is below its end: read_committed readers stop there (KIP-664).

    Brokers before 2.8 do not report the producer, brokers before 3.0 not the transactional id.
    """
    stable = {tp: at for tp, log in sample.bounds.items() if (at := log.stable_below_end) is not None}
    if not stable:
        return {}
    described = admin.describe_producers(list(stable))
    producers = {tp: _oldest_open(described.get(tp)) for tp in stable}
    names = _transactional_ids(admin, {one.producer_id for one in producers.values() if one is not None})
    return {
        tp: f"last stable offset {at:,}{_transaction_text(producers[tp], names, sample.at_ms)} (see kcli txn describe)"
        for tp, at in stable.items()
    }


def _oldest_open(producers: list[ProducerDescription] | KcliError | None) -> ProducerDescription | None:
    """The producer whose open transaction began first."""
    if producers is None or isinstance(producers, KcliError):
        return None
    return min(
        (one for one in producers if one.open_since >= 0), key=lambda one: one.open_since, default=None
    )


def _transactional_ids(admin: Admin, producer_ids: Iterable[int]) -> Mapping[int, str]:
    wanted = sorted(producer_ids)
    if not wanted:
        return {}
    try:
        listing = admin.list_transactions(producer_ids=wanted)
    except KcliError:
        return {}  # then only the producer id is reported
    return {one.producer_id: one.transactional_id for one in listing.transactions}


def _transaction_text(producer: ProducerDescription | None, names: Mapping[int, str], now: int) -> str:
    if producer is None:
        return ": a transaction is open"
    name = names.get(producer.producer_id)
    owner = f"transactional id {name}" if name is not None else f"producer {producer.producer_id}"
    idle = max(0, now - producer.last_timestamp) // 1000 if producer.last_timestamp >= 0 else None
    return f": a transaction of {owner} is open" + (
        "" if idle is None else f", last written to {idle:,} s ago"
    )
