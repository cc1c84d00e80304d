"""Executes a plan: lock, check, journal, commit, read back. Reports only what was seen, not what is assumed."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence

from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.preceding import Preceding
from kcli.core.classes import dataclass, replace
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import GroupMetadata, GroupPartition, OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalError
from kcli.flows.groups.stored_offsets import read_offsets, remove_offsets, write_offsets
from kcli.flows.rewind.barriers import Barriers
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.judge import OVERWRITTEN
from kcli.flows.rewind.live import Clocks, LiveFacts, LiveResult, set_offsets
from kcli.flows.rewind.live_record import entry_of
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.open_transactions import refused_for_transactions
from kcli.flows.rewind.outcomes import (
    UNKNOWN,
    VERIFIED,
    GroupReport,
    PartitionOutcome,
    UnprovenError,
    commit_text,
    idle_outcomes,
    is_same_commit,
    leaves_journal,
    live_outcomes,
    untried_outcomes,
    was_changed,
    without_check,
)
from kcli.flows.rewind.plan import ABSENT, GroupPlan, NotPossibleError, RewindItem, RewindPlan, not_possible
from kcli.flows.rewind.watching import NOTHING_SEEN, GroupWatch, WatchedGroup, Watcher, log_ends

LATER_SECONDS = 1.5
"""Between the commits to groups without members and the later check."""
WINDOW_SECONDS = 1.4
"""The longest time at the coordinator from the last read of an offset to its commit: see ``_Run.rewind_idle``. Links and
proxies that let one response pass at a time add to it what a response takes.
"""
_ROUNDS = 8
"""So many round trips at most set the offsets of all groups: the fewer share one, the shorter their windows."""


@dataclass(frozen=True, slots=True)
class LiveRewind:
    """How groups with members are rewound. ``released`` receives what was set, before the watch begins."""

    barriers: Barriers
    watcher: Watcher
    released: Callable[[Sequence[LiveResult]], object] = lambda _results: None


def execute(
    admin: Admin,
    plan: RewindPlan,
    journals: Journals,
    *,
    written: Callable[[GroupPlan], object],
    live: LiveRewind | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> list[GroupReport]:
    """Executes the plan; LockedError if another process rewinds one of the groups, before anything is changed.

    ``written`` is called when the journal of a group is on disk, before its first commit. ``live`` is for groups with
    members; those that are held already are already locked. ``sleep`` waits until the later check.
    """
    todo = [group for group in plan.groups if group.todo]
    held: Collection[str] = live.barriers.descriptions if live is not None else ()
    with journals.locked([group.group for group in todo if group.group not in held]):
        run = _Run(admin, journals, written)
        refused = run.rewind_idle([group for group in todo if not group.live], sleep)
        if live is not None:
            refused |= run.rewind_live([group for group in todo if group.live], live)
        return [
            run.reports.get(group.group)
            or GroupReport(group, tuple(untried_outcomes(group)), group.refusal or refused.get(group.group))
            for group in plan.groups
        ]


class _Run:
    """``rewind_idle`` and ``rewind_live`` return why some groups were not attempted; the others get ``reports``."""

    def __init__(self, admin: Admin, journals: Journals, written: Callable[[GroupPlan], object]) -> None:
        self.reports: dict[str, GroupReport] = {}
        self._admin, self._journals, self._written = admin, journals, written
        self._recorded: set[str] = set()  # live groups whose journal has what --check needs

    def rewind_idle(self, plans: Sequence[GroupPlan], sleep: Callable[[float], None]) -> dict[str, KcliError]:
        """Groups without members: any client may commit, and a rewind on another machine is not aware of our lock.

        The offsets are read once more in the request just ahead of the commit. A rewind that finds others there than
        planned has committed over them, and reports that. When two rewinds both find their plan unchanged, one commits
        over the other, and the first sees it in its later check: the commit of the second follows its read, which
        precedes the first one's commit, by WINDOW_SECONDS at most, and the later check is LATER_SECONDS after that
        commit. A second rewind that was slower than that reports that it is not sure.
        """
        if not plans:
            return {}
        in_transactions = refused_for_transactions(self._admin, plans)
        plans = [plan for plan in plans if plan.group not in in_transactions]
        if not plans:
            return in_transactions
        refused = self._write_journals(plans)
        going = [plan for plan in plans if plan.group not in refused]
        for plan in going:
            self._written(plan)
        stores: dict[str, _Store] = {}
        for first in range(min(_ROUNDS, len(going))):
            for of_shares in (False, True):
                some = [plan for plan in going[first::_ROUNDS] if plan.is_share is of_shares]
                made = (_ShareStore if of_shares else _Store)(self._admin, some)
                stores |= dict.fromkeys((plan.group for plan in some), made)
        answered = clock.monotonic()
        overwritten = {plan.group: stores[plan.group].overwritten(plan) for plan in going}
        journal_errors = {plan.group: self._journal(plan, overwritten[plan.group]) for plan in going}
        back = _offsets_of(self._admin, going)
        outcomes = {
            group: idle_outcomes(plan, stores[group].stored[group], back[group], overwritten[group])
            for group, plan in ((plan.group, plan) for plan in going)
        }
        if changed := [plan for plan in going if any(map(was_changed, outcomes[plan.group]))]:
            pause = max(LATER_SECONDS, *(stores[plan.group].seconds for plan in changed))
            sleep(max(0.0, answered + pause - clock.monotonic()))
            later = _Later(self._admin, changed, stores)
            outcomes |= {
                plan.group: [later.checked(plan, one) for one in outcomes[plan.group]] for plan in changed
            }
        for plan in going:
            certain = not isinstance(back[plan.group], KcliError)
            error = journal_errors[plan.group]
            report = GroupReport(plan, tuple(outcomes[plan.group]), journal_error=error)
            self._report(report, certain=certain)
        return refused | in_transactions

    def _journal(
        self, plan: GroupPlan, overwritten: Mapping[TopicPartition, OffsetAndMetadata | None]
    ) -> KcliError | None:
        """Lets --undo restore what the commits have replaced in fact; the error if it will restore what was planned."""
        if not overwritten:
            return None
        try:
            self._journals.update(plan.id, committed=overwritten)
        except JournalError as error:
            return error
        return None

    def _write_journals(self, plans: Sequence[GroupPlan]) -> dict[str, KcliError]:
        """The groups that no longer match their plan. All others have journals."""
        refused: dict[str, KcliError] = {}
        going = False
        try:
            for plan in plans:
                self._journals.write(plan, clock.wall_ms())
            refused = _changed(self._admin, plans)
            going = True
        finally:
            for plan in plans:
                if not going or plan.group in refused:
                    self._journals.remove(plan.id)
        return refused

    def rewind_live(self, plans: Sequence[GroupPlan], live: LiveRewind) -> dict[str, KcliError]:
        """Groups with members, one after the other; then all are watched together."""
        refused: dict[str, KcliError] = {}
        results = []
        for plan in plans:
            try:
                results.append(self._set(plan, live.barriers))
            except KcliError as error:
                refused[plan.group] = error
        live.released(results)
        watched = {
            result.plan.group: WatchedGroup(result.plan.group, result.facts, result.released_at)
            for result in results
            if result.facts is not None
        }
        seen = live.watcher.watch(self._admin, list(watched.values()))
        for result in results:
            group = result.plan.group
            self._report_live(result, seen.get(group, NOTHING_SEEN), watched.get(group))
        return refused

    def _set(self, plan: GroupPlan, barriers: Barriers) -> LiveResult:
        def ends(partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
            return log_ends(self._admin, partitions)

        def journal(plan: GroupPlan) -> None:
            self._journals.write(plan, clock.wall_ms())
            self._written(plan)

        try:
            held = barriers.hold_group(plan)
            result = set_offsets(held, plan, journal, ends, Clocks(clock.monotonic, clock.wall_ms))
        except KcliError:  # nothing was committed
            self._journals.remove(plan.id)
            raise
        # before the watch: a rewind killed during it can still be checked
        if result.facts is not None and update_journal(self._journals, plan, result.facts) is None:
            self._recorded.add(plan.group)
        return result

    def _report_live(self, result: LiveResult, seen: GroupWatch, watched: WatchedGroup | None) -> None:
        plan, outcomes = result.plan, live_outcomes(result, seen)
        recorded = plan.group in self._recorded
        report = GroupReport(plan, tuple(outcomes))
        if watched is not None:
            error = update_journal(self._journals, plan, watched.facts, seen, outcomes)
            if error is not None and not recorded:
                outcomes = [without_check(outcome, plan.group) for outcome in outcomes]
            report = GroupReport(
                plan,
                tuple(outcomes),
                missing=watched.missing(plan.members),
                evicted=len(watched.facts.evicted),
                journal_error=error,
                can_check=error is None or recorded,
            )
        self._report(report, certain=result.failure is None)

    def _report(self, report: GroupReport, *, certain: bool) -> None:
        """Adds the refused partitions, and removes the journal of a rewind that changed nothing: it is of no use."""
        plan = report.plan
        kept = not certain or leaves_journal(report.outcomes)
        if not kept:
            self._journals.remove(plan.id)
        outcomes = {outcome.item.tp: outcome for outcome in (*untried_outcomes(plan), *report.outcomes)}
        in_order = tuple(outcomes[item.tp] for item in plan.items)
        self.reports[plan.group] = replace(report, outcomes=in_order, kept=kept)


def update_journal(
    journals: Journals,
    plan: GroupPlan,
    facts: LiveFacts,
    seen: GroupWatch = NOTHING_SEEN,
    outcomes: Sequence[PartitionOutcome] = (),
) -> KcliError | None:
    """Returns why the journal was not updated, else None. The offsets are set by then, so an error stops nothing."""
    statuses = {one.item.tp: one.status for one in outcomes}
    try:
        journals.update(plan.id, live=entry_of(facts, seen.verdicts, seen.seconds), statuses=statuses)
    except JournalError as error:
        return error
    return None


class _Store:
    """The commits, one request for each group, and the deletions. ``stored``: what became of them. ``seconds``: how long
    after them the later check has to be at least.
    """

    seconds = 0.0

    def __init__(self, admin: Admin, plans: Sequence[GroupPlan]) -> None:
        self.stored: dict[str, Stored] = {plan.group: {item.tp: None for item in plan.todo} for plan in plans}
        self._preceding = {"commit": Preceding(), "delete": Preceding()}
        commits: dict[str | GroupMetadata, dict[TopicPartition, OffsetAndMetadata]] = {
            plan.group or GroupMetadata(""): news
            for plan in plans
            if (news := {item.tp: item.commit for item in plan.todo if item.commit is not None})
        }
        deletes = {
            plan.group: gone
            for plan in plans
            if (gone := [item.tp for item in plan.todo if item.action == "delete"])
        }
        if commits:
            self._add(admin.commit_offsets(commits, preceding=self._preceding["commit"]))
        if deletes:
            self._add(admin.delete_offsets(deletes, preceding=self._preceding["delete"]))

    def overwritten(self, plan: GroupPlan) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What other clients have committed since the plan was made, and this rewind has, or may have, replaced."""
        found = {}
        for item in plan.todo:
            others = [
                one
                for one in self._found(plan, item)
                if not isinstance(one, KcliError)
                and one != item.committed
                and not is_same_commit(one, item.new)
            ]
            if others:
                found[item.tp] = others[-1]
        return found

    def doubt(self, plan: GroupPlan, item: RewindItem) -> str:
        """Why another commit may have been replaced unseen; empty if that cannot be.

        An attempt whose responses were lost may have been carried out. The next read shows that if it finds the new
        offset; if it finds what was planned, nothing has been replaced so far.
        """
        found, since = self._found(plan, item), 0
        for attempt, one in reversed(list(enumerate(found))):
            if isinstance(one, KcliError):
                return f"the read just before the commit failed: {one}"
            if one == item.committed:
                since = attempt
                break
        window = self._preceding[item.action].window(GroupPartition(plan.group, item.tp), since)
        if window is None:
            return "there was no response to the commit"
        if window <= WINDOW_SECONDS:
            return ""
        return f"up to {window:.1f} s passed between the last read of the offset and the commit"

    def _add(self, results: Mapping[str, Stored]) -> None:
        for group, rows in results.items():
            self.stored[group] |= rows

    def _found(self, plan: GroupPlan, item: RewindItem) -> Sequence[OffsetAndMetadata | KcliError | None]:
        preceding = self._preceding.get(item.action)
        return () if preceding is None else preceding.found.get(GroupPartition(plan.group, item.tp), ())


