"""Watches groups that were rewound as they ran, until their judges have decided or the time is up.

It polls and waits; the judge interprets. Runs in the caller's thread, which may be interrupted: what is known by then
is reported all the same.
"""

from collections.abc import Callable, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.classes import dataclass, field
from kcli.core.cluster.offsets import LATEST
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory
from kcli.flows.rewind.judge import OPEN, Judge, Observation, PartitionVerdict
from kcli.flows.rewind.live import LiveFacts

WATCH_SECONDS = 90.0
"""Long enough for killed members to be detected (their session, 45 s in most clients), for their partitions to be
reassigned, and for an auto-commit (5 s).
"""
LONGEST_WATCH = 300.0
"""How long it may be where it is known to be decided by then: a member that has not come back has a longer session."""
BEFORE_MS = 60_000
"""Commits are read from this long before the release: the coordinator's clock may differ."""
_POLL_SECONDS = 0.1
_ENDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """A partition that is not decided. ``left``: seconds to the last old commit; None: a commit is awaited."""

    group: str
    partition: TopicPartition
    verdict: PartitionVerdict
    left: float | None


@dataclass(frozen=True, slots=True)
class GroupWatch:
    """What is known at the end, ``seconds`` after the members were released."""

    verdicts: Mapping[TopicPartition, PartitionVerdict] = field(default_factory=dict)
    seconds: float = 0.0


NOTHING_SEEN = GroupWatch()


class Watcher:
    """``bound``: seconds; None: WATCH_SECONDS, or until no old commit is expected any more, if within LONGEST_WATCH.
    ``on_open`` receives after each poll what is open and the remaining seconds at most;
    ``on_end`` is called when the watch has ended. ``history`` returns what a group has done since a time (ms), None where
    that cannot be read: a poll every tenth of a second may miss a commit.

    ``interruption`` is what ended the watch early (Ctrl-C, SIGTERM): to be raised after everything is reported.
    """

    def __init__(
        self,
        *,
        bound: float | None = None,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        on_open: Callable[[Sequence[OpenPartition], float], object] = lambda _open, _left: None,
        on_end: Callable[[], object] = lambda: None,
        history: Callable[[str, int], GroupHistory | None] = lambda _group, _since_ms: None,
    ) -> None:
        self._now, self._sleep, self._on_open, self._on_end = now, sleep, on_open, on_end
        self._bound = WATCH_SECONDS if bound is None else bound
        self._longest = LONGEST_WATCH if bound is None else bound
        self._history = history
        self.interruption: BaseException | None = None

    def watch(self, admin: Admin, groups: Sequence["WatchedGroup"]) -> dict[str, GroupWatch]:
        """Watches all groups at the same time."""
        groups = [group for group in groups if group.facts.partitions]
        began = self._now()
        end = began + self._bound
        try:
            while groups:
                self._poll(admin, groups)
                for group in groups:
                    if group.awaits_history(self._now()):
                        self._confirm(group)
                now = self._now()
                left = [one for group in groups for one in group.open(now)]
                lasting = [one.left for one in left if one.left is not None]
                if lasting and end < (due := now + max(lasting) + _POLL_SECONDS) <= began + self._longest:
                    end = due
                if not left or now >= end:
                    break
                self._on_open(left, end - now)
                self._sleep(min(_POLL_SECONDS, max(0.0, end - now)))
        except (KeyboardInterrupt, SystemExit) as stop:
            self.interruption = stop
        finally:
            self._on_end()
        for group in groups:
            self._confirm(group)
        now = self._now()
        return {group.group: group.result(now) for group in groups}

    def _confirm(self, group: "WatchedGroup") -> None:
        """The first commit may have been missed; the history has it."""
        if group.judge.unconfirmed:
            since = group.facts.released_ms - BEFORE_MS
            history = self._history(group.group, since) if self.interruption is None else None
            complete = history if history is not None and history.complete else None
            group.judge.confirm(None if complete is None else complete.commits_since(since))

    def _poll(self, admin: Admin, groups: Sequence["WatchedGroup"]) -> None:
        """Reads commits, then members, then ends. A coordinator that does not respond is polled again."""
        at = self._now()
        try:
            commits = admin.fetch_offsets({group.group: list(group.facts.partitions) for group in groups})
            described = admin.describe_groups([group.group for group in groups])
        except KcliError:
            return
        for group in groups:
            committed, description = commits[group.group], described[group.group]
            if isinstance(committed, KcliError) or isinstance(description, KcliError):
                continue
            offsets = {
                tp: None if commit is None else commit.offset
                for tp, commit in committed.items()
                if not isinstance(commit, KcliError)
            }
            group.observe(at, offsets, description, lambda partitions: log_ends(admin, partitions))


def log_ends(admin: Admin, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The log end offsets that could be read."""
    try:
        found = admin.list_offsets(dict.fromkeys(partitions, LATEST))
    except KcliError:
        return {}
    return {tp: end.offset for tp, end in found.items() if not isinstance(end, KcliError)}


class WatchedGroup:
    """A group that is watched since ``released_at`` (monotonic), by a new judge unless one is given."""

    def __init__(self, group: str, facts: LiveFacts, released_at: float, judge: Judge | None = None) -> None:
        self.group, self.facts, self.released_at = group, facts, released_at
        self.judge = judge or facts.judge
        self._ends_at = -_ENDS_SECONDS
        self._ids: frozenset[str] | None = None

    def observe(
        self,
        at: float,
        offsets: Mapping[TopicPartition, int | None],
        group: GroupDescription,
        ends: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
    ) -> None:
        """Passes an observation to the judge; log ends are read when members have changed, or once a second."""
        since = at - self.released_at
        ids = frozenset(member.member_id for member in group.members)
        found: Mapping[TopicPartition, int] = {}
        if ids != self._ids or since >= self._ends_at + _ENDS_SECONDS:
            self._ids, self._ends_at = ids, since
            found = ends(list(self.facts.partitions))
        self.judge.observe(Observation(since, offsets, group, found))

    def open(self, now: float) -> list[OpenPartition]:
        """The partitions that are not decided yet."""
        found = []
        for tp, verdict in self.result(now).verdicts.items():
            if verdict.status == OPEN and verdict.awaited is not None:
                until = verdict.awaited.until
                left = None if until is None else max(0.0, until - (now - self.released_at))
                found.append(OpenPartition(self.group, tp, verdict, left))
        return found

    def awaits_history(self, now: float) -> bool:
        """Whether everything that is open is decided by the history of commits."""
        awaited = [one.verdict.awaited for one in self.open(now)]
        return bool(awaited) and all(one is not None and one.history for one in awaited)

    def result(self, now: float) -> GroupWatch:
        """What is known now."""
        since = now - self.released_at
        return GroupWatch({tp: self.judge.verdict(tp, since) for tp in self.facts.partitions}, since)

    def missing(self, before: Sequence[MemberDescription]) -> tuple[MemberDescription, ...]:
        """The previous members that have not rejoined."""
        away = {one.member.member_id for one in self.judge.attendance.away}
        return tuple(member for member in before if member.member_id in away)
