"""A plan of new committed offsets shown, asked about, carried out, told: rewind, import, copy and create do it alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcli.commands._context import Invocation
    from kcli.core.admin.admin import Admin
    from kcli.core.errors import KcliError
    from kcli.flows.rewind.execute import GroupReport
    from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan

STRUCTURED = ("json", "ndjson", "yaml", "csv", "tsv")


@dataclass(frozen=True, slots=True)
class Manner:
    """``report``: the kind of what is printed at the end. ``only_look``: stop behind the plan, as a dry run does.

    ``stdout_taken``: the command has printed something else there, so neither plan nor report go to it.
    """

    report: str = "RewindReport"
    only_look: bool = False
    stdout_taken: bool = False


DEFAULT = Manner()


def settle(
    inv: Invocation, admin: Admin, plan: RewindPlan, failures: Sequence[KcliError], manner: Manner = DEFAULT
) -> int:
    """The exit status. ``failures``: why some of what was asked for is not in the plan."""
    from kcli.commands.groups import _rewind_text as text

    looks = inv.dry_run or manner.only_look or not plan.possible
    if looks and not manner.stdout_taken:
        _show(inv, plan)
    for error in (*failures, *(group.refusal for group in plan.groups if group.refusal)):
        inv.failed(error)
    _tell_refused(inv, plan)
    if looks:
        return inv.finish(done=plan.possible, also=_refusals(plan))
    inv.confirm(text.plan_text(plan, _where(inv)), text.question(plan))
    return _carry_out(inv, admin, plan, manner)


def _carry_out(inv: Invocation, admin: Admin, plan: RewindPlan, manner: Manner) -> int:
    from kcli.commands.groups import _rewind_text as text
    from kcli.flows.rewind.execute import execute
    from kcli.flows.rewind.journal import Journals

    begun: list[GroupPlan] = []
    try:
        reports = execute(admin, plan, Journals(plan.cluster), written=begun.append)
    except BaseException:  # Ctrl-C, too: nobody knows then what was set
        for group in begun:
            inv.talk.warn(f"offsets may have been set; undo with: {text.undo_command(group)}")
        raise
    done = False
    for report in reports:
        done = done or report.count("verified") > 0
        _tell_errors(inv, report)
        if report.error is None:
            inv.talk.note(text.done_text(report))
    if not manner.stdout_taken:  # last: a full disk or a reader that left must not hide how to undo it
        _print(inv, plan, reports, manner.report)
    return inv.finish(done=done, also=_refusals(plan))


# --- what is shown ---------------------------------------------------------------------------------------


def _show(inv: Invocation, plan: RewindPlan) -> None:
    """The plan alone: on stdout of a dry run, as rows for programs; else on stderr."""
    from kcli.commands.groups import _rewind_rows as rows
    from kcli.commands.groups import _rewind_text as text

    if not plan.groups:
        return
    if not inv.dry_run:
        inv.talk.plain(text.plan_text(plan, _where(inv), dry=True))
    elif inv.out.kind in (*STRUCTURED, "name"):
        with inv.out.rows(
            "RewindPlan", "RewindPlanItem", rows.PLAN, cluster=plan.cluster, warnings=inv.talk.warnings
        ) as printed:
            for row in rows.plan_rows(plan):
                printed.add(row)
    else:
        inv.out.shown(text.plan_text(plan, _where(inv), dry=True) + "\n")
        inv.out.flush()


def _print(inv: Invocation, plan: RewindPlan, reports: Sequence[GroupReport], kind: str) -> None:
    from kcli.commands.groups import _rewind_rows as rows

    with inv.out.rows(
        kind, f"{kind}Item", rows.REPORT, cluster=plan.cluster, warnings=inv.talk.warnings
    ) as printed:
        for report in reports:
            for row in rows.report_rows(report):
                printed.add(row)


def _where(inv: Invocation) -> str:
    brokers = str(inv.resolved.values["bootstrap_servers"])
    first, comma, _ = brokers.partition(",")
    return first + (",…" if comma else "")


# --- what is told of failures ----------------------------------------------------------------------------


def _refused(plan: RewindPlan) -> Iterator[tuple[GroupPlan, RewindItem, KcliError]]:
    for group in plan.groups:
        for item in group.items:
            if item.refusal is not None:
                yield group, item, item.refusal


def _refusals(plan: RewindPlan) -> tuple[int, ...]:
    """6 where some partitions are left out; where nothing can be done 1 if none of them exists, else 7."""
    from kcli.core.errors import NotFoundError

    errors = [error for _, _, error in _refused(plan)]
    if not errors:
        return ()
    if plan.possible:
        return (6,)
    return (1,) if all(isinstance(error, NotFoundError) for error in errors) else (7,)


def _tell_refused(inv: Invocation, plan: RewindPlan) -> None:
    """Once for each remedy; the reason of each partition stands in the plan."""
    from kcli.core.errors import NotFoundError
    from kcli.flows.rewind.plan import NotPossibleError

    by_remedy: dict[str, list[tuple[RewindItem, KcliError]]] = {}
    for group, item, error in _refused(plan):
        if group.refusal is None:
            by_remedy.setdefault(error.do, []).append((item, error))
    for do, refused in by_remedy.items():
        item, error = refused[0]
        more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        if not plan.possible:
            absent = all(isinstance(error, NotFoundError) for _, error in refused)
            kind, verb = (NotFoundError, "do not exist") if absent else (NotPossibleError, "cannot be set")
            what = f"{item.where}{more} {verb}" if more else error.what
            inv.failed(kind(what, why=error.why or error.what, do=do))
        elif do:
            inv.talk.warn(f"{item.where}{more} refused: {do}")


def _tell_errors(inv: Invocation, report: GroupReport) -> None:
    """One error for each reason, however many partitions it is about."""
    from kcli.core.errors import PartlyFailedError
    from kcli.flows.rewind.plan import NotPossibleError

    if report.error is not None:
        if report.plan.refusal is None:  # what forbade the plan was told with it
            inv.failed(report.error)
        return
    by_reason: dict[str, list[KcliError]] = {}
    for outcome in report.outcomes:
        if outcome.status in ("failed", "unknown") and outcome.error is not None:
            by_reason.setdefault(outcome.error.why or outcome.error.what, []).append(outcome.error)
    for errors in by_reason.values():
        first = errors[0]
        if len(errors) == 1:
            inv.failed(first)
        else:
            inv.failed(
                PartlyFailedError(f"{len(errors)} partitions of group {report.plan.group} failed", first)
            )
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        found = lost[0].found
        inv.failed(
            NotPossibleError(
                f"{len(lost)} of {len(report.outcomes)} partitions of group {report.plan.group} were overwritten",
                why=f"somebody else has set {lost[0].item.where} to {'no commit' if found is None else found.offset}",
                do="find out who commits for this group, and rewind again",
            )
        )
