"""From a snapshot to the page of its figures. Pure, but for the labels that are kept between pages.

What is not known has no sample. A group, topic or broker that is gone has none from this page on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

from kcli.core.admin.commit_columns import CommitColumns
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.quorum import QuorumDescription
from kcli.core.admin.streams_members import Tasks
from kcli.core.classes import NamedTuple
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
from kcli.core.names import is_own_topic
from kcli.core.types import TopicPartition
from kcli.exporter import metrics
from kcli.exporter.collectors import (
    brokers,
    choice,
    commits,
    configs,
    log_dirs,
    quorum,
    quotas,
    topics,
    transactions,
)
from kcli.exporter.collectors.reading import NO_FACTS, Facts
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.exposition import Family, Text, labels_of
from kcli.exporter.metric import COUNTER, INFO, Metric
from kcli.flows.cluster_state import broker_states
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.lag.lag_columns import LagColumns
from kcli.flows.lag.partition_lag import CLIENT_ID, HOST, PartitionLag
from kcli.flows.lag.verdicts import WORDS
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.snapshot import GroupLine, Snapshot, TopicLine

_OF_GROUP = len(metrics.OF_GROUPS) + len(metrics.STATES) + len(WORDS) + 1
_OF_STREAMS = 1 + len(Tasks._fields)
_OF_PARTITION = len(metrics.OF_PARTITIONS) + 1
_OF_TOPIC, _OF_TOPIC_PARTITION = len(metrics.OF_TOPICS), 2
_Samples = dict[Metric, list[str]]
Accepts = Callable[[str], bool]


class Page(NamedTuple):
    """The text of a snapshot; ``dropped`` is how many series its limit leaves out at most.

    ``complete``: whether nothing is missing in it.
    """

    text: Text
    dropped: int
    complete: bool = True

    @property
    def left_out(self) -> str:
        """A sentence on what is left out; empty where nothing is."""
        if not self.dropped:
            return ""
        return f"{self.dropped:,} series are left out: there are more than --max-series allows"


class Answered(NamedTuple):
    """All requests to a broker that were answered so far."""

    requests: int = 0
    seconds: float = 0.0


class _Room:
    """How many series there may still be, and how many were left out so far of each collector."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.dropped = Counter[str]()

    def fitting(self, collector: str, costs: Iterable[tuple[str, int]]) -> list[str]:
        """The names that there is room for, in order, each with its number of series."""
        found = []
        for name, cost in costs:
            if cost <= self._left:
                found.append(name)
                self._left -= cost
            else:
                self.dropped[collector] += cost
        return found


