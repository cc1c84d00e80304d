"""What ``kcli segments restore`` does: the plan and its question, the copy, and the recovery point as its report."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kcli.account.survey import Missing
from kcli.commands.mirror.promoting import recovery_row
from kcli.commands.mirror.report import RESTORED, Rows, report
from kcli.commands.segments._paths import missing_file
from kcli.commands.shared.context import ClusterName, Invocation
from kcli.commands.shared.copy_plan import CopyShown, Names
from kcli.commands.shared.sides import Side
from kcli.core.addresses import cluster_place
from kcli.core.errors import KcliError
from kcli.core.offline.directories import Directories
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.state import RecoveryPoint
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.flows.segments.inventory import Inventory, take_inventory
from kcli.flows.segments.restore import Restore, lost_states, moved_on, rephrased
from kcli.flows.stop import Stop
from kcli.output.progress import counted

O = TypeVar("O", bound=ClientOptions)  # noqa: E741


class LogDirectories:
    """The source: log directories as a cluster. Nobody goes on with their transactions."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = [os.path.abspath(path) for path in paths]
        self.servers = cluster_place("", ",".join(self.paths))

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client; ``own`` by field name."""
        return kind(log_dirs=",".join(self.paths), log_dirs_transactions="end", **own)

    def narrowed(self, paths: Sequence[str]) -> None:
        """Reads these folders of what is there."""
        self.paths = list(paths)


class _Shown(CopyShown):
    """The observer of a restore."""

    def asked(self, plan: CopyPlan) -> tuple[list[str], list[str]]:
        """Whether to begin; a restore that continues never asks."""
        new = [route.target for route in plan.found.routes if plan.own.get(route.source) != route.target]
        return [f"restore {counted(len(new), 'topic')}"] if new else [], []

    def heading(self, plan: CopyPlan) -> str:
        """From where to where."""
        source, target = self.clusters(plan)
        return f"Restore {source} to {target}, job {plan.job}, exactly once"


def _inventory(inv: Invocation, source: LogDirectories, settings: MirrorSettings) -> Inventory:
    """Reads what is there. ConflictError where a broker goes on writing it."""
    directories = Directories(source.paths, inv.hooks)
    for one in directories.found.log_dirs:
        if one.live:
            raise ConflictError(
                f"a broker has {one.path} open",
                why="its transactions go on, and a restore takes them for ended",
                do="stop the broker, or restore from a snapshot of its disk; `kcli mirror` copies from running brokers",
            )
    for missing in directories.found.missing:
        inv.lacks(missing_file(missing.path, missing.why))
    read = 0
    with inv.progress("read") as bar:

        def progress(size: int) -> None:
            nonlocal read
            read += size
            bar.update(0, read)

        return take_inventory(directories, settings.topics, settings.excludes, progress)


def _points(inv: Invocation, restore: Restore) -> Mapping[TopicPartition, RecoveryPoint]:
    """What of the source the target has; nothing, and that is said, where the target cannot be asked any more."""
    try:
        return restore.points()
    except KcliError as error:
        inv.lacks(Missing("recovery points", "the target", error))
        return {}


def restore_topics(inv: Invocation, paths: Sequence[str], target: str, settings: MirrorSettings) -> int:
    """Restores what is selected; returns the exit status."""
    there = Side(inv, "--to", target, changes=True)
    here = LogDirectories(paths)
    shown = _Shown(inv, Names(ClusterName(here.servers, ""), there.name, "", there.option))
    inv.rephrase = rephrased
    inventory = _inventory(inv, here, settings)
    for lost in lost_states(inventory, groups=bool(settings.groups)):
        inv.lacks(lost)
    if inventory.chosen:  # else the selection is refused, by what is there
        here.narrowed(inventory.paths)
    with Restore(settings, here, there, shown, inventory, hooks=inv.hooks, timeout=inv.timeout) as restore:
        if not restore.prepare():
            return shown.end()
        with Stop() as stop:
            result = restore.copy(stop)
        points = _points(inv, restore)
        gaps = restore.gaps(points)
        for error in restore.losses(gaps):
            inv.failed(error)
        synced, said = moved_on(result.synced, gaps)
        for text in said:
            inv.talk.warn(text)
        result = result._replace(synced=synced)
    further = {
        tp: {**recovery_row(point), "gaps": [[gap.first, gap.last] for gap in gaps.get(tp, ())]}
        for tp, point in points.items()
    }
    return report(inv, result, stop, Rows("RestoreReport", "RestoredPartition", RESTORED, further))
