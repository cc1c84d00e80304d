"""``groups import --zookeeper``: the plan shown, asked about, carried out, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.commands.groups._zookeeper_option import open_zookeeper
from kcli.output.listing import list_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.shared.context import Invocation
    from kcli.flows.transfer.importing import Aim
    from kcli.flows.transfer.zookeeper.importing import NodeReport
    from kcli.flows.transfer.zookeeper.planning import NodePlan
    from kcli.flows.transfer.zookeeper.session import ZooKeeper


def import_into_zookeeper(
    inv: Invocation, hosts: str, chosen: Sequence[Aim], words: str, *, force: bool
) -> int:
    """The exit status. ``words`` say what is imported."""
    from functools import partial

    from kcli.commands.groups import _zookeeper_rows as rows
    from kcli.commands.groups._lone_plan import show_alone
    from kcli.commands.groups._verdicts import refusal_codes
    from kcli.commands.shared.confirm import confirm
    from kcli.core.clock import wall_ms
    from kcli.flows.transfer.zookeeper.importing import survey_nodes

    with open_zookeeper(inv, hosts) as zookeeper:
        plan = survey_nodes(zookeeper, chosen, words, wall_ms(), force=force)
        looks = inv.dry_run or not plan.possible
        if looks:
            text = rows.plan_text(plan, hosts, dry=True)
            show_alone(inv, text, rows.PLAN, rows.plan_rows(plan), plan.cluster)
        if looks:
            _tell_left_out(inv, plan)
            return inv.finish(done=plan.possible, also=refusal_codes(plan.refused, possible=plan.possible))
        remarks = partial(_tell_left_out, inv, plan)
        confirm(inv, rows.plan_text(plan, hosts), rows.question(plan), remarks=remarks)
        return _carry_out(inv, zookeeper, plan, hosts)


def _tell_left_out(inv: Invocation, plan: NodePlan) -> None:
    """Why some of what was asked for will not be done."""
    from kcli.commands.groups._verdicts import report_refused

    for group in plan.groups:
        if group.refusal is not None:
            inv.failed(group.refusal)
    report_refused(inv, plan.refused, possible=plan.possible)


def _carry_out(inv: Invocation, zookeeper: ZooKeeper, plan: NodePlan, hosts: str) -> int:
    from kcli.commands.groups import _zookeeper_rows as rows
    from kcli.commands.groups._verdicts import refusal_codes
    from kcli.flows.transfer.zookeeper.importing import execute_nodes

    begun: list[bool] = []
    try:
        reports, kept = execute_nodes(zookeeper, plan, begun=begun.append)
    except BaseException:  # Ctrl-C, too: nobody knows then what was set
        for kept in begun:
            undo = f"; undo with: {rows.undo_command(plan, hosts)}" if kept else ", where there were none"
            inv.talk.warn(f"offsets may have been set{undo}")
        raise
    for report in reports:
        _tell(inv, report)
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


def _tell(inv: Invocation, report: NodeReport) -> None:
    """One error for each reason, however many partitions it is about; then what was done."""
    from kcli.commands.groups import _zookeeper_rows as rows
    from kcli.commands.groups._verdicts import report_failed, report_overwritten

    group = report.plan.group
    if report.error is not None and report.plan.refusal is None:  # what forbade the plan was told with it
        inv.failed(report.error)
    failed = [o.error for o in report.outcomes if o.status in ("failed", "unknown") and o.error is not None]
    report_failed(inv, group, failed)
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        found = "deleted it" if lost[0].found is None else f"set it to {lost[0].found}"
        why = f"{lost[0].item.place}: somebody else has {found}"
        report_overwritten(inv, group, len(lost), len(report.outcomes), why, "import")
    if report.count("refused") < len(report.outcomes):
        inv.talk.note(rows.done_text(report))