class _ShareStore(_Store):
    """The start offsets of share groups, read once more ahead of them. Those that are to stay are not set: that would
    forget what is acknowledged after them.

    The first start offset of a cluster takes seconds: brokers make ``__share_group_state`` for it. There nothing is lost
    that was there before; and who sets the same at that time waits as long, and checks as late.
    """

    def __init__(self, admin: Admin, plans: Sequence[GroupPlan]) -> None:
        self.stored = {plan.group: {item.tp: None for item in plan.todo} for plan in plans}
        changed = {plan.group: [item for item in plan.todo if item.changes] for plan in plans}
        shares = [group for group, items in changed.items() if items]
        begun = clock.monotonic()
        self._before = _offsets_of(admin, plans)
        starts = {
            group: news
            for group in shares
            if (news := {item.tp: item.new for item in changed[group] if item.new is not None})
        }
        deletes = {
            group: gone
            for group in shares
            if (gone := [item.tp for item in changed[group] if item.action == "delete"])
        }
        for results in (write_offsets(admin, starts, shares), remove_offsets(admin, deletes, shares)):
            for group, rows in results.items():
                self.stored[group] |= rows
        self.seconds = clock.monotonic() - begun

    def doubt(self, plan: GroupPlan, item: RewindItem) -> str:
        """Why another start offset may have been replaced unseen; empty if that cannot be."""
        if not item.changes or item.committed is None:
            return ""
        for one in self._found(plan, item):
            if isinstance(one, KcliError):
                return f"the read just before it was set failed: {one}"
        if self.seconds <= WINDOW_SECONDS:
            return ""
        return f"up to {self.seconds:.1f} s passed between the last read of the start offset and its change"

    def _found(self, plan: GroupPlan, item: RewindItem) -> Sequence[OffsetAndMetadata | KcliError | None]:
        before = self._before[plan.group]
        return [before if isinstance(before, KcliError) else before[item.tp]]


