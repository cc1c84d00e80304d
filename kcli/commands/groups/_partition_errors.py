"""What is reported of partitions that were refused, failed or overwritten, by all that set offsets."""

from collections.abc import Iterable, Iterator, Sequence

from kcli.commands.shared.context import Invocation
from kcli.core.errors import (
    AuthError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    PartlyFailedError,
    TimedOutError,
)
from kcli.core.exit_codes import ExitCode
from kcli.flows.rewind.mark import own_metadata
from kcli.flows.rewind.outcomes import (
    OVERWROTE,
    GroupReport,
    LostMetadataError,
    NotProvenError,
    commit_text,
    rewind_command,
)
from kcli.flows.rewind.plan import NotPossibleError
from kcli.output.progress import counted

Refused = tuple[object, KcliError]
"""A partition, which prints as its name, and why it is left as it is."""


def refusal_codes(refused: Sequence[Refused], *, possible: bool) -> tuple[int, ...]:
    """4 without permission; else 6 where some partitions are left out, and where nothing can be done 1 if none of them
    exists, or 7.
    """
    if not refused:
        return ()
    others = ExitCode.PARTLY if possible else ExitCode.FAILED if _absent(refused) else ExitCode.REFUSED
    return tuple(sorted({ExitCode.DENIED if _denied(error) else others for _, error in refused}))


def report_refused(inv: Invocation, refused: Sequence[Refused], *, possible: bool) -> None:
    """Errors and warnings of ``refused_remarks``."""
    report_remarks(inv, refused_remarks(refused, possible=possible))


def report_remarks(inv: Invocation, remarks: Iterable[KcliError | str]) -> None:
    """Errors count for the exit status; texts are warnings."""
    for remark in remarks:
        if isinstance(remark, KcliError):
            inv.failed(remark)
        else:
            inv.talk.warn(remark)


def refused_remarks(refused: Sequence[Refused], *, possible: bool) -> Iterator[KcliError | str]:
    """One for each remedy; the reason of each partition is in the plan. Warnings where others are ``possible``."""
    by_remedy: dict[str, list[Refused]] = {}
    for tp, error in refused:
        by_remedy.setdefault(error.do, []).append((tp, error))
    for do, alike in by_remedy.items():
        tp, error = alike[0]
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        if not possible:
            kind = NotFoundError if _absent(alike) else AuthError if _denied(error) else NotPossibleError
            verb = "do not exist" if kind is NotFoundError else "cannot be set"
            what = f"{tp}{more} {verb}" if more else error.what
            yield kind(what, why=error.why or error.what, do=do)
        elif do:
            yield f"{_refused(alike)}; {do}"


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


def _absent(refused: Iterable[Refused]) -> bool:
    return all(isinstance(error, NotFoundError) for _, error in refused)


def overwritten_error(group: str, lost: int, partitions: int, why: str, act: str) -> KcliError:
    """``lost`` of the ``partitions`` have another offset than was set. ``act``: what can be done again."""
    return NotPossibleError(
        f"{lost} of {partitions} partitions of group {group} were overwritten",
        why=why,
        do=f"find out which client commits for this group, and {act} again",
    )


def lost_metadata_error(report: GroupReport) -> KcliError | None:
    """The partitions whose offset was set, and whose metadata, an application's own, the broker has not stored."""
    lost = [one.item.tp for one in report.outcomes if (new := one.without_metadata) and own_metadata(new)]
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


def failed_errors(group: str, errors: Iterable[KcliError]) -> Iterator[KcliError]:
    """One error for each reason, however many partitions of the group it is about."""
    by_reason: dict[str, list[KcliError]] = {}
    for error in errors:
        by_reason.setdefault(error.why or error.what, []).append(error)
    for alike in by_reason.values():
        unsure = isinstance(alike[0], OutcomeUnknownError | TimedOutError)
        what = f"{len(alike)} partitions of group {group} {'are not confirmed' if unsure else 'failed'}"
        yield alike[0] if len(alike) == 1 else PartlyFailedError(what, alike[0])


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
