"""What is read, and when it is complete: partitions chosen by the user, or a member's share of a group's topics.

The loop in ``consume`` calls a Reading before each poll and after each flush.

With KIP-848 an empty assignment may be preliminary: 4.3 computes targets once a second and sends them with a later
heartbeat. With ``--exit`` a member therefore waits 10 s for partitions.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core import clock
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.consumer.subscription import Span
from kcli.core.errors import BrokerError, KcliError, PartlyFailedError
from kcli.core.names import group_argument
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.consume.remote import RemoteNotice
from kcli.output.progress import duration_text

if TYPE_CHECKING:
    from kcli.flows.consume.group_commits import GroupCommits

Message = Callable[[str], object]
_BY_POLICY = ("earliest", "latest", "stored")


class Later:
    """A stop time in the future: its offsets are looked up when it has come."""

    def __init__(self, stop: OffsetSpec | None, *, until_end: bool, now_ms: int) -> None:
        ahead = stop is not None and stop.kind == "timestamp" and stop.value > now_ms and not until_end
        self.at = stop.value if ahead and stop is not None else None

    @property
    def due(self) -> bool:
        """True once, when the time has come."""
        if self.at is None or clock.wall_ms() < self.at:
            return False
        self.at = None
        return True


def unread_errors(errors: Mapping[TopicPartition, KcliError]) -> list[KcliError]:
    """What is reported of partitions that are left out, as their leaders cannot be reached: one error for each cause."""
    from kcli.flows.partition_failures import partition_names  # only for an error

    alike: dict[str, dict[TopicPartition, KcliError]] = {}
    for tp, error in errors.items():
        alike.setdefault(error.why.replace(str(tp), ""), {})[tp] = error
    return [
        PartlyFailedError(f"the records of {partition_names(some)} were not read", next(iter(some.values())))
        for some in alike.values()
    ]


class Reading:
    """Partitions that were assigned by hand, each up to its stop; the base of all readings."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    @property
    def done(self) -> bool:
        """Whether everything was returned; never, for readings without an end."""
        return self._consumer.done

    @property
    def waiting(self) -> bool:
        """Whether it is not known yet what to read: then the idle timeout does not count."""
        return False

    def tick(self) -> None:
        """Called between polls: does whatever is due."""

    def flushed(self, partly: Mapping[TopicPartition, OffsetAndMetadata] | None) -> None:
        """All returned records are written; ``partly``: only these are, and no more will follow."""

    def recreated(self, error: TopicRecreatedError) -> None:
        """A topic was recreated: reads it from its beginning, or raises the error."""
        raise error

    def refused(self, error: BrokerError) -> None:
        """A topic may not be read: reports it and reads the others, or raises the error."""
        raise error

    def finish(self, stopped: Callable[[], object]) -> None:
        """Ends the reading in order; ``stopped``: see ``LastWait``."""