class _Later:
    """A check of groups that were rewound a moment ago. ``stores``: how, by group."""

    def __init__(self, admin: Admin, plans: Sequence[GroupPlan], stores: Mapping[str, _Store]) -> None:
        self._stores = stores
        self._commits = _offsets_of(admin, plans)
        moved = [plan.group for plan in plans if self._has_moved(plan)]
        self._described = admin.describe_groups(moved, all_types=True) if moved else {}

    def checked(self, plan: GroupPlan, outcome: PartitionOutcome) -> PartitionOutcome:
        """The outcome of one partition after it was read back."""
        item, commits = outcome.item, self._commits[plan.group]
        if not was_changed(outcome):
            return outcome
        found = commits if isinstance(commits, KcliError) else commits[item.tp]
        if isinstance(found, KcliError):
            return replace(outcome, status=UNKNOWN, error=_unproven(plan, item, str(found)))
        if not is_same_commit(found, item.new) and not self._continues(plan.group, item, found):
            return replace(outcome, status=OVERWRITTEN, found=found)
        if outcome.status == VERIFIED and (why := self._stores[plan.group].doubt(plan, item)):
            return replace(outcome, status=UNKNOWN, error=_unproven(plan, item, why))
        return outcome

    def _has_moved(self, plan: GroupPlan) -> bool:
        commits = self._commits[plan.group]
        return not isinstance(commits, KcliError) and any(
            not isinstance(found := commits[item.tp], KcliError) and not is_same_commit(found, item.new)
            for item in plan.todo
        )

    def _continues(self, group: str, item: RewindItem, found: OffsetAndMetadata | None) -> bool:
        """Whether a member has joined and continues from the new offset."""
        described = self._described.get(group)
        if marked_by(found) or found is None or item.new is None or isinstance(described, KcliError | None):
            return False
        return bool(described.members) and found.offset >= item.new.offset


