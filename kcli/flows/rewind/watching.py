"""Watches groups that were rewound as they ran, until their judges have decided or the time is up.

It polls and waits; the judge interprets. Runs in the caller's thread, which may be interrupted: what is known by then
is reported all the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.cluster.offsets import LATEST
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.group_history import GroupHistory
from kcli.flows.rewind.judge import OPEN, Judge, Look, Sentence
from kcli.flows.rewind.live import LiveFacts

WATCH_SECONDS = 90.0
"""Long enough for killed members to be detected (their session, 45 s in most clients), for their partitions to be
reassigned, and for an auto-commit (5 s).
"""
BEFORE_MS = 60_000
"""Commits are read from this long before the release: the coordinator's clock may differ."""
_LOOK_SECONDS = 0.1
_ENDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Open:
    """A partition that is not decided yet. ``left``: seconds until no old commit is expected; None: a commit is
    awaited.
    """

    group: str
    partition: TopicPartition
    sentence: Sentence
    left: float | None


@dataclass(frozen=True, slots=True)
class Watched:
    """A group that is watched: its facts, its judge, and when its members were released (monotonic)."""

    group: str
    facts: LiveFacts
    judge: Judge
    let_in_at: float


@dataclass(frozen=True, slots=True)
class GroupWatch:
    """What is known at the end, ``seconds`` after the members were released."""

    sentences: Mapping[TopicPartition, Sentence] = field(default_factory=dict)
    seconds: float = 0.0


class Watcher:
    """``bound``: seconds. ``told`` receives after each poll what is open and the remaining seconds at most; ``over`` is
    called when the watch has ended. ``logged`` reads what a group has done since a time (ms), None where that cannot be
    read: a poll every tenth of a second may miss a commit.

    ``interruption`` is what ended the watch early (Ctrl-C, SIGTERM): to be raised after everything is reported.
    """

    def __init__(
        self,
        *,
        bound: float = WATCH_SECONDS,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        told: Callable[[Sequence[Open], float], object] = lambda _open, _left: None,
        over: Callable[[], object] = lambda: None,
        logged: Callable[[str, int], GroupHistory | None] = lambda _group, _since_ms: None,
    ) -> None:
        self.bound, self._now, self._sleep, self._told, self._over = bound, now, sleep, told, over
        self._logged = logged
        self.interruption: BaseException | None = None

    def watch(self, admin: Admin, groups: Sequence[Watched]) -> dict[str, GroupWatch]:
        """Watches all groups at the same time."""
        eyes = [_Eye(one) for one in groups if one.facts.partitions]
        end = self._now() + self.bound
        try:
            while eyes:
                self._look(admin, eyes)
                for eye in eyes:
                    if eye.awaits_log(self._now()):
                        self._confirm(eye)
                now = self._now()
                left = [one for eye in eyes for one in eye.open(now)]
                if not left or now >= end:
                    break
                self._told(left, end - now)
                self._sleep(min(_LOOK_SECONDS, max(0.0, end - now)))
        except (KeyboardInterrupt, SystemExit) as stop:
            self.interruption = stop
        finally:
            self._over()
        for eye in eyes:
            self._confirm(eye)
        now = self._now()
        return {eye.watched.group: eye.result(now) for eye in eyes}

    def _confirm(self, eye: "_Eye") -> None:
        """The first commit may have been missed; the log has it."""
        if eye.watched.judge.unconfirmed:
            eye.watched.judge.confirm(self._all_commits(eye.watched))

    def _all_commits(self, watched: Watched) -> Mapping[TopicPartition, Sequence[int | None]] | None:
        since = watched.facts.let_in_ms - BEFORE_MS
        history = self._logged(watched.group, since) if self.interruption is None else None
        return None if history is None or not history.complete else history.commits_since(since)

    def _look(self, admin: Admin, eyes: Sequence["_Eye"]) -> None:
        """Commits, then members, then ends: see ``judge.Look``. A coordinator that does not respond is polled again."""
        at = self._now()
        try:
            commits = admin.fetch_offsets(
                {eye.watched.group: list(eye.watched.facts.partitions) for eye in eyes}
            )
            groups = admin.describe_groups([eye.watched.group for eye in eyes])
        except KcliError:
            return
        for eye in eyes:
            told, group = commits[eye.watched.group], groups[eye.watched.group]
            if isinstance(told, KcliError) or isinstance(group, KcliError):
                continue
            offsets = {
                tp: None if one is None else one.offset
                for tp, one in told.items()
                if not isinstance(one, KcliError)
            }
            eye.look(at, offsets, group, lambda partitions: log_ends(admin, partitions))


def log_ends(admin: Admin, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """The log end offsets that could be read."""
    try:
        found = admin.list_offsets(dict.fromkeys(partitions, LATEST))
    except KcliError:
        return {}
    return {tp: told.offset for tp, told in found.items() if not isinstance(told, KcliError)}


class _Eye:
    """One group."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self._ends_at = -_ENDS_SECONDS
        self._ids: frozenset[str] | None = None

    def look(
        self,
        at: float,
        offsets: Mapping[TopicPartition, int | None],
        group: GroupDescription,
        ends: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
    ) -> None:
        since = at - self.watched.let_in_at
        ids = frozenset(member.member_id for member in group.members)
        found: Mapping[TopicPartition, int] = {}
        if ids != self._ids or since >= self._ends_at + _ENDS_SECONDS:
            self._ids, self._ends_at = ids, since
            found = ends(list(self.watched.facts.partitions))
        self.watched.judge.look(Look(since, offsets, group, found))

    def open(self, now: float) -> list[Open]:
        since = now - self.watched.let_in_at
        found = []
        for tp in self.watched.facts.partitions:
            sentence = self.watched.judge.sentence(tp, since)
            if sentence.verdict == OPEN and sentence.awaited is not None:
                until = sentence.awaited.until
                left = None if until is None else max(0.0, until - since)
                found.append(Open(self.watched.group, tp, sentence, left))
        return found

    def awaits_log(self, now: float) -> bool:
        """Whether everything that is open is decided by the history of commits."""
        awaited = [one.sentence.awaited for one in self.open(now)]
        return bool(awaited) and all(one is not None and one.logged for one in awaited)

    def result(self, now: float) -> GroupWatch:
        since = now - self.watched.let_in_at
        judge = self.watched.judge
        return GroupWatch({tp: judge.sentence(tp, since) for tp in self.watched.facts.partitions}, since)


def missing(before: Sequence[MemberDescription], watched: Watched) -> tuple[MemberDescription, ...]:
    """The previous members that have not rejoined."""
    away = {one.member.member_id for one in watched.judge.attendance.away}
    return tuple(member for member in before if member.member_id in away)
