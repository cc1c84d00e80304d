"""A plan of new committed offsets shown, asked about, carried out, told: rewind, import, copy and create do it alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.output.listing import list_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.groups._live import Guards
    from kcli.commands.shared.context import Invocation
    from kcli.core.admin.admin import Admin
    from kcli.core.errors import KcliError
    from kcli.flows.rewind.execute import GroupReport
    from kcli.flows.rewind.plan import GroupPlan, RewindPlan


@dataclass(frozen=True, slots=True)
class Manner:
    """``report``: the kind of what is printed at the end. ``only_look``: stop behind the plan, as a dry run does.

    ``stdout_taken``: the command has printed something else there, so neither plan nor report go to it. ``barriers`` are
    those of groups that are rewound as they run.
    """

    report: str = "RewindReport"
    only_look: bool = False
    stdout_taken: bool = False
    barriers: Guards | None = None


DEFAULT = Manner()


def confirm_and_execute(
    inv: Invocation, admin: Admin, plan: RewindPlan, failures: Sequence[KcliError], manner: Manner = DEFAULT
) -> int:
    """The exit status. ``failures``: why some of what was asked for is not in the plan."""
    from functools import partial

    from kcli.commands.groups import _rewind_text as text
    from kcli.commands.shared.confirm import confirm

    looks = inv.dry_run or manner.only_look or not plan.possible
    if looks and not manner.stdout_taken:
        _show(inv, plan)
    remarks = partial(_tell_left_out, inv, plan, failures)
    if looks:
        remarks()
        return inv.finish(done=plan.possible, also=_refusals(plan))
    ask = partial(confirm, inv) if manner.barriers is None else manner.barriers.confirm
    ask(text.plan_text(plan, _where(inv)), text.question(plan), remarks=remarks)
    return _carry_out(inv, admin, plan, manner)


def _carry_out(inv: Invocation, admin: Admin, plan: RewindPlan, manner: Manner) -> int:
    from kcli.commands.groups import _rewind_text as text
    from kcli.flows.rewind.execute import execute
    from kcli.flows.rewind.journal import Journals

    begun: list[GroupPlan] = []
    doors = manner.barriers.doors if manner.barriers is not None else None
    try:
        reports = execute(admin, plan, Journals(plan.cluster), written=begun.append, doors=doors)
    except BaseException:  # Ctrl-C, too: nobody knows then what was set
        for group in begun:
            inv.talk.warn(f"offsets may have been set; undo with: {text.undo_command(group)}")
        raise
    done = tell(inv, plan.cluster, reports, manner)
    if doors is not None and doors.watcher.interruption is not None:
        raise doors.watcher.interruption
    return inv.finish(done=done, also=_refusals(plan))


def tell(inv: Invocation, cluster: str, reports: Sequence[GroupReport], manner: Manner = DEFAULT) -> bool:
    """Reports what was done; whether anything was confirmed."""
    from kcli.commands.groups import _rewind_text as text

    done = False
    for report in reports:
        done = done or report.done > 0
        _tell_errors(inv, report)
        if report.error is None:
            inv.talk.note(text.done_text(report))
        if report.missing:
            inv.talk.warn(text.missing_text(report))
        if report.journal_error is not None:
            inv.talk.warn(text.not_recorded_text(report))
    if not manner.stdout_taken:  # last: a full disk or a reader that left must not hide how to undo it
        _print(inv, cluster, reports, manner.report)
    return done


# --- what is shown ---------------------------------------------------------------------------------------


def _show(inv: Invocation, plan: RewindPlan) -> None:
    from kcli.commands.groups import _rewind_rows as rows
    from kcli.commands.groups._lone_plan import show_alone
    from kcli.commands.groups._rewind_text import plan_text

    if plan.groups:
        text = plan_text(plan, _where(inv), dry=True)
        show_alone(inv, text, rows.PLAN, rows.plan_rows(plan), plan.cluster)


def _print(inv: Invocation, cluster: str, reports: Sequence[GroupReport], kind: str) -> None:
    from kcli.commands.groups import _rewind_rows as rows

    with list_rows(
        inv.out, kind, f"{kind}Item", rows.REPORT, cluster=cluster, warnings=inv.talk.warnings
    ) as printed:
        for report in reports:
            for row in rows.report_rows(report):
                printed.add(row)


def _where(inv: Invocation) -> str:
    brokers = str(inv.resolved.values["bootstrap_servers"])
    first, comma, _ = brokers.partition(",")
    return first + (",…" if comma else "")


# --- what is told of failures ----------------------------------------------------------------------------


def _refused(plan: RewindPlan) -> list[tuple[object, KcliError]]:
    """The partitions that are refused, of groups that are not."""
    items = (item for group in plan.groups if group.refusal is None for item in group.items)
    return [(item.tp, item.refusal) for item in items if item.refusal is not None]


def _refusals(plan: RewindPlan) -> tuple[int, ...]:
    from kcli.commands.groups._verdicts import refusal_codes

    return refusal_codes(_refused(plan), possible=plan.possible)


def _tell_left_out(inv: Invocation, plan: RewindPlan, failures: Sequence[KcliError]) -> None:
    """Why some of what was asked for will not be done."""
    from kcli.commands.groups._verdicts import tell_refused

    for error in (*failures, *(group.refusal for group in plan.groups if group.refusal)):
        inv.failed(error)
    tell_refused(inv, _refused(plan), possible=plan.possible)


def _tell_errors(inv: Invocation, report: GroupReport) -> None:
    """One error for each reason, however many partitions it is about."""
    from kcli.commands.groups._rewind_text import undone_text
    from kcli.commands.groups._verdicts import tell_failed, tell_not_proven, tell_overwritten
    from kcli.flows.groups.members import named
    from kcli.flows.rewind.execute import NotProvenError
    from kcli.flows.rewind.mark import marked_by

    if report.error is not None:
        if report.plan.refusal is None:  # what forbade the plan was told with it
            inv.failed(report.error)
            inv.talk.note(undone_text(report.plan))
        return
    failed = [o.error for o in report.outcomes if o.status in ("failed", "unknown") and o.error is not None]
    tell_failed(inv, report.plan.group, [one for one in failed if not isinstance(one, NotProvenError)])
    tell_not_proven(inv, report)
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        found, member = lost[0].found, lost[0].member
        seen = "no commit" if found is None else found.offset
        has = "" if member is None else f"; {named([member])} has it"
        rewind = marked_by(found)
        who = f"the rewind {rewind} from another machine" if rewind else "somebody else"
        why = f"{who} has set {lost[0].item.tp} to {seen}{has}"
        tell_overwritten(inv, report.plan.group, len(lost), len(report.outcomes), why, "rewind")
