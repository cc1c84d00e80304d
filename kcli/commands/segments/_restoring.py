"""What ``kcli segments restore`` does: the plan and its question, the copy, and the recovery point as its report."""

from collections.abc import Sequence
from dataclasses import replace

from kcli.commands.mirror.promoting import RECOVERY, recovery_row
from kcli.commands.mirror.report import COLUMNS, Rows, report
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, names_of
from kcli.commands.shared.sides import Side
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.segments.restore import Restore
from kcli.flows.stop import Stop
from kcli.output.progress import counted

_AT_A_GLANCE = ("topic", "partition", "target", "records", "state", "error", "copied_to", "copied_time", "may_be_missing")
RESTORED = tuple(replace(one, wide=one.key not in _AT_A_GLANCE) for one in (*COLUMNS, *RECOVERY))


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


def restore_topics(inv: Invocation, paths: Sequence[str], target: str, settings: MirrorSettings) -> int:
    """Restores what is selected; returns the exit status."""
    here = source_of(inv, paths)
    there = Side(inv, "--to", target, changes=True)
    shown = _Shown(inv, names_of(here, there))
    with Restore(settings, here, there, shown, hooks=inv.hooks, timeout=inv.timeout) as restore:
        if not restore.prepare():
            return shown.end()
        with Stop() as stop:
            result = restore.copy(stop)
        points = restore.points()
    further = {tp: recovery_row(point) for tp, point in points.items()}
    return report(inv, result, stop, Rows("RestoreReport", "RestoredPartition", RESTORED, further))


def source_of(inv: Invocation, paths: Sequence[str]) -> Side:
    """The log directories as a cluster."""
    return Side(inv, "--from", paths[0], changes=False)