class Pages:
    """Makes a page of each snapshot, and of the facts that were read with it.

    ``most``: series of what a cluster may have many of, counted as if all figures were known. ``accepts_topic``: as of
    ``Wanted``. ``label``: see ``Text``.
    """

    def __init__(
        self,
        most: int,
        chosen: Collection[str] = choice.ALL,
        accepts_topic: Accepts | None = None,
        label: str = "",
    ) -> None:
        self._most, self._chosen, self._accepts_topic, self._label = most, chosen, accepts_topic, label
        self._answered: dict[int, Answered] = {}
        self._labels: dict[str, tuple[Sequence[TopicPartition], list[str]]] = {}
        self._changes, self._growth = topics.LeaderChanges(), commits.Growth()

    def of(self, snapshot: Snapshot, facts: Facts = NO_FACTS) -> Page:
        """The page of a snapshot; snapshots come in the order of their times."""
        room = _Room(self._most)
        found: _Samples = {metric: [] for metric in metrics.METRICS}
        _add_missing(found, snapshot.reading)
        _add_cluster(found, snapshot)
        if choice.BROKERS in self._chosen:
            self._add_brokers(found, snapshot)
        if choice.GROUPS in self._chosen:
            self._add_groups(found, snapshot, room)
        if choice.TOPICS in self._chosen:
            _add_topics(found, snapshot, room)
        for collector, samples in self._collected(snapshot, facts):
            _add_samples(found, collector, samples, room)
        self._add_coverage(found, snapshot, facts, room)
        text = Text((Family(*one) for one in found.items()), self._label)
        return Page(text, room.dropped.total(), complete=not snapshot.reading.missing)

    def _collected(self, snapshot: Snapshot, facts: Facts) -> Iterable[tuple[str, Iterable[Sample]]]:
        """The samples of each collector that has a module of its own; what matters most, first."""
        cluster, at_ms = snapshot.reading.cluster, snapshot.reading.sample.at_ms
        some = [one for one in cluster.topics or () if not is_own_topic(one.name)]
        if choice.BROKERS in self._chosen:
            states = broker_states(cluster.description, cluster.topics or ())
            controller = _controller(cluster.description.controller, facts)
            yield choice.BROKERS, brokers.samples(states, controller, counted=cluster.topics is not None)
        if facts.quorum is not None and choice.QUORUM in self._chosen:
            yield choice.QUORUM, quorum.samples(facts.quorum)
        if facts.transactions is not None:
            yield choice.TRANSACTIONS, transactions.samples(facts.transactions, at_ms, self._accepts_topic)
        if facts.commits is not None:
            yield choice.COMMITS, commits.samples(facts.commits, self._growth)
        if facts.quotas is not None:
            yield choice.QUOTAS, quotas.samples(facts.quotas)
        if facts.log_dirs is not None:
            yield choice.LOG_DIRS, log_dirs.samples(facts.log_dirs)
        if choice.TOPICS in self._chosen:
            changes = self._changes.add(some)
            yield (
                choice.TOPICS,
                topics.samples(some, facts.required or topics.UNKNOWN, cluster.sizes, changes),
            )
        if facts.configs is not None:
            yield choice.CONFIGS, configs.samples(facts.configs)

    def _add_groups(self, found: _Samples, snapshot: Snapshot, room: _Room) -> None:
        names = sorted(line.group for line in snapshot.groups)
        streams = {line.group for line in snapshot.groups if line.type == STREAMS}
        costs = [(name, _OF_GROUP + _OF_STREAMS * (name in streams)) for name in names]
        groups = frozenset(room.fitting(choice.GROUPS, costs))
        for line in snapshot.groups:
            if line.group in groups:
                _add_group(found, line)
        for one in snapshot.reading.sample.groups:
            if one.description is not None and one.group in groups:
                _add_description(found, one.description)
                _add_streams(found, one.description)
        sizes = ((name, _OF_PARTITION * len(snapshot.rows[name])) for name in names)
        partitions = room.fitting(choice.GROUPS, sizes)
        self._add_partitions(found, {name: snapshot.rows[name] for name in partitions})
        verdicts = {line.group: line.judged for line in snapshot.groups}
        for name in partitions:
            words = verdicts[name].of(snapshot.rows[name])
            _add_labelled(found, metrics.PARTITION_VERDICT, self._labels[name][1], words)
        if choice.OWNERS in self._chosen:
            self._add_owners(found, snapshot, room, partitions)

    def _add_owners(self, found: _Samples, snapshot: Snapshot, room: _Room, groups: Sequence[str]) -> None:
        for name in room.fitting(choice.OWNERS, ((name, len(snapshot.rows[name])) for name in groups)):
            for at, row in zip(self._labels[name][1], snapshot.rows[name], strict=True):
                if row.member is not None:
                    pair = labels_of(("client_id", "host"), (CLIENT_ID.of(row) or "", HOST.of(row) or ""))
                    found[metrics.OWNER].append(f"{metrics.OWNER.name}_info{at[:-2]},{pair[1:]}1\n")

    def _add_coverage(self, found: _Samples, snapshot: Snapshot, facts: Facts, room: _Room) -> None:
        """Of each collector whether all was read, and what was left out."""
        lacking = set(facts.errors)
        if snapshot.reading.sample.missing:
            lacking |= {choice.GROUPS, choice.OWNERS}
        if not _topics_known(snapshot):
            lacking.add(choice.TOPICS)
        for one in sorted(self._chosen):
            labels = labels_of(("collector",), (one,))
            _add(found, metrics.COLLECTED, labels, int(one not in lacking))
            _add(found, metrics.SERIES_DROPPED, labels, room.dropped[one])

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
            of_share = not isinstance(rows, LagColumns) and any(row.type == SHARE for row in rows)
            for metric in metrics.OF_SHARES if of_share else metrics.OF_PARTITIONS:
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
        "members": sample.undescribed.values(),
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