class _Range(Reading):
    """A reading of the range ``spec``, with what both kinds share."""

    _may_be_exact = False

    def __init__(
        self,
        consumer: Consumer,
        spec: RangeSpec,
        *,
        until_end: bool,
        timeout: float,
        detail: Message,
        warn: Message,
        failed: Callable[[KcliError], object],
        note: Message | None = None,
        on_recreate: str = "fail",
        exact_times: bool = False,
    ) -> None:
        """``exact_times``: records are chosen by their times, so a limit in time is no offset to stop at: what is there
        when it has come is read to its end. ``note``: is told once that records come from remote storage.
        """
        super().__init__(consumer)
        self._failed = failed
        self._note = note
        self._remote = None if note is None else RemoteNotice(consumer, note)
        self._refused = set[str]()
        self._unread = set[TopicPartition]()
        self._on_unreachable = self._leave_out if until_end else None
        self._spec = spec
        self._until_end = until_end
        self._timeout = timeout
        self._detail = detail
        self._warn = warn
        self._on_recreate = on_recreate
        self._later = Later(spec.stop, until_end=until_end, now_ms=clock.wall_ms())
        self._exact_times = exact_times
        if exact_times and spec.times[1] is not None:
            self._spec = spec._replace(stop=OffsetSpec("latest"))

    def tick(self) -> None:
        """See Reading."""
        if self._remote is not None:
            self._remote.look()

    def finish(self, stopped: Callable[[], object]) -> None:  # noqa: ARG002 - waits for nothing
        """See Reading."""
        if self._remote is not None:
            self._remote.look()

    def refused(self, error: BrokerError) -> None:
        """See Reading."""
        states = {tp: self._consumer.state(tp) for tp in self._consumer.assignment}
        topics = {tp.topic for tp, state in states.items() if state.error is error}
        if not topics or not any(tp.topic not in self._refused | topics for tp in states):
            raise error
        if topics - self._refused:  # one report for all partitions of a topic
            self._failed(error)
        self._refused |= topics

    def _leave_out(self, errors: Mapping[TopicPartition, KcliError]) -> None:
        """Partitions whose leaders cannot be reached are not read, and reported once."""
        new = {tp: error for tp, error in errors.items() if tp not in self._unread}
        self._unread |= new.keys()
        for error in unread_errors(new):
            self._failed(error)

    def _pin(self, partitions: Sequence[TopicPartition], *, until_end: bool) -> None:
        """Sets the stops of the partitions, as they are now."""
        found = ranges.stops(
            self._consumer,
            partitions,
            self._spec.stop,
            until_end=until_end,
            timeout=self._timeout,
            unread=self._on_unreachable,
        )
        for tp, offset in found.items():
            self._consumer.state(tp).stop = offset
        self._check_times(RangeSpec(None, self._spec.stop), {tp: Span(at, at) for tp, at in found.items()})

    def _check_times(self, spec: RangeSpec, spans: Mapping[TopicPartition, Span]) -> None:
        """Warns of times that are not in order around the limits."""
        if not self._exact_times and spec.times != (None, None):
            from kcli.flows.time_limits import EXACT, time_warnings  # parts of the admin client

            do = EXACT if self._may_be_exact else ""
            for text in time_warnings(self._consumer, spec, spans, self._timeout, do):
                self._warn(text)


