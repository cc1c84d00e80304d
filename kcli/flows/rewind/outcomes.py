"""What became of each partition of a rewind: from what was committed, read back and observed. Pure."""

from collections.abc import Mapping, Sequence

from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import MemberDescription
from kcli.core.classes import dataclass, replace
from kcli.core.error_codes import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, KcliError, NotFoundError, OutcomeUnknownError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import group_argument
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.judge import HELD, OPEN, OVERWRITTEN, PartitionVerdict
from kcli.flows.rewind.live import LiveResult
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, Remedies, RewindItem
from kcli.flows.rewind.watching import GroupWatch

LIVE = (
    UNKNOWN_MEMBER_ID,
    GROUP_SUBSCRIBED_TO_TOPIC,
    REBALANCE_IN_PROGRESS,
    ILLEGAL_GENERATION,
    STALE_MEMBER_EPOCH,
)
"""Errors of a commit from outside a group that has members."""

VERIFIED, FAILED, REFUSED, UNKNOWN = "verified", "failed", "refused", "unknown"
OVERWROTE = "overwrote"


class UnprovenError(OutcomeUnknownError):
    """The offsets were set and read back, but another rewind may have finished unseen meanwhile."""

    exit_code = ExitCode.PARTLY


class LostMetadataError(KcliError):
    """Offsets were set and read back without the application's metadata, which was to be kept."""

    exit_code = ExitCode.PARTLY


class NotProvenError(KcliError):
    """A partition of a live group was set and read back, but its members were not seen to continue from there."""

    exit_code = ExitCode.PARTLY


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """One partition. ``status`` is ``verified`` (read back as requested), ``overwrote`` (so too, over another client's
    commit since the plan was made: ``replaced``), ``overwritten`` (by another client), ``failed`` (see ``error``),
    ``unknown`` (attempted, but the result could not be seen) or ``refused`` (not attempted). Partitions of a live group
    are ``held`` instead of ``verified``.

    ``found``: what was read back; for a live group, what was seen last. ``member`` owns the partition, and ``seen`` are
    the commits since, with the seconds after which they were seen.
    """

    item: RewindItem
    status: str
    found: OffsetAndMetadata | None = None
    error: KcliError | None = None
    member: MemberDescription | None = None
    seen: tuple[tuple[float, int | None], ...] = ()
    replaced: OffsetAndMetadata | None = None

    @property
    def without_metadata(self) -> OffsetAndMetadata | None:
        """The new commit, if its offset was read back without its metadata: tansu stores none."""
        new, found = self.item.new, self.found
        if self.status != VERIFIED or new is None or found is None:
            return None
        return new if new.metadata and not found.metadata else None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group. ``error``: why nothing was attempted. ``kept``: whether its journal is available for an undo.

    ``missing``: members of a live group that have not rejoined, of ``evicted``.
    ``journal_error``: why the journal lacks what was seen of a live group, or what was replaced in another;
    ``can_check``: whether it still has what --check needs.
    """

    plan: GroupPlan
    outcomes: tuple[PartitionOutcome, ...]
    error: KcliError | None = None
    kept: bool = False
    missing: tuple[MemberDescription, ...] = ()
    evicted: int = 0
    journal_error: KcliError | None = None
    can_check: bool = True

    def count(self, status: str) -> int:
        """How many partitions have this status."""
        return sum(outcome.status == status for outcome in self.outcomes)

    @property
    def done(self) -> int:
        """How many partitions are at their target."""
        return self.count(VERIFIED) + self.count(HELD)


def idle_outcomes(
    plan: GroupPlan,
    stored: Stored,
    back: Committed | KcliError,
    overwritten: Mapping[TopicPartition, OffsetAndMetadata | None],
) -> list[PartitionOutcome]:
    """Of a group without members. ``stored``: the results of the commits; ``back``: what was read back;
    ``overwritten``: what the commits have replaced that is not in the plan.
    """
    found = []
    for item in plan.todo:
        read = back if isinstance(back, KcliError) else back[item.tp]
        outcome = _idle_outcome(item, stored[item.tp], read, plan.remedies)
        if outcome.status == VERIFIED and item.tp in overwritten:
            outcome = replace(outcome, status=OVERWROTE, replaced=overwritten[item.tp])
        found.append(outcome)
    return found


def was_changed(outcome: PartitionOutcome) -> bool:
    """Whether a partition was changed and read back successfully."""
    return outcome.status == OVERWROTE or (outcome.status == VERIFIED and outcome.item.changes)


def may_be_done(error: KcliError | None) -> bool:
    """Whether the commit with this result has, or may have, taken effect."""
    return error is None or isinstance(error, OutcomeUnknownError | TimedOutError)


def live_outcomes(result: LiveResult, seen: GroupWatch) -> list[PartitionOutcome]:
    """The outcomes of the partitions of a group that was rewound as it ran. Pure."""
    return [_live_outcome(item, result, seen) for item in result.plan.todo]


def _live_outcome(item: RewindItem, result: LiveResult, seen: GroupWatch) -> PartitionOutcome:
    if result.failure is not None:
        return PartitionOutcome(item, UNKNOWN, None, _unseen(result.failure))
    if refused := result.stored.get(item.tp):
        return PartitionOutcome(item, FAILED, result.found.get(item.tp), refused)
    verdict = seen.verdicts.get(item.tp)
    if verdict is None:
        return PartitionOutcome(item, OVERWRITTEN, result.found.get(item.tp))
    return outcome_of_verdict(item, verdict, result.plan, seen.seconds)


def outcome_of_verdict(
    item: RewindItem, verdict: PartitionVerdict, plan: GroupPlan, seconds: float
) -> PartitionOutcome:
    """The outcome by a judge's verdict; a partition that is still open is unknown."""
    commits = verdict.commits
    last = commits[-1][1] if commits else (None if item.new is None else item.new.offset)
    found = None if last is None else OffsetAndMetadata(last)
    if verdict.status in (HELD, OVERWRITTEN):
        return PartitionOutcome(item, verdict.status, found, None, verdict.owner, commits)
    error = NotProvenError(
        f"{item.tp} was set, but whether it is read from there is not known",
        why=_why(verdict, seconds),
        do=f"check it again with: {rewind_command(plan.group, f'--check {plan.id}')}",
    )
    return PartitionOutcome(item, UNKNOWN, found, error, verdict.owner, commits)


