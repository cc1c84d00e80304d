"""The consumer: reads manually assigned partitions or its share of a group's; returns whole batches or records.

Single-threaded: ``poll`` runs the event loop, returns fetched batches and drives rebalances and commits. With a
subscription, a second thread sends heartbeats only (KIP-62).

A poll turns the loop once even when records are buffered: with a full buffer and small polls a JoinGroup remained
unsent until everything was read, and the group waited.

No part of a consumer refers to the consumer, and the heartbeat thread has weak references only. So a consumer is
collected when it is dropped, and ``__del__`` ends the thread and closes the sockets. A finalizer runs in any
thread, even in one that holds a lock: it acquires no lock, completes no future, and leaves the LeaveGroup to the
thread (``tests/fault/test_dropped_consumers.py``).
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster, check_timeout
from kcli.core.cluster.fanout import UNKNOWN_TOPIC_PATIENCE
from kcli.core.cluster.metadata import ClusterView, no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo, begin_list_offsets
from kcli.core.consumer.arguments import (
    Deserializer,
    deserialized,
    offset_given,
    offsets_given,
    partitions_chosen,
    partitions_given,
)
from kcli.core.consumer.auto_commit import AutoCommit
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.consumer.fetcher import Fetcher, OutOfRangeError
from kcli.core.consumer.missing_topics import MissingTopics, TopicPattern
from kcli.core.consumer.open_transactions import OpenTransaction
from kcli.core.consumer.out_of_range import OutOfRange
from kcli.core.consumer.poll_buffer import PollBuffer
from kcli.core.consumer.positions import Positions
from kcli.core.consumer.rebalancing import RebalanceListener, Rebalancing
from kcli.core.consumer.subscription import UNKNOWN, Changes, PartitionState, Phase, Span, Subscription
from kcli.core.errors import (
    ClosedError,
    ConfigError,
    KcliError,
    MembershipError,
    TimedOutError,
)
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.names import check_topic, unwritable
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions, given
from kcli.core.protocol.schema import NO_UUID
from kcli.core.records.run import RUN_BYTES
from kcli.core.types import GroupMetadata, OffsetAndMetadata, Record, TopicPartition

if TYPE_CHECKING:
    from kcli.core.group.assignors.assignor import Assignor
    from kcli.core.group.group import Group


class ConsumerMetrics(NamedTuple):
    """Counts since the consumer was created. ``lag``: offsets between the position and the log end, as of the last
    fetch.

    ``batches_skipped`` counts damaged batches that were skipped (``on.corrupt=skip``).
    """

    records: int
    fetches: int
    bytes_fetched: int
    commits: int
    commits_failed: int
    rebalances: int
    partitions: int
    lag: Mapping[TopicPartition, int]
    batches_skipped: int = 0


_NEVER = float("inf")
_LEAVE_PATIENCE = 5.0  # seconds for the last commit and the LeaveGroup request
_LONGEST = 1e6  # seconds; caps the close timeout, since infinity cannot be divided into shares

What = str | TopicPartition
Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]


class Consumer:
    """``Consumer(bootstrap_servers="host:9092", group_id="g")``; a context manager. Not thread-safe.

    ``joins``: a poll may return small adjacent batches as one of about this many bytes (``records/run.py``), for
    callers that only need records. A consumer that is garbage-collected without ``close`` or ``with`` emits a
    ResourceWarning.
    """

    _closed = True  # until there is something to close

    def __init__(
        self,
        options: ConsumerOptions | None = None,
        *,
        hooks: Hooks = NO_HOOKS,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        assignors: Assignor | Sequence[str | Assignor] | None = None,
        joins: int = 0,
        **values: Any,
    ) -> None:
        self.options = given(ConsumerOptions, options, values)
        self._convert: Callable[[Record], Record] | None = None
        if key_deserializer is not None or value_deserializer is not None:
            self._convert = partial(
                deserialized, key_deserializer=key_deserializer, value_deserializer=value_deserializer
            )
        # Nothing below may hold a reference to the consumer itself: see __del__.
        self.cluster = Cluster(self.options, hooks=hooks)
        self._subscription = subscription = Subscription()
        self._group: Group | None = None

        def commit_of(partitions: frozenset[TopicPartition]) -> Future[None] | None:
            return auto_commit.before_revocation(partitions)

        self._rebalancing = Rebalancing(subscription, commit_of)
        if self.options.group_id:
            # A large import that consumers without a group do not need.
            from kcli.core.group.group import Group

            self._group = Group(
                self.cluster,
                self.options,
                self._rebalancing,
                assignors or self.options.partition_assignment_strategy,
            )
        group = self._group
        committed_offsets = group.committed_offsets if group is not None else None
        self._positions = Positions(self.cluster, self.options, subscription, committed_offsets)
        self._fetcher = Fetcher(self.cluster, self.options, self._subscription, joins=joins)
        self._out_of_range = OutOfRange(self.cluster, self.options, subscription, self._positions.reset)
        self._poll_buffer = PollBuffer(
            subscription, lambda: group.revoking if group is not None else frozenset()
        )
        self._poll_limit = self.options.max_poll_records
        self._auto_commit = auto_commit = AutoCommit(self.cluster, self.options, subscription, group)
        self._missing = MissingTopics(self.cluster, self._subscription.of_topic)
        self._pattern: TopicPattern | None = None
        self._subscribed = False
        self._woken = False
        self._process = os.getpid()
        self._closed = False

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, exc_type: object, *_exc: object) -> None:
        self.close(commit=exc_type is None)

    def __del__(self) -> None:
        """Closes the connections of a consumer dropped unclosed; the heartbeat thread leaves the group and ends.

        May run in any thread at any moment, even while that thread holds a lock: so it acquires no lock, never blocks
        and invokes no callbacks. A copy in a forked process leaves the sockets to the parent. At interpreter shutdown
        the operating system closes them: the heartbeat thread was stopped at an arbitrary point, possibly holding a
        lock needed here.
        """
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        if not sys.is_finalizing():
            if self._group is not None:
                self._group.abandon()
            self.cluster.drop()
        warnings.warn(
            f"a consumer of group {self.options.group_id!r} was dropped without close()",
            ResourceWarning,
            source=self,
            stacklevel=2,
        )

    # --- metadata -------------------------------------------------------------------------------------

    def foresee(self, topics: Sequence[str], *, joins: bool = False) -> None:
        """These topics will be read, in a group if it ``joins``: what that needs is asked for with the first contact."""
        self.cluster.topics.update(topics)
        if joins:
            from kcli.core.cluster.coordinators import Coordinators, KeyType  # as the group does

            Coordinators(self.cluster).foresee(KeyType.GROUP, [self.options.group_id])

    def connect(self, timeout: float) -> ClusterView:
        """Connects to the cluster; raises connection and authentication errors before anything is read."""
        return self.cluster.connect(timeout)

    def partitions(self, topics: Sequence[str], timeout: float) -> dict[str, list[int]]:
        """The partitions of ``topics``; NotFoundError or BrokerError for one that cannot be read."""
        deadline = self.cluster.deadline(timeout)
        views = self.cluster.require_topics(topics, deadline, UNKNOWN_TOPIC_PATIENCE).topics
        return {topic: [p.partition for p in views[topic].partitions] for topic in topics}

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], timeout: float, *, committed_only: bool | None = None
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        """See ``offsets.list_offsets``; LATEST is the log end as visible at this isolation level, with
        ``committed_only=False`` the high watermark.
        """
        return self.begin_list_offsets(wanted, timeout, committed_only=committed_only)()

    def begin_list_offsets(
        self, wanted: Mapping[TopicPartition, int], timeout: float, *, committed_only: bool | None = None
    ) -> Callable[[], dict[TopicPartition, OffsetInfo | KcliError]]:
        """The same in two steps: what it returns waits for the responses."""
        if committed_only is None:
            committed_only = self.options.isolation_level == "read_committed"
        deadline = self.cluster.deadline(timeout)
        return begin_list_offsets(self.cluster, wanted, deadline, committed_only=committed_only)

    # --- assignment -----------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        on_assigned: RebalanceListener | None = None,
        on_revoked: RebalanceListener | None = None,
        on_lost: RebalanceListener | None = None,
    ) -> None:
        """Joins the group at the next poll and reads the partitions of ``topics`` assigned to this member.

        A compiled pattern subscribes to all topics whose names it matches from the beginning, including topics created
        later. The callbacks receive a list of partitions and run inside ``poll``: ``on_revoked`` before partitions are
        revoked (commit there), ``on_lost`` when it is too late to commit (default: ``on_revoked``), ``on_assigned``
        before anything is read from them (seek there).
        """
        self._must_be_open()
        group = self._must_have_group()
        if self._subscription_is_manual:
            raise ConfigError("partitions were assigned by hand", do="unsubscribe first")
        names = frozenset[str]()
        if not isinstance(topics, re.Pattern):
            several = (
                [topics] if isinstance(topics, str) or not isinstance(topics, Iterable) else list(topics)
            )
            for name in several:
                check_topic(name)
            names = frozenset(several)
        self._rebalancing.set_listeners(on_assigned, on_revoked, on_lost)
        self._subscribed = True
        self._missing.watch(names)
        if isinstance(topics, re.Pattern):
            internal = not self.options.exclude_internal_topics
            self._pattern = TopicPattern(self.cluster, topics, internal=internal)
            self.cluster.all_known = True
            return
        self._pattern = None
        self.cluster.topics.update(names)
        group.subscribe(names)

    def unsubscribe(self) -> None:
        """Leaves the group, or drops the manual assignment."""
        try:
            self._leave(_LEAVE_PATIENCE, commit=True)
        finally:
            self._subscribed, self._pattern = False, None
            self._missing.watch(frozenset())
            self._subscription.assign({})

    @property
    def _subscription_is_manual(self) -> bool:
        return not self._subscribed and any(True for _ in self._subscription.items())

    def assign(self, spans: Mapping[TopicPartition, Span] | Iterable[TopicPartition]) -> None:
        """Assigns exactly these partitions manually, each read from its start to its stop.

        Without a start, reading begins at the committed offset of ``group.id``, or else according to
        ``auto.offset.reset``. A partition that is already assigned continues at its position.
        """
        self._must_be_open()
        if self._subscribed:
            raise ConfigError("topics were subscribed to", do="unsubscribe first")
        chosen = {tp: Span() for tp in partitions_given(spans)}
        if isinstance(spans, Mapping):
            for tp, span in zip(chosen, spans.values(), strict=True):
                if not isinstance(span, Span):
                    raise ConfigError(f"{tp}: {span!r} is no Span", do="Span(start, stop)")
                chosen[tp] = span
        self._auto_commit.before_close(self.cluster.deadline(_LEAVE_PATIENCE))
        self.cluster.topics.update(tp.topic for tp in chosen)
        self._subscription.assign(chosen)

    def add_partitions(self, spans: Mapping[TopicPartition, Span]) -> None:
        """Adds these to the manual assignment, e.g. partitions that were created since."""
        self._must_be_open()
        if self._subscribed:
            raise ConfigError("topics were subscribed to", do="unsubscribe first")
        self.cluster.topics.update(tp.topic for tp in spans)
        for tp, span in spans.items():
            self._subscription.add_partition(tp, span)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions currently assigned."""
        return frozenset(tp for tp, _ in self._subscription.items())

    def seek(self, tp: TopicPartition, offset: int, *, leader_epoch: int = -1) -> None:
        """Sets the position; EARLIEST and LATEST are the ends of the log. KeyError for an unassigned partition.

        ``leader_epoch`` is that of the record before ``offset`` (−1: not known): with it, a log that was truncated since
        is an error (KIP-320).
        """
        self.state(tp)
        if offset in (EARLIEST, LATEST):
            self._subscription.reset_position(tp, offset)
        else:
            self._subscription.seek(tp, offset_given(tp, offset).offset, epoch=leader_epoch)

    def pause(self, *partitions: TopicPartition) -> None:
        """Stops fetching these partitions until ``resume``; they stay assigned."""
        for tp in partitions:
            self.state(tp).paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Resumes fetching paused partitions at their positions."""
        for tp in partitions:
            self.state(tp).paused = False

    def position(self, tp: TopicPartition, timeout: float | None = None) -> int:
        """The offset after the last record returned; KeyError for an unassigned partition.

        Waits for the position where it is not known yet; TimedOutError after ``timeout`` seconds.
        """
        deadline = self.cluster.deadline(timeout)
        while (state := self.state(tp)).position == UNKNOWN:
            if state.phase is Phase.FAILED:
                raise KcliError(f"the position of {tp} is not known", why="reading it has failed", do="seek")
            if self.cluster.loop.now() >= deadline:
                raise TimedOutError(f"the position of {tp} is not known", why=state.phase.value)
            self._turn(deadline, polls=False)
        return self.state(tp).position

    def state(self, tp: TopicPartition) -> PartitionState:
        """Position and stop of an assigned partition."""
        state = self._subscription.get(tp)
        if state is None:
            raise KeyError(tp)
        return state

    def watch_positions(self) -> Changes:
        """A dict to which every partition is added whose position or end has changed: of thousands, few do at a time. The
        caller removes what it has processed; a later call ends the updates of this dict. Of batches: ``records`` and
        iteration do not add what they return.
        """
        return self._subscription.watch_positions()

    def assigned(self, tp: TopicPartition) -> PartitionState | None:
        """As ``state``; None for a partition that is not assigned."""
        return self._subscription.get(tp)

    @property
    def is_stable(self) -> bool:
        """Whether the assignment is known: True unless subscribed and a rebalance is in progress."""
        return not self._subscribed or (self._group is not None and self._group.is_stable)

    @property
    def done(self) -> bool:
        """Whether every partition has reached its stop."""
        return not self._subscribed and self._subscription.done

    # --- reading -------------------------------------------------------------------------------------

    def poll(self, timeout: float | None = None) -> list[FetchedBatch]:
        """The next batches, in order per partition; an empty list if there are none within ``timeout`` seconds.

        Their bytes are valid until the next call. Returns at most ``max.poll.records`` records. Without a timeout,
        waits until there are some. Raises errors that a retry cannot fix: lost or corrupt data, authorization, loss of
        the membership; exceptions from callbacks; and ConfigError for an invalid or negative timeout.
        """
        batches = self._next(timeout)
        try:
            self._poll_buffer.mark_returned(batches)
            return batches
        except BaseException:  # Ctrl-C: the next poll returns what the application did not receive
            self._poll_buffer.take_back(batches)
            raise

    def lend(self, most: int) -> bool:
        """Whether the bytes of the batches that the last poll returned may be used after the next one, by whoever holds a
        view of them: until none is left the buffer that they came in is not used again. False if more than ``most`` bytes
        of such buffers would be in use.
        """
        return self._poll_buffer.lend(most)

    def read_ranges(self) -> None:
        """From now on a poll returns all that has arrived, whatever ``max.poll.records`` says, with ``joins``; and a
        position out of range is an error, whatever ``on.out.of.range`` says: a range without its records is not read.
        """
        self._poll_limit = WHOLE_BATCHES
        self._fetcher.joins = RUN_BYTES
        self._out_of_range.exact = True

    def records(self, timeout: float | None = None) -> Iterator[Record]:
        """The records of one poll, one by one. For bulk processing use batches instead.

        The position advances record by record: a commit in between covers only the records already returned.
        """
        yield from self._poll_buffer.one_by_one(self._next(timeout), self._convert)

    def __iter__(self) -> Iterator[Record]:
        """Iterates over records until every partition has reached its stop, or until ``wakeup``."""
        while batches := self._next(None):
            yield from self._poll_buffer.one_by_one(batches, self._convert)

    def wakeup(self) -> None:
        """Ends the current or the next poll; may be called from other threads and signal handlers."""
        self._woken = True
        self.cluster.loop.wakeup()

    # --- commits -------------------------------------------------------------------------------------

    def commit(self, *what: What | Offsets, timeout: float | None = None, last: bool = False) -> None:
        """Commits synchronously: all positions, those of topics or partitions, or the given mapping of offsets.

        Offsets without a ``topic_id`` are taken for those of the topic that this consumer reads. CommitFailedError says
        which offsets were not committed and why, with a DataLossError where a topic was deleted and created again.
        ``last``: nothing will be read there any more. Brokers before 4.1 do not check topic ids, so metadata is
        requested once more before.
        """
        deadline = self.cluster.deadline(timeout)
        future = self._begin_commit(what, deadline, last=last)
        future.result(max(0.0, deadline - self.cluster.loop.now()) + 1.0)

    def begin_commit(self, *what: What | Offsets, last: bool = False) -> Future[None]:
        """The same in two steps, for callers that look at something else while they wait for the result."""
        return self._begin_commit(what, self.cluster.deadline(), last=last)

    def commit_async(self, *what: What | Offsets) -> Future[None]:
        """``commit`` without waiting; completes during later polls. Commits are sent in the order of the calls."""
        return self._begin_commit(what, self.cluster.deadline(), through_rebalance=True)

    def _begin_commit(
        self,
        what: tuple[What | Offsets, ...],
        deadline: float,
        *,
        through_rebalance: bool = False,
        last: bool = False,
    ) -> Future[None]:
        commits, offsets = self._must_have_group().commits, self._to_commit(what)
        if not offsets:
            nothing: Future[None] = Future()
            nothing.set_result(None)
            return nothing
        future = commits.submit(offsets, deadline, through_rebalance=through_rebalance, last=last)
        future.on_done(lambda done: None if done.error else self._auto_commit.committed(offsets))
        return future

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets of the group; None where there is none. Raises the first error that persists."""
        group, wanted = self._must_have_group(), partitions_given(partitions)
        return group.committed_offsets.wait_for(wanted, self.cluster.deadline(timeout))

    def find_coordinator(self, timeout: float | None = None) -> int:
        """The node id of the group's coordinator; TimedOutError, with the reason, if it cannot be found."""
        return self._must_have_group().committed_offsets.find_coordinator(self.cluster.deadline(timeout))

    def rewind_offsets(
        self, offsets: Offsets, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Sets offsets of a live group; returns them as read back before the other members continue.

        The other members are evicted, held at a barrier until they have rejoined, for some seconds at most, and start
        at ``offsets``: one rebalance for each, and one failed commit for those that commit manually. A member that is
        still processing records it read before may commit those afterwards: ``kcli groups rewind --live`` waits for
        that, and watches. Positions of this member in other partitions are committed first. Concurrent rewinds by
        several members run one after another. MembershipError if the group could not be held, or another rewind did
        not finish in time: it says whether anything may have been committed.
        """
        group, deadline = self._must_have_group(), self.cluster.deadline(timeout)
        if not isinstance(offsets, Mapping) or not offsets:
            raise ConfigError(
                f"{offsets!r} is not a mapping of offsets", why="it must map partitions to offsets"
            )
        wanted = self._to_commit((offsets,))
        refused = next((why for tp, offset in wanted.items() if (why := unwritable(tp, offset))), None)
        if refused is not None:  # before any member is evicted
            raise refused
        if not self._subscribed:
            raise ConfigError(
                "rewind_offsets is for members", why="nothing is subscribed to", do="use commit and seek"
            )
        there = self.partitions(
            sorted({tp.topic for tp in wanted}), max(0.0, deadline - self.cluster.loop.now())
        )
        numbers = {topic: frozenset(found) for topic, found in there.items()}
        for tp in wanted:
            if tp.partition not in numbers[tp.topic]:
                raise no_partition(tp, len(numbers[tp.topic]))
        if not self._wait_until_stable(group, deadline):
            raise TimedOutError("the member had no stable assignment in time")
        if not group.is_member:
            raise MembershipError(
                "this consumer is not a member of its group yet", do="poll until it has partitions"
            )
        kept = group.owned - wanted.keys()
        # Partitions that are not rewound: the barrier gives up everything without a commit.
        commit = self._auto_commit.before_revocation(kept)
        if commit is not None:
            with suppress(TimeoutError, KcliError):
                commit.result(max(0.0, deadline - self.cluster.loop.now()))
        found = group.rewind(wanted, deadline)
        self._wait_until_stable(group, deadline)
        return found

    @property
    def group_metadata(self) -> GroupMetadata:
        """The member's identity for a producer's ``send_offsets_to_transaction`` (KIP-447)."""
        return self._must_have_group().metadata

    # --- close ----------------------------------------------------------------------------------------

    def close(self, timeout: float = _LEAVE_PATIENCE, *, commit: bool = True) -> None:
        """Commits the positions (with ``enable.auto.commit``), leaves the group and closes the connections.

        ``commit=False``, as when a ``with`` block ends with an exception, commits nothing more: the last records will
        be read again. Takes at most ``timeout`` seconds; batches returned before are no longer valid.
        """
        if self._closed:
            return
        check_timeout(timeout)
        self.cluster.loop.check_owner()
        self._closed = True
        try:
            self._leave(min(timeout, _LONGEST), commit=commit)
        finally:
            self._release()

    def waiting(self) -> dict[TopicPartition, OpenTransaction]:
        """The partitions currently blocked by an open transaction, and what is known of it.

        With ``isolation.level=read_committed`` nothing after it can be read until it ends. The last records of a log
        may be in an open transaction briefly: check ``since_ms``. After 10 s a warning is logged as well.
        """
        asker = self._fetcher.open_transactions
        return asker.snapshot() if asker is not None else {}

    def stalled(self) -> dict[TopicPartition, str]:
        """The partitions that are not read at present although they should be, and why: their broker does not respond,
        they have no leader, or something has to be known first. Paused ones and those whose error was raised are not
        among them.
        """
        found = self._fetcher.stalled(self.cluster.loop.now())
        for tp in self._subscription.unsettled:
            error = self._positions.stalls.get(tp)
            found.setdefault(tp, str(error) if error is not None else self.state(tp).phase.value)
        return {
            tp: why
            for tp, why in found.items()
            if (state := self._subscription.get(tp)) is not None
            if not (state.paused or state.fetched_all or state.phase is Phase.FAILED)
        }

    def metrics(self) -> ConsumerMetrics:
        """A snapshot of the consumer's metrics."""
        group = self._group
        return ConsumerMetrics(
            records=self._poll_buffer.records,
            fetches=self._fetcher.fetches,
            bytes_fetched=self._fetcher.bytes_fetched,
            commits=group.commits.done if group else 0,
            commits_failed=group.commits.failed if group else 0,
            rebalances=group.rebalances if group else 0,
            partitions=len(self.assignment),
            lag={
                tp: max(0, state.high_watermark - state.position)
                for tp, state in self._subscription.items()
                if state.high_watermark >= 0 and state.position >= 0
            },
            batches_skipped=self._fetcher.skipped,
        )

    def _release(self) -> None:
        try:  # commit callbacks may raise
            if self._group is not None:
                self._group.commits.close()
        finally:
            self._missing.watch(frozenset())
            self._poll_buffer.release()
            self._fetcher.close()
            self.cluster.close()

    def _must_be_open(self) -> None:
        if self._closed:
            raise ClosedError("the consumer is closed")

    def _next(self, timeout: float | None) -> list[FetchedBatch]:
        self._must_be_open()
        self.cluster.loop.check_owner()  # a thread that may not poll must change nothing
        try:
            return self._wait_for_batches(timeout)
        except KcliError:
            raise
        except BaseException:  # Ctrl-C, or what a callback raised
            self._poll_buffer.take_back([])
            self._fetcher.take_back()
            raise

    def _wait_for_batches(self, timeout: float | None) -> list[FetchedBatch]:
        self._poll_buffer.end_open()
        loop = self.cluster.loop
        deadline = _NEVER if timeout is None else self.cluster.deadline(timeout)
        now = loop.now()
        # Before anything is taken: what the last poll returned has been processed, what this one returns has
        # not.
        self._auto_commit.polled(now)
        # The bytes of the last batches are released only now: until this call the application may have used
        # them.
        if self._poll_buffer.empty:
            self._poll_buffer.release()
        # drives rebalances and commits even while the buffer still holds batches
        self.cluster.poll_until(now, now)
        while not self._woken:
            batches = self._take_batches()
            if batches or self.done or loop.now() >= deadline:
                return batches
            self._turn(deadline)
        self._woken = False
        return []

    def _take_batches(self) -> list[FetchedBatch]:
        now = self.cluster.loop.now()
        self._advance(now)
        if self._out_of_range.lookups:
            self._out_of_range.pump(now)
        batches = self._poll_buffer.take_batches(self._poll_limit)
        while not batches:
            try:
                arrived = self._fetcher.take_response()
            except OutOfRangeError as error:
                self._out_of_range.handle(error, now)
                continue
            if arrived is None:
                break
            self._poll_buffer.add_response(arrived)
            batches = self._poll_buffer.take_batches(self._poll_limit)
        return batches

    def _turn(self, deadline: float, *, polls: bool = True) -> None:
        """Waits once, at most until the deadline, and processes what arrived.

        ``polls=False``: the application has not finished with the batches it holds, so nothing may be revoked or
        committed.
        """
        now = self.cluster.loop.now()
        self._advance(now, polls=polls)
        wakes = [self._fetcher.wake_at, self._positions.wake_at, self._out_of_range.wake_at, deadline]
        if self._group is not None:
            # work that only a poll may do can be long overdue: no reason to wake up
            wakes.append(self._group.wake_at if polls else self._group.commits.wake_at)
        self.cluster.poll_until(now, min(wakes))

    def _advance(self, now: float, *, polls: bool = True) -> None:
        group = self._group
        if group is not None and not polls:
            group.commits.pump(now)
        elif group is not None:
            if self._pattern is not None and self._subscribed:
                matched = self._pattern.match_topics()
                if matched is not None:
                    group.subscribe(matched)
            self._missing.report()
            group.polled(now)
            group.advance(now)
            self._must_be_open()  # a callback may have closed it
        # Positions before fetches: what is settled by this turn's responses is fetched in the same turn.
        self._positions.pump(now)
        if self._positions.errors:
            raise self._positions.errors.popleft()
        self._fetcher.pump(now)

    def _wait_until_stable(self, group: Group, deadline: float) -> bool:
        """Polls until a rebalance is over and all commits are completed; False at the deadline."""
        while not (group.is_stable and group.commits.idle):
            if self.cluster.loop.now() >= deadline:
                return False
            self._turn(deadline)
        return True

    def _to_commit(self, what: tuple[What | Offsets, ...]) -> dict[TopicPartition, OffsetAndMetadata]:
        if len(what) == 1 and isinstance(what[0], Mapping):
            return {tp: self._of_topic(tp, offset) for tp, offset in offsets_given(what[0]).items()}
        chosen = partitions_chosen(what, self.assignment) if what else self.assignment
        states = {tp: self.state(tp) for tp in chosen}
        return {tp: state.to_commit for tp, state in states.items() if state.position != UNKNOWN}

    def _of_topic(self, tp: TopicPartition, offset: OffsetAndMetadata) -> OffsetAndMetadata:
        """The offset with the id of the topic that it was read from, as far as that is known."""
        if offset.topic_id != NO_UUID:
            return offset
        state, topic = self._subscription.get(tp), self.cluster.view.topics.get(tp.topic)
        read = state.topic_id if state is not None else self._subscription.topic_ids.get(tp.topic)
        return offset._replace(topic_id=read or (topic.id if topic is not None else NO_UUID))

    def _must_have_group(self) -> Group:
        if self._group is None:
            raise ConfigError("this consumer has no group", why="group.id is empty", do="set group.id")
        return self._group

    def _leave(self, timeout: float, *, commit: bool) -> None:
        group = self._group
        if group is None:
            return
        deadline = self.cluster.loop.now() + timeout
        try:
            if commit:
                self._end_join(group, timeout / 2)
                self._auto_commit.before_close(deadline - timeout / 4)  # the rest is for LeaveGroup
            # After the commit, and before LeaveGroup: the callback may commit by hand, as a member.
            if self._subscribed and group.is_member:
                self._rebalancing.revoked(self.assignment)
            elif self._subscribed:
                self._rebalancing.lost(self.assignment)
        finally:
            group.leave(max(timeout / 4, deadline - self.cluster.loop.now()))

    def _end_join(self, group: Group, timeout: float) -> None:
        """Completes a join that keeps partitions (KIP-429). Until the member knows the group's current generation,
        commits are rejected and other members would read again what was returned here.
        """
        loop = self.cluster.loop
        end = loop.now() + timeout
        with suppress(KcliError):
            while self.assignment and group.commits.committer.joining and loop.now() < end:
                group.advance(loop.now())
                self.cluster.poll(max(0.0, min(group.wake_at, end) - loop.now()))
