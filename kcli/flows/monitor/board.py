"""From readings to snapshots: trends over a minute, lags over five, verdicts, and events. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import broker_states
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.measure import lags_of
from kcli.flows.lag.pace import Trend
from kcli.flows.lag.partition_lag import INTERPOLATED, PartitionLag
from kcli.flows.lag.sample import GroupSample
from kcli.flows.lag.summary import Summary, summary
from kcli.flows.lag.verdicts import LOSS_RISK, NO_VERDICT, SLOW, STALLED, STOPPED, UNREAD, History, Verdict
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.events import Changes
from kcli.flows.monitor.series import Series
from kcli.flows.monitor.snapshot import BrokerLine, Event, GroupLine, Snapshot, Totals
from kcli.flows.monitor.topic_lines import topic_lines

K = TypeVar("K", bound=Hashable)

RECENT_MS = 300_000
_EVENTS = 1_000
_RATE_MS = 1_000  # a reading for a key that was pressed may follow the one before at once
_BEHIND = (SLOW, STALLED, STOPPED, None)
_HOLD_MS = 30_000  # how long a group's lag in time is still shown while a later one is being looked up


class _Age(NamedTuple):
    """A group's lag in time as it was last known for all its partitions."""

    at_ms: int
    seconds: float | None
    margin: float | None


class _Last(NamedTuple):
    """What was read of a group last."""

    at_ms: int
    summary: Summary


