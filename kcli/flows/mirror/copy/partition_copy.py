"""The copy of one partition: what was sent, what is confirmed, and which offsets correspond. Pure.

Batches are confirmed in any order and may come back in parts, where a broker refused one as too large. ``position`` only
passes what is confirmed without a hole before it, so a run that begins there loses nothing.
"""

from collections import deque
from collections.abc import Sequence

from kcli.core import clock
from kcli.core.classes import NamedTuple
from kcli.core.errors import DataLossError, KcliError
from kcli.core.producer.origins import Rows
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import copy_again, of_source, of_target, replaced_timestamps
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_state import PartitionState, State


class Gap(NamedTuple):
    """Source offsets from ``first`` up to, not including, ``stop`` that were not copied, and why."""

    tp: TopicPartition
    first: int
    stop: int
    why: str


class TopicIds(NamedTuple):
    """The topic ids of a partition's source and target in Kafka's text form, empty where brokers have none."""

    source: str = ""
    target: str = ""


NO_IDS = TopicIds()


class _State(NamedTuple):
    """What a rollback returns to. ``batches``: untouched, encoded, control."""

    position: int
    leader_epoch: int
    records: int
    bytes: int
    batches: tuple[int, int, int]
    gaps: int
    offsets: OffsetMap | None
    mark: tuple[int, int, int] | None


class SentBatch:
    """Records passed to the producer. ``offsets`` are those of the source, ``then`` is the position after them.

    ``time_ms`` is that of the first record, −1 if it has none. ``stored`` are confirmed parts: the index of their first
    record, how many, and the target offset (−1: not known).
    """

    __slots__ = ("copy", "epoch", "left", "offsets", "size", "stored", "then", "time_ms")

    def __init__(
        self, copy: "PartitionCopy", offsets: Sequence[int], then: int, epoch: int, size: int, time_ms: int
    ) -> None:
        self.copy = copy
        self.offsets = offsets
        self.then = then
        self.epoch = epoch
        self.size = size
        self.time_ms = time_ms
        self.left = len(offsets)
        self.stored: list[tuple[int, int, int]] = []


Moved = dict["PartitionCopy", None]
"""Copies that have changed, in the order of their changes."""


