"""Lag in time of the groups that are looked at: record times, retention and open transactions, kept between readings.

The records of a partition do not change, so what was found at an offset holds until the group commits another one.
"""

from collections.abc import Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.first_records import PartitionOffset
from kcli.flows.lag.measure import EXACT, OFF, retention
from kcli.flows.lag.partition_lag import UNKNOWN, RecordTime
from kcli.flows.lag.record_times import (
    estimate_record_times,
    open_transactions,
    read_record_times,
    unread_offsets,
)
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.cluster_reading import View

_RETENTION_AGAIN_MS = 300_000
_SECONDS = 5.0
"""For all lookups of a reading: what is shown without lag in time is better than what is not shown."""


class Lookups(NamedTuple):
    """``most`` offsets are looked up for a reading; the group that exceeds it is the last of the reading.

    A group that reads moves all the time: its times are found again after ``again_ms``.
    """

    most: int = 4_096
    again_ms: int = 10_000


USUAL = Lookups()


class Known(NamedTuple):
    """What is known for the groups of a view, and why something is not."""

    times: Mapping[PartitionOffset, RecordTime]
    retention: Mapping[str, int]
    notes: Mapping[TopicPartition, str]
    problems: Sequence[KcliError] = ()


class Ages:
    """Looks up what is missing or out of date: groups whose turn is longest ago first, in the order of the view."""

    def __init__(self, admin: Admin, lookups: Lookups = USUAL) -> None:
        self._admin, self._lookups = admin, lookups
        self._how = OFF
        self._times: dict[PartitionOffset, RecordTime] = {}
        self._looked: dict[str, int] = {}
        self._retention: dict[str, tuple[int, int | None]] = {}

    def of(self, sample: LagSample, view: View) -> Known:
        """Errors are part of the result."""
        if view.time != self._how:
            self._how = view.time
            self._times, self._looked = {}, {}
        shown = _shown(sample, view)
        unread = unread_offsets(shown, sample)
        self._times = {at: time for at, time in self._times.items() if at in unread}
        self._looked = {one.group: self._looked[one.group] for one in shown if one.group in self._looked}
        problems: list[KcliError] = []
        notes: Mapping[TopicPartition, str] = {}
        if unread:
            try:
                with self._admin.within(_SECONDS):
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
        for one in sorted(shown, key=lambda one: self._looked.get(one.group, 0)):
            if len(wanted) >= self._lookups.most:
                break  # the others' turn comes with the next readings
            if now - self._looked.get(one.group, 0) >= self._lookups.again_ms:
                self._looked[one.group] = now
                missing = (at for at in unread_offsets([one], sample) if not self._knows(at))
                wanted.update(dict.fromkeys(missing))
        if wanted:
            find = read_record_times if self._how == EXACT else estimate_record_times
            self._times |= find(self._admin, wanted, sample)

    def _knows(self, at: PartitionOffset) -> bool:
        """What a leader did not say is asked again, in its turn."""
        known = self._times.get(at)
        return known is not None and known.method != UNKNOWN

    def _renew_retention(self, topics: set[str], now: int) -> None:
        old = [
            topic for topic in topics if now - self._retention.get(topic, (0, None))[0] >= _RETENTION_AGAIN_MS
        ]
        if old:
            found = retention(self._admin, sorted(old))
            self._retention |= {topic: (now, found.get(topic)) for topic in old}


def _shown(sample: LagSample, view: View) -> Sequence[GroupSample]:
    if view.time == OFF:
        return []
    if view.all_timed:
        return sample.groups
    by_name = {one.group: one for one in sample.groups}
    return [by_name[name] for name in view.timed if name in by_name]


def _only(shown: Sequence[GroupSample], sample: LagSample) -> LagSample:
    places = {tp for one in shown for tp in one.committed}
    return sample._replace(groups=shown, bounds={tp: sample.bounds[tp] for tp in places})
