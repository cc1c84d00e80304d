"""The assigned partitions and their positions. State of the consumer's thread; no I/O."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.protocol.schema import NO_UUID
from kcli.core.state_cell import TableKey
from kcli.core.types import OffsetAndMetadata, TopicPartition

UNKNOWN = -1
"""A position that is not known yet."""


class Phase(TableKey):
    """What must be known before a partition can be read. FAILED: its error was raised; a seek continues it."""

    COMMITTED = "looking for its committed offset"
    RESET = "looking for where to begin"
    VALIDATE = "checking whether its log was cut"
    READING = "reading"
    FAILED = "failed"


_SETTLED = (Phase.READING, Phase.FAILED)


class Span(NamedTuple):
    """The offsets to read: from ``start`` up to, not including, ``stop`` (None: no end).

    ``start`` None: the committed offset, or else ``auto.offset.reset``. ``epoch`` is the leader epoch of the record
    before ``start`` (−1: not known): with it, a log that was truncated since is an error (KIP-320). ``topic_id`` is that
    of the topic in which ``start`` is meant: with it, a topic that was created anew before the first fetch is an error,
    as is one that was created anew later (KIP-516).
    """

    start: int | None = None
    stop: int | None = None
    epoch: int = -1
    topic_id: bytes = NO_UUID


class PartitionState:
    """An assigned partition. ``fetch_from`` runs ahead of ``position``, which follows what was returned.

    ``epoch`` is the leader epoch of the record before ``position``, ``fetch_epoch`` of the one before ``fetch_from``
    (−1: not known). ``checked_epoch`` is the leader epoch at which the log was last validated up to ``fetch_from``
    (KIP-320). ``by_policy``: the consumer chose the start itself, so it may choose again. ``committed`` is the group's
    last known committed offset. ``topic_id`` is the id of the topic that the position belongs to: offsets mean nothing in
    another topic of the same name. ``replaced_by`` is the id of that other topic, once it is found, until a seek: only a
    seek is about the new one. ``read_replica`` is the preferred read replica named by the leader, until
    ``replica_until`` (KIP-392; −1: read from the leader). ``error`` is why it is FAILED: the same object that a poll
    raised or will raise.
    """

    __slots__ = (
        "_changed",
        "_paused",
        "_phase",
        "by_policy",
        "checked_epoch",
        "committed",
        "epoch",
        "error",
        "fetch_epoch",
        "fetch_from",
        "high_watermark",
        "last_stable",
        "not_before",
        "position",
        "read_replica",
        "replaced_by",
        "replica_until",
        "reset_to",
        "stop",
        "topic_id",
        "tp",
        "version",
    )

    def __init__(
        self, tp: TopicPartition, span: Span, version: int, changed: "Callable[[PartitionState], None]"
    ) -> None:
        self.tp = tp
        self.position = self.fetch_from = UNKNOWN if span.start is None else span.start
        self.stop = span.stop
        self.version = version
        self.by_policy = span.start is None
        self._phase = Phase.COMMITTED if span.start is None else Phase.READING
        self.error: KcliError | None = None
        self._paused = False
        self._changed = changed
        self.not_before = 0.0
        self.topic_id: bytes | None = None
        self.replaced_by: bytes | None = None
        self.reset_to: int | None = None
        self.epoch = self.fetch_epoch = span.epoch
        self.checked_epoch = -1
        self.read_replica, self.replica_until = -1, 0.0
        self.committed = UNKNOWN
        self.high_watermark = self.last_stable = -1

    @property
    def phase(self) -> Phase:
        """Whether the partition can be read, and what must be determined first."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        self._phase = phase
        self.error = None
        self._changed(self)

    def fail(self, error: KcliError) -> None:
        """Ends reading until a seek."""
        self.phase = Phase.FAILED
        self.error = error

    @property
    def paused(self) -> bool:
        """Whether the application has paused the partition."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        self._paused = paused
        self._changed(self)

    @property
    def fetched_all(self) -> bool:
        """Whether everything up to the stop has been fetched."""
        return self.stop is not None and self.fetch_from >= self.stop

    @property
    def reached_stop(self) -> bool:
        """Whether everything up to the stop has been returned."""
        return self.stop is not None and self.position >= self.stop

    @property
    def to_commit(self) -> OffsetAndMetadata:
        """What a commit of the position contains: the leader epoch too, so that truncation is detected (KIP-320), and
        the topic that it belongs to.
        """
        return OffsetAndMetadata(self.position, "", self.epoch, self.topic_id or NO_UUID)

    def reads(self, topic_id: bytes) -> bool:
        """Whether an offset of the topic with this id (all zeros: not known) is one of the topic that is read."""
        return self.replaced_by is None and (self.topic_id is None or topic_id in (NO_UUID, self.topic_id))

    def must_validate(self, leader_epoch: int) -> bool:
        """Whether a leader of this epoch may lack records before ``fetch_from`` (KIP-320)."""
        known = self.fetch_epoch < 0 or self.fetch_epoch == leader_epoch
        return leader_epoch > self.checked_epoch and not known


Changes = dict[TopicPartition, None]
"""Changed partitions, in the order of their changes; the watcher removes them."""


class Subscription:
    """The assigned partitions and their positions.

    Of thousands of assigned partitions few change at a time: components that act on changes use ``watch_changes``, and
    ``in_phase`` examines no other partitions. ``unsettled`` are those that cannot be read before something is known.

    ``topic_ids`` are those of the topics that are read. They are kept when partitions are taken away: a coordinator takes
    those of a deleted topic, and then assigns those of the one that was created in its place.
    """

    def __init__(self) -> None:
        self._states: dict[TopicPartition, PartitionState] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.get: Callable[[TopicPartition], PartitionState | None] = self._states.get
        """The state of an assigned partition."""
        self.unsettled: dict[TopicPartition, None] = {}
        self._in_phase: dict[Phase, dict[TopicPartition, PartitionState]] = {phase: {} for phase in Phase}
        self._versions = itertools.count()
        self._watched: list[Changes] = []
        self._moves: Changes | None = None
        self._unfinished: PartitionState | None = None
        self._ahead: Iterator[PartitionState] = iter(())

    def _next_version(self) -> int:
        """A unique version, which identifies responses to outdated requests."""
        return next(self._versions)

    def watch_changes(self) -> Changes:
        """A dict of the watcher's own, to which every partition is added that is assigned, removed or changed."""
        changes: Changes = dict.fromkeys(self._states)
        self._watched.append(changes)
        return changes

    def watch_positions(self) -> Changes:
        """A dict to which every partition is added whose position, high watermark or last stable offset changes, or whose
        phase does. There is one such watcher: the last one.
        """
        self._moves = dict.fromkeys(self._states)
        return self._moves

    def note_moved(self, tp: TopicPartition) -> None:
        """The position or an end of the partition has changed."""
        if self._moves is not None:
            self._moves[tp] = None

    def assign(self, spans: Mapping[TopicPartition, Span]) -> None:
        """Replaces the assignment; responses to earlier requests are dropped.

        A partition that stays assigned, with a span without start, continues at its position, as in Java. If it has
        failed, it is retried there.
        """
        for tp in [tp for tp in self._states if tp not in spans]:
            self.remove_partition(tp)
        for topic in self.topic_ids.keys() - {tp.topic for tp in spans}:
            del self.topic_ids[topic]
        for tp, span in spans.items():
            state = self._states.get(tp)
            if state is None or span.start is not None:
                self.add_partition(tp, span)
            else:
                self._keep(state, span)

    def add_partition(self, tp: TopicPartition, span: Span) -> None:
        """Adds the partition to the assignment. A start that is given is an offset of the topic that is there now, unless
        the span says of which.
        """
        self.remove_partition(tp)
        state = self._states[tp] = PartitionState(tp, span, self._next_version(), self._changed)
        if span.topic_id != NO_UUID:
            state.topic_id = self.topic_ids[tp.topic] = span.topic_id
        else:
            state.topic_id = self.topic_ids.get(tp.topic) if span.start is None else None
        self._changed(state)

    def identify(self, state: PartitionState, topic_id: bytes) -> None:
        """The topic of the partition was seen, for the first time or as the one it was."""
        if state.topic_id is None:
            state.topic_id = self.topic_ids[state.tp.topic] = topic_id

    def remove_partition(self, tp: TopicPartition) -> None:
        """Removes the partition: what was fetched of it is dropped."""
        state = self._states.pop(tp, None)
        if state is not None:
            for others in self._in_phase.values():
                others.pop(tp, None)
            self.unsettled.pop(tp, None)
            self._note(tp)

    def seek(self, tp: TopicPartition, offset: int, *, epoch: int = -1) -> None:
        """Continues at ``offset``; what is in flight or buffered for the old position is dropped.

        ``epoch`` is that of the record before, if known: then the log is validated before it is read.
        """
        state = self._moved(tp, offset, epoch)
        state.checked_epoch = -1
        state.phase, state.reset_to = Phase.READING, None
        state.version = self._next_version()

    def reset_position(self, tp: TopicPartition, reset_to: int) -> None:
        """Continues where ListOffsets finds ``reset_to``: a timestamp in ms, LATEST or EARLIEST."""
        state = self._moved(tp, UNKNOWN, self._states[tp].epoch)
        state.phase, state.reset_to = Phase.RESET, reset_to
        state.version = self._next_version()

    def step_back(self, tp: TopicPartition) -> None:
        """Data fetched but not returned is fetched again later; an error after it is found again then."""
        state = self._states[tp]
        if state.phase is Phase.FAILED and state.position != UNKNOWN:
            state.phase = Phase.READING
        state.fetch_from, state.fetch_epoch = state.position, state.epoch
        state.version = self._next_version()
        self._note(tp)

    def forget_position(self, tp: TopicPartition, replaced_by: bytes) -> None:
        """Drops the position, which belonged to a deleted topic: there is nothing to continue from or to commit.

        What the application still commits is of the deleted topic, until it seeks.
        """
        state = self._states[tp]
        state.position = state.fetch_from = state.committed = UNKNOWN
        state.epoch = state.fetch_epoch = state.checked_epoch = -1
        state.replaced_by = replaced_by
        state.version = self._next_version()
        self._note(tp)

    def fail_topic(self, topic: str, error: KcliError) -> list[PartitionState]:
        """Fails all partitions of the topic; returns those that had not failed before."""
        states = [state for state in self.of_topic(topic) if state.phase is not Phase.FAILED]
        for state in states:
            state.fail(error)
        return states

    def of_topic(self, topic: str) -> list[PartitionState]:
        """The assigned partitions of a topic."""
        return [state for tp, state in self._states.items() if tp.topic == topic]

    def items(self) -> Iterable[tuple[TopicPartition, PartitionState]]:
        """All assigned partitions with their states."""
        return self._states.items()

    def in_phase(self, phase: Phase) -> list[tuple[TopicPartition, PartitionState]]:
        """The partitions in this phase."""
        return list(self._in_phase[phase].items())

    @property
    def done(self) -> bool:
        """Whether every partition has reached its stop; False while one has none."""
        last = self._unfinished  # usually still unfinished
        if last is None or last.reached_stop or self._states.get(last.tp) is not last:
            self._unfinished = self._next_unfinished()
        return self._unfinished is None

    def _next_unfinished(self) -> PartitionState | None:
        """Continues the scan after the last one: those before it are usually done. None after a full pass."""
        for _ in range(2):
            for state in self._ahead:
                if not state.reached_stop and self._states.get(state.tp) is state:
                    return state
            self._ahead = iter(list(self._states.values()))
        return None

    def _keep(self, state: PartitionState, span: Span) -> None:
        tp, failed = state.tp, state.phase is Phase.FAILED
        if failed and state.position == UNKNOWN:
            self.topic_ids.pop(tp.topic, None)
            self.add_partition(tp, span)
            return
        if failed:
            self.seek(tp, state.position, epoch=state.epoch)
        if span.stop != state.stop:  # buffered batches are cut at the old stop
            state.stop = span.stop
            self.step_back(tp)

    def _moved(self, tp: TopicPartition, offset: int, epoch: int) -> PartitionState:
        """The position is set anew: in the topic that replaced the one read before, if there is one."""
        state = self._states[tp]
        state.position = state.fetch_from = offset
        state.epoch = state.fetch_epoch = epoch
        state.not_before = 0.0
        if state.replaced_by is not None:
            state.topic_id = self.topic_ids[tp.topic] = state.replaced_by
            state.replaced_by = None
        return state

    def _changed(self, state: PartitionState) -> None:
        tp = state.tp
        if self._states.get(tp) is not state:
            return  # it was removed
        if tp not in self._in_phase[state.phase]:
            for others in self._in_phase.values():
                others.pop(tp, None)
            self._in_phase[state.phase][tp] = state
            if state.phase in _SETTLED:
                self.unsettled.pop(tp, None)
            else:
                self.unsettled[tp] = None
        self._note(tp)

    def _note(self, tp: TopicPartition) -> None:
        for changes in self._watched:
            changes[tp] = None
        self.note_moved(tp)