class Chosen(_Range):
    """Partitions that the user chose. ``find_new`` returns partitions added since, for readings without an end."""

    _may_be_exact = True

    def __init__(
        self,
        consumer: Consumer,
        spec: RangeSpec,
        *,
        on_out_of_range: str = "fail",
        find_new: Callable[[], Sequence[TopicPartition]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(consumer, spec, **settings)
        self._on_out_of_range = on_out_of_range
        self._find_new = find_new
        self._version = -1

    def begin(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Span]:
        """Resolves the range to offsets in each partition, and assigns the partitions."""
        found = self._spans(partitions, self._spec)
        self._consumer.assign(found)
        if self._remote is not None:
            self._remote.assigned(found)
        self._version = self._consumer.cluster.view.version
        return found

    def tick(self) -> None:
        """See Reading: handles a stop time that has come, and new partitions."""
        super().tick()
        if self._later.due:
            self._pin(sorted(self._consumer.assignment), until_end=True)
        version = self._consumer.cluster.view.version
        if self._find_new is not None and version != self._version:
            self._version = version
            known = self._consumer.assignment
            found = [tp for tp in self._find_new() if tp.topic not in self._refused]
            if new := [tp for tp in found if tp not in known]:
                self._detail(f"added since the start: {', '.join(map(str, new))}")
                self._consumer.add_partitions(self._spans(new, RangeSpec(OffsetSpec("earliest"))))

    def recreated(self, error: TopicRecreatedError) -> None:
        """See Reading. Other topics continue where they are; an end is pinned again."""
        if self._on_recreate != "restart":
            raise error
        self._warn(f"topic {error.topic} was recreated: reading it from its beginning")
        present = self._consumer.partitions([error.topic], self._timeout)[error.topic]
        wanted = {tp.partition for tp in self._consumer.assignment if tp.topic == error.topic}
        every = self._find_new is not None or self._until_end
        partitions = [TopicPartition(error.topic, n) for n in present if every or n in wanted]
        restarted = self._spans(partitions, RangeSpec(OffsetSpec("earliest"), self._spec.stop))
        self._consumer.assign({**self._without({error.topic}), **restarted})

    def refused(self, error: BrokerError) -> None:
        """See Reading."""
        super().refused(error)
        self._consumer.assign(self._without(self._refused))

    def _without(self, topics: Collection[str]) -> dict[TopicPartition, Span]:
        """The assigned partitions of other topics, from where they are."""
        return {
            tp: Span(state.position if state.position >= 0 else None, state.stop)
            for tp in self._consumer.assignment
            if tp.topic not in topics
            for state in (self._consumer.state(tp),)
        }

    def _spans(self, partitions: Sequence[TopicPartition], spec: RangeSpec) -> dict[TopicPartition, Span]:
        spec = RangeSpec(spec.start, None if self._later.at is not None else spec.stop)
        found = ranges.spans(
            self._consumer,
            partitions,
            spec,
            until_end=self._until_end,
            timeout=self._timeout,
            on_out_of_range=self._on_out_of_range,
            unread=self._on_unreachable,
        )
        self._check_times(spec, found)
        return found


class GroupShare(_Range):
    """A member's share of topics: from the committed offsets on; without a commit, from ``spec.start``."""

    _PATIENCE = 10.0
    """Seconds within which an empty share may be followed by another with KIP-848: targets come with a later
    heartbeat.
    """

    def __init__(
        self,
        consumer: Consumer,
        spec: RangeSpec,
        commits: "GroupCommits",
        *,
        assigned: Callable[[bool], object] = bool,
        **settings: Any,
    ) -> None:
        """``assigned`` is called with True at the begin of an assignment, with False when partitions are taken away."""
        super().__init__(consumer, spec, **settings)
        self._commits = commits
        self._on_change = assigned
        self._empty_since: float | None = None
        self._waits_since: float | None = None
        self._on_out_of_range = consumer.options.on_out_of_range or "fail"
        self._in_log = set[TopicPartition]()

    def begin(self, topics: "Sequence[str] | re.Pattern[str]") -> None:
        """Joins the group with the next poll."""
        self._consumer.subscribe(
            topics, on_assigned=self._assigned, on_revoked=self._revoked, on_lost=self._lost
        )

    @property
    def done(self) -> bool:
        """See Reading. A member whose share is empty has nothing to wait for."""
        if not (self._until_end or self._spec.stop is not None) or not self._consumer.is_stable:
            return False
        partitions = self._consumer.assignment
        if not partitions:
            return self._has_nothing()
        self._empty_since = None
        return all(tp.topic in self._refused or tp in self._unread or self._is_read(tp) for tp in partitions)

    def _is_read(self, tp: TopicPartition) -> bool:
        """Whether the partition is read to its stop. Where it begins behind it, nothing was fetched, and no broker has
        refused an offset that is not in the log: after a truncation, or where the topic was recreated.
        """
        state = self._consumer.state(tp)
        if not state.reached_stop:
            return False
        if state.position == state.stop or state.high_watermark >= 0 or tp in self._in_log:
            return True
        log = ranges.bounds(self._consumer, [tp], self._timeout, committed_only=False)
        offset = ranges.in_log(tp, state.position, log, self._on_out_of_range)
        if offset != state.position:
            self._warn(
                f"{tp}: offset {state.position} is out of range (the log goes from {log.starts[tp]} to {log.ends[tp]}): "
                f"continuing at the {self._on_out_of_range} offset"
            )
            self._consumer.seek(tp, offset)
        self._in_log.add(tp)
        return state.reached_stop

    @property
    def waiting(self) -> bool:
        """See Reading."""
        return not self._consumer.is_stable

    def tick(self) -> None:
        """See Reading."""
        super().tick()
        self._tell_of_waiting()
        self._commits.tick()
        if self._later.due:
            self._pin(sorted(self._consumer.assignment), until_end=True)

    def flushed(self, partly: Mapping[TopicPartition, OffsetAndMetadata] | None) -> None:
        """See Reading."""
        if partly is None:
            self._commits.flushed_all()
        else:
            self._commits.flushed(partly)

    def recreated(self, error: TopicRecreatedError) -> None:
        """See Reading."""
        if self._on_recreate != "restart":
            raise error
        self._warn(f"topic {error.topic} was recreated: reading it from its beginning")
        partitions = [tp for tp in self._consumer.assignment if tp.topic == error.topic]
        self._commits.lost(partitions)
        for tp, offset in ranges.starts(
            self._consumer, partitions, OffsetSpec("earliest"), self._timeout
        ).items():
            self._consumer.seek(tp, offset)
        self._pin_unless_later(partitions)

    def finish(self, stopped: Callable[[], object]) -> None:
        """See Reading: commits what was written."""
        super().finish(stopped)
        self._commits.finish(stopped)

    def _tell_of_waiting(self) -> None:
        """Once in each wait for partitions that lasts longer than a request may: a coordinator that hangs is silent."""
        if self._consumer.is_stable or self._note is None:
            self._waits_since = None
            return
        now = clock.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since >= self._timeout:
            self._waits_since = math.inf
            group = group_argument(self._consumer.options.group_id or "")
            self._note(
                f"no partitions of group {group} for {duration_text(self._timeout)}, waiting: its coordinator does not "
                f"answer, or a member has not rejoined; `kcli groups describe {group} --members` shows it"
            )

    def _has_nothing(self) -> bool:
        """Whether the other members have all partitions, and the assignment is final."""
        if not self._consumer.metrics().rebalances:
            return False
        now = clock.monotonic()
        if self._empty_since is None:
            self._empty_since = now
        late = self._PATIENCE if self._consumer.options.group_protocol == "consumer" else 0.0
        return now - self._empty_since >= late

    def _assigned(self, partitions: list[TopicPartition]) -> None:
        self._on_change(True)
        self._detail(f"assigned: {', '.join(map(str, partitions)) or 'nothing'}")
        self._in_log.difference_update(partitions)
        if self._remote is not None:
            self._remote.assigned(partitions)
        start = self._spec.start
        if start is not None and start.kind not in _BY_POLICY:
            committed = self._consumer.committed(partitions, self._timeout)
            fresh = [tp for tp in partitions if committed.get(tp) is None]
            if fresh:
                spans = ranges.spans(
                    self._consumer,
                    fresh,
                    RangeSpec(start),
                    until_end=True,  # refused now: what is not in the log is not to be committed
                    timeout=self._timeout,
                    on_out_of_range=self._on_out_of_range,
                    to_high_watermark=not self._until_end,
                    unread=self._on_unreachable,
                )
                for tp, span in spans.items():
                    self._consumer.seek(tp, span.start or 0)
        self._pin_unless_later(partitions)

    def _revoked(self, partitions: list[TopicPartition]) -> None:
        self._on_change(False)
        self._detail(f"revoked: {', '.join(map(str, partitions))}")
        self._commits.commit_before_revocation(partitions)

    def _lost(self, partitions: list[TopicPartition]) -> None:
        self._on_change(False)
        self._detail(f"lost: {', '.join(map(str, partitions))}")
        self._commits.lost(partitions)

    def _pin_unless_later(self, partitions: Sequence[TopicPartition]) -> None:
        if partitions and self._later.at is None:
            self._pin(partitions, until_end=self._until_end)
        self._consumer.pause(*self._unread.intersection(partitions))
