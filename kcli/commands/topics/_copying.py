"""What ``kcli topics copy`` does with records: a run of a mirror job whose source and target are one cluster."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from shlex import quote
from typing import Any, TypeVar

from kcli.commands.mirror.report import report
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, Names
from kcli.commands.shared.params import Rate
from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings, Pace
from kcli.flows.stop import Stop
from kcli.flows.topics.copy import Pair, job_name, look, misfits, remarks, rephrased

O = TypeVar("O", bound=ClientOptions)  # noqa: E741

_OPTIONS = ("--config", "--max-wait", "--rate", "--settings-only")
"""Of ``topics copy``, which remedies of a mirror may name."""


class _OwnCluster:
    """The cluster of the command, as the source and the target of a mirror."""

    def __init__(self, inv: Invocation) -> None:
        self._inv = inv
        self.servers = inv.resolved.servers

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client; ``own`` by field name."""
        return self._inv.inner_options(kind, **own)


class _Shown(CopyShown):
    """The observer of the copy of one topic, which knows what does not fit."""

    def __init__(self, inv: Invocation, names: Names, pair: Pair) -> None:
        super().__init__(inv, names)
        self._pair = pair

    def may_begin(self, plan: CopyPlan) -> bool:
        """As of a mirror, where a topic of the copy's name fits."""
        pair, conflicts = self._pair, plan.found.findings.conflicts
        conflicts[:] = misfits(pair, plan) or conflicts
        return super().may_begin(plan._replace(remarks=[*remarks(pair, plan), *plan.remarks]))

    def heading(self, plan: CopyPlan) -> str:
        """The topics, and the cluster."""
        _source, target = self.clusters(plan)
        return f"Copy topic {self._pair.source} to {self._pair.target} on {target}, exactly once"


def copy_records(
    inv: Invocation,
    source: str,
    target: str,
    given: Mapping[str, str],
    rate: Rate | None,
    max_wait: float | None,
) -> int:
    """Copies and compares; returns the exit status."""
    with open_admin(inv) as admin:
        connect(inv, admin)
        cluster = _OwnCluster(inv)
        pair = look(admin, source, target, given)
        job = _job(inv, cluster, admin, pair)
    profile = inv.resolved.profile
    named = quote(cluster.servers if profile is None else profile.name)
    option = f"-b {named}" if profile is None else f"--profile {named}"
    inv.rephrase = partial(rephrased, pair=pair, job=job, cluster=named, options=_OPTIONS)
    settings = MirrorSettings(
        topics=(source,),
        renames=(f"{source}={target}",),
        exactly_once=True,
        until_caught_up=True,
        verify=True,
        job=job,
        configs=tuple(pair.written.items()),
        pace=Pace(records_per_second=rate.records, bytes_per_second=rate.bytes) if rate else Pace(),
        max_wait=max_wait,
    )
    shown = _Shown(inv, Names(inv.cluster_name, inv.cluster_name, option, option), pair)
    with ExitStack() as stack:
        mirror = stack.enter_context(
            Mirror(settings, cluster, cluster, shown, hooks=inv.hooks, timeout=inv.timeout)
        )
        if not mirror.prepare():
            return shown.end()
        with Stop() as stop:
            result = mirror.copy(stop)
        return report(inv, result, stop)


def _job(inv: Invocation, cluster: _OwnCluster, admin: Admin, pair: Pair) -> str:
    """The name of the job. Where it would be a new one for a topic that exists, a transaction that a kill has left open
    may have what is missing: its end is waited for.
    """
    own = inv.cluster_id or cluster.servers
    jobs = saved_jobs(cluster, admin, inv.hooks, wait=False)
    name = job_name(pair, own, jobs)
    if pair.copy is None or JobId(own, name) in jobs:
        return name
    return job_name(pair, own, saved_jobs(cluster, admin, inv.hooks))
