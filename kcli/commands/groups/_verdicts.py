"""What is told of partitions that were refused, failed or overwritten: whatever sets offsets tells it alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcli.commands.shared.context import Invocation
    from kcli.core.errors import KcliError
    from kcli.flows.rewind.execute import GroupReport

Refused = tuple[object, "KcliError"]
"""A partition, which prints as its name, and why it is left as it is."""


def refusal_codes(refused: Sequence[Refused], *, possible: bool) -> tuple[int, ...]:
    """6 where some partitions are left out; where nothing can be done 1 if none of them exists, else 7."""
    if not refused:
        return ()
    if possible:
        return (6,)
    return (1,) if _absent(refused) else (7,)


def tell_refused(inv: Invocation, refused: Sequence[Refused], *, possible: bool) -> None:
    """Once for each remedy; the reason of each partition stands in the plan."""
    from kcli.core.errors import NotFoundError
    from kcli.flows.rewind.plan import NotPossibleError

    by_remedy: dict[str, list[Refused]] = {}
    for where, error in refused:
        by_remedy.setdefault(error.do, []).append((where, error))
    for do, alike in by_remedy.items():
        where, error = alike[0]
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        if not possible:
            kind, verb = (
                (NotFoundError, "do not exist") if _absent(alike) else (NotPossibleError, "cannot be set")
            )
            what = f"{where}{more} {verb}" if more else error.what
            inv.failed(kind(what, why=error.why or error.what, do=do))
        elif do:
            inv.talk.warn(f"{_refused(alike)}; {do}")


def _refused(alike: Sequence[Refused]) -> str:
    """The partitions and the reason; that of the first one where they differ."""
    reasons = [error.why or error.what.removeprefix(f"{where}: ") for where, error in alike]
    first, others = alike[0][0], len(alike) - 1
    if not others:
        return f"{first} refused: {reasons[0]}"
    if len(set(reasons)) == 1:
        return f"{first} and {others} more refused: {reasons[0]}"
    return f"{first} refused: {reasons[0]}; {others} more like it"


def _absent(refused: Iterable[Refused]) -> bool:
    from kcli.core.errors import NotFoundError

    return all(isinstance(error, NotFoundError) for _, error in refused)


def tell_overwritten(inv: Invocation, group: str, lost: int, partitions: int, why: str, act: str) -> None:
    """``lost`` of the ``partitions`` have another offset than was set. ``act``: what can be done again."""
    from kcli.flows.rewind.plan import NotPossibleError

    inv.failed(
        NotPossibleError(
            f"{lost} of {partitions} partitions of group {group} were overwritten",
            why=why,
            do=f"find out who commits for this group, and {act} again",
        )
    )


def tell_failed(inv: Invocation, group: str, errors: Iterable[KcliError]) -> None:
    """One error for each reason, however many partitions of the group it is about."""
    from kcli.core.errors import OutcomeUnknownError, PartlyFailedError, TimedOutError

    by_reason: dict[str, list[KcliError]] = {}
    for error in errors:
        by_reason.setdefault(error.why or error.what, []).append(error)
    for alike in by_reason.values():
        unsure = isinstance(alike[0], OutcomeUnknownError | TimedOutError)
        what = f"{len(alike)} partitions of group {group} {'are not confirmed' if unsure else 'failed'}"
        inv.failed(alike[0] if len(alike) == 1 else PartlyFailedError(what, alike[0]))


def tell_not_proven(inv: Invocation, report: GroupReport) -> None:
    """The partitions of a live group of which it is not known whether they are read from where they were set."""
    from kcli.flows.rewind.execute import NotProvenError

    open_ones = [(o, o.error) for o in report.outcomes if isinstance(o.error, NotProvenError)]
    by_reason: dict[str, list[str]] = {}
    for outcome, error in open_ones:
        by_reason.setdefault(error.why, []).append(str(outcome.item.tp))
    if not open_ones:
        return
    reasons = [f"{', '.join(places)}: {why}" for why, places in by_reason.items()]
    group, count = report.plan.group, len(open_ones)
    what = (
        f"{count} of {len(report.outcomes)} partitions of group {group} were set, but whether "
        f"{'it is' if count == 1 else 'they are'} read from there on is not known"
    )
    inv.failed(NotProvenError(what, why="; ".join(reasons), do=open_ones[0][1].do))