def _unproven(plan: GroupPlan, item: RewindItem, why: str) -> KcliError:
    return UnprovenError(
        f"{item.tp} was set and read back, but a rewind from another machine may have ended unseen meanwhile",
        why=why,
        do=f"if nothing else sets offsets of group {plan.group}, all is well; else compare the journals of both",
    )


def _changed(admin: Admin, plans: Sequence[GroupPlan]) -> dict[str, KcliError]:
    """Groups that no longer match the plan, and why: members joined, or offsets were committed."""
    described = admin.describe_groups([plan.group for plan in plans], all_types=True) if plans else {}
    commits = _offsets_of(admin, plans)
    found: dict[str, KcliError] = {}
    for plan in plans:
        now, committed = described[plan.group], commits[plan.group]
        gone = isinstance(now, NotFoundError) and (plan.undoes is not None or plan.state == ABSENT)
        error = now if isinstance(now, KcliError) else not_possible(now, remedies=plan.remedies)
        if error is None or gone:
            error = committed if isinstance(committed, KcliError) else _moved(plan, committed)
        if error is not None:
            found[plan.group] = error
    return found


def _offsets_of(admin: Admin, plans: Sequence[GroupPlan]) -> dict[str, Committed | KcliError]:
    """What the partitions of the plans are at."""
    shares = [plan.group for plan in plans if plan.is_share]
    return read_offsets(admin, {plan.group: [item.tp for item in plan.todo] for plan in plans}, shares)


def _moved(plan: GroupPlan, committed: Committed) -> KcliError | None:
    for item in plan.todo:
        now = committed[item.tp]
        if isinstance(now, KcliError):
            return now
        if now != item.committed:
            return NotPossibleError(
                f"the offsets of group {plan.group} have changed since the plan was made",
                why=f"{item.tp} was at {commit_text(item.committed)}, now it is at {commit_text(now)}",
                do="nothing was done; review the plan again",
            )
    return None