class Board:
    """``add`` takes the readings in the order of their times. ``follow``: the group whose partitions are followed."""

    def __init__(self) -> None:
        self._history = History()
        self._changes = Changes()
        self._recent: dict[str, Series[int | None]] = {}
        self._ages: dict[str, _Age] = {}
        self._risky: dict[str, str] = {}  # why
        self._last: dict[str, _Last] = {}
        self._totals = Series[Totals](RECENT_MS)
        self._events: deque[Event] = deque(maxlen=_EVENTS)
        self._ends: tuple[int, Mapping[TopicPartition, LogEnds]] = 0, {}
        self._interrupted: set[str] = set()
        self._rates: dict[str, float] = {}
        self._followed: str | None = None
        self._lags: dict[TopicPartition, Series[int | None]] = {}

    def follow(self, group: str | None) -> None:
        """From the next reading on, the lags of this group's partitions are kept."""
        if group != self._followed:
            self._followed, self._lags = group, {}

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """See ``History``."""
        self._history.exclude(group, since_ms, until_ms)

    def interrupt(self) -> None:
        """A reading failed as a whole."""
        self._interrupted.update(self._changes.known)

    def add(self, reading: Reading) -> Snapshot:
        """The snapshot after this reading."""
        now = reading.sample.at_ms
        rows = lags_of(reading.sample, reading.times, reading.retention, reading.notes, timed=reading.timed)
        lines = {one.group: self._line(now, one, rows[one.group], reading) for one in reading.sample.groups}
        samples = {one.group: one for one in reading.sample.groups}
        failed, partial = reading.sample.failed, reading.sample.partial
        self._events.extend(self._changes.of(now, lines, samples, failed, partial=bool(partial)))
        self._forget(lines.keys() | failed.keys())
        self._interrupted = set(failed)
        self._add_rates(now, reading)
        totals = self._total(lines.values(), reading)
        self._add_lags(now, rows)
        return Snapshot(
            reading,
            list(lines.values()),
            rows,
            topic_lines(reading, rows, self._rates),
            _broker_lines(reading),
            totals,
            self._totals.add(now, totals),
            list(self._events),
            {tp: some.past for tp, some in self._lags.items()},
            [self._unread_line(now, name, error) for name, error in failed.items()],
        )

    def _unread_line(self, now: int, name: str, error: KcliError) -> GroupLine:
        """A group of which only the last values are known."""
        series, last = self._recent.get(name), self._last.get(name)
        return GroupLine(
            name,
            "",
            "",
            None,
            None,
            None,
            summary(())._replace(lag=None, note=str(error)),
            Trend(),
            NO_VERDICT._replace(word=UNREAD, why=str(error)),
            () if series is None else series.add(now, None),
            None if last is None else last.summary,
            None if last is None else (now - last.at_ms) / 1000,
        )

    def _line(
        self, now: int, one: GroupSample, rows: Collection[PartitionLag], reading: Reading
    ) -> GroupLine:
        name = one.group
        if name in self._interrupted:
            self._history.resume(now, name)
        self._history.add_rows(now, name, rows, one.state)
        timed = name in reading.timed
        known = self._aged(now, name, rows, timed=timed)
        description = one.description
        members = None if description is None else len(description.members)
        if members is None and one.state == "Empty":
            members = 0
        self._last[name] = _Last(now, known)
        return GroupLine(
            name,
            one.type if description is None else description.type,
            one.state,
            members,
            members if description is None else sum(1 for member in description.members if member.assignment),
            _topics_of(rows),
            known,
            self._history.trend(name),
            self._verdict(one, rows, timed=timed),
            _added(self._recent, name, now, known.lag),
        )

    def _aged(self, now: int, name: str, rows: Collection[PartitionLag], *, timed: bool) -> Summary:
        """With the lag in time as last known, where the group has moved since."""
        found = summary(rows)
        if not timed:
            self._ages.pop(name, None)
            return found
        if isinstance(rows, LagColumns):
            complete = not found.lag
        else:
            complete = all(row.seconds is not None for row in rows if row.lag)
        if complete:
            self._ages[name] = _Age(now, found.seconds, found.margin)
            return found
        age = self._ages.get(name)
        if age is None or now - age.at_ms > _HOLD_MS:
            return found
        return found._replace(seconds=age.seconds, margin=age.margin, method=INTERPOLATED)

    def _verdict(self, one: GroupSample, rows: Collection[PartitionLag], *, timed: bool) -> Verdict:
        """Whether retention may soon delete unread records shows only with times: without them it is as last known."""
        name = one.group
        verdict = self._history.verdict(name, one.state, rows)
        if timed:
            self._risky[name] = verdict.why if verdict.word == LOSS_RISK else ""
        elif verdict.word in _BEHIND and self._risky.get(name):
            return verdict._replace(word=LOSS_RISK, why=self._risky[name])
        return verdict

    def _forget(self, groups: Collection[str]) -> None:
        self._history.keep(groups)
        for name in self._recent.keys() - groups:
            del self._recent[name]
            self._ages.pop(name, None)
            self._risky.pop(name, None)
            del self._last[name]

    def _add_rates(self, now: int, reading: Reading) -> None:
        """Records per second by topic, since the reading before; over at least a second."""
        at, before = self._ends
        if now >= at + _RATE_MS:
            moved = Counter[str]()
            for tp, log in reading.ends.items():
                last = before.get(tp)
                if last is not None and last.end is not None and log.end is not None:
                    moved[tp.topic] += max(0, log.end - last.end)
            seconds = (now - at) / 1000
            self._rates = {topic: records / seconds for topic, records in moved.items()}
            self._ends = now, reading.ends

    def _total(self, lines: Collection[GroupLine], reading: Reading) -> Totals:
        consumed = [line.trend.consumed for line in lines if line.trend.consumed is not None]
        read = {tp.topic for tp in reading.sample.bounds}
        produced = [rate for topic, rate in self._rates.items() if topic in read]
        return Totals(
            Counter(line.verdict or "" for line in lines),
            sum(line.summary.lag or 0 for line in lines),
            sum(produced) if produced else None,
            sum(consumed) if consumed else None,
        )

    def _add_lags(self, now: int, rows: Mapping[str, Collection[PartitionLag]]) -> None:
        if self._followed is None:
            return
        for row in rows.get(self._followed, ()):
            _added(self._lags, row.tp, now, row.lag)


def _added(series: dict[K, Series[int | None]], key: K, now: int, lag: int | None) -> Sequence[int | None]:
    """A lag more, in the series of this key."""
    if key not in series:
        series[key] = Series(RECENT_MS)
    return series[key].add(now, lag)


def _topics_of(rows: Collection[PartitionLag]) -> int:
    return len(set(rows.logs.topics if isinstance(rows, LagColumns) else (row.tp.topic for row in rows)))


def _broker_lines(reading: Reading) -> list[BrokerLine]:
    facts = reading.cluster
    return [
        BrokerLine(
            broker,
            facts.topics is not None,
            broker.number == facts.controller,
            reading.latencies.get(broker.number),
        )
        for broker in broker_states(facts.description, facts.topics or (), facts.replicas_at)
    ]