def without_check(outcome: PartitionOutcome, group: str) -> PartitionOutcome:
    """Without the advice to use --check: the journal has nothing to check."""
    if not isinstance(outcome.error, NotProvenError):
        return outcome
    do = f"see what is committed now: `kcli groups describe {group_argument(group)} --offsets`"
    return replace(outcome, error=NotProvenError(outcome.error.what, why=outcome.error.why, do=do))


def rewind_command(group: str, flags: str) -> str:
    """``kcli groups rewind`` of this group; quotes the group, and guards a name that looks like an option."""
    if group.startswith("-"):
        return f"kcli groups rewind {flags} -- {group_argument(group)}"
    return f"kcli groups rewind {group_argument(group)} {flags}"


def _why(verdict: PartitionVerdict, seconds: float) -> str:
    awaited = verdict.awaited
    if verdict.status != OPEN or awaited is None:
        return verdict.why
    if awaited.away:
        names = ", ".join(sorted({one.client_id or one.member_id for one in awaited.away}))
        return f"{names} owned it and did not rejoin within {seconds:.0f} s: what was read before may still be committed"
    if awaited.until is not None:
        span = f"until {awaited.until:.0f} s after the group was released"
        return f"its previous owner may still commit what it read before, {span}"
    if verdict.commits:
        return verdict.why or "what was committed since may have been read before, and no commit has followed"
    if awaited.owner is None:
        return f"no member has owned it for {seconds:.0f} s"
    return f"no member has committed an offset for it in {seconds:.0f} s"


def leaves_journal(outcomes: Sequence[PartitionOutcome]) -> bool:
    """Whether the journal of these outcomes is of use: a rewind that surely changed nothing needs no undo."""
    unsure = any(isinstance(one.error, OutcomeUnknownError) for one in outcomes)
    return unsure or not all(map(_untouched, outcomes))


def _untouched(outcome: PartitionOutcome) -> bool:
    """Whether the partition is unchanged."""
    if outcome.status in (VERIFIED, HELD):
        return not outcome.item.changes
    return outcome.status == FAILED and outcome.error is not None and outcome.found == outcome.item.committed


def _idle_outcome(
    item: RewindItem,
    error: KcliError | None,
    found: OffsetAndMetadata | KcliError | None,
    remedies: Remedies,
) -> PartitionOutcome:
    if isinstance(found, KcliError):
        if may_be_done(error):
            return PartitionOutcome(item, UNKNOWN, None, _unseen(error or found))
        return PartitionOutcome(item, FAILED, None, error)
    same = is_same_commit(found, item.new)
    if isinstance(error, NotFoundError) and item.new is None and found is None:
        error = None  # the group was removed with its last offset
    unsure = isinstance(error, OutcomeUnknownError | TimedOutError)
    if same and (error is None or unsure):
        return PartitionOutcome(item, VERIFIED, found)
    if error is None:
        return PartitionOutcome(item, OVERWRITTEN, found)
    if unsure:  # a stalled broker may still do it later
        return PartitionOutcome(item, UNKNOWN, found, _unseen(error))
    return PartitionOutcome(item, FAILED, found, _explained(error, item.tp, remedies))


def _unseen(error: KcliError) -> KcliError:
    error.do = (
        "it may have been set, or may yet be: `kcli groups describe GROUP` shows it, --undo takes it back"
    )
    return error


def _explained(error: KcliError, tp: TopicPartition, remedies: Remedies) -> KcliError:
    if isinstance(error, BrokerError) and error.code in LIVE:
        return NotPossibleError(
            f"the group became live while it was being rewound ({tp})",
            why=error.why,
            do=remedies.members,
        )
    return error


def commit_text(commit: OffsetAndMetadata | None) -> str:
    """``5 (set by rewind 20261121-…)``, or ``no commit``."""
    rewind = marked_by(commit)
    by = f" (set by rewind {rewind})" if rewind else ""
    return "no commit" if commit is None else f"{commit.offset}{by}"


def is_same_commit(found: OffsetAndMetadata | None, new: OffsetAndMetadata | None) -> bool:
    """Compares commits; brokers that store no leader epochs return −1, those that store no metadata return none."""
    if found is None or new is None:
        return found is new
    return found._replace(leader_epoch=new.leader_epoch) in (new, new._replace(metadata=""))


def untried_outcomes(plan: GroupPlan) -> list[PartitionOutcome]:
    """The outcomes of partitions that were not attempted."""
    return [PartitionOutcome(item, REFUSED, item.committed, item.refusal) for item in plan.items]
