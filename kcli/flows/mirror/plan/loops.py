"""Mirrors that copy the other way: two of them would copy the same records for ever.

Only a job that writes to the source can be seen here; a circle of three clusters needs ``--headers`` on each mirror.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.job.group_position import group_jobs
from kcli.flows.mirror.job.state import JobState, is_running
from kcli.flows.mirror.job.status import KnownJob, known_jobs
from kcli.flows.mirror.settings import Cluster
from kcli.flows.mirror.topics.preflight import Finding
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.mirror.topics.survey import Survey


def jobs_that_write(
    cluster: Cluster,
    admin: Admin,
    other_cluster: str,
    hooks: Hooks,
    *,
    detail: Callable[[str], object],
    again: bool = False,
) -> list[JobState]:
    """The jobs that write to one side, those of ``kcli pipeline mirror`` only where they copy from ``other_cluster``.

    What this client may not read is left out: without the permission there is no guard against loops. ``again``: the
    caller tries again later, so an error that may pass is raised. Nothing writes to log directories.
    """
    if admin.cluster.directories is not None:
        return []
    jobs: list[JobState] = []
    readers: tuple[Callable[[], list[JobState]], ...] = (
        lambda: [_as_it_runs(job) for job in known_jobs(cluster, admin, hooks)],
        lambda: group_jobs(admin, other_cluster),
    )
    for read in readers:
        try:
            jobs += read()
        except KcliError as error:
            if again and may_pass(error):
                raise
            detail(f"whether mirrors write to {cluster.servers} is not known: {error}")
    return jobs


def _as_it_runs(job: KnownJob) -> JobState:
    """Its state, with what is known now of whether it runs."""
    if job.runs is None:
        return job.saved.state
    return msgspec.structs.replace(job.saved.state, ended=not job.runs, updated_ms=wall_ms())


def add_loops(found: Survey, jobs: Iterable[JobState], *, headers: bool) -> None:
    """Adds to the findings that a job copies the other way. ``jobs``: those that write to the source."""
    conflicts, warnings = returning_routes(
        found.routes, jobs, found.target_cluster, headers=headers, now=wall_ms()
    )
    found.findings.conflicts.extend(conflicts)
    found.findings.warnings.extend(warnings)


def copies_of_target(jobs: Iterable[JobState], target_cluster: str) -> set[str]:
    """Topics of the source that its jobs have copied from the target under another name.

    Where both are one cluster, these are all copies within it, those of earlier runs of the job as well.
    """
    if not target_cluster:
        return set()
    return {
        copy
        for job in jobs
        if job.source == target_cluster
        for name, copy in job.topics.items()
        if copy != name
    }


def returning_routes(
    routes: Sequence[Route], jobs: Iterable[JobState], target_cluster: str, *, headers: bool, now: int
) -> tuple[list[Finding], list[Finding]]:
    """Conflicts and warnings for routes that a job on the source copies back. ``jobs``: those that write to the source.

    A conflict if the job is running, a warning if it is not. With a header on both ways there is none.
    """
    conflicts: list[Finding] = []
    warnings: list[Finding] = []
    for job in jobs:
        if not target_cluster or job.source != target_cluster or (headers and job.headers):
            continue
        if job.promoted_ms:  # it copies nothing any more; its way back begins behind what it has copied
            continue
        for route in routes:
            if job.topics.get(route.target) != route.source:
                continue
            if is_running(job, now) and job.selects(route.target):
                what = f"mirror job {job.job} copies {route.target} of the target to {route.source}: an endless loop"
                do = "give the copy another name (--map-topic), or use --headers on both mirrors"
                conflicts.append(Finding(route, what, do))
            else:
                what = f"mirror job {job.job} has copied {route.target} of the target to {route.source}"
                which = (
                    "unless --headers is given"
                    if job.headers
                    else "since they have no header with their origin"
                )
                warnings.append(Finding(route, f"{what}: its records are copied back {which}"))
    return conflicts, warnings
