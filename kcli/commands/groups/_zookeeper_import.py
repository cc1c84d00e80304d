"""``groups import --zookeeper``: shows the plan, asks for confirmation, sets the offsets, and reports the outcome."""

from collections.abc import Sequence
from functools import partial

from kcli.commands.groups import _zookeeper_rows as rows
from kcli.commands.groups._lone_plan import show_alone
from kcli.commands.groups._verdicts import refusal_codes, report_failed, report_overwritten, report_refused
from kcli.commands.groups._zookeeper_session import open_zookeeper
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.core.clock import wall_ms
from kcli.flows.transfer.importing import ImportTarget
from kcli.flows.transfer.zookeeper.importing import NodeReport, execute_nodes, survey_nodes
from kcli.flows.transfer.zookeeper.planning import NodePlan
from kcli.flows.transfer.zookeeper.session import ZooKeeper
from kcli.output.listing import list_rows


def import_into_zookeeper(
    inv: Invocation, hosts: str, targets: Sequence[ImportTarget], words: str, *, force: bool
) -> int:
    """The exit status. ``words`` describe what is imported."""
    with open_zookeeper(inv, hosts) as zookeeper:
        plan = survey_nodes(zookeeper, targets, words, wall_ms(), force=force)
        remarks = partial(_report_refused, inv, plan)
        if inv.dry_run or not plan.possible:
            text = rows.plan_text(plan, hosts, dry=True)
            show_alone(inv, text, rows.PLAN, rows.plan_rows(plan), plan.cluster)
            remarks()
            return inv.finish(done=plan.possible, also=refusal_codes(plan.refused, possible=plan.possible))
        confirm(inv, rows.plan_text(plan, hosts), rows.question(plan), remarks=remarks)
        return _execute(inv, zookeeper, plan, hosts)


def _report_refused(inv: Invocation, plan: NodePlan) -> None:
    """Reports why some offsets will not be set."""
    for group in plan.groups:
        if group.refusal is not None:
            inv.failed(group.refusal)
    report_refused(inv, plan.refused, possible=plan.possible)


def _execute(inv: Invocation, zookeeper: ZooKeeper, plan: NodePlan, hosts: str) -> int:
    begun: list[bool] = []
    try:
        reports, kept = execute_nodes(zookeeper, plan, begun=begun.append)
    except BaseException:  # Ctrl-C, too: it is not known then what was set
        for kept in begun:
            undo = f"; undo with: {rows.undo_command(plan, hosts)}" if kept else ", where there were none"
            inv.talk.warn(f"offsets may have been set{undo}")
        raise
    for report in reports:
        _report_group(inv, report)
    if kept:
        inv.talk.note(f"undo with: {rows.undo_command(plan, hosts)}")
    with list_rows(
        inv.out,  # last: a full disk or a reader that left must not hide how to undo it
        "OffsetImportReport",
        "OffsetImportReportItem",
        rows.REPORT,
        cluster=plan.cluster,
        warnings=inv.talk.warnings,
    ) as printed:
        for report in reports:
            for row in rows.report_rows(report, plan.kept if kept else None):
                printed.add(row)
    return inv.finish(
        done=any(report.count("verified") for report in reports),
        also=refusal_codes(plan.refused, possible=plan.possible),
    )


def _report_group(inv: Invocation, report: NodeReport) -> None:
    """One error for each reason, however many partitions it concerns; then what was done."""
    group = report.plan.group
    if report.error is not None and report.plan.refusal is None:  # a refusal was reported with the plan
        inv.failed(report.error)
    failed = [o.error for o in report.outcomes if o.status in ("failed", "unknown") and o.error is not None]
    report_failed(inv, group, failed)
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        change = "deleted it" if lost[0].found is None else f"set it to {lost[0].found}"
        why = f"{lost[0].item.node}: another client has {change}"
        report_overwritten(inv, group, len(lost), len(report.outcomes), why, "import")
    if report.count("refused") < len(report.outcomes):
        inv.talk.note(rows.done_text(report))
