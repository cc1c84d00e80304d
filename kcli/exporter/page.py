"""From a snapshot to the page of its figures. Pure, but for the labels that are kept between pages.

What is not known has no sample. A group, topic or broker that is gone has none from this page on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.commit_columns import CommitColumns
from kcli.core.error_codes import error_code
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    KcliError,
    NoLeaderError,
    NotFoundError,
    PartlyFailedError,
    TimedOutError,
    UnsupportedError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.exporter import metrics
from kcli.exporter.exposition import Family, Text, labels_of
from kcli.exporter.metrics import Metric
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdicts import WORDS
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.snapshot import GroupLine, Snapshot, TopicLine

_OF_GROUP = len(metrics.OF_GROUPS) + len(metrics.STATES) + len(WORDS)
_OF_PARTITION = len(metrics.OF_PARTITIONS)
_OF_TOPIC, _OF_TOPIC_PARTITION = len(metrics.OF_TOPICS), 2
_Samples = dict[Metric, list[str]]


class Page(NamedTuple):
    """The text of a snapshot; ``dropped`` is how many series its limit leaves out at most.

    ``complete``: whether nothing is missing in it.
    """

    text: Text
    dropped: int
    complete: bool = True


class Answered(NamedTuple):
    """All requests to a broker that were answered so far."""

    requests: int = 0
    seconds: float = 0.0


class Pages:
    """Makes a page of each snapshot. ``most``: series of groups and topics, counted as if all figures were known."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answered: dict[int, Answered] = {}
        self._labels: dict[str, tuple[Sequence[TopicPartition], list[str]]] = {}

    def of(self, snapshot: Snapshot) -> Page:
        """The page of a snapshot; snapshots come in the order of their times."""
        chosen = _within(self._most, snapshot)
        found: _Samples = {metric: [] for metric in metrics.METRICS}
        _add_missing(found, snapshot.reading)
        _add_cluster(found, snapshot)
        self._add_brokers(found, snapshot)
        for line in snapshot.groups:
            if line.group in chosen.groups:
                _add_group(found, line)
        self._add_partitions(found, {name: snapshot.rows[name] for name in chosen.partitions})
        _add_topics(found, snapshot, chosen.topics)
        return Page(Text(Family(*one) for one in found.items()), chosen.dropped, not snapshot.reading.missing)

    def _add_brokers(self, found: _Samples, snapshot: Snapshot) -> None:
        latencies = snapshot.reading.latencies
        for broker, one in latencies.items():
            before = self._answered.get(broker, Answered())
            self._answered[broker] = Answered(
                before.requests + one.requests, before.seconds + one.requests * one.mean_ms / 1000
            )
        there = {one.node.id for one in snapshot.reading.cluster.description.brokers}
        self._answered = {broker: one for broker, one in self._answered.items() if broker in there}
        name = metrics.REQUESTS.name
        for broker, so_far in sorted(self._answered.items()):
            labels = labels_of(("broker",), (broker,))
            found[metrics.REQUESTS] += [
                f"{name}_count{labels}{so_far.requests}\n",
                f"{name}_sum{labels}{so_far.seconds:.6f}\n",
            ]
            if broker in latencies:
                _add(found, metrics.SLOWEST, labels, round(latencies[broker].max_ms / 1000, 6))

    def _add_partitions(self, found: _Samples, groups: Mapping[str, Collection[PartitionLag]]) -> None:
        kept: dict[str, tuple[Sequence[TopicPartition], list[str]]] = {}
        for group, rows in groups.items():
            partitions = rows.logs.partitions if isinstance(rows, LagColumns) else [row.tp for row in rows]
            labels = self._labels_of(group, partitions)
            kept[group] = partitions, labels
            for metric in metrics.OF_PARTITIONS:
                values = zip(labels, metric.of(rows), strict=True)
                found[metric] += [f"{metric.name}{at}{one}\n" for at, one in values if one is not None]
        self._labels = kept

    def _labels_of(self, group: str, partitions: Sequence[TopicPartition]) -> list[str]:
        """The labels of the group's partitions, made once for as long as they are the same."""
        known = self._labels.get(group)
        if known is not None and known[0] == partitions:
            return known[1]
        names = metrics.OF_PARTITIONS[0].labels
        return [labels_of(names, (group, *tp)) for tp in partitions]


class _Chosen(NamedTuple):
    groups: frozenset[str]
    partitions: Sequence[str]
    topics: frozenset[str]
    dropped: int


