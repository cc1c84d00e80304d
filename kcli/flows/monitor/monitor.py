"""Reads a cluster at intervals: what a view wants, with as few requests as that takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import COORDINATORS
from kcli.core.clock import wall_ms
from kcli.core.errors import ConnectError, KcliError, NoLeaderError, TimedOutError
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import described
from kcli.flows.groups.offsets import LogEnds, log_ends, missing_offsets
from kcli.flows.lag.sample import LagSample, Wanted, sample_seconds, take_sample
from kcli.flows.monitor.ages import USUAL, Ages, Lookups
from kcli.flows.monitor.cluster_reading import ClusterFacts, Reading, View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.screen_parts import MakeReader, ScreenParts

if TYPE_CHECKING:
    from kcli.core.admin.brokers import ClusterDescription
    from kcli.core.admin.topics import TopicInfo
    from kcli.flows.topics.sizes import TopicSize

_TOPICS_AGAIN, _SIZES_AGAIN = 10.0, 30.0  # seconds


class Monitor:
    """``latencies`` listens to the hooks of ``admin``. One thread at a time calls ``read``.

    Where only some topics are ``wanted``, the others are left out everywhere. ``lookups``: of lag in time. ``jobs``: see
    ``ScreenParts``.
    """

    def __init__(
        self,
        admin: Admin,
        latencies: Latencies,
        wanted: Wanted,
        clock: Callable[[], float] = monotonic,
        lookups: Lookups = USUAL,
        jobs: MakeReader | None = None,
    ) -> None:
        self._admin, self._latencies, self._clock = admin, latencies, clock
        self._wanted = wanted._replace(members=True)
        self._ages = Ages(admin, lookups)
        self._parts = ScreenParts(admin, jobs, clock)
        self._topics: tuple[float, Sequence[TopicInfo]] | None = None
        self._sizes: tuple[float, Mapping[str, TopicSize], Sequence[KcliError]] | None = None
        self._controller: int | None = None
        self._names: frozenset[str] = frozenset()
        self._description: ClusterDescription | None = None

    def read(self, view: View, interval: float = 0.0) -> Reading:
        """One reading. Raises a KcliError only if nothing could be read.

        It takes as long as the ``interval`` of readings or a call, whichever is longer, whatever the brokers do: what
        was not read by then is among the problems.
        """
        with self._admin.within(sample_seconds(self._admin, interval)):
            return self._read(view)

    def _read(self, view: View) -> Reading:
        began = self._clock()
        problems: list[KcliError] = []
        sample = self._groups(view)
        self._names = sample.names
        facts = self._cluster(sample, view, problems)
        ages = self._ages.of(sample, view)
        topics = None if facts.topics is None else [one.name for one in facts.topics]
        parts = self._parts.read(view, sample.at_ms, topics)
        latencies = self._latencies.take()
        return Reading(
            sample,
            facts,
            timed=frozenset(one.group for one in sample.groups) if view.all_timed else frozenset(view.timed),
            times=ages.times,
            retention=ages.retention,
            notes=ages.notes,
            ends=self._ends(sample, facts, problems) if view.topics else sample.bounds,
            latencies=latencies,
            requests=sum(one.requests for one in latencies.values()),
            seconds=self._clock() - began,
            problems=(*sample.partial, *sample.failed.values(), *problems, *ages.problems),
            parts=parts,
        )

    def _groups(self, view: View) -> LagSample:
        if not view.groups:
            return LagSample(wall_ms(), [], {})
        try:
            return take_sample(self._admin, self._wanted, self._names)
        except KcliError as error:
            away = isinstance(error, ConnectError | TimedOutError) and not isinstance(error, NoLeaderError)
            if away or not view.apart:
                raise  # where the cluster is away, nothing else would be read either
            return LagSample(wall_ms(), [], {}, partial=(error,))

    def _cluster(self, sample: LagSample, view: View, problems: list[KcliError]) -> ClusterFacts:
        topics: Sequence[TopicInfo] | None = None
        sizes: Mapping[str, TopicSize] = {}
        try:
            if view.topics or view.brokers:
                topics = self._topic_list(view)
            if view.topics and topics is not None:
                sizes = self._topic_sizes(topics, problems)
        except KcliError as error:
            problems.append(error)  # the topics are those of the reading before
            topics = None if self._topics is None else self._topics[1]
            sizes = {} if self._sizes is None or not view.topics else self._sizes[1]
        try:
            self._description = described(self._admin)
        except KcliError as error:
            if self._description is None or (sample.partial and not sample.groups):
                raise  # nothing of this reading is of now
            problems.append(error)  # the brokers are those of the reading before
        return ClusterFacts(
            self._description, self._controller, topics, sizes, self._brokers_of_replicas(sample)
        )

    def _brokers_of_replicas(self, sample: LagSample) -> frozenset[int]:
        """Of the topics that the groups read, and of the coordinators: brokers before 4.0 list none that is down."""
        view = self._admin.cluster.view.topics
        topics = [view[name] for name in {COORDINATORS, *(tp.topic for tp in sample.bounds)} if name in view]
        return frozenset(number for topic in topics for part in topic.partitions for number in part.replicas)

    def _topic_list(self, view: View) -> Sequence[TopicInfo]:
        now = self._clock()
        if self._topics is None or now - self._topics[0] >= _TOPICS_AGAIN:
            accepts = self._wanted.accepts_topic
            found = [one for one in self._admin.list_topics() if accepts is None or accepts(one.name)]
            self._topics = now, found
            if view.brokers:
                self._controller = self._active_controller()
        return self._topics[1]

    def _active_controller(self) -> int | None:
        """With KRaft metadata names any broker as the controller; the quorum has the active one."""
        try:
            return self._admin.describe_quorum().leader
        except KcliError:
            return None

    def _topic_sizes(self, topics: Sequence[TopicInfo], problems: list[KcliError]) -> Mapping[str, TopicSize]:
        from kcli.flows.topics.sizes import topic_sizes  # only for the screen of topics

        now = self._clock()
        if self._sizes is None or now - self._sizes[0] >= _SIZES_AGAIN:
            found = topic_sizes(self._admin, topics)
            self._sizes = now, found.items, [part.error for part in found.missing]
        problems += self._sizes[2]
        return self._sizes[1]

    def _ends(
        self, sample: LagSample, facts: ClusterFacts, problems: list[KcliError]
    ) -> Mapping[TopicPartition, LogEnds]:
        """With those of the topics that no group reads."""
        rest = {
            TopicPartition(topic.name, part.partition)
            for topic in facts.topics or ()
            for part in topic.partitions
        } - sample.bounds.keys()
        try:
            found = log_ends(self._admin, rest) if rest else {}
        except KcliError as error:
            problems.append(error)
            return sample.bounds
        problems += [part.error for part in missing_offsets({tp: log.error for tp, log in found.items()}, {})]
        return {**sample.bounds, **found}
