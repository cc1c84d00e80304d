"""What is said of partitions that are refused, failed or overwritten, by all that set offsets. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kcli.account.change import distinct
from kcli.core.errors import (
    AuthError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    PartlyFailedError,
    TimedOutError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.groups.members import named
from kcli.flows.rewind.mark import marked_by, own_metadata
from kcli.flows.rewind.outcomes import (
    FAILED,
    OVERWROTE,
    UNKNOWN,
    GroupReport,
    LostMetadataError,
    NotProvenError,
    commit_text,
    rewind_command,
)
from kcli.flows.rewind.plan import NotPossibleError, RewindPlan
from kcli.output.progress import counted

K = TypeVar("K")

Refused = tuple[object, KcliError]
"""A partition, which prints as its name, and why it is left as it is."""


class LeftOutError(KcliError):
    """A partition is left as it is while others are set."""

    exit_code = ExitCode.PARTLY


# --- before the act --------------------------------------------------------------------------------------


def plan_remarks(plan: RewindPlan) -> list[KcliError | str]:
    """Why some of what was requested will not be done: errors, and warnings."""
    refused = plan.refused
    errors = [*plan.unplanned.values(), *(group.refusal for group in plan.groups if group.refusal)]
    if plan.possible:
        return [*distinct(errors), *refused_warnings(refused)]
    return list(distinct([*errors, *refusal_errors(refused, possible=False)]))


def refusal_errors(refused: Sequence[Refused], *, possible: bool) -> list[KcliError]:
    """The error of each: 4 without permission; else 6 where others are ``possible``, and 1 or 7 where none is: there one
    error has all of the same remedy.
    """
    if possible:
        return [error if _denied(error) else _left_out(error) for _, error in refused]
    alike: dict[tuple[str, bool], list[Refused]] = {}
    for one in refused:
        alike.setdefault(_remedy(one), []).append(one)
    errors = {remedy: _refusal(some) for remedy, some in alike.items()}
    return [errors[_remedy(one)] for one in refused]


def refused_warnings(refused: Iterable[Refused]) -> Iterator[str]:
    """One for each remedy; the reason of each partition is in the plan."""
    by_remedy: dict[str, list[Refused]] = {}
    for one in refused:
        by_remedy.setdefault(one[1].do, []).append(one)
    return (f"{_refused(alike)}; {do}" for do, alike in by_remedy.items() if do)


def _remedy(one: Refused) -> tuple[str, bool]:
    return one[1].do, _denied(one[1])


def _left_out(error: KcliError) -> KcliError:
    return LeftOutError(error.what, why=error.why, do=error.do)


def _refusal(alike: Sequence[Refused]) -> KcliError:
    tp, error = alike[0]
    absent = all(isinstance(one, NotFoundError) for _, one in alike)
    kind = NotFoundError if absent else AuthError if _denied(error) else NotPossibleError
    what = error.what
    if len(alike) > 1:
        what = f"{tp} and {len(alike) - 1} more {'do not exist' if absent else 'cannot be set'}"
    return kind(what, why=error.why or error.what, do=error.do)


def _refused(alike: Sequence[Refused]) -> str:
    """The partitions and the reason; that of the first one where they differ."""
    reasons = [error.why or error.what.removeprefix(f"{tp}: ") for tp, error in alike]
    first, others = alike[0][0], len(alike) - 1
    if not others:
        return f"{first} refused: {reasons[0]}"
    if len(set(reasons)) == 1:
        return f"{first} and {others} more refused: {reasons[0]}"
    return f"{first} refused: {reasons[0]}; {others} more like it"


def _denied(error: KcliError) -> bool:
    return error.exit_code == ExitCode.DENIED


# --- after it --------------------------------------------------------------------------------------------


def outcome_errors(report: GroupReport) -> list[KcliError]:
    """One error for each reason, for all partitions that it concerns."""
    return list(distinct(partition_errors(report).values()))


def partition_errors(report: GroupReport) -> dict[TopicPartition, KcliError]:
    """The error of each partition that is not as requested, or not known to be: one object for all of one reason."""
    ended = [one for one in report.outcomes if one.status in (FAILED, UNKNOWN) and one.error is not None]
    failed = {
        one.item.tp: one.error
        for one in ended
        if one.error is not None and not isinstance(one.error, NotProvenError)
    }
    found = failed_errors(report.plan.group, failed)
    for tps, error in (
        ([o.item.tp for o in ended if isinstance(o.error, NotProvenError)], not_proven_error(report)),
        (_without_own_metadata(report), lost_metadata_error(report)),
        ([o.item.tp for o in report.outcomes if o.status == OVERWROTE], overwrote_error(report)),
        ([o.item.tp for o in report.outcomes if o.status == "overwritten"], _overwritten(report)),
    ):
        if error is not None:
            found |= dict.fromkeys(tps, error)
    return found


def failed_errors(group: str, errors: Mapping[K, KcliError]) -> dict[K, KcliError]:
    """One error for each reason, however many partitions of the group it is about."""
    by_reason: dict[str, list[K]] = {}
    for key, error in errors.items():
        by_reason.setdefault(error.why or error.what, []).append(key)
    found: dict[K, KcliError] = {}
    for alike in by_reason.values():
        first = errors[alike[0]]
        if len(alike) > 1:
            unsure = isinstance(first, OutcomeUnknownError | TimedOutError)
            what = f"{len(alike)} partitions of group {group} {'are not confirmed' if unsure else 'failed'}"
            first = PartlyFailedError(what, first)
        found |= dict.fromkeys(alike, first)
    return found


def _overwritten(report: GroupReport) -> KcliError | None:
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if not lost:
        return None
    found, member = lost[0].found, lost[0].member
    offset = "no commit" if found is None else found.offset
    owner = "" if member is None else f"; {named([member])} owns it"
    rewind = marked_by(found)
    who = f"the rewind {rewind} from another machine" if rewind else "another client"
    why = f"{who} has set {lost[0].item.tp} to {offset}{owner}"
    return overwritten_error(report.plan.group, len(lost), len(report.outcomes), why, "rewind")


def overwritten_error(group: str, lost: int, partitions: int, why: str, act: str) -> KcliError:
    """``lost`` of the ``partitions`` have another offset than was set. ``act``: what can be done again."""
    return NotPossibleError(
        f"{lost} of {partitions} partitions of group {group} were overwritten",
        why=why,
        do=f"find out which client commits for this group, and {act} again",
    )


def _without_own_metadata(report: GroupReport) -> list[TopicPartition]:
    return [one.item.tp for one in report.outcomes if (new := one.without_metadata) and own_metadata(new)]


def lost_metadata_error(report: GroupReport) -> KcliError | None:
    """The partitions whose offset was set, and whose metadata, an application's own, the broker has not stored."""
    lost = _without_own_metadata(report)
    if not lost:
        return None
    return LostMetadataError(
        f"the metadata of {counted(len(lost), 'commit')} of group {report.plan.group} is lost",
        why=f"the broker has stored the new offset of {lost[0]} as requested, without its metadata",
        do="if the application uses it, let it commit again",
    )


