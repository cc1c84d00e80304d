"""Looks at the partitions of a running copy: sets their states, says each change in one line, and finds those that have
waited for too long. Runs in the thread of the copy, between its steps.

Whether a source is silent can only be seen by a thread that polls it. Sequence that must not happen: a fetch is sent, the
copy waits a minute for the target, the response waits unread in the socket, and the source is said to be silent. So what
the consumer reports counts only after polls that follow each other at once (``polled``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.open_transactions import OpenTransaction
from kcli.core.errors import KcliError
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_copy import Moved, PartitionCopy
from kcli.flows.mirror.copy.partition_state import (
    Cause,
    Facts,
    Obstacle,
    PartitionState,
    State,
    decide,
    waited,
)
from kcli.output.progress import counted, time_span_text

INTERVAL = 1.0  # seconds between two looks at all partitions
_REPEAT = 60.0  # seconds between two lines about partitions that still wait
_CONTINUOUS = 2.0  # seconds between two polls of which the second one may find the source silent
_MOST_NAMED = 3

Holders = Callable[[Mapping[TopicPartition, OpenTransaction]], Mapping[TopicPartition, str]]
"""Describes the producers of open transactions."""


class _Seen(NamedTuple):
    """An obstacle of a copy at ``position``, since when (seconds of the monotonic clock), and the last time."""

    cause: Cause
    why: str
    position: int
    since: float
    last: float


class StateWatch:
    """``limit``: seconds that a partition may wait, None for ever. ``pinned``: the run ends with what was there at its
    start. ``transactional``: what is confirmed counts when it is committed. ``note`` and ``warn`` show a line to people.
    """

    def __init__(
        self,
        consumer: Consumer,
        *,
        limit: float | None,
        pinned: bool,
        transactional: bool,
        note: Callable[[str], None],
        warn: Callable[[str], None],
        holders: Holders,
    ) -> None:
        self._consumer = consumer
        self.limit = limit
        self._pinned = pinned
        self._transactional = transactional
        self._note, self._warn = note, warn
        self._holders = holders
        self._looked_at = self._repeated_at = 0.0
        self._polled_at = self._fresh_at = 0.0
        self.polled_ms = -1
        """When the source was polled last, in milliseconds since the epoch: what is known of its ends is of then."""
        self._unread: dict[TopicPartition, str] = {}
        self._seen: dict[TopicPartition, _Seen] = {}
        self._held_by: dict[tuple[TopicPartition, int], str] = {}
        self._said: dict[TopicPartition, PartitionState] = {}
        self._blocked: tuple[str, float] | None = None
        self._moved: Moved = {}
        self._watched: set[PartitionCopy] = set()

    def polled(self, now: float) -> None:
        """The consumer was polled just now."""
        if now - self._polled_at < _CONTINUOUS:
            if now - self._fresh_at >= INTERVAL / 2:
                self._unread, self._fresh_at = self._consumer.stalled(), now
        else:
            self._unread = {}
        self._polled_at, self.polled_ms = now, wall_ms()

    def block(self, why: str, since: float) -> None:
        """No partition is copied, for this reason; ``since``: seconds of the monotonic clock."""
        self._blocked = (why, since if self._blocked is None else self._blocked[1])

    def unblock(self) -> None:
        """The reason is gone."""
        self._blocked = None

    def is_due(self, now: float) -> bool:
        """Whether it is time for a look."""
        return now - self._looked_at >= INTERVAL

    def look(
        self,
        copies: Iterable[PartitionCopy],
        producer: Producer | None,
        refused: Mapping[TopicPartition, str],
        held: Collection[TopicPartition],
        now: float,
    ) -> list[tuple[PartitionCopy, KcliError, Cause]]:
        """Sets the states; returns the partitions that have waited for too long, with the errors that end them.

        ``refused``: reading has failed and is tried again, and why. ``held``: not read until the target has accepted
        more.
        """
        self._looked_at = now
        transactions = self._consumer.waiting()
        unwritten = producer.stalled() if producer is not None else {}
        busy = {*refused, *held, *transactions, *self._unread, *self._seen}
        copies = self._to_look_at(copies, busy)
        obstacles: dict[TopicPartition, Obstacle] = {}
        for copy in copies:
            if copy.error is None:
                raw = self._obstacle(copy, refused, held, unwritten, transactions)
                self._see_end(copy, raw)
                found = self._timed(copy, raw, now)
                if found is not None:
                    obstacles[copy.source] = found
        self._name_holders(copies, obstacles, transactions)
        late = []
        for copy in copies:
            if copy.error is not None:
                continue
            obstacle = obstacles.get(copy.source)
            facts = Facts(copy.position, copy.source_end, copy.stop, obstacle)
            state, why = decide(facts, self.limit)
            since = None if obstacle is None else wall_ms() - round(1000 * obstacle.seconds)
            copy.change_state(state, why, since_ms=since if state is State.WAITING else None)
            if obstacle is not None and self.limit is not None and obstacle.seconds >= self.limit:
                position = copy.committed_to if self._transactional else copy.position
                error = waited(copy.source, position, copy.stop, obstacle)
                late.append((copy, error, obstacle.cause))
        return late

    def _to_look_at(
        self, copies: Iterable[PartitionCopy], busy: Collection[TopicPartition]
    ) -> list[PartitionCopy]:
        """Those of which anything may have changed. What is caught up, has not moved since the last look, and has nothing
        in its way is read, and at its end.
        """
        found = []
        for copy in copies:
            if copy not in self._watched:
                self._watched.add(copy)
                copy.watch(self._moved)
            elif (
                copy.state.state is State.CAUGHT_UP
                and self._blocked is None
                and copy not in self._moved
                and copy.source not in busy
            ):
                copy.end_seen_ms = self.polled_ms
                continue
            found.append(copy)
        self._moved.clear()
        return found

    def say(self, copies: Iterable[PartitionCopy], now: float) -> None:
        """One line for each change of state since the last call, of partitions that changed alike; and once a minute
        one for those that still wait.
        """
        began: dict[tuple[State, str], list[TopicPartition]] = {}
        over: dict[int, list[TopicPartition]] = {}
        waiting: dict[str, list[PartitionCopy]] = {}
        for copy in copies:
            state, before = copy.state, self._said.get(copy.source)
            if state.state is State.WAITING:
                waiting.setdefault(state.why, []).append(copy)
            if before is not None and before.state is state.state:
                continue
            self._said[copy.source] = state
            if state.state in (State.WAITING, State.ENDED):
                began.setdefault((state.state, state.why), []).append(copy.source)
            elif before is not None and before.state is State.WAITING:
                over.setdefault(before.since_ms, []).append(copy.source)
        for (kind, why), partitions in began.items():
            what = "waiting" if kind is State.WAITING else "not copied any more"
            self._warn(f"{partition_names(partitions)}: {what}: {why}")
        for since, partitions in over.items():
            self._note(
                f"{partition_names(partitions)}: copied again after {time_span_text(max(0, wall_ms() - since))}"
            )
        if began or not waiting:
            self._repeated_at = now
        elif now - self._repeated_at >= _REPEAT:
            self._repeated_at = now
            for why, some in waiting.items():
                longest = wall_ms() - min(copy.state.since_ms for copy in some)
                names = partition_names([copy.source for copy in some])
                self._warn(f"{names}: still waiting, for {time_span_text(max(0, longest))}: {why}")

    # --- what keeps a partition waiting ---------------------------------------------------------------

    def _obstacle(
        self,
        copy: PartitionCopy,
        refused: Mapping[TopicPartition, str],
        held: Collection[TopicPartition],
        unwritten: Mapping[TopicPartition, str],
        transactions: Mapping[TopicPartition, OpenTransaction],
    ) -> Obstacle | None:
        tp = copy.source
        if self._blocked is not None and not (copy.done and copy.is_committed):
            return Obstacle(Cause.TARGET, self._blocked[0])
        if copy.done:
            return None
        if tp in refused:
            return Obstacle(Cause.SOURCE, f"source: {refused[tp]}")
        if tp in self._unread:
            return Obstacle(Cause.SOURCE, f"source: {self._unread[tp]}")
        if tp in held or copy.unconfirmed_bytes:
            why = unwritten.get(copy.target, f"{copy.target} has not confirmed what was sent")
            return Obstacle(Cause.TARGET, f"target: {why}")
        if tp in transactions:
            stable = transactions[tp].last_stable_offset
            return Obstacle(Cause.TRANSACTION, f"an open transaction, from offset {stable} on")
        if self._pinned and copy.stop is not None and tp in self._consumer.assignment:
            end = self._consumer.state(tp).high_watermark
            if 0 <= end <= copy.position < copy.stop:
                why = f"source: the log ends at offset {end} now, and ended at {copy.stop} at the start"
                return Obstacle(Cause.END, why)
        return None

    def _see_end(self, copy: PartitionCopy, raw: Obstacle | None) -> None:
        """The end of the source, where it is read at present; of a copy that is complete the last one."""
        state = self._consumer.state(copy.source) if copy.source in self._consumer.assignment else None
        if copy.done:
            end = max(copy.source_end, copy.position, -1 if state is None else state.high_watermark)
        elif (
            state is None or state.paused or (raw is not None and raw.cause is Cause.SOURCE) or self._blocked
        ):
            end = -1
        else:
            end = state.high_watermark
        copy.see_end(end, self.polled_ms)

    def _timed(self, copy: PartitionCopy, raw: Obstacle | None, now: float) -> Obstacle | None:
        """The obstacle with its time: since the copy made progress last, or another thing was in its way."""
        tp, seen = copy.source, self._seen.get(copy.source)
        if raw is None and seen is not None and self._goes_on(copy, seen):
            raw = Obstacle(seen.cause, seen.why)
        if raw is None:
            self._seen.pop(tp, None)
            return None
        if seen is None or seen.cause is not raw.cause or seen.position != copy.position:
            since = now if self._blocked is None else self._blocked[1]
        else:
            since = seen.since
        if raw.cause is Cause.SOURCE and tp not in self._unread:
            last = now
        else:
            last = self._fresh_at if raw.cause is Cause.SOURCE else now
        self._seen[tp] = _Seen(raw.cause, raw.why, copy.position, since, last)
        return raw._replace(seconds=max(0.0, last - since))

    @staticmethod
    def _goes_on(copy: PartitionCopy, seen: _Seen) -> bool:
        """Whether a partition that is tried again at the target has not got any further yet."""
        is_waiting = copy.state.state is State.WAITING and seen.cause is Cause.TARGET
        return is_waiting and copy.position == seen.position and not 0 <= copy.source_end <= copy.position

    def _name_holders(
        self,
        copies: Iterable[PartitionCopy],
        obstacles: dict[TopicPartition, Obstacle],
        transactions: Mapping[TopicPartition, OpenTransaction],
    ) -> None:
        """Names the producers of transactions that have been waited for; each is looked up once."""
        blocked = {
            copy.source: transactions[copy.source]
            for copy in copies
            if copy.source in transactions
            and (found := obstacles.get(copy.source)) is not None
            and found.cause is Cause.TRANSACTION
            and decide(Facts(copy.position, -1, copy.stop, found), self.limit)[0] is State.WAITING
        }
        keys = {tp: (tp, one.last_stable_offset) for tp, one in blocked.items()}
        new = {tp: one for tp, one in blocked.items() if keys[tp] not in self._held_by}
        known = self._holders(new) if new else {}
        self._held_by = {
            key: known.get(tp) or self._held_by.get(key) or obstacles[tp].why for tp, key in keys.items()
        }
        for tp, key in keys.items():
            obstacles[tp] = obstacles[tp]._replace(why=self._held_by[key])


def partition_names(partitions: Collection[TopicPartition]) -> str:
    """``t-0, t-1, t-2 and 4 more``."""
    named = [str(tp) for tp in sorted(partitions)[:_MOST_NAMED]]
    left = len(partitions) - len(named)
    return ", ".join(named) + (f" and {counted(left, 'more partition')}" if left else "")
