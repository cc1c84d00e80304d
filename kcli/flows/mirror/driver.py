"""A mirror from its start to its copy, whichever way it is run: in this process (``run.Mirror``), or by many tasks
(``kcli.pipeline.drivers.mirror.TaskMirror``).

The sequence, each a method:

1. ``prepare``: both clusters are contacted, the job has its name, and what earlier runs of it saved is read. From both
   follows where each partition begins, and all that stands in the way: permissions, settings of the target, loops,
   brokers that are too old. Nothing has been created yet when the observer refuses it; a dry run ends here.
2. ``create``: what the target lacks.
3. ``copy``, which each way does by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.state import JobState
from kcli.flows.mirror.plan.loops import jobs_that_write
from kcli.flows.mirror.plan.losses import check_losses
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.topics.configs import ConfigSync
from kcli.flows.mirror.topics.routes import parse_rename
from kcli.flows.mirror.topics.survey import Selection, Survey

if TYPE_CHECKING:
    from kcli.flows.mirror.follow.deleted import DeletedTopics
    from kcli.flows.mirror.follow.discovery import Discovery


class Driver:
    """One run of a job; ``with`` closes its clients. ``timeout`` (seconds): of a first contact, and of one call."""

    _source_keeps_all = False
    """Whether the source deletes nothing, whatever its configuration says: no broker runs there any more."""

    def __init__(
        self,
        settings: MirrorSettings,
        source: Cluster,
        target: Cluster,
        observer: Observer,
        *,
        hooks: Hooks,
        timeout: float,
    ) -> None:
        self._settings = settings
        self._source, self._target = source, target
        self._observer = observer
        self._hooks = hooks
        self._timeout = timeout
        self._stack = ExitStack()
        self._selection = Selection(
            settings.topics,
            [parse_rename(text) for text in settings.renames],
            settings.by_key,
            configs=ConfigSync(settings.sync_configs, dict(settings.configs)),
            excludes=settings.excludes,
            replicas=settings.replicas,
        )
        self._source_admin = self._admin(source, timeout)
        self._target_admin = self._admin(target, timeout)
        self._name: str

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def prepare(self) -> bool:
        """Makes the plan, and returns whether the observer lets it begin. Raises whatever stands against all of it."""
        for cluster, admin in ((self._source, self._source_admin), (self._target, self._target_admin)):
            with self._observer.contact(cluster.servers):
                admin.connect()
        settings, source_id = self._settings, self._source_admin.cluster_id()
        self._name = settings.job or self._default_name(source_id)
        plan = self._planned(source_id)
        if not plan.compares:
            check_losses(
                self._source_admin,
                plan,
                self._selection.configs,
                to_ms=settings.timestamps == "ms",
                now=wall_ms(),
                keeps_all=self._source_keeps_all,
            )
        return self._observer.may_begin(plan)

    def _default_name(self, source_id: str) -> str:
        """The name of a job without ``--job``. ``source_id``: of the source's cluster."""
        raise NotImplementedError

    def _planned(self, source_id: str) -> CopyPlan:
        """What is copied of each partition, and what stands against it. ``source_id``: of the source's cluster."""
        raise NotImplementedError

    def _jobs_on_source(self, admin: Admin, *, again: bool = False) -> list[JobState]:
        """See ``jobs_that_write``."""
        return jobs_that_write(
            self._source,
            admin,
            self._target_admin.cluster_id(),
            self._hooks,
            detail=self._observer.detail,
            again=again,
        )

    def _look_for_more(
        self,
        source: Admin,
        target: Admin,
        selection: Selection,
        found: Survey,
        copies: Iterable[PartitionCopy],
        deleted: DeletedTopics | None = None,
    ) -> Discovery:
        """What finds topics and partitions that appear while the job follows its source; with clients of its own."""
        from kcli.flows.mirror.follow.discovery import Discovery  # only of runs without an end

        return Discovery(
            source,
            target,
            selection,
            found,
            copies,
            jobs=lambda: self._jobs_on_source(source, again=True),
            headers=self._settings.headers,
            may_fill=self._observer.may_fill,
            deleted=deleted,
            restarts=self._settings.on_recreate == "restart",
        )

    def _admin(self, cluster: Cluster, timeout: float) -> Admin:
        return self._stack.enter_context(Admin(cluster.options(ClientOptions), self._hooks, timeout=timeout))
