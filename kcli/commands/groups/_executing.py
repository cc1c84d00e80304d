"""A plan of new committed offsets is shown, confirmed, executed and reported: by rewind, import, copy and create."""

from collections.abc import Iterator, Sequence
from functools import partial

from kcli.commands.groups import _rewind_rows as rows
from kcli.commands.groups import _rewind_text as text
from kcli.commands.groups._partition_errors import (
    failed_errors,
    lost_metadata_error,
    not_proven_error,
    overwritten_error,
    overwrote_error,
    refusal_codes,
    refused_remarks,
    report_remarks,
)
from kcli.commands.shared.confirm import TimeLimit, confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.own_names import own_group_danger
from kcli.core.types import TopicPartition
from kcli.flows.groups.members import named
from kcli.flows.rewind.execute import LiveRewind, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.outcomes import GroupReport, NotProvenError, unchanged_report
from kcli.flows.rewind.plan import GroupPlan, RewindPlan
from kcli.output.progress import counted

_RELEASED = "nothing was committed; the members continue from what they had committed"


def confirm_and_execute(
    inv: Invocation,
    admin: Admin,
    plan: RewindPlan,
    failures: Sequence[KcliError],
    *,
    kind: str = "RewindReport",
    exported: bool = False,
    live: LiveRewind | None = None,
) -> int:
    """The exit status. ``failures``: why some of what was requested is not in the plan. ``live``: groups with members
    are rewound as they run.

    A plan that changes nothing is confirmed by what was read for it: nobody is asked, and only --yes commits again.

    ``exported``: stdout has the plan as a csv already, so neither plan nor report go there, and only --yes executes it.
    """
    plan_only = inv.dry_run or (exported and not inv.yes) or not plan.possible
    asks = plan.possible and (inv.yes or any(map(text.changes, plan.groups)))
    name, danger = _own_group(plan) if asks else (None, None)
    if plan_only and not exported and plan.groups:
        shown = text.plan_text(plan, inv.cluster_name, dry=True)
        shown = shown if danger is None else f"{shown}\n{danger}."
        show_plan_only(inv, shown, rows.PLAN, rows.plan_rows(plan), plan.cluster)
    also = refusal_codes(_refused(plan), possible=plan.possible)
    remarks = partial(report_remarks, inv, plan_remarks(plan, failures))
    if plan_only:
        remarks()
        return inv.finish(done=plan.possible, also=also)
    until = live.barriers.until if live is not None else None
    limit = None if until is None else TimeLimit(until, _RELEASED)
    shown = text.plan_text(plan, inv.cluster_name)
    if not asks:
        show_plan(inv, shown)
        remarks()
        reports = [unchanged_report(group) for group in plan.groups]
        done = report_executed(inv, plan.cluster, reports, None if exported else kind, tried=False)
        return inv.finish(done=done, also=also)
    confirm(
        inv,
        shown,
        text.question(plan),
        name=name,
        subject=subject(plan),
        danger=danger,
        limit=limit,
        remarks=remarks,
    )
    begun: list[GroupPlan] = []
    try:
        reports = execute(admin, plan, Journals(plan.cluster), written=begun.append, live=live)
    except BaseException:  # Ctrl-C, too: it is not known then what was set
        for group in begun:
            inv.talk.warn(f"offsets may have been set; undo with: {text.undo_command(group)}")
        raise
    done = report_executed(inv, plan.cluster, reports, None if exported else kind)
    if live is not None and live.watcher.interruption is not None:
        raise live.watcher.interruption
    return inv.finish(done=done, also=also)


def subject(plan: RewindPlan) -> str | None:
    """The group, for a confirmation by name; None for several groups."""
    names = [group.group for group in plan.groups]
    return names[0] if len(names) == 1 else None


def _own_group(plan: RewindPlan) -> tuple[str | None, str | None]:
    """The group of kcli's own that the plan changes, and what it is; a usage error beside other groups."""
    own = {group.group: danger for group in plan.groups if (danger := own_group_danger(group.group))}
    if own and len(plan.groups) > 1:
        name, danger = next(iter(own.items()))
        raise usage(
            f"{counted(len(plan.groups), 'group')} at once, and {name} among them",
            why=f"{danger}, so its name has to be typed; nothing was done",
            do=f"leave out {name}, or change it alone",
        )
    return next(iter(own.items()), (None, None))


def report_executed(
    inv: Invocation,
    cluster: str,
    reports: Sequence[GroupReport],
    kind: str | None = "RewindReport",
    *,
    tried: bool = True,
) -> bool:
    """Reports what was done, on stdout as a document of this kind; returns whether anything was confirmed. ``tried``:
    not where there was nothing to do.
    """
    for report in reports:
        _report_errors(inv, report)
        if report.error is None:
            inv.talk.note(text.done_text(report) if tried else text.nothing_text(report))
        if any(outcome.without_metadata for outcome in report.outcomes):
            inv.talk.warn(text.without_metadata_text(report))
        if report.missing:
            inv.talk.warn(text.missing_text(report))
        if report.journal_error is not None:
            inv.talk.warn(text.not_recorded_text(report))
    if kind is not None:  # last: a full disk or a closed pipe must not hide how to undo it
        printed = (row for report in reports for row in rows.report_rows(report))
        print_rows(inv, kind, rows.REPORT, printed, cluster)
    return any(report.done for report in reports)


def _refused(plan: RewindPlan) -> list[tuple[TopicPartition, KcliError]]:
    """The partitions that are refused, of groups that are not."""
    items = (item for group in plan.groups if group.refusal is None for item in group.items)
    return [(item.tp, item.refusal) for item in items if item.refusal is not None]


def plan_remarks(plan: RewindPlan, failures: Sequence[KcliError]) -> list[KcliError | str]:
    """Why some of what was requested will not be done. Pure."""
    refusals = [group.refusal for group in plan.groups if group.refusal]
    return [*failures, *refusals, *refused_remarks(_refused(plan), possible=plan.possible)]


def _report_errors(inv: Invocation, report: GroupReport) -> None:
    if report.error is not None:
        if report.plan.refusal is None:  # a refusal was reported with the plan
            inv.failed(report.error)
            inv.talk.note(text.undone_text(report.plan))
        return
    for error in outcome_errors(report):
        inv.failed(error)


def outcome_errors(report: GroupReport) -> Iterator[KcliError]:
    """One error for each reason, for all partitions that it concerns. Pure."""
    group = report.plan.group
    failed = [o.error for o in report.outcomes if o.status in ("failed", "unknown") and o.error is not None]
    yield from failed_errors(group, [one for one in failed if not isinstance(one, NotProvenError)])
    if (not_proven := not_proven_error(report)) is not None:
        yield not_proven
    if (lost_metadata := lost_metadata_error(report)) is not None:
        yield lost_metadata
    if (replaced := overwrote_error(report)) is not None:
        yield replaced
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        found, member = lost[0].found, lost[0].member
        offset = "no commit" if found is None else found.offset
        owner = "" if member is None else f"; {named([member])} owns it"
        rewind = marked_by(found)
        who = f"the rewind {rewind} from another machine" if rewind else "another client"
        why = f"{who} has set {lost[0].item.tp} to {offset}{owner}"
        yield overwritten_error(group, len(lost), len(report.outcomes), why, "rewind")
