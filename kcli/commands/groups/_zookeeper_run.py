"""``--zookeeper`` of export and import. An import shows its plan, asks, sets the offsets, and reports the outcome."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from kcli.commands.groups import _zookeeper_rows as rows
from kcli.commands.groups._partition_errors import (
    failed_errors,
    overwritten_error,
    refusal_codes,
    report_refused,
)
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.core.clock import wall_ms
from kcli.core.types import TopicPartition
from kcli.flows.transfer.exporting import Export
from kcli.flows.transfer.importing import ImportTarget
from kcli.flows.transfer.zookeeper.hosts import parse_hosts
from kcli.flows.transfer.zookeeper.importing import NodeReport, execute_nodes, survey_nodes, unchanged_report
from kcli.flows.transfer.zookeeper.planning import NodePlan
from kcli.flows.transfer.zookeeper.reading import export_zookeeper
from kcli.flows.transfer.zookeeper.session import ZooKeeper


@contextmanager
def open_zookeeper(inv: Invocation, hosts: str) -> Iterator[ZooKeeper]:
    """Reports it when connecting takes long; ``--debug=proto`` shows the log messages of the client."""
    log = (lambda text: inv.hooks.log("debug", "proto", text)) if "proto" in inv.areas else None
    zookeeper = ZooKeeper(parse_hosts(hosts), timeout=inv.timeout, log=log)
    with inv.first_contact(str(zookeeper.hosts)):
        zookeeper.open()
    try:
        yield zookeeper
    finally:
        zookeeper.close()


def read_offsets(
    inv: Invocation, hosts: str, names: Sequence[str] | None, wanted: Callable[[TopicPartition], bool]
) -> Export:
    """The offsets of these groups (None: of all) in ZooKeeper."""
    with open_zookeeper(inv, hosts) as zookeeper:
        return export_zookeeper(zookeeper, names, wanted, at_ms=wall_ms())


def import_into_zookeeper(
    inv: Invocation, hosts: str, targets: Sequence[ImportTarget], words: str, *, force: bool
) -> int:
    """The exit status. ``words`` describe what is imported."""
    inv.read_profile()
    with open_zookeeper(inv, hosts) as zookeeper:
        plan = survey_nodes(zookeeper, targets, words, wall_ms(), force=force)
        remarks = partial(_report_refused, inv, plan)
        if inv.dry_run or not plan.possible:
            text = rows.plan_text(plan, hosts, dry=True)
            show_plan_only(inv, text, rows.PLAN, rows.plan_rows(plan), plan.cluster)
            remarks()
            return inv.finish(done=plan.possible, also=refusal_codes(plan.refused, possible=plan.possible))
        text = rows.plan_text(plan, hosts)
        if not inv.yes and not plan.changes:  # confirmed by what was read for it, as of a rewind
            show_plan(inv, text)
            remarks()
            return _report(
                inv, plan, hosts, [unchanged_report(group) for group in plan.groups], has_backup=False
            )
        confirm(inv, text, rows.question(plan), remarks=remarks)
        return _execute(inv, zookeeper, plan, hosts)


def _report_refused(inv: Invocation, plan: NodePlan) -> None:
    """Reports why some offsets will not be set."""
    for group in plan.groups:
        if group.refusal is not None:
            inv.failed(group.refusal)
    report_refused(inv, plan.refused, possible=plan.possible)


def _execute(inv: Invocation, zookeeper: ZooKeeper, plan: NodePlan, hosts: str) -> int:
    started: list[bool] = []
    try:
        reports, has_backup = execute_nodes(zookeeper, plan, before_write=started.append)
    except BaseException:  # Ctrl-C, too: it is not known then what was set
        for has_backup in started:
            undo = (
                f"; undo with: {rows.undo_command(plan, hosts)}" if has_backup else ", where there were none"
            )
            inv.talk.warn(f"offsets may have been set{undo}")
        raise
    return _report(inv, plan, hosts, reports, has_backup=has_backup)


def _report(
    inv: Invocation, plan: NodePlan, hosts: str, reports: Sequence[NodeReport], *, has_backup: bool
) -> int:
    """The exit status."""
    for report in reports:
        _report_group(inv, report, tried=plan.changes or inv.yes)
    if has_backup:
        inv.talk.note(f"undo with: {rows.undo_command(plan, hosts)}")
    backup = plan.backup if has_backup else None
    printed = (row for report in reports for row in rows.report_rows(report, backup))
    # last: a full disk or a reader that left must not hide how to undo it
    print_rows(inv, "OffsetImportReport", rows.REPORT, printed, plan.cluster)
    return inv.finish(
        done=any(report.count("verified") for report in reports),
        also=refusal_codes(plan.refused, possible=plan.possible),
    )


def _report_group(inv: Invocation, report: NodeReport, *, tried: bool) -> None:
    """One error for each reason, however many partitions it concerns; then what was done."""
    group = report.plan.group
    if report.error is not None and report.plan.refusal is None:  # a refusal was reported with the plan
        inv.failed(report.error)
    failed = [o.error for o in report.outcomes if o.status in ("failed", "unknown") and o.error is not None]
    for error in failed_errors(group, failed):
        inv.failed(error)
    lost = [outcome for outcome in report.outcomes if outcome.status == "overwritten"]
    if lost:
        change = "deleted it" if lost[0].found is None else f"set it to {lost[0].found}"
        why = f"{lost[0].item.node}: another client has {change}"
        inv.failed(overwritten_error(group, len(lost), len(report.outcomes), why, "import"))
    if report.count("refused") < len(report.outcomes):
        inv.talk.note(rows.done_text(report) if tried else rows.nothing_text(report))
