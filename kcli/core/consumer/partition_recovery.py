"""Handles partitions that cannot be fetched: finds the leader, retries, or fails with an error.

Sends no requests of its own except for metadata. Runs in the consumer's thread.

A topic counts as created anew when two metadata responses agree on its id: brokers that lag report old ids
(``tests/fault/test_fetching.py``, B8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import TOPIC_PATIENCE, Cluster
from kcli.core.cluster.metadata import TopicView, no_partition, topic_error
from kcli.core.cluster.retry import StallReporter, classify_code, given_up
from kcli.core.consumer.subscription import Changes, PartitionState, Phase, Subscription
from kcli.core.errors import DataLossError, KcliError, NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.schema import NO_UUID
from kcli.core.types import TopicPartition

_NEVER = float("inf")


class TopicRecreatedError(DataLossError):
    """A subscribed topic was deleted and recreated; its partitions are not read until a seek.

    ``topic_id`` is the id of the new topic.
    """

    def __init__(self, topic: str, topic_id: bytes, what: str, *, why: str = "", do: str = "") -> None:
        super().__init__(what, why=why, do=do)
        self.topic = topic
        self.topic_id = topic_id


class Report(NamedTuple):
    """An error for the application, unless all of ``partitions`` have been sought elsewhere since (by their versions)."""

    error: KcliError
    versions: dict[TopicPartition, int]

    def still_applies(self, subscription: Subscription) -> bool:
        """Whether the error must still be raised. Without partitions it concerns a broker, or all partitions."""
        states = [(subscription.get(tp), version) for tp, version in self.versions.items()]
        return not states or any(
            state is not None and state.version == version and state.phase is Phase.FAILED
            for state, version in states
        )


class PartitionRecovery:
    """``changed`` receives partitions to be examined again, ``report`` the errors."""

    def __init__(
        self,
        cluster: Cluster,
        options: ConsumerOptions,
        subscription: Subscription,
        changed: Changes,
        report: Callable[[Report], None],
    ) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self._changed = changed
        self._report = report
        self._pause = options.retry_backoff_ms / 1000
        self._patience = options.default_api_timeout_ms / 1000
        self._due: list[tuple[float, TopicPartition]] = []
        self.wake_at = _NEVER
        """When the next partition is due."""
        self._since: dict[TopicPartition, float] = {}
        self._suspected: dict[TopicPartition, int] = {}
        self._stalls = StallReporter(cluster.hooks, "fetch")
        self.errors = self._stalls.errors
        """Why partitions are not fetched at present."""

    def schedule(self, tp: TopicPartition, at: float) -> None:
        """Schedules the partition for time ``at``."""
        heappush(self._due, (at, tp))
        self.wake_at = self._due[0][0]

    def wake(self, now: float) -> None:
        """Marks the partitions that are due as changed."""
        while self._due and self._due[0][0] <= now:
            self._changed[heappop(self._due)[1]] = None
        self.wake_at = self._due[0][0] if self._due else _NEVER

    def mark_recovered(self, tp: TopicPartition) -> None:
        """The partition has recovered, or is no longer read."""
        if tp in self._since:
            del self._since[tp]
        if self._stalls.since:
            self._stalls.over(tp)

    def record_problem(self, state: PartitionState, error: KcliError, now: float) -> None:
        """Records a problem of the partition's broker; the retry waits for the broker."""
        self._stalls.met(state.tp, error, now)

    def retry_later(
        self, state: PartitionState, error: KcliError, now: float, *, patience: float = _NEVER
    ) -> None:
        """Retries the partition after a pause, for at most ``patience`` seconds."""
        state.not_before = now + self._pause
        self.schedule(state.tp, state.not_before)
        self._changed[state.tp] = None
        self._refresh_metadata(state, error, now, patience)

    def handle_missing_leader(self, state: PartitionState, topic: TopicView | None, now: float) -> None:
        """There is no broker to fetch from; every metadata response is examined."""
        tp = state.tp
        if topic is None or not topic.partitions:
            if topic is not None and topic.error and not classify_code(topic.error).retriable:
                self.fail_topic(topic.name, topic_error(topic))
            else:
                self._refresh_metadata(state, KcliError(f"topic {tp.topic} is not known yet"), now)
        elif topic.partition(tp.partition) is None:
            missing = no_partition(tp, len(topic.partitions))
            self._refresh_metadata(state, missing, now, TOPIC_PATIENCE)
        else:
            self._refresh_metadata(state, KcliError(f"{tp} has no leader"), now)

    def handle_unknown_id(self, state: PartitionState, error: KcliError, now: float) -> None:
        """A broker does not know the topic id: the topic was recreated, or brokers do not agree yet."""
        topic = self._cluster.view.topics.get(state.tp.topic)
        # Two witnesses: the broker that was asked to fetch, and metadata.
        if topic is not None and topic.id != NO_UUID and state.topic_id not in (None, topic.id):
            self._fail_recreated(topic)
        else:
            self.retry_later(state, error, now, patience=self._patience)

    def was_recreated(self, topic: TopicView, state: PartitionState) -> bool:
        """Whether the topic's name now belongs to a different topic than the one that was read (by topic id).

        Lagging brokers return stale metadata, so two metadata responses must say so. Nothing is read in between.
        """
        if state.replaced_by is not None:
            return True  # until a seek
        if topic.id == NO_UUID or state.topic_id in (None, topic.id):
            if topic.id != NO_UUID:
                self._subscription.identify(state, topic.id)
                self._suspected.pop(state.tp, None)
            return False
        version = self._cluster.view.version
        # The first response only raises the suspicion; a later one that says the same decides. A lagging broker
        # may report the id of the topic before, after a current one has reported the new id.
        if version > self._suspected.setdefault(state.tp, version):
            self._fail_recreated(topic)
        elif state.phase is not Phase.FAILED:
            self._cluster.topics.add(topic.name)
            self._cluster.request_refresh()
        return True

    def fail(self, state: PartitionState, error: KcliError) -> None:
        """Fails the partition: no retry can help."""
        state.fail(error)
        self._report_failure(error, [state])

    def fail_topic(self, topic: str, error: KcliError) -> None:
        """One error for all partitions of a topic; other topics continue."""
        if states := self._subscription.fail_topic(topic, error):
            self._report_failure(error, states)

    def _refresh_metadata(
        self, state: PartitionState, error: KcliError, now: float, patience: float = _NEVER
    ) -> None:
        """Refreshes metadata: the leader has moved, or there is none at present."""
        tp = state.tp
        lasts = now - self._since.setdefault(tp, now)
        gone = self._cluster.gone(tp.topic)
        if gone is not None:
            self.fail_topic(tp.topic, gone)
        elif lasts >= patience:
            known = isinstance(error, NotFoundError)
            self.fail(state, error if known else given_up(f"fetch of {tp}", error, lasts))
        else:
            self._stalls.met(tp, error, now)
            self._cluster.topics.add(tp.topic)
            self._cluster.request_refresh()

    def _fail_recreated(self, topic: TopicView) -> None:
        """Positions in the old topic mean nothing in the new one: they are neither continued nor committed."""
        error = TopicRecreatedError(
            topic.name,
            topic.id,
            f"topic {topic.name} was deleted and recreated while it was read",
            why="offsets of the old topic mean nothing in the new one",
            do="start again to read the new topic, or seek",
        )
        for state in self._subscription.of_topic(topic.name):
            # Before the error: a commit in the application's handler must find no position of the old topic (it
            # would skip the first records of the new one).
            self._subscription.forget_position(state.tp, topic.id)
        self.fail_topic(topic.name, error)

    def _report_failure(self, error: KcliError, states: Iterable[PartitionState]) -> None:
        for state in states:
            self.mark_recovered(state.tp)
        self._report(Report(error, {state.tp: state.version for state in states}))
