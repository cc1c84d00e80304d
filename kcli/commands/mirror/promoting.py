"""What ``kcli mirror promote`` does with two clusters: the plan and its question, the promotion, its recovery point."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.mirror.report import GROUP_COLUMNS, POINT, RECOVERY, lack_groups, print_groups
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import names_of
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.sides import Side
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import ConnectError, TimedOutError
from kcli.core.names import DEFAULT_JOB
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.state import JobState, RecoveryPoint, SavedJob
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.job.writer import Target, read_jobs
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.promotion.promote import (
    Promoted,
    PromotedMirror,
    complete,
    find_job,
    promote_without_source,
)
from kcli.flows.mirror.promotion.recovery_point import objections, points_of, recovery_point
from kcli.flows.mirror.result import mismatches
from kcli.flows.mirror.topics.preflight import Login
from kcli.flows.stop import Stop
from kcli.output.envelope import item_of
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table, time_text

COLUMNS = (
    *POINT[:3],
    *RECOVERY,
    Column(
        "gaps",
        wide=True,
        values="spans",
        meaning="First and last offset of what was not copied before copied_to.",
    ),
    Column(
        "why", "prose", meaning="Why it is not copied to its end; null where there is nothing to be said."
    ),
)
PLAN_COLUMNS = (
    *POINT,
    Column("note", "prose"),
    Column(
        "status",
        values=("planned", "unchanged", "refused"),
        meaning="What would become of it; unchanged: the job is promoted already.",
    ),
)
PLAN_HEAD = (
    Column("target_cluster", meaning="Id of the target."),
    Column("job", values="string", meaning="Name of the job."),
    Column("source_lost", values="boolean", meaning="Whether the source is not contacted."),
)
HEAD = (
    *PLAN_HEAD,
    Column("promoted_at", "time", values="time", meaning="When the job was promoted."),
    Column(
        "unknown_since",
        "time",
        values="time?",
        meaning="What the source has accepted since then is not known; null where its ends were read at the promotion.",
    ),
    Column(
        "groups",
        values="objects",
        inner=GROUP_COLUMNS,
        sometimes=True,
        meaning="Of a job with --sync-groups: the offsets of the groups. In ndjson they are lines of their own.",
    ),
)


def promote_job(
    inv: Invocation,
    source: str,
    target: str,
    name: str | None,
    *,
    source_lost: bool,
    max_wait: float,
    verify: bool,
) -> int:
    """Promotes the job, or shows the recovery point of one that was promoted; returns the exit status."""
    here = Side(inv, "--from", source, changes=False)
    there = Side(inv, "--to", target, changes=True)
    with Admin(there.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
        with inv.first_contact(target):
            admin.connect()
        own = Target(there, admin, inv.hooks, inv.timeout)
        source_id = "" if source_lost else _cluster_id(inv, here, source)
        jobs = read_jobs(own)
        if not any(
            one.job == (name or DEFAULT_JOB) for one in jobs
        ):  # an open transaction may hide a new job
            jobs = saved_jobs(there, admin, inv.hooks)
        job, saved = find_job(jobs, name or DEFAULT_JOB, source_id, here.servers)
        shown = _PromotionShown(inv, here, there, saved.state, source_lost=source_lost)
        if saved.promotion is not None:
            if not saved.promotion.promotion.finished and not inv.dry_run:
                return _report(
                    inv, admin, complete(own, job, here, source_lost=source_lost, timeout=inv.timeout)
                )
            return _report(inv, admin, Promoted(job, saved.state, saved.promotion, anew=False))
        if source_lost:
            points = _points_now(saved)
            if not shown.agrees(points, saved.state.topics, admin.cluster_id()):
                return inv.finish(done=True)
            with Stop() as stop:
                promoted = promote_without_source(own, job, stop, shown)
                return _ended(inv, admin, promoted, stop)
        with PromotedMirror(
            saved,
            here,
            there,
            shown,
            verify=verify,
            max_wait=max_wait,
            hooks=inv.hooks,
            timeout=inv.timeout,
        ) as mirror:
            if not mirror.prepare():
                return inv.finish(done=True)
            with Stop() as stop:
                return _ended(inv, admin, mirror.promote(stop), stop)


def _cluster_id(inv: Invocation, side: Side, named: str) -> str:
    try:
        with (
            Admin(side.options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin,
            inv.first_contact(named),
        ):
            return admin.cluster_id() or side.servers
    except (ConnectError, TimedOutError) as error:
        error.do = "--source-lost promotes the job without its source; else see that the source is up"
        raise


def _points_now(saved: SavedJob) -> dict[TopicPartition, RecoveryPoint]:
    """As far as is known before anything is taken over: a running job still copies."""
    return {
        tp: recovery_point(tp.partition, one, None, None, "")
        for tp, one in sorted(saved.partitions.items())
        if saved.state.selects(tp.topic)
    }


class _PromotionShown(Shown):
    """The observer of a promotion: shows the plan, and asks."""

    may_fill = False

    def __init__(
        self, inv: Invocation, source: Side, target: Side, state: JobState, *, source_lost: bool
    ) -> None:
        super().__init__(inv)
        self._names = names_of(source, target)
        self._state, self._source_lost = state, source_lost

    def may_begin(self, plan: CopyPlan) -> bool:
        """See ``Observer``: of a source that can be reached."""
        names = self._names
        now = wall_ms()
        points = {
            one.source: RecoveryPoint(
                partition=one.source.partition,
                target_partition=one.target.partition,
                copied_to=one.start,
                source_end=-1 if one.end is None else one.end,
                seen_ms=-1 if one.end is None else now,
                why="" if one.error is None else str(one.error),
            )
            for one in plan.items
        }
        refusal = plan.refusal(
            Login(names.source_option, names.source.user), Login(names.target_option, names.target.user)
        )
        if refusal is not None:
            raise refusal
        for warning in plan.acls.warnings if plan.acls is not None else ():
            self.warn(warning)
        remarks = plan.acls.lines() if plan.acls is not None else []
        targets = {one.source.topic: one.target.topic for one in plan.items}
        agrees = self.agrees(points, targets, plan.found.target_cluster, remarks)
        for error in dict.fromkeys(one.error for one in plan.items if not agrees):
            if error is not None:
                self.failed(error, partly=True)
        return agrees

    def agrees(
        self,
        points: Mapping[TopicPartition, RecoveryPoint],
        targets: Mapping[str, str],
        target_cluster: str,
        remarks: Sequence[str] = (),
    ) -> bool:
        """Shows the plan and asks; False for a dry run."""
        inv, state = self._inv, self._state
        rows = [_point_row(tp, targets.get(tp.topic, tp.topic), point) for tp, point in points.items()]
        lines = [
            f"Promote mirror job {state.job}: no instance copies any more, and the target may be written",
            f"  source {state.source or state.source_servers}"
            + (", not contacted: lost" if self._source_lost else ""),
            *indented_table((*POINT, Column("why", "prose")), rows),
            *remarks,
        ]
        sentence = f"Promote mirror job {state.job}{' without its source' if self._source_lost else ''}?"
        if inv.dry_run:
            show_plan(inv, "\n".join(lines))
            if inv.out.list_kind() in ("json", "ndjson", "yaml", "csv", "tsv"):
                head = {"target_cluster": target_cluster, "job": state.job, "source_lost": self._source_lost}
                planned = [{"note": row.pop("why"), **row, "status": "planned"} for row in rows]
                print_rows(
                    inv, "MirrorPromotionPlan", PLAN_COLUMNS, planned, state.source, item="MirrorPromotionPlanItem",
                    head=head,
                )  # fmt: skip
        return confirm(inv, "" if inv.dry_run else "\n".join(lines), sentence, name=state.job)


def _ended(inv: Invocation, admin: Admin, promoted: Promoted | None, stop: Stop) -> int:
    if promoted is None:
        inv.talk.note("stopped: nothing was promoted; the same command continues from here")
        return inv.finish(done=False, also=[stop.exit_code])
    return _report(inv, admin, promoted)


def _report(inv: Invocation, admin: Admin, promoted: Promoted) -> int:
    """Prints the recovery point; returns the exit status."""
    state, saved = promoted.state, promoted.saved
    for comparison in promoted.comparisons:
        for error in mismatches(comparison, to_end=False):
            inv.failed(error)
    if saved is None:
        inv.talk.note(
            "nothing was promoted: source and target differ; --no-verify promotes the job all the same"
        )
        return inv.finish(done=False)
    head: dict[str, Any] = {
        "target_cluster": admin.cluster_id(),
        "job": state.job,
        "source_lost": saved.promotion.source_lost,
        "promoted_at": time_text(saved.promotion.promoted_ms),
        "unknown_since": time_text(since) if (since := saved.promotion.unknown_since_ms) > 0 else None,
    }
    groups = [row for one in saved.groups.values() for row in one.offsets]
    not_set = lack_groups(inv, promoted.groups)
    if groups:
        head["groups"] = [item_of(GROUP_COLUMNS, row) for row in groups]
    rows = (_row(tp, saved.topics[tp.topic].target, point) for tp, point in points_of(saved).items())
    if not promoted.anew:
        inv.talk.note(f"mirror job {state.job} was promoted before: nothing is changed")
    print_rows(inv, "MirrorPromotion", COLUMNS, rows, state.source, item="PromotedPartition", head=head)
    print_groups(inv, "MirrorPromotion", groups, state.source)
    inv.talk.note(_summary(promoted))
    for error in [*promoted.errors, *objections(state.job, saved), *not_set]:
        inv.failed(error, partly=True)
    for error in promoted.acls.errors if promoted.acls is not None else ():
        inv.failed(error, partly=True)
    return inv.finish(done=True)


def _row(tp: TopicPartition, target: str, point: RecoveryPoint) -> dict[str, Any]:
    return {
        **_point_row(tp, target, point),
        **recovery_row(point),
        "gaps": [[gap.first, gap.last] for gap in point.gaps],
    }


def _point_row(tp: TopicPartition, target: str, point: RecoveryPoint) -> dict[str, Any]:
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "target": target,
        **_reached(point),
        "why": point.why or None,
    }


def recovery_row(point: RecoveryPoint) -> dict[str, Any]:
    """The values of ``RECOVERY``."""
    return {
        **_reached(point),
        "target_offset": _known(point.target_offset),
        "stored_beyond": point.stored_beyond,
    }


def _reached(point: RecoveryPoint) -> dict[str, Any]:
    return {
        "copied_to": point.copied_to,
        "copied_time": _known(point.copied_ms),
        "source_end_seen": _known(point.source_end),
        "seen_at": _known(point.seen_ms),
        "may_be_missing": point.may_be_missing,
    }


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def _summary(promoted: Promoted) -> str:
    saved = promoted.saved
    assert saved is not None
    points = points_of(saved)
    text = f"mirror job {promoted.state.job} is promoted since {time_text(saved.promotion.promoted_ms)}"
    parts = [text, counted(len(points), "partition")]
    equal = sum(one.equal for one in promoted.comparisons)
    if promoted.comparisons:
        parts.append(f"{equal} of {counted(len(promoted.comparisons), 'partition')} equal")
    return ", ".join(parts)
