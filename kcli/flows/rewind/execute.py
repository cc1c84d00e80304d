"""A plan carried out: lock, state read again, journal, commit, read back. What is told was seen, not assumed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.error_codes import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError, NotFoundError, OutcomeUnknownError, TimedOutError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.plan import ABSENT, GroupPlan, NotPossibleError, RewindItem, RewindPlan, not_possible

LIVE = (
    UNKNOWN_MEMBER_ID,
    GROUP_SUBSCRIBED_TO_TOPIC,
    REBALANCE_IN_PROGRESS,
    ILLEGAL_GENERATION,
    STALE_MEMBER_EPOCH,
)

VERIFIED, OVERWRITTEN, FAILED, REFUSED = "verified", "overwritten", "failed", "refused"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One partition: ``status`` is ``verified`` (read back as it was asked for), ``overwritten`` (by somebody else),
    ``failed`` (``error`` says why), ``unknown`` (it was tried, and whether it was done could not be seen), ``refused``
    (nothing was tried). ``found``: what was read back.
    """

    item: RewindItem
    status: str
    found: OffsetAndMetadata | None = None
    error: KcliError | None = None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group. ``error``: why nothing of it was tried. ``kept``: whether its journal is there for an undo."""

    plan: GroupPlan
    outcomes: tuple[Outcome, ...]
    error: KcliError | None = None
    kept: bool = False

    def count(self, status: str) -> int:
        """How many partitions ended so."""
        return sum(outcome.status == status for outcome in self.outcomes)


def execute(
    admin: Admin, plan: RewindPlan, journals: Journals, *, written: Callable[[GroupPlan], object]
) -> list[GroupReport]:
    """Carries out what can be; LockedError when another process rewinds one of the groups, before anything is done.

    ``written`` is told when the journal of a group is on the disk, before its first commit.
    """
    todo = [group for group in plan.groups if group.todo]
    with journals.locked([group.group for group in todo]):
        refused = _changed(admin, todo)
        going = [group for group in todo if group.group not in refused]
        now = clock.wall_ms()
        for group in going:
            journals.write(group, now)
            written(group)
        stored = {group.group: _store(admin, group) for group in going}
        back = admin.fetch_offsets({g.group: [i.where for i in g.todo] for g in going}) if going else {}
        reports = []
        for group in plan.groups:
            error = group.refusal or refused.get(group.group)
            if group.group in stored:
                reports.append(_report(group, stored[group.group], back[group.group], journals))
            else:
                reports.append(GroupReport(group, tuple(_untried(group)), error))
        return reports


def _changed(admin: Admin, plans: Sequence[GroupPlan]) -> dict[str, KcliError]:
    """Groups that are no longer what the plan says, and why: members came, or somebody has committed."""
    described = admin.describe_groups([plan.group for plan in plans]) if plans else {}
    commits = admin.fetch_offsets({p.group: [i.where for i in p.todo] for p in plans}) if plans else {}
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
        now = committed[item.where]
        if isinstance(now, KcliError):
            return now
        if now != item.committed:
            return NotPossibleError(
                f"the offsets of group {plan.group} have changed since the plan was made",
                why=f"{item.where} was at {_shown(item.committed)}, now it is at {_shown(now)}",
                do="nothing was done; look at the plan again",
            )
    return None


def _shown(commit: OffsetAndMetadata | None) -> str:
    return "no commit" if commit is None else str(commit.offset)


def _store(admin: Admin, plan: GroupPlan) -> Stored:
    """One request for the commits, one for what is deleted."""
    commits = {item.where: item.new for item in plan.todo if item.new is not None}
    deletes = [item.where for item in plan.todo if item.action == "delete"]
    stored: Stored = {item.where: None for item in plan.todo}
    if commits:
        stored |= admin.commit_offsets({plan.group: commits})[plan.group]
    if deletes:
        stored |= admin.delete_offsets({plan.group: deletes})[plan.group]
    return stored


def _report(plan: GroupPlan, stored: Stored, back: Committed | KcliError, journals: Journals) -> GroupReport:
    outcomes = [
        _outcome(item, stored[item.where], back if isinstance(back, KcliError) else back[item.where])
        for item in plan.todo
    ]
    untouched = all(_untouched(outcome) for outcome in outcomes)
    certain = not isinstance(back, KcliError) and not any(
        isinstance(o.error, OutcomeUnknownError) for o in outcomes
    )
    kept = not (untouched and certain)
    if not kept:
        journals.remove(plan.id)
    refused = [Outcome(item, REFUSED, item.committed, item.refusal) for item in plan.refused]
    by_place = {outcome.item.where: outcome for outcome in (*outcomes, *refused)}
    return GroupReport(plan, tuple(by_place[item.where] for item in plan.items), kept=kept)


def _untouched(outcome: Outcome) -> bool:
    """Whether the partition is where it was."""
    if outcome.status == VERIFIED:
        return _same(outcome.item.committed, outcome.item.new)
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
        error = None  # the group went with its last offset
    unsure = isinstance(error, OutcomeUnknownError | TimedOutError)
    if same and (error is None or unsure):
        return Outcome(item, VERIFIED, found)
    if error is None:
        return Outcome(item, OVERWRITTEN, found)
    if unsure:  # a broker that has stood still may do it later
        return Outcome(item, UNKNOWN, found, _unseen(error))
    return Outcome(item, FAILED, found, _explained(error, item.where))


def _unseen(error: KcliError) -> KcliError:
    error.do = "it may have been set, or may yet be: look with `kcli groups describe`, --undo takes it back"
    return error


def _explained(error: KcliError, where: TopicPartition) -> KcliError:
    if isinstance(error, BrokerError) and error.code in LIVE:
        return NotPossibleError(
            f"the group became live while it was being rewound ({where})",
            why=error.why,
            do="stop its members and try again; a rewind can wait for their end with --wait",
        )
    return error


def _same(found: OffsetAndMetadata | None, new: OffsetAndMetadata | None) -> bool:
    """Brokers that store no leader epochs answer −1."""
    if found is None or new is None:
        return found is new
    return replace(found, leader_epoch=new.leader_epoch) == new


def _untried(plan: GroupPlan) -> list[Outcome]:
    return [Outcome(item, REFUSED, item.committed, item.refusal) for item in plan.items]
