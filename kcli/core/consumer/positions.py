"""Determines where partitions are read from: the committed offset, else the reset policy; and whether the log still
has what was read so far (KIP-320).

Requests are asynchronous; ``pump`` in every loop iteration. Retriable errors are retried, and never mistaken for "no
committed offset". Runs in the consumer's thread.

A position after hidden batches carries the epoch of the batch before it, markers included; otherwise the check of
the log would detect a truncation that never happened. Nothing is fetched from a new leader before that check
(``tests/fault/test_fetching.py``, B11). Partitions whose requests fail together are asked again together: random
pauses for each would make one request for each (``tests/unit/core/consumer/test_positions.py``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.core import clock
from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.offsets import EARLIEST, LATEST, offsets_request
from kcli.core.cluster.retry import Backoff, StallReporter, classify_error, given_up
from kcli.core.consumer.subscription import PartitionState, Phase, Subscription
from kcli.core.error_codes import NONE
from kcli.core.errors import (
    BrokerError,
    ConfigError,
    ConnectError,
    DataLossError,
    KcliError,
    NoOffsetError,
    ProtocolError,
    UnsupportedError,
)
from kcli.core.future import Future
from kcli.core.options import ConsumerOptions
from kcli.core.permissions import on_topic
from kcli.core.positions import parse_reset
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.list_offsets import ListOffsetsResponse
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.group.committed_offsets import CommittedOffsets
    from kcli.core.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

Waiting = list[tuple[TopicPartition, PartitionState]]

_NEVER = float("inf")


class TruncatedError(DataLossError):
    """The log was truncated below the position; ``offset`` is where it continues now."""

    def __init__(self, tp: TopicPartition, offset: int, read_to: int) -> None:
        super().__init__(
            f"{tp}: the log was truncated: offsets {offset} to {read_to - 1} are lost",
            why="a replica that did not have them became leader (unclean election)",
            do=f"go on with what is there now, at offset {offset}: in a group by `kcli groups rewind GROUP --topic "
            f"{tp.topic}:{tp.partition} --to {offset}`, else with -p {tp.partition} --offset {offset}",
        )
        self.tp = tp
        self.offset = offset


@dataclass(slots=True, eq=False, repr=False)
class _Trying:
    """Since when requests for a partition have been failing, and how often."""

    since: float
    failures: int = 0


@dataclass(slots=True, eq=False, repr=False)
class _SentRequest:
    """A request to one broker: partition → the version of its state when sent."""

    phase: Phase
    versions: dict[TopicPartition, int]
    future: Future[Any]


def reset_policy(text: str) -> Callable[[], int | None]:
    """Evaluates ``auto.offset.reset`` when needed: a timestamp, EARLIEST or LATEST; None means ``none``."""
    try:
        policy = parse_reset(text)
    except ValueError as error:
        raise ConfigError(
            f"auto.offset.reset={text!r} is not a valid value",
            why=str(error),
            do="by_duration:PT12H begins twelve hours back",
        ) from None
    if policy.kind == "duration":
        return lambda: max(0, clock.wall_ms() - policy.back_ms)
    timestamp = {"earliest": EARLIEST, "latest": LATEST}.get(policy.kind)
    return lambda: timestamp


class Positions:
    """``errors`` are those that no retry fixes; their partitions are FAILED until a seek."""

    def __init__(
        self,
        cluster: Cluster,
        options: ConsumerOptions,
        subscription: Subscription,
        committed_offsets: CommittedOffsets | None,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._subscription = subscription
        self._committed_offsets = committed_offsets
        self._changed = subscription.watch_changes()
        self._view: ClusterView | None = None
        self._policy = reset_policy(options.auto_offset_reset)
        self._stalls = StallReporter(cluster.hooks, "fetch")
        self.stalls = self._stalls.errors
        """Why requests for partitions are repeated at present."""
        self._fetching: _SentRequest | None = None
        self._asking: list[_SentRequest] = []
        self._trying: dict[TopicPartition, _Trying] = {}
        self._pauses: tuple[float, dict[int, float]] = (-_NEVER, {})
        self.errors: deque[KcliError] = deque()
        self.wake_at = _NEVER

    def pump(self, now: float) -> None:
        """Sends the requests that are due."""
        self.wake_at = _NEVER
        if self._changed or self._cluster.view is not self._view:
            self._look_for_truncation()
        if not self._subscription.unsettled:
            return
        self._ask_committed(now)
        asked = {tp for sent in self._asking for tp in sent.versions}
        for phase in (Phase.RESET, Phase.VALIDATE):
            waiting = [item for item in self._subscription.in_phase(phase) if item[0] not in asked]
            self._ask_leaders(phase, self._due(waiting, now), now)

    def reset(self, tp: TopicPartition) -> None:
        """Applies the reset policy: there is no position to continue from."""
        reset_to = self._policy()
        if reset_to is not None:
            self._subscription.reset_position(tp, reset_to)
            return
        self._fail(
            tp,
            NoOffsetError(
                f"{tp}: there is no committed offset to begin at",
                why="auto.offset.reset=none forbids choosing one",
                do="seek, commit an offset for the group, or set auto.offset.reset to earliest or latest",
            ),
        )

    # --- committed offsets ---------------------------------------------------------------------------

    def _ask_committed(self, now: float) -> None:
        if self._fetching is not None:
            return
        waiting = self._due(self._subscription.in_phase(Phase.COMMITTED), now)
        if not waiting:
            return
        if self._committed_offsets is None:
            for tp, _ in waiting:
                self.reset(tp)
            return
        try:
            node_id = self._committed_offsets.coordinator(now)
        except KcliError as error:
            for tp, _ in waiting:
                self._fail(tp, error)
            return
        if node_id is None:
            self.wake_at = min(self.wake_at, self._committed_offsets.coordinator_known_at)
            return
        future = self._committed_offsets.fetch(frozenset(tp for tp, _ in waiting), node_id)
        self._fetching = _SentRequest(Phase.COMMITTED, {tp: state.version for tp, state in waiting}, future)
        future.on_done(lambda _: self._committed())

    def _committed(self) -> None:
        sent, self._fetching = self._fetching, None
        assert sent is not None
        assert self._committed_offsets is not None
        now = self._cluster.loop.now()
        found = self._committed_offsets.read(frozenset(sent.versions), sent.future, now)
        for tp, offset in found.items():
            state = self._asked(tp, sent)
            if state is None:
                continue
            if isinstance(offset, KcliError):
                self._again(
                    tp, state, offset, now, always=not isinstance(offset, BrokerError | ProtocolError)
                )
            elif offset is None:
                # Only a response that says "none" leads here. An error that was taken for it would start at the
                # end, or at the beginning, of a partition with a committed offset.
                self._over(tp)
                self.reset(tp)
            else:
                self._over(tp)
                # With the epoch of the commit: a log that was truncated since is noticed before the first fetch
                # (KIP-320).
                self._subscription.seek(tp, offset.offset, epoch=offset.leader_epoch)
                state.committed = offset.offset

    # --- leaders ---------------------------------------------------------------------------------------

    def _look_for_truncation(self) -> None:
        """Schedules validation: a new leader may lack what was read from the old one."""
        view = self._cluster.view
        if view is not self._view:
            self._view = view
            self._changed.update((tp, None) for tp, _ in self._subscription.items())
        partitions = list(self._changed)
        self._changed.clear()
        for tp in partitions:
            state = self._subscription.get(tp)
            if state is None:  # if it is assigned again, counting starts anew
                self._over(tp)
            topic = view.topics.get(tp.topic)
            partition = topic.partition(tp.partition) if topic else None
            if state is None or partition is None or state.phase is not Phase.READING:
                continue
            # A higher epoch than the one checked last: another replica leads, which after an unclean election
            # may lack what was read (KIP-320). Before the next fetch it is asked where the epoch of the
            # position ends.
            if state.must_validate(partition.leader_epoch):
                state.phase = Phase.VALIDATE
            else:
                state.checked_epoch = max(state.checked_epoch, partition.leader_epoch)

    def _ask_leaders(self, phase: Phase, waiting: Waiting, now: float) -> None:
        by_leader: dict[int, Waiting] = {}
        for tp, state in waiting:
            if state.phase is not phase:
                continue  # its topic has just failed
            leader = self._cluster.view.leader(tp)
            if leader is None:
                self._cluster.topics.add(tp.topic)
                gone = self._cluster.gone(tp.topic)
                if gone is not None:
                    if self._subscription.fail_topic(tp.topic, gone):  # one error for the whole topic
                        self.errors.append(gone)
                else:
                    self._again(tp, state, KcliError(f"{tp} has no leader"), now, always=True)
            else:
                by_leader.setdefault(leader.id, []).append((tp, state))
        for node_id, group in by_leader.items():
            request = self._offsets(group) if phase is Phase.RESET else self._epochs(group)
            future = self._cluster.send(request, node_id)
            sent = _SentRequest(phase, {tp: state.version for tp, state in group}, future)
            self._asking.append(sent)
            future.on_done(partial(self._answered, sent))

    def _offsets(self, group: Waiting) -> Request:
        return offsets_request(
            [(tp, LATEST if state.reset_to is None else state.reset_to) for tp, state in group],
            committed_only=self._options.isolation_level == "read_committed",
            timeout_ms=self._options.request_timeout_ms,
        )

    def _epochs(self, group: Waiting) -> Request:
        from kcli.core.protocol.messages import offset_for_leader_epoch as wire  # few runs need it

        topics: dict[str, wire.OffsetForLeaderTopic] = {}
        for tp, state in group:
            row = topics.setdefault(tp.topic, wire.OffsetForLeaderTopic(topic=tp.topic, partitions=[]))
            row.partitions.append(
                wire.OffsetForLeaderPartition(
                    partition=tp.partition,
                    current_leader_epoch=self._leader_epoch(tp),
                    leader_epoch=state.fetch_epoch,
                )
            )
        return wire.OffsetForLeaderEpochRequest(replica_id=-1, topics=list(topics.values()))

    def _leader_epoch(self, tp: TopicPartition) -> int:
        topic = self._cluster.view.topics.get(tp.topic)
        partition = topic.partition(tp.partition) if topic else None
        return partition.leader_epoch if partition else -1

    def _answered(self, sent: _SentRequest, _future: Future[Any]) -> None:
        """Completes the partitions that still wait for the response."""
        self._asking.remove(sent)
        failure, now = sent.future.error, self._cluster.loop.now()
        if failure is not None and not isinstance(failure, KcliError):
            raise failure
        rows = {} if failure is not None else _rows(sent.future.value)
        for tp in sent.versions:
            state = self._asked(tp, sent)
            row: Any = rows.get(tp)
            if state is None:
                continue
            error = failure
            if error is None and row is None:
                error = ConnectError(f"the response lacks {tp}")
            elif error is None and row.error_code != NONE:
                needs = [on_topic("DESCRIBE", tp.topic)]
                error = BrokerError(row.error_code, f"{sent.phase.value}: {tp}", needs=needs)
            if isinstance(error, UnsupportedError) and sent.phase is Phase.VALIDATE:
                self._validated(state)  # the broker cannot validate epochs
            elif error is not None:
                self._again(tp, state, error, now)
            elif sent.phase is Phase.RESET:
                self._reset_found(tp, state, row.offset, now)
            elif 0 <= row.end_offset < state.fetch_from:
                self._over(tp)
                self._fail(tp, TruncatedError(tp, row.end_offset, state.fetch_from))
            else:  # −1 is no evidence of loss: the broker does not know that epoch
                self._over(tp)
                self._validated(state)

    def _reset_found(self, tp: TopicPartition, state: PartitionState, offset: int, now: float) -> None:
        if offset >= 0:
            self._over(tp)
            self._subscription.seek(tp, offset)
        elif state.reset_to in (LATEST, EARLIEST):  # the broker may not have looked it up: not a valid start
            wrong = KcliError(f"{tp}: the broker responded with offset {offset}")
            self._again(tp, state, wrong, now, always=True)
        else:  # no record is that recent
            self._subscription.reset_position(tp, LATEST)

    def _validated(self, state: PartitionState) -> None:
        state.phase, state.checked_epoch = Phase.READING, self._leader_epoch(state.tp)

    # --- outcomes ----------------------------------------------------------------------------------------

    def _due(self, waiting: Waiting, now: float) -> Waiting:
        due = []
        for tp, state in waiting:
            if state.not_before <= now:
                due.append((tp, state))
            else:
                self.wake_at = min(self.wake_at, state.not_before)
        return due

    def _asked(self, tp: TopicPartition, sent: _SentRequest) -> PartitionState | None:
        """The partition's state, unless it has changed since the request."""
        state = self._subscription.get(tp)
        if state is None or state.version != sent.versions[tp] or state.phase is not sent.phase:
            return None
        return state

    def _again(
        self,
        tp: TopicPartition,
        state: PartitionState,
        error: KcliError,
        now: float,
        *,
        always: bool = False,
    ) -> None:
        """Retries after a pause if that can help, up to ``default.api.timeout.ms``."""
        trying = self._trying.setdefault(tp, _Trying(now))
        decision = classify_error(error)
        if not (decision.retriable or always):
            self._over(tp)
            self._fail(tp, error)
        elif now - trying.since >= self._options.default_api_timeout_ms / 1000:
            self._over(tp)
            self._fail(tp, given_up(f"{state.phase.value}: {tp}", error, now - trying.since))
        else:
            self._stalls.met(tp, error, now)
            state.not_before = now + self._pause(trying.failures, now)
            trying.failures += 1
            if decision.refresh == "metadata" or always:
                self._cluster.request_refresh()

    def _pause(self, failures: int, now: float) -> float:
        """Grows with each failure (KIP-580); equal for partitions that fail together, which then share a request."""
        if self._pauses[0] != now:
            self._pauses = (now, {})
        pauses = self._pauses[1]
        if failures not in pauses:
            pauses[failures] = Backoff.of_requests(self._options, failures).peek()
        return pauses[failures]

    def _over(self, tp: TopicPartition) -> None:
        self._trying.pop(tp, None)
        self._stalls.over(tp)

    def _fail(self, tp: TopicPartition, error: KcliError) -> None:
        state = self._subscription.get(tp)
        if state is not None:
            # What was fetched beyond the position is dropped: after a seek back it is read again, after a
            # truncation it is not what the log has.
            self._subscription.step_back(tp)
            state.fail(error)
        self.errors.append(error)


def _rows(response: ListOffsetsResponse | OffsetForLeaderEpochResponse) -> dict[TopicPartition, Any]:
    """The first row of each partition."""
    if isinstance(response, ListOffsetsResponse):
        rows = [(TopicPartition(t.name, p.partition_index), p) for t in response.topics for p in t.partitions]
        return dict(reversed(rows))
    return dict(
        reversed([(TopicPartition(t.topic, p.partition), p) for t in response.topics for p in t.partitions])
    )
