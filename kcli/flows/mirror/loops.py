"""Mirrors that copy the other way: two of them would copy the same records for ever. Pure.

Only a job that writes to the source can be seen here; a circle of three clusters needs ``--headers`` on each mirror.
"""

from collections.abc import Iterable, Sequence

from kcli.flows.mirror.preflight import Finding
from kcli.flows.mirror.routes import Route
from kcli.flows.mirror.state import JobState, is_running


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
        for route in routes:
            if job.topics.get(route.target) != route.source:
                continue
            if is_running(job, now):
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
