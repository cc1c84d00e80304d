"""The consumer, with a static assignment: reads given partitions between given offsets.

Single-threaded: ``poll`` turns the loop and hands out batches as they were fetched, valid until the next poll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import UNKNOWN_TOPIC_PATIENCE
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo, list_offsets
from kcli.core.consumer.fetcher import Arrived, FetchedBatch, Fetcher, OutOfRangeError
from kcli.core.consumer.subscription import PartitionState, Span, Subscription
from kcli.core.errors import DataLossError, KcliError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ConsumerOptions, given
from kcli.core.types import Record, TopicPartition


class Consumer:
    """``Consumer(bootstrap_servers="host:9092")``; a context manager. One thread at a time."""

    def __init__(
        self, options: ConsumerOptions | None = None, *, hooks: Hooks = NO_HOOKS, **values: Any
    ) -> None:
        self.options = given(ConsumerOptions, options, values)
        self.cluster = Cluster(self.options, hooks=hooks)
        self._subscription = Subscription()
        self._fetcher = Fetcher(self.cluster, self.options, self._subscription)
        self._handed_out: Arrived | None = None
        self._woken = False

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # --- what there is -----------------------------------------------------------------------------

    def connect(self, timeout: float) -> ClusterView:
        """First contact; raises what a user should hear before anything is read."""
        return self.cluster.connect(timeout)

    def partitions(self, topics: Sequence[str], timeout: float) -> dict[str, list[int]]:
        """The partitions of ``topics``; NotFoundError or BrokerError for one that cannot be read."""
        deadline = self.cluster.deadline(timeout)
        views = self.cluster.require_topics(topics, deadline, UNKNOWN_TOPIC_PATIENCE).topics
        return {topic: [p.partition for p in views[topic].partitions] for topic in topics}

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        """See ``offsets.list_offsets``; LATEST is what a reader of this isolation level can reach."""
        committed_only = self.options.isolation_level == "read_committed"
        deadline = self.cluster.deadline(timeout)
        return list_offsets(self.cluster, wanted, deadline, committed_only=committed_only)

    # --- what is read ------------------------------------------------------------------------------

    def assign(self, spans: Mapping[TopicPartition, Span]) -> None:
        """Reads exactly these partitions, each from its start to its stop."""
        self.cluster.topics.update(where.topic for where in spans)
        self._subscription.assign(spans)

    def seek(self, where: TopicPartition, offset: int) -> None:
        """Goes on from ``offset``."""
        self._subscription.seek(where, offset)

    def position(self, where: TopicPartition) -> int:
        """The offset behind the last record that was handed out; KeyError for a foreign partition."""
        return self.state(where).position

    def state(self, where: TopicPartition) -> PartitionState:
        """Position and stop of an assigned partition."""
        state = self._subscription.get(where)
        if state is None:
            raise KeyError(where)
        return state

    @property
    def done(self) -> bool:
        """Whether every partition has reached its stop."""
        return self._subscription.done

    def poll(self, timeout: float | None = None) -> list[FetchedBatch]:
        """Batches that have come, in order per partition; an empty list after ``timeout`` seconds without.

        Their bytes are valid until the next call. Raises what a retry cannot help: lost or corrupt data,
        authorisation.
        """
        self._release()
        loop = self.cluster.loop
        deadline = None if timeout is None else loop.now() + timeout
        while not self._woken:
            self._fetcher.pump(loop.now())
            try:
                arrived = self._fetcher.take()
            except OutOfRangeError as error:
                raise self._with_bounds(error) from None
            batches = self._hand_out(arrived) if arrived is not None else []
            now = loop.now()
            if batches or self.done or (deadline is not None and now >= deadline):
                return batches
            if arrived is None:
                until = min(self._fetcher.wake_at, deadline if deadline is not None else float("inf"))
                self.cluster.poll(None if until == float("inf") else max(0.0, until - now))
        self._woken = False
        return []

    def records(self, timeout: float | None = None) -> Iterator[Record]:
        """The records of one poll, one by one. The bulk paths work on batches instead."""
        for fetched in self.poll(timeout):
            for record in fetched.batch.records(*fetched.where):
                if fetched.first <= record.offset < fetched.stop:
                    yield record
            fetched.batch.forget_payload()

    def wakeup(self) -> None:
        """Ends the current or the next poll; for other threads and signal handlers."""
        self._woken = True
        self.cluster.loop.wakeup()

    def close(self) -> None:
        """Closes the connections; batches that were handed out are not valid any more."""
        self._release()
        self.cluster.close()

    # --- inside --------------------------------------------------------------------------------------

    def _hand_out(self, arrived: Arrived) -> list[FetchedBatch]:
        batches: list[FetchedBatch] = []
        for where, version, found, position in arrived.batches:
            state = self._subscription.get(where)
            if state is not None and state.version == version:
                batches.extend(found)
                state.position = position if state.stop is None else min(position, state.stop)
        self._handed_out = arrived
        if not batches:
            self._release()
        return batches

    def _release(self) -> None:
        if self._handed_out is not None:
            self._handed_out.answer.release()
            self._handed_out = None

    def _with_bounds(self, error: OutOfRangeError) -> DataLossError:
        where, timeout = error.where, self.options.request_timeout_ms / 1000
        start = self.list_offsets({where: EARLIEST}, timeout)[where]
        end = self.list_offsets({where: LATEST}, timeout)[where]
        if isinstance(start, KcliError) or isinstance(end, KcliError):
            return error
        gap = f"; {start.offset - error.offset} offsets are gone" if error.offset < start.offset else ""
        return DataLossError(
            f"{where}: offset {error.offset} is out of range",
            why=f"the log goes from {start.offset} to {end.offset}{gap}",
            do="choose an offset in that range",
        )