def overwrote_error(report: GroupReport) -> KcliError | None:
    """The partitions that were set over another client's commit, which came after the plan was made."""
    over = [outcome for outcome in report.outcomes if outcome.status == OVERWROTE]
    if not over:
        return None
    plan, first = report.plan, over[0]
    find = "find out which client commits for this group"
    undo = rewind_command(plan.group, f"--undo={plan.id}")
    return NotPossibleError(
        f"{len(over)} of {counted(len(report.outcomes), 'partition')} of group {plan.group} had been set by another "
        "client before the commit",
        why=f"{first.item.tp} was at {commit_text(first.item.committed)} in the plan, but the commit has replaced "
        f"{commit_text(first.replaced)}",
        do=f"{find}; `{undo}` restores what was replaced" if report.journal_error is None else find,
    )


def not_proven_error(report: GroupReport) -> KcliError | None:
    """The partitions of a live group of which it is not known whether they are read from where they were set."""
    by_reason: dict[str, list[str]] = {}
    do = ""
    for outcome in report.outcomes:
        if isinstance(outcome.error, NotProvenError):
            by_reason.setdefault(outcome.error.why, []).append(str(outcome.item.tp))
            do = do or outcome.error.do
    if not by_reason:
        return None
    count = sum(map(len, by_reason.values()))
    what = (
        f"{count} of {counted(len(report.outcomes), 'partition')} of group {report.plan.group} were set, but whether "
        f"{'it is' if count == 1 else 'they are'} read from there is not known"
    )
    reasons = [f"{', '.join(partitions)}: {why}" for why, partitions in by_reason.items()]
    return NotProvenError(what, why="; ".join(reasons), do=do)
