"""Lag in time of the groups that are looked at: record times, retention and open transactions, kept between readings.

The records of a partition do not change, so what was found at an offset holds until the group commits another one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import PartitionOffset
from kcli.flows.lag.measure import EXACT, OFF, retention
from kcli.flows.lag.partition_lag import RecordTime
from kcli.flows.lag.record_times import (
    estimate_record_times,
    open_transactions,
    read_record_times,
    unread_offsets,
)
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.reading import View

_AGAIN_MS = 10_000  # a group that reads moves all the time: its times are found again as often as that
_RETENTION_AGAIN_MS = 300_000
_MOST = 4_096  # offsets looked up for a reading


class Known(NamedTuple):
    """What is known for the groups of a view, and why something is not."""

    times: Mapping[PartitionOffset, RecordTime]
    retention: Mapping[str, int]
    notes: Mapping[TopicPartition, str]
    problems: Sequence[KcliError] = ()


class Ages:
    """Looks up what is missing or out of date, for the first groups of a view first."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._how = OFF
        self._times: dict[PartitionOffset, RecordTime] = {}
        self._looked: dict[str, int] = {}
        self._retention: dict[str, tuple[int, int | None]] = {}

    def of(self, sample: LagSample, view: View) -> Known:
        """Errors are part of the result."""
        if view.time != self._how:
            self._how = view.time
            self._times, self._looked = {}, {}
        by_name = {one.group: one for one in sample.groups}
        shown = [by_name[name] for name in view.timed if name in by_name] if view.time != OFF else []
        unread = unread_offsets(shown, sample)
        self._times = {at: time for at, time in self._times.items() if at in unread}
        self._looked = {one.group: self._looked[one.group] for one in shown if one.group in self._looked}
        problems: list[KcliError] = []
        notes: Mapping[TopicPartition, str] = {}
        if unread:
            try:
                self._look_up(shown, sample)
                self._renew_retention({tp.topic for tp, _ in unread}, sample.at_ms)
                notes = open_transactions(self._admin, _only(shown, sample))
            except KcliError as error:
                problems.append(error)
        kept = {topic: ms for topic, (_, ms) in self._retention.items() if ms is not None}
        return Known(self._times, kept, notes, problems)

    def _look_up(self, shown: Sequence[GroupSample], sample: LagSample) -> None:
        wanted: dict[PartitionOffset, None] = {}
        now = sample.at_ms
        for one in shown:
            if len(wanted) >= _MOST:
                break  # the others' turn comes with the next readings: these are known then
            if now - self._looked.get(one.group, 0) >= _AGAIN_MS:
                self._looked[one.group] = now
                missing = (at for at in unread_offsets([one], sample) if at not in self._times)
                wanted.update(dict.fromkeys(missing))
        if wanted:
            find = read_record_times if self._how == EXACT else estimate_record_times
            self._times |= find(self._admin, wanted, sample)

    def _renew_retention(self, topics: set[str], now: int) -> None:
        old = [
            topic for topic in topics if now - self._retention.get(topic, (0, None))[0] >= _RETENTION_AGAIN_MS
        ]
        if old:
            found = retention(self._admin, sorted(old))
            self._retention |= {topic: (now, found.get(topic)) for topic in old}


def _only(shown: Sequence[GroupSample], sample: LagSample) -> LagSample:
    places = {tp for one in shown for tp in one.committed}
    return sample._replace(groups=shown, bounds={tp: sample.bounds[tp] for tp in places})