class PartitionCopy:
    """``offsets`` is None where records go to partitions by key: then no offset corresponds to another.

    ``position`` and ``leader_epoch`` belong to what is confirmed. ``error`` ends the copy of this partition; ``broken``:
    because what was sent was not stored. ``restarted``: the source topic was recreated during the copy, and the offsets
    are those of the new one; they begin at ``target_end`` or later, where the target ended before this run: an earlier
    one may have stored more than its map has. ``begun``: it is read by this run, or was.

    ``state`` is one of ``State`` at any time. ``source_end`` is the high watermark of the source, −1 while it is not
    known; ``end_seen`` the one that was seen last, at ``end_seen_ms`` (milliseconds since the epoch). ``gaps`` are those
    of this run; where it was ``restarted``, the first ones are of the topic that was deleted.
    """

    def __init__(
        self,
        source: TopicPartition,
        target: TopicPartition,
        offsets: OffsetMap | None,
        *,
        position: int,
        leader_epoch: int = -1,
        stop: int | None = None,
        topic_ids: TopicIds = NO_IDS,
        target_end: int = 0,
    ) -> None:
        self.source = source
        self.target = target
        self.topic_ids = topic_ids
        self.target_end = target_end
        self.offsets = offsets
        self.position = position
        self.leader_epoch = leader_epoch
        self.stop = stop
        self.started_at = position
        self.sent_to = position
        self.unconfirmed_bytes = 0  # the size of what is neither confirmed nor failed
        self.records = self.bytes = 0
        self.untouched_batches = self.encoded_batches = self.control_batches = 0
        self.error: KcliError | None = None
        self.gaps: list[Gap] = []
        self._gaps_of_deleted = 0
        self.restarted = False
        self.begun = False
        self.broken = False
        self._watchers: tuple[Moved, ...] = ()
        self.state = PartitionState(State.COPYING, clock.wall_ms())
        self.source_end = self.end_seen = self.end_seen_ms = -1
        self._goal = self._goal_ms = -1  # an end that is not reached yet, and when it was seen
        self._reached_ms = -1  # when the last of these that is reached was seen: what came before is copied
        self._sent: deque[SentBatch] = deque()
        self._committed = self._state()

    def watch(self, moved: "Moved") -> None:
        """Adds this copy to ``moved``, now and whenever its position, the source's end or its error changes; the watcher
        removes it. Of thousands of copies few move at a time.
        """
        self._watchers += (moved,)
        moved[self] = None

    def note_moved(self) -> None:
        """Something of the above has changed."""
        for moved in self._watchers:
            moved[self] = None

    @property
    def done(self) -> bool:
        """Whether everything up to the stop is confirmed, or the copy ended with an error."""
        return self.error is not None or (self.stop is not None and self.position >= self.stop)

    @property
    def committed_to(self) -> int:
        """The position that a rollback returns to."""
        return self._committed.position

    @property
    def is_committed(self) -> bool:
        """Whether nothing was confirmed since the last ``commit``."""
        return self.position == self.committed_to

    @property
    def own_gaps(self) -> list[Gap]:
        """The gaps of this run in the topic that the source has now."""
        return self.gaps[self._gaps_of_deleted :]

    @property
    def lag(self) -> int | None:
        """The offsets that are left; None where that is not known."""
        if self.state.state is State.ENDED:
            return None
        end = self.source_end if self.stop is None else self.stop
        return None if end < 0 else max(0, end - self.position)

    def change_state(self, state: State, why: str = "", *, since_ms: int | None = None) -> None:
        """The only setter of ``state``. ``since_ms``: now, if it is left out; it stays where only ``why`` changes."""
        if self.state.state is not State.ENDED:
            since = clock.wall_ms() if since_ms is None else since_ms
            before = self.state
            same = before.state is state
            self.state = PartitionState(state, before.since_ms if same else since, why)
            if not (same and before.why == why):
                self.note_moved()

    def see_end(self, end: int, at_ms: int | None = None) -> None:
        """The high watermark of the source, and when it was read (now, if that is left out); −1 while it is not read."""
        if end != self.source_end:
            self.source_end = end
            self.note_moved()
        if self.position >= self._goal >= 0:
            self._reached_ms = self.end_seen_ms if self._goal == self.end_seen else self._goal_ms
            self._goal = -1
        if end >= 0:
            self.end_seen, self.end_seen_ms = end, clock.wall_ms() if at_ms is None else at_ms
            if self._goal < 0:
                self._goal, self._goal_ms = end, self.end_seen_ms

    @property
    def oldest_ms(self) -> int | None:
        """When the oldest record was written that is not copied, where there is one; None where that is not known.

        Of a record that is not read yet it is the time at which the last end was seen that is reached: within a look or
        two, this is when the record came.
        """
        if self._sent and self._sent[0].time_ms >= 0:
            return self._sent[0].time_ms
        return self._reached_ms if self._reached_ms >= 0 else None

    @property
    def sent_all(self) -> bool:
        """Whether everything up to the stop was sent."""
        return self.stop is not None and self.sent_to >= self.stop

    def send(self, offsets: Sequence[int], then: int, epoch: int, size: int, time_ms: int = -1) -> SentBatch:
        """Registers records that are about to be sent, in order. ``then``: the position after them."""
        sent = SentBatch(self, offsets, then, epoch, size, time_ms)
        self._sent.append(sent)
        self.unconfirmed_bytes += size
        self.sent_to = then
        return sent

    @property
    def sent_epoch(self) -> int:
        """The leader epoch of the record before ``sent_to``."""
        return self._sent[-1].epoch if self._sent else self.leader_epoch

    def withdraw(self, sent: SentBatch) -> None:
        """The batch that was registered last was not sent after all."""
        last = self._sent.pop()
        assert last is sent
        self.unconfirmed_bytes -= sent.size
        self.sent_to = self._sent[-1].then if self._sent else self.position

    def skip_to(self, position: int, epoch: int) -> None:
        """The source has no record to be copied before ``position``: markers, aborted or removed records."""
        if position > self.sent_to:
            self._sent.append(SentBatch(self, (), position, epoch, 0, -1))
            self.sent_to = position
            self._complete()

    def confirm(self, sent: SentBatch, rows: Rows, base_offset: int) -> None:
        """These records are stored, from ``base_offset`` on in the target (−1: not known).

        A target offset that goes backwards ends the copy: the target was truncated or recreated.
        """
        if not self.broken:
            count = len(rows)
            sent.stored.append((rows[0], count, base_offset))
            sent.left -= count
            self._complete()

    def end(self, error: KcliError) -> None:
        """Nothing more can be read; what was sent may still be confirmed."""
        self._end_with(of_source(error, self.source, self.sent_to))

    def reject(self, error: KcliError, offset: int = -1) -> None:
        """The target did not store what was sent; ``offset``: of the first record in the source, where it is known."""
        self.fail(of_target(error, self.source, self.target, self.position, offset))

    def reject_times(self) -> None:
        """The target stored what was sent, with other timestamps."""
        self.fail(replaced_timestamps(self.source, self.target, self.position))

    def fail(self, error: KcliError) -> None:
        """Ends the copy; what was sent and is not confirmed stays unconfirmed."""
        self._end_with(error)
        self.broken = True
        self._forget_sent()

    def commit(self) -> None:
        """What is confirmed is committed as well: a rollback returns to here."""
        self._committed = self._state()

    def rollback(self) -> None:
        """The transaction was aborted: nothing is stored of what was confirmed since the last ``commit``."""
        state = self._committed
        self.position = self.sent_to = state.position
        self.leader_epoch, self.records, self.bytes = state.leader_epoch, state.records, state.bytes
        self.untouched_batches, self.encoded_batches, self.control_batches = state.batches
        self.offsets = state.offsets
        if self.offsets is not None and state.mark is not None:
            self.offsets.rollback(state.mark)
        del self.gaps[state.gaps :]
        self._forget_sent()

    def restart(self, topic_id: str, stop: int | None) -> None:
        """The source topic was recreated and has this id now: offsets begin anew, and so do the map, what is known of the
        end, and the gaps.

        Nothing that was sent is open.
        """
        self._forget_sent()
        self.topic_ids = self.topic_ids._replace(source=topic_id)
        self.position = self.sent_to = 0
        self.leader_epoch = self._goal = self._reached_ms = -1
        self.source_end = self.end_seen = self.end_seen_ms = -1
        self._gaps_of_deleted = len(self.gaps)
        self.stop = stop
        self.restarted = True
        if self.offsets is not None:
            self.offsets = OffsetMap(0, max(self.offsets.target_end, self.target_end))
        self.commit()

    def record_gap(self, stop: int, why: str) -> None:
        """Records that everything from the last sent record up to ``stop`` cannot be copied, and continues there."""
        self.gaps.append(Gap(self.source, self.sent_to, stop, why))
        self.skip_to(stop, -1)

    def _end_with(self, error: KcliError) -> None:
        if self.error is None:
            self.error = error
            self.source_end = -1
            self.change_state(State.ENDED, str(error))

    def _forget_sent(self) -> None:
        self._sent.clear()
        self.unconfirmed_bytes = 0
        self.note_moved()

    def _state(self) -> "_State":
        return _State(
            self.position,
            self.leader_epoch,
            self.records,
            self.bytes,
            (self.untouched_batches, self.encoded_batches, self.control_batches),
            len(self.gaps),
            self.offsets,
            None if self.offsets is None else self.offsets.mark(),
        )

    def _complete(self) -> None:
        while self._sent and not self._sent[0].left:
            sent = self._sent.popleft()
            self.unconfirmed_bytes -= sent.size
            try:
                self._map(sent)
            except DataLossError as error:
                self.fail(
                    DataLossError(
                        f"{self.target}: {error.what}", why=error.why, do=copy_again(self.source.topic)
                    )
                )
                return
            self.position, self.leader_epoch = sent.then, sent.epoch
            self.records += len(sent.offsets)
            self.bytes += sent.size
            self.note_moved()

    def _map(self, sent: SentBatch) -> None:
        if self.offsets is None:
            return
        if len(sent.stored) == 1 and sent.stored[0][2] >= 0:  # all of it at once: nearly always
            self.offsets.append_offsets(sent.offsets, sent.stored[0][2])
            self.offsets.advance(sent.then)
            return
        if any(base < 0 for _, _, base in sent.stored):
            # The brokers had the batch already and no longer know where: offsets up to here have no translation.
            self.offsets = OffsetMap(sent.then, self.offsets.target_end)
            return
        for first, count, base in sorted(sent.stored):
            self.offsets.append_offsets(sent.offsets[first : first + count], base)
        self.offsets.advance(sent.then)
