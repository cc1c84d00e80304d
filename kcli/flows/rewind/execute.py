"""Executes a plan: lock, check, journal, commit, read back. Reports only what was seen, not what is assumed."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import MemberDescription
from kcli.core.error_codes import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError, NotFoundError, OutcomeUnknownError, TimedOutError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.journal import JournalError, Journals, LiveEntry
from kcli.flows.rewind.judge import HELD, OPEN, OVERWRITTEN, Sentence
from kcli.flows.rewind.live import Clocks, LiveResult, Shut, set_offsets
from kcli.flows.rewind.live_record import entry_of
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.open_transactions import refused_for_transactions
from kcli.flows.rewind.plan import ABSENT, GroupPlan, NotPossibleError, RewindItem, RewindPlan, not_possible
from kcli.flows.rewind.watching import GroupWatch, Watched, Watcher, log_ends, missing

LIVE = (
    UNKNOWN_MEMBER_ID,
    GROUP_SUBSCRIBED_TO_TOPIC,
    REBALANCE_IN_PROGRESS,
    ILLEGAL_GENERATION,
    STALE_MEMBER_EPOCH,
)

VERIFIED, FAILED, REFUSED, UNKNOWN = "verified", "failed", "refused", "unknown"

LATER_SECONDS = 1.0
"""Between the commits to groups without members and the later check."""
WINDOW_SECONDS = 0.9
"""The longest time from the last check before the commits to their response: see ``_Run.idle``."""


class UnprovenError(OutcomeUnknownError):
    """The offsets were set and read back, but another rewind may have finished unseen meanwhile."""

    exit_code = 6


class NotProvenError(KcliError):
    """A partition of a live group was set and read back, but its members were not seen to continue from there."""

    exit_code = 6


@dataclass(frozen=True, slots=True)
class Doors:
    """How running groups are held while they are rewound, and watched afterwards.

    ``shut`` holds a group; ``held`` are held already. ``told`` receives what was set, before the watch begins.
    """

    shut: Callable[[GroupPlan], Shut]
    watcher: Watcher
    held: Collection[str] = ()
    told: Callable[[Sequence[LiveResult]], object] = lambda _: None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One partition. ``status`` is ``verified`` (read back as requested), ``overwritten`` (by another client),
    ``failed`` (see ``error``), ``unknown`` (attempted, but the result could not be seen) or ``refused`` (not
    attempted). Partitions of a live group are ``held`` instead of ``verified``.

    ``found``: what was read back; for a live group, what was seen last. ``member`` owns the partition, and ``seen`` are
    the commits since, with the seconds after which they were seen.
    """

    item: RewindItem
    status: str
    found: OffsetAndMetadata | None = None
    error: KcliError | None = None
    member: MemberDescription | None = None
    seen: tuple[tuple[float, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group. ``error``: why nothing was attempted. ``kept``: whether its journal is available for an undo.

    ``missing``: members of a live group that have not rejoined, of ``sent_out``. ``watched``: for how many seconds.
    ``journal_error``: why the journal lacks what was seen of a live group; ``can_check``: whether it still has what
    --check needs.
    """

    plan: GroupPlan
    outcomes: tuple[Outcome, ...]
    error: KcliError | None = None
    kept: bool = False
    missing: tuple[MemberDescription, ...] = ()
    sent_out: int = 0
    watched: float = 0.0
    journal_error: KcliError | None = None
    can_check: bool = True

    def count(self, status: str) -> int:
        """How many partitions have this status."""
        return sum(outcome.status == status for outcome in self.outcomes)

    @property
    def done(self) -> int:
        """How many partitions are at their target."""
        return self.count(VERIFIED) + self.count(HELD)


def execute(
    admin: Admin,
    plan: RewindPlan,
    journals: Journals,
    *,
    written: Callable[[GroupPlan], object],
    doors: Doors | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> list[GroupReport]:
    """Executes the plan; LockedError if another process rewinds one of the groups, before anything is changed.

    ``written`` is called when the journal of a group is on disk, before its first commit. ``doors`` are for groups that
    are rewound as they run; groups that are already held are already locked. ``sleep`` waits until the later check.
    """
    todo = [group for group in plan.groups if group.todo]
    held = doors.held if doors is not None else ()
    with journals.locked([group.group for group in todo if group.group not in held]):
        run = _Run(admin, journals, written)
        refused = run.idle([group for group in todo if not group.live], sleep)
        if doors is not None:
            refused |= run.live([group for group in todo if group.live], doors)
        return [
            run.reports.get(group.group)
            or GroupReport(group, tuple(_untried(group)), group.refusal or refused.get(group.group))
            for group in plan.groups
        ]


class _Run:
    """``idle`` and ``live`` return why some groups were not attempted; the other groups get ``reports``."""

    def __init__(self, admin: Admin, journals: Journals, written: Callable[[GroupPlan], object]) -> None:
        self.reports: dict[str, GroupReport] = {}
        self._admin, self._journals, self._written = admin, journals, written
        self._not_recorded: dict[str, KcliError] = {}

    def _journal(self, plan: GroupPlan) -> None:
        self._journals.write(plan, clock.wall_ms())
        self._written(plan)

    def idle(self, plans: Sequence[GroupPlan], sleep: Callable[[float], None]) -> dict[str, KcliError]:
        """Groups without members: any client may commit, and a rewind on another machine is not aware of our lock.

        When two rewinds both find their plan unchanged, one commits over the other. The first sees it in its later
        check: the second has its response within WINDOW_SECONDS of a check made before the first one's commit, and the
        later check is LATER_SECONDS after that. A second rewind that was slower than that reports that it is not sure.
        """
        if not plans:
            return {}
        in_transactions = refused_for_transactions(self._admin, plans)
        plans = [plan for plan in plans if plan.group not in in_transactions]
        if not plans:
            return in_transactions
        refused, looked = self._begun(plans)
        going = [plan for plan in plans if plan.group not in refused]
        for plan in going:
            self._written(plan)
        stored = _store(self._admin, going)
        answered = clock.monotonic()
        wanted = {plan.group: [item.tp for item in plan.todo] for plan in going}
        back = self._admin.fetch_offsets(wanted) if wanted else {}
        outcomes = {plan.group: _outcomes(plan, stored[plan.group], back[plan.group]) for plan in going}
        if wanted_later := [plan for plan in going if any(map(_is_news, outcomes[plan.group]))]:
            sleep(max(0.0, answered + LATER_SECONDS - clock.monotonic()))
            later = _Later(self._admin, wanted_later, answered - looked)
            outcomes |= {
                plan.group: [later.judged(plan, one) for one in outcomes[plan.group]] for plan in wanted_later
            }
        for plan in going:
            certain = not isinstance(back[plan.group], KcliError)
            self._report(plan, outcomes[plan.group], certain=certain)
        return refused | in_transactions

    def _begun(self, plans: Sequence[GroupPlan]) -> tuple[dict[str, KcliError], float]:
        """The groups that no longer match their plan, and when that was checked. All others have journals."""
        refused: dict[str, KcliError] = {}
        going = False
        try:
            for plan in plans:
                self._journals.write(plan, clock.wall_ms())
            looked = clock.monotonic()
            refused = _changed(self._admin, plans)
            going = True
        finally:
            for plan in plans:
                if not going or plan.group in refused:
                    self._journals.remove(plan.id)
        return refused, looked

    def live(self, plans: Sequence[GroupPlan], doors: Doors) -> dict[str, KcliError]:
        """Groups with members, one after the other; then all are watched together."""
        refused: dict[str, KcliError] = {}
        results = []
        for plan in plans:
            try:
                results.append(self._set(plan, doors))
            except KcliError as error:
                refused[plan.group] = error
        doors.told(results)
        watched = [
            Watched(one.plan.group, one.facts, one.facts.judge, one.let_in_at)
            for one in results
            if one.facts is not None
        ]
        seen = doors.watcher.watch(self._admin, watched)
        groups = {one.group: one for one in watched}
        for result in results:
            group = result.plan.group
            self._tell(result, seen.get(group, GroupWatch()), groups.get(group))
        return refused

    def _set(self, plan: GroupPlan, doors: Doors) -> LiveResult:
        def ends(partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
            return log_ends(self._admin, partitions)

        clocks = Clocks(clock.monotonic, clock.wall_ms)
        try:
            result = set_offsets(doors.shut(plan), plan, self._journal, ends, clocks)
        except KcliError:  # nothing was committed
            self._journals.remove(plan.id)
            raise
        if result.facts is not None:  # before the watch: a rewind killed during it can still be checked
            self._update(plan, entry_of(result.facts), {})
        return result

    def _update(
        self, plan: GroupPlan, live: LiveEntry, statuses: Mapping[TopicPartition, str]
    ) -> KcliError | None:
        """Returns why the journal was not updated, else None. The offsets are set by then, so an error stops nothing."""
        try:
            self._journals.update(plan.id, live=live, statuses=statuses)
        except JournalError as error:
            self._not_recorded.setdefault(plan.group, error)
            return error
        self._not_recorded.pop(plan.group, None)
        return None

    def _tell(self, result: LiveResult, seen: GroupWatch, group: Watched | None) -> None:
        plan, outcomes, error = result.plan, live_outcomes(result, seen), None
        recorded = result.facts is not None and plan.group not in self._not_recorded
        if result.facts is not None:
            entry = entry_of(result.facts, seen.sentences, seen.seconds)
            error = self._update(plan, entry, {one.item.tp: one.status for one in outcomes})
        if error is not None and not recorded:
            outcomes = [_without_check(outcome, plan.group) for outcome in outcomes]
        absent = missing(result.plan.members, group) if group is not None else ()
        self._report(
            plan,
            outcomes,
            certain=result.failure is None,
            missing=absent,
            facts=result,
            watched=seen.seconds,
            journal_error=error,
            can_check=error is None or recorded,
        )

    def _report(
        self,
        plan: GroupPlan,
        outcomes: Sequence[Outcome],
        *,
        certain: bool,
        missing: tuple[MemberDescription, ...] = (),
        facts: LiveResult | None = None,
        watched: float = 0.0,
        journal_error: KcliError | None = None,
        can_check: bool = True,
    ) -> None:
        """Removes the journal of a rewind that changed nothing: it is of no use."""
        sure = certain and not any(isinstance(o.error, OutcomeUnknownError) for o in outcomes)
        kept = not (sure and all(_untouched(outcome) for outcome in outcomes))
        if not kept:
            self._journals.remove(plan.id)
        refused = [Outcome(item, REFUSED, item.committed, item.refusal) for item in plan.refused]
        by_place = {outcome.item.tp: outcome for outcome in (*outcomes, *refused)}
        in_order = tuple(by_place[item.tp] for item in plan.items)
        sent_out = len(facts.facts.sent_out) if facts is not None and facts.facts is not None else 0
        self.reports[plan.group] = GroupReport(
            plan,
            in_order,
            kept=kept,
            missing=missing,
            sent_out=sent_out,
            watched=watched,
            journal_error=journal_error,
            can_check=can_check,
        )


class _Later:
    """A check of groups that were rewound a second ago. ``window``: seconds from the preceding check to the response."""

    def __init__(self, admin: Admin, plans: Sequence[GroupPlan], window: float) -> None:
        self._window = window
        self._commits = admin.fetch_offsets({plan.group: [i.tp for i in plan.todo] for plan in plans})
        moved = [plan.group for plan in plans if self._has_moved(plan)]
        self._described = admin.describe_groups(moved) if moved else {}

    def judged(self, plan: GroupPlan, outcome: Outcome) -> Outcome:
        """The outcome of one partition after it was read back."""
        item, commits = outcome.item, self._commits[plan.group]
        if not _is_news(outcome):
            return outcome
        found = commits if isinstance(commits, KcliError) else commits[item.tp]
        if isinstance(found, KcliError):
            return replace(outcome, status=UNKNOWN, error=_unproven(plan, item, str(found)))
        if not _same(found, item.new) and not self._went_on(plan.group, item, found):
            return replace(outcome, status=OVERWRITTEN, found=found)
        if self._window > WINDOW_SECONDS:
            why = (
                f"{self._window:.1f} s passed between the last look at the group and the answer to the commit"
            )
            return replace(outcome, status=UNKNOWN, error=_unproven(plan, item, why))
        return outcome

    def _has_moved(self, plan: GroupPlan) -> bool:
        commits = self._commits[plan.group]
        return not isinstance(commits, KcliError) and any(
            not isinstance(found := commits[item.tp], KcliError) and not _same(found, item.new)
            for item in plan.todo
        )

    def _went_on(self, group: str, item: RewindItem, found: OffsetAndMetadata | None) -> bool:
        """Whether a member has joined and continues from the new offset."""
        described = self._described.get(group)
        if marked_by(found) or found is None or item.new is None or isinstance(described, KcliError | None):
            return False
        return bool(described.members) and found.offset >= item.new.offset


def _is_news(outcome: Outcome) -> bool:
    """Whether a partition was changed and read back successfully."""
    return outcome.status == VERIFIED and outcome.item.changes


def _unproven(plan: GroupPlan, item: RewindItem, why: str) -> KcliError:
    return UnprovenError(
        f"{item.tp} was set and read back, but a rewind from another machine may have ended unseen meanwhile",
        why=why,
        do=f"if nobody else rewinds group {plan.group}, all is well; else compare the journals of both",
    )


def _changed(admin: Admin, plans: Sequence[GroupPlan]) -> dict[str, KcliError]:
    """Groups that no longer match the plan, and why: members joined, or offsets were committed."""
    described = admin.describe_groups([plan.group for plan in plans]) if plans else {}
    commits = admin.fetch_offsets({p.group: [i.tp for i in p.todo] for p in plans}) if plans else {}
    found: dict[str, KcliError] = {}
    for plan in plans:
        now, committed = described[plan.group], commits[plan.group]
        gone = isinstance(now, NotFoundError) and (plan.undoes is not None or plan.state == ABSENT)
        error = now if isinstance(now, KcliError) else not_possible(now)
        if error is None or gone:
            error = committed if isinstance(committed, KcliError) else _moved(plan, committed)
        if error is not None:
            found[plan.group] = error
    return found


def _moved(plan: GroupPlan, committed: Committed) -> KcliError | None:
    for item in plan.todo:
        now = committed[item.tp]
        if isinstance(now, KcliError):
            return now
        if now != item.committed:
            return NotPossibleError(
                f"the offsets of group {plan.group} have changed since the plan was made",
                why=f"{item.tp} was at {_shown(item.committed)}, now it is at {_shown(now)}",
                do="nothing was done; look at the plan again",
            )
    return None


def _shown(commit: OffsetAndMetadata | None) -> str:
    rewind = marked_by(commit)
    by = f" (set by rewind {rewind})" if rewind else ""
    return "no commit" if commit is None else f"{commit.offset}{by}"


def _store(admin: Admin, plans: Sequence[GroupPlan]) -> dict[str, Stored]:
    """One request per group for the commits, and one for the deletions."""
    commits: dict[str | GroupMetadata, dict[TopicPartition, OffsetAndMetadata]] = {
        plan.group: news
        for plan in plans
        if (news := {item.tp: item.new for item in plan.todo if item.new is not None})
    }
    deletes = {
        plan.group: gone
        for plan in plans
        if (gone := [item.tp for item in plan.todo if item.action == "delete"])
    }
    stored: dict[str, Stored] = {plan.group: {item.tp: None for item in plan.todo} for plan in plans}
    for group, told in (admin.commit_offsets(commits) if commits else {}).items():
        stored[group] |= told
    for group, told in (admin.delete_offsets(deletes) if deletes else {}).items():
        stored[group] |= told
    return stored


def _outcomes(plan: GroupPlan, stored: Stored, back: Committed | KcliError) -> list[Outcome]:
    return [
        _outcome(item, stored[item.tp], back if isinstance(back, KcliError) else back[item.tp])
        for item in plan.todo
    ]


def live_outcomes(result: LiveResult, seen: GroupWatch) -> list[Outcome]:
    """The outcomes of the partitions of a group that was rewound as it ran. Pure."""
    return [_live_outcome(item, result, seen) for item in result.plan.todo]


def _live_outcome(item: RewindItem, result: LiveResult, seen: GroupWatch) -> Outcome:
    if result.failure is not None:
        return Outcome(item, UNKNOWN, None, _unseen(result.failure))
    if refused := result.stored.get(item.tp):
        return Outcome(item, FAILED, result.found.get(item.tp), refused)
    sentence = seen.sentences.get(item.tp)
    if sentence is None:
        return Outcome(item, OVERWRITTEN, result.found.get(item.tp))
    return judged(item, sentence, result.plan, seen.seconds)


def judged(item: RewindItem, sentence: Sentence, plan: GroupPlan, seconds: float) -> Outcome:
    """The outcome by a judge's sentence; a partition that is still open is unknown."""
    commits = sentence.commits
    last = commits[-1][1] if commits else (None if item.new is None else item.new.offset)
    found = None if last is None else OffsetAndMetadata(last)
    if sentence.verdict in (HELD, OVERWRITTEN):
        return Outcome(item, sentence.verdict, found, None, sentence.owner, commits)
    error = NotProvenError(
        f"{item.tp} was set, but whether it is read from there on is not known",
        why=_why(sentence, seconds),
        do=f"look again with: {check_command(plan.group, plan.id)}",
    )
    return Outcome(item, UNKNOWN, found, error, sentence.owner, commits)


def _without_check(outcome: Outcome, group: str) -> Outcome:
    """Without the advice to use --check: the journal has nothing to check."""
    if not isinstance(outcome.error, NotProvenError):
        return outcome
    do = f"see what is committed now: kcli groups describe {quote(group)} --offsets"
    return replace(outcome, error=NotProvenError(outcome.error.what, why=outcome.error.why, do=do))


def check_command(group: str, journal_id: str) -> str:
    """The command that checks a live rewind again; quotes the group, and guards a name that looks like an option."""
    if group.startswith("-"):
        return f"kcli groups rewind --check {journal_id} -- {quote(group)}"
    return f"kcli groups rewind {quote(group)} --check {journal_id}"


def _why(sentence: Sentence, seconds: float) -> str:
    awaited = sentence.awaited
    if sentence.verdict != OPEN or awaited is None:
        return sentence.why
    if awaited.away:
        names = ", ".join(sorted({one.client_id or one.member_id for one in awaited.away}))
        return f"{names} had it and has not come back in {seconds:.0f} s: it may still commit what it read before"
    if awaited.until is not None:
        span = f"until {awaited.until:.0f} s after the group was let in"
        return f"its previous owner may still commit what it read before, {span}"
    if sentence.commits:
        return (
            sentence.why or "what was committed since may have been read before, and nothing has followed it"
        )
    if awaited.owner is None:
        return f"no member has had it for {seconds:.0f} s"
    return f"nobody has committed anything for it in {seconds:.0f} s"


def _untouched(outcome: Outcome) -> bool:
    """Whether the partition is unchanged."""
    if outcome.status in (VERIFIED, HELD):
        return not outcome.item.changes
    return outcome.status == FAILED and outcome.error is not None and outcome.found == outcome.item.committed


def _outcome(
    item: RewindItem, error: KcliError | None, found: OffsetAndMetadata | KcliError | None
) -> Outcome:
    if isinstance(found, KcliError):
        if error is None or isinstance(error, OutcomeUnknownError | TimedOutError):
            return Outcome(item, UNKNOWN, None, _unseen(error or found))
        return Outcome(item, FAILED, None, error)
    same = _same(found, item.new)
    if isinstance(error, NotFoundError) and item.new is None and found is None:
        error = None  # the group was removed with its last offset
    unsure = isinstance(error, OutcomeUnknownError | TimedOutError)
    if same and (error is None or unsure):
        return Outcome(item, VERIFIED, found)
    if error is None:
        return Outcome(item, OVERWRITTEN, found)
    if unsure:  # a stalled broker may still do it later
        return Outcome(item, UNKNOWN, found, _unseen(error))
    return Outcome(item, FAILED, found, _explained(error, item.tp))


def _unseen(error: KcliError) -> KcliError:
    error.do = "it may have been set, or may yet be: look with `kcli groups describe`, --undo takes it back"
    return error


def _explained(error: KcliError, tp: TopicPartition) -> KcliError:
    if isinstance(error, BrokerError) and error.code in LIVE:
        return NotPossibleError(
            f"the group became live while it was being rewound ({tp})",
            why=error.why,
            do="run it again: --live rewinds a running group, --wait waits until its members have left",
        )
    return error


def _same(found: OffsetAndMetadata | None, new: OffsetAndMetadata | None) -> bool:
    """Compares commits; brokers that store no leader epochs return −1."""
    if found is None or new is None:
        return found is new
    return found._replace(leader_epoch=new.leader_epoch) == new


def _untried(plan: GroupPlan) -> list[Outcome]:
    return [Outcome(item, REFUSED, item.committed, item.refusal) for item in plan.items]
