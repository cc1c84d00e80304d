"""The share consumer (KIP-932): a member of a share group, whose records are acknowledged one by one.

Single-threaded: ``poll`` runs the event loop and returns acquired records as parts of batches; acknowledgements go with
later requests. A second thread sends heartbeats only. Records are locked for this member for a time: what is not
acknowledged by then is delivered again, to this member or another, so each record is delivered at least once.

Acknowledging ``implicit``: each poll accepts all that the last one returned, and ``close`` too. ``explicit``: only what
is given to ``acknowledge``; ``close`` releases the rest. In both modes ``acknowledge`` may release or reject records.
No part of a consumer refers to the consumer, as in ``consumer/consumer.py``.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster, check_timeout
from kcli.core.cluster.fanout import UNKNOWN_TOPIC_PATIENCE
from kcli.core.cluster.metadata import ClusterView
from kcli.core.consumer.arguments import Deserializer, deserialized
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.missing_topics import MissingTopics, TopicPattern
from kcli.core.errors import ClosedError, ConfigError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.names import check_topic
from kcli.core.options import ShareConsumerOptions, given, is_default, key_of
from kcli.core.share.acquired import Acknowledge, Acquired, DecisionState
from kcli.core.share.fetcher import Arrival, Settled, ShareFetcher
from kcli.core.share.group import ShareGroup
from kcli.core.types import Record, TopicPartition

_NEVER = float("inf")
_LEAVE_PATIENCE = 5.0  # seconds for the last acknowledgements and for leaving

NOT_FOR_SHARE_GROUPS = {
    "group_instance_id": "a share group has no static members",
    "group_protocol": "a share group has one protocol",
    "group_remote_assignor": "the coordinator assigns, and has one assignor for share groups",
    "partition_assignment_strategy": "the coordinator assigns",
    "session_timeout_ms": "the group's share.session.timeout.ms applies",
    "heartbeat_interval_ms": "the group's share.heartbeat.interval.ms applies",
    "enable_auto_commit": "nothing is committed: records are acknowledged",
    "auto_commit_interval_ms": "nothing is committed: records are acknowledged",
    "auto_offset_reset": "the group's share.auto.offset.reset applies",
    "isolation_level": "the group's share.isolation.level applies",
    "on_out_of_range": "the brokers keep the positions of a share group",
    "show_control_batches": "the markers of transactions are not acquired",
    "max_partition_fetch_bytes": "a share fetch has no limit for a partition",
}
"""Options that brokers decide, or that mean nothing in a share group, and why."""


class ShareMetrics(NamedTuple):
    """Counts of records since the consumer was made: those acknowledged and confirmed; ``refused``: brokers did not hold
    them for this member any more; ``unknown``: no answer says whether. ``redelivered``: with a delivery count above 1.
    """

    records: int
    accepted: int
    released: int
    rejected: int
    refused: int
    unknown: int
    redelivered: int
    fetches: int
    bytes_fetched: int
    partitions: int
    assignments: int
    batches_skipped: int = 0


class ShareConsumer:
    """``ShareConsumer(bootstrap_servers="host:9092", group_id="g")``; a context manager. Not thread-safe.

    ``on_settled`` receives what became of each run of acknowledged offsets, during polls, ``commit`` and ``close``.
    ``joins``: see Consumer.
    """

    _closed = True  # until there is something to close

    def __init__(
        self,
        options: ShareConsumerOptions | None = None,
        *,
        hooks: Hooks = NO_HOOKS,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        on_settled: Callable[[Settled], None] | None = None,
        joins: int = 0,
        **values: Any,
    ) -> None:
        self.options = given(ShareConsumerOptions, options, values)
        _check(self.options)
        self._convert: Callable[[Record], Record] | None = None
        if key_deserializer is not None or value_deserializer is not None:
            self._convert = partial(
                deserialized, key_deserializer=key_deserializer, value_deserializer=value_deserializer
            )
        self._implicit = self.options.share_acknowledgement_mode == "implicit"
        # Nothing below may hold a reference to the consumer itself: see __del__.
        self.cluster = Cluster(self.options, hooks=hooks)
        self._group = ShareGroup(self.cluster, self.options)
        self._tally = tally = _Tally(on_settled)
        self._fetcher = ShareFetcher(
            self.cluster, self.options, self._group.member_id, tally.add, joins=joins
        )
        group = self._group
        self._missing = MissingTopics(
            self.cluster, lambda topic: any(tp.topic == topic for tp in group.assignment)
        )
        self._pattern: TopicPattern | None = None
        self._arrival: Arrival | None = None
        self._woken = False
        self._records = 0
        self._process = os.getpid()
        self._closed = False

    def __enter__(self) -> ShareConsumer:
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self.close(accept=exc_type is None)

    def __del__(self) -> None:
        """Closes the connections of a consumer dropped unclosed: brokers release what it held. See Consumer."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        if not sys.is_finalizing():
            self._group.abandon()
            self.cluster.drop()
        warnings.warn(
            f"a consumer of share group {self.options.group_id!r} was dropped without close()",
            ResourceWarning,
            source=self,
            stacklevel=2,
        )

    # --- subscription ----------------------------------------------------------------------------------

    def connect(self, timeout: float) -> ClusterView:
        """Connects to the cluster; raises connection and authentication errors before anything is acquired."""
        return self.cluster.connect(timeout)

    def partitions(self, topics: Sequence[str], timeout: float) -> dict[str, list[int]]:
        """The partitions of ``topics``; NotFoundError or BrokerError for one that cannot be read."""
        deadline = self.cluster.deadline(timeout)
        views = self.cluster.require_topics(topics, deadline, UNKNOWN_TOPIC_PATIENCE).topics
        return {topic: [p.partition for p in views[topic].partitions] for topic in topics}

    def subscribe(self, topics: str | Iterable[str] | re.Pattern[str]) -> None:
        """Joins the group at the next poll. A compiled pattern means all topics whose names it matches from the
        beginning, also those created later.
        """
        self._must_be_open()
        if isinstance(topics, re.Pattern):
            internal = not self.options.exclude_internal_topics
            self._pattern = TopicPattern(self.cluster, topics, internal=internal)
            self.cluster.all_known = True
            return
        names = frozenset([topics] if isinstance(topics, str) else topics)
        for name in names:
            check_topic(name)
        self._pattern = None
        self._missing.watch(names)
        self.cluster.topics.update(names)
        self._group.subscribe(names)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this member reads, with others."""
        return frozenset(self._group.assignment)

    @property
    def is_stable(self) -> bool:
        """Whether it is a member, with an assignment."""
        return self._group.is_stable

    @property
    def is_exhausted(self) -> bool:
        """Whether no broker had a record for this member, for as long as one may wait (``fetch.max.wait.ms``)."""
        return self._group.is_stable and self._fetcher.is_exhausted

    @property
    def member_id(self) -> str:
        """The id by which the group knows this member."""
        return self._group.member_id

    # --- reading -------------------------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> list[FetchedBatch]:
        """The records of one response, as parts of batches with one delivery count each (``deliveries``); an empty list
        if there are none within ``timeout`` seconds. Their bytes are valid until the next call.

        Without a timeout, waits until there are some. Raises errors that a retry cannot fix.
        """
        arrival = self._next(timeout)
        batches = [batch for _, batch in arrival.parts] if arrival is not None else []
        self._records += sum(_count(batch) for batch in batches)
        return batches

    def records(self, timeout: float | None = None) -> Iterator[Record]:
        """The records of one poll, one by one; those that are not consumed are handed out by the next poll."""
        arrival = self._next(timeout)
        if arrival is not None:
            yield from self._one_by_one(arrival)

    def __iter__(self) -> Iterator[Record]:
        """Iterates over records until ``wakeup``."""
        while (arrival := self._next(None)) is not None:
            yield from self._one_by_one(arrival)

    def delivery_count(self, record: Record) -> int:
        """How often the record has been delivered, this time included; 0 once it is acknowledged."""
        return self._fetcher.deliveries(TopicPartition(record.topic, record.partition), record.offset)

    def wakeup(self) -> None:
        """Ends the current or the next poll; may be called from other threads and signal handlers."""
        self._woken = True
        self.cluster.loop.wakeup()

    @property
    def max_records(self) -> int:
        """The most records that brokers acquire for one fetch; with whole batches they may exceed it."""
        return self._fetcher.max_records

    @max_records.setter
    def max_records(self, limit: int) -> None:
        self._fetcher.max_records = limit

    @property
    def prefetches(self) -> bool:
        """Whether the next records are acquired while the application is busy with the last ones."""
        return self._fetcher.prefetches

    @prefetches.setter
    def prefetches(self, on: bool) -> None:
        self._fetcher.prefetches = on

    # --- acknowledgements ------------------------------------------------------------------------------

    def acknowledge(
        self, what: FetchedBatch | Record, kind: Acknowledge = Acknowledge.ACCEPT, *, last: int | None = None
    ) -> int:
        """Decides about a record, or a batch up to offset ``last``; returns about how many. Sent with a later request.

        What has been decided stays so. Records that this member does not hold any more count as refused.
        """
        if kind not in (Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT):
            raise ConfigError(f"{kind!r} decides nothing", do="accept, release or reject")
        if isinstance(what, Record):
            tp = TopicPartition(what.topic, what.partition)
            return self._fetcher.acknowledge(tp, what.offset, what.offset, kind)
        end = what.stop - 1 if last is None else last
        return self._fetcher.acknowledge(what.tp, what.first, end, kind)

    def commit(self, timeout: float | None = None) -> bool:
        """Sends what was decided, and waits for the outcomes; False if some did not come in time. Acquires nothing."""
        self._must_be_open()
        loop, deadline = self.cluster.loop, self.cluster.deadline(timeout)
        prefetches, self._fetcher.prefetches = self._fetcher.prefetches, False
        try:
            while True:
                now = loop.now()
                self._fetcher.pump(now, waiting=False)
                if self._fetcher.is_settled:
                    return True
                if now >= deadline:
                    return False
                self.cluster.poll_until(now, min(deadline, self._fetcher.wake_at))
        finally:
            self._fetcher.prefetches = prefetches

    def hold(self, timeout: float) -> bool:
        """Keeps the membership and the locks of undecided records while the application works on them, for ``timeout``
        seconds or until ``wakeup``. False where brokers cannot extend locks (before Kafka 4.2).
        """
        self._must_be_open()
        loop = self.cluster.loop
        deadline, able = self.cluster.deadline(timeout), True
        while not self._woken and able:
            now = loop.now()
            self._group.polled(now)
            self._group.advance(now)
            able = self._fetcher.renew(self._fetcher.lock_timeout / 2, now)
            self._fetcher.pump(now, waiting=False)
            if now >= deadline:
                break
            half = max(0.1, self._fetcher.lock_timeout / 8)
            self.cluster.poll_until(now, min(deadline, now + half, self._fetcher.wake_at))
        self._woken = False
        return able

    def lock_left(self) -> float:
        """Seconds until the lock of an undecided record may end."""
        now = self.cluster.loop.now()
        return self._fetcher.lock_until(now) - now

    @property
    def lock_seconds(self) -> float:
        """For how long brokers lock records for a member; 0 before the first response."""
        return self._fetcher.lock_timeout

    # --- close ----------------------------------------------------------------------------------------

    def close(self, timeout: float = _LEAVE_PATIENCE, *, accept: bool = True) -> None:
        """Sends what was decided, releases the rest, ends the sessions and leaves the group, within ``timeout`` seconds.

        With implicit acknowledgement it accepts what the last poll returned; ``accept=False``, as when a ``with`` block
        ends with an exception, releases it: it will be delivered again.
        """
        if self._closed:
            return
        check_timeout(timeout)
        loop = self.cluster.loop
        loop.check_owner()
        self._closed = True
        deadline = loop.now() + min(timeout, 1e6)
        try:
            kind = Acknowledge.ACCEPT if self._implicit and accept else Acknowledge.RELEASE
            self._fetcher.settle_all(kind, delivered=True)
            self._fetcher.settle_all(Acknowledge.RELEASE, delivered=False)
            while not self._fetcher.finish(loop.now()) and loop.now() < deadline - timeout / 4:
                self.cluster.poll_until(loop.now(), deadline - timeout / 4)
                self._fetcher.settle_all(Acknowledge.RELEASE, delivered=False)
        finally:
            try:
                self._group.leave(max(timeout / 4, deadline - loop.now()))
            finally:
                self._missing.watch(frozenset())
                if self._arrival is not None:
                    self._arrival.release()
                self._fetcher.close()
                self.cluster.close()

    def stalled(self) -> dict[TopicPartition, str]:
        """The partitions that are not fetched at present although they should be, and why."""
        return self._fetcher.stalled(self.cluster.loop.now())

    def metrics(self) -> ShareMetrics:
        """A snapshot of the consumer's metrics."""
        tally, fetcher = self._tally, self._fetcher
        return ShareMetrics(
            records=self._records,
            accepted=tally.confirmed[Acknowledge.ACCEPT],
            released=tally.confirmed[Acknowledge.RELEASE],
            rejected=tally.confirmed[Acknowledge.REJECT],
            refused=tally.refused,
            unknown=tally.unknown,
            redelivered=fetcher.redelivered,
            fetches=fetcher.fetches,
            bytes_fetched=fetcher.bytes_fetched,
            partitions=len(self._group.assignment),
            assignments=self._group.assignments,
            batches_skipped=fetcher.skipped,
        )

    # --- inside ----------------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if self._closed:
            raise ClosedError("the consumer is closed")

    def _next(self, timeout: float | None) -> Arrival | None:
        self._must_be_open()
        loop = self.cluster.loop
        loop.check_owner()
        deadline = _NEVER if timeout is None else self.cluster.deadline(timeout)
        if self._implicit:
            self._fetcher.settle_all(Acknowledge.ACCEPT, delivered=True)
        if self._arrival is not None:
            self._arrival.release()
            self._arrival = None
        now = loop.now()
        self._advance(now)
        self.cluster.poll_until(now, now)
        while not self._woken:
            now = loop.now()
            self._advance(now)
            arrival = self._fetcher.take(now)
            if arrival is not None:
                # Sent before the application has the records: the broker works on it meanwhile.
                self._fetcher.pump(now, waiting=False)
                self._arrival = arrival
                return arrival
            self._fetcher.pump(now, waiting=True)
            if now >= deadline:
                return None
            wake = min(deadline, self._fetcher.wake_at, self._group.wake_at)
            self.cluster.poll_until(now, wake)
        self._woken = False
        return None

    def _advance(self, now: float) -> None:
        if self._pattern is not None:
            matched = self._pattern.match_topics()
            if matched is not None:
                self._group.subscribe(matched)
        self._missing.report()
        self._group.polled(now)
        self._group.advance(now)
        self._fetcher.assignment = self._group.assignment

    def _one_by_one(self, arrival: Arrival) -> Iterator[Record]:
        left = list(arrival.parts)
        try:
            while left and self._arrival is arrival:
                acquired, batch = left[0]
                for record in batch.batch.records(*batch.tp):
                    if not batch.first <= record.offset < batch.stop:
                        continue
                    # What follows it in the batch is left, should the loop end here.
                    left[0] = (acquired, batch._replace(first=record.offset + 1))
                    self._records += 1
                    yield record if self._convert is None else self._convert(record)
                    if self._implicit:
                        self._fetcher.acknowledge(batch.tp, record.offset, record.offset, Acknowledge.ACCEPT)
                    if self._arrival is not arrival:
                        return
                left.pop(0)
        finally:
            rest = [part for part in left if part[1].first < part[1].stop]
            if rest and self._arrival is arrival:
                self._give_back(arrival, rest)

    def _give_back(self, arrival: Arrival, rest: list[tuple[Acquired, FetchedBatch]]) -> None:
        """A loop over records has ended early: the next poll returns the rest."""
        if self._implicit:
            # The last record was handed out; what was not must not be accepted with it.
            acquired, batch = rest[0]
            before = batch.first - 1
            self._fetcher.acknowledge(batch.tp, max(before, 0), before, Acknowledge.ACCEPT)
            for acquired, _ in rest:
                acquired.delivered = False
        self._fetcher.put_back(arrival, rest)
        self._arrival = None


class _Tally:
    """Counts outcomes, and passes them on."""

    def __init__(self, then: Callable[[Settled], None] | None) -> None:
        self._then = then
        self.confirmed = dict.fromkeys(Acknowledge, 0)
        self.refused = self.unknown = 0

    def add(self, settled: Settled) -> None:
        """Adds an outcome."""
        if settled.outcome is DecisionState.CONFIRMED:
            self.confirmed[settled.kind] += settled.size
        elif settled.outcome is DecisionState.UNKNOWN:
            self.unknown += settled.size
        else:
            self.refused += settled.size
        if self._then is not None:
            self._then(settled)


def _check(options: ShareConsumerOptions) -> None:
    if not options.group_id:
        raise ConfigError("a share consumer has no group", why="group.id is empty", do="set group.id")
    for name, why in NOT_FOR_SHARE_GROUPS.items():
        if not is_default(options, name):
            raise ConfigError(
                f"{key_of(name)} is not for share groups", why=why, do=f"leave {key_of(name)} out"
            )


def _count(batch: FetchedBatch) -> int:
    """The records of a part of a batch: at most its offsets."""
    return min(batch.stop - batch.first, batch.batch.count)