def _within(most: int, snapshot: Snapshot) -> _Chosen:
    """What the limit has room for: groups, then their partitions, then topics; each by name, so that it stays."""
    left, dropped = most, 0

    def fitting(costs: Iterable[tuple[str, int]]) -> list[str]:
        nonlocal left, dropped
        found = []
        for name, cost in costs:
            if cost <= left:
                found.append(name)
                left -= cost
            else:
                dropped += cost
        return found

    names = sorted(line.group for line in snapshot.groups)
    groups = fitting((name, _OF_GROUP) for name in names)
    partitions = fitting((name, _OF_PARTITION * len(snapshot.rows[name])) for name in names)
    lines = sorted(snapshot.topics, key=lambda line: line.topic)
    topics = fitting((line.topic, _OF_TOPIC + _OF_TOPIC_PARTITION * line.partitions) for line in lines)
    return _Chosen(frozenset(groups), partitions, frozenset(topics), dropped)


def _add(found: _Samples, metric: Metric, labels: str, value: float | None) -> None:
    if value is not None:
        found[metric].append(f"{metric.name}{labels}{value}\n")


def _add_missing(found: _Samples, reading: Reading) -> None:
    """Names of groups and partitions are no labels: an outage would make a series of each."""
    sample = reading.sample
    by_partition = sample.unlisted.errors.values() if sample.unlisted.partitions else ()
    known = [*sample.failed.values(), *by_partition, *(part.error for part in sample.missing)]
    parts = {
        "group": sample.failed.values(),
        "coordinator_partition": by_partition,
        "coordinator": [one for one in sample.partial if all(one is not other for other in by_partition)],
        "partition": [
            log.error
            for log in sample.bounds.values()
            if log.error and not isinstance(log.error, NotFoundError)
        ],
        "commit": [
            commit
            for one in sample.groups
            if not isinstance(one.committed, CommitColumns)
            for commit in one.committed.values()
            if isinstance(commit, KcliError)
        ],
        "other": [one for one in reading.problems if all(one is not other for other in known)],
    }
    for what, errors in parts.items():
        for reason, count in sorted(Counter(map(reason_of, errors)).items()):
            _add(found, metrics.MISSING, labels_of(metrics.MISSING.labels, (what, reason)), count)


def reason_of(error: KcliError) -> str:
    """A word of few: ``no_leader``, ``denied``, ``unreachable``, …; Kafka's name of a code; else ``error``."""
    cause = error.first if isinstance(error, PartlyFailedError) else error.__cause__
    if isinstance(cause, KcliError):
        return reason_of(cause)
    if error.exit_code == ExitCode.DENIED:
        return "denied"
    for kind, word in _REASONS.items():
        if isinstance(error, kind):
            return word
    return error_code(error.code).name.lower() if isinstance(error, BrokerError) else "error"


_REASONS: Mapping[type[KcliError], str] = {
    NoLeaderError: "no_leader",
    ConnectError: "unreachable",
    TimedOutError: "timed_out",
    UnsupportedError: "unsupported",
    NotFoundError: "not_found",
}


def _add_cluster(found: _Samples, snapshot: Snapshot) -> None:
    described = snapshot.reading.cluster.description
    labels = labels_of(metrics.CLUSTER.labels, (described.cluster_id,))
    found[metrics.CLUSTER].append(f"{metrics.CLUSTER.name}_info{labels}1\n")
    _add(found, metrics.BROKERS, labels_of((), ()), sum(not one.is_fenced for one in described.brokers))


def _add_group(found: _Samples, line: GroupLine) -> None:
    labels = labels_of(("group",), (line.group,))
    for metric in metrics.OF_GROUPS:
        _add(found, metric, labels, metric.of(line))
    if line.state:
        _add_states(found, metrics.STATE, line.group, metrics.STATES, line.state)
    if line.verdict is not None:
        _add_states(found, metrics.VERDICT, line.group, WORDS, line.verdict)


def _add_states(found: _Samples, metric: Metric, group: str, states: Sequence[str], now: str) -> None:
    for state in states if now in states else (*states, now):
        _add(found, metric, labels_of(metric.labels, (group, state)), int(state == now))


def _add_topics(found: _Samples, snapshot: Snapshot, chosen: Collection[str]) -> None:
    lines: dict[str, TopicLine] = {line.topic: line for line in snapshot.topics if line.topic in chosen}
    for name, line in lines.items():
        labels = labels_of(("topic",), (name,))
        for metric in metrics.OF_TOPICS:
            _add(found, metric, labels, metric.of(line))
    for tp, log in snapshot.reading.ends.items():
        if tp.topic in lines:
            labels = labels_of(metrics.TOPIC_END.labels, tp)
            _add(found, metrics.TOPIC_START, labels, log.start)
            _add(found, metrics.TOPIC_END, labels, log.end)