def _add_description(found: _Samples, one: GroupDescription) -> None:
    values = one.group_id, one.type, one.assignor, one.coordinator
    found[metrics.GROUP].append(f"{metrics.GROUP.name}_info{labels_of(metrics.GROUP.labels, values)}1\n")


def _add_streams(found: _Samples, one: GroupDescription) -> None:
    if one.type != STREAMS:
        return
    labels = labels_of(("group",), (one.group_id,))
    _add(found, metrics.TOPOLOGY_EPOCH, labels, one.topology_epoch if one.topology_epoch >= 0 else None)
    for place, kind in enumerate(Tasks._fields):
        count = sum(len(member.tasks[place]) for member in one.members if member.tasks is not None)
        _add(found, metrics.TASKS, labels_of(metrics.TASKS.labels, (one.group_id, kind)), count)


def _add_states(found: _Samples, metric: Metric, group: str, states: Sequence[str], now: str) -> None:
    for state in states if now in states else (*states, now):
        _add(found, metric, labels_of(metric.labels, (group, state)), int(state == now))


def _add_topics(found: _Samples, snapshot: Snapshot, room: _Room) -> None:
    by_name = sorted(snapshot.topics, key=lambda line: line.topic)
    costs = ((line.topic, _OF_TOPIC + _OF_TOPIC_PARTITION * line.partitions) for line in by_name)
    chosen = frozenset(room.fitting(choice.TOPICS, costs))
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


def _topics_known(snapshot: Snapshot) -> bool:
    """Whether the topics, their offsets and their sizes were read."""
    cluster = snapshot.reading.cluster
    errors = [log.error for log in snapshot.reading.ends.values()]
    if not cluster.topics or any(one is not None and not isinstance(one, NotFoundError) for one in errors):
        return cluster.topics is not None and not cluster.topics
    return bool(cluster.sizes) and all(one.replicas is not None for one in cluster.sizes.values())


def _controller(named: int, facts: Facts) -> int | None:
    """With KRaft metadata names any broker, and the quorum has the active controller; None where it was not read."""
    if facts.quorum is not None:
        return _elected(facts.quorum)
    return None if choice.BROKERS in facts.errors or named < 0 else named


def _elected(found: QuorumDescription) -> int | None:
    return found.leader if found.leader >= 0 else None


def _add_labelled(
    found: _Samples, metric: Metric, labels: Sequence[str], words: Sequence[str | None]
) -> None:
    """Samples of 1 whose last label is a word, which need no escapes."""
    name, last = metric.name, metric.labels[-1]
    found[metric] += [
        f'{name}{at[:-2]},{last}="{word}"}} 1\n'
        for at, word in zip(labels, words, strict=True)
        if word is not None
    ]


def _add_samples(found: _Samples, collector: str, samples: Iterable[Sample], room: _Room) -> None:
    """Those that there is room for. Samples of the same key are adjacent."""
    known = [one for one in samples if one.value is not None]
    costs = [(key, len(list(some))) for key, some in groupby(known, key=lambda one: one.key) if key]
    fitting = {"", *room.fitting(collector, costs)}
    for one in known:
        if one.key in fitting:
            suffix = {COUNTER: "_total", INFO: "_info"}.get(one.metric.kind, "")
            at = labels_of(one.metric.labels, one.labels)
            found[one.metric].append(f"{one.metric.name}{suffix}{at}{one.value}\n")
