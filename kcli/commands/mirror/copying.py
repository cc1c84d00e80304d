"""What ``kcli mirror run`` does with two clusters: run the driver, show it, and report."""

from contextlib import ExitStack

from kcli.commands.mirror.report import report
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, names_of
from kcli.commands.shared.serving import Serving, served
from kcli.commands.shared.sides import Side, source_side
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.stop import Stop


def copy_topics(
    inv: Invocation, source: str | None, target: str, settings: MirrorSettings, serving: Serving | None
) -> int:
    """Runs the mirror; returns the exit status. ``serving``: where its figures are served meanwhile."""
    here = source_side(inv, source)
    there = Side(inv, "--to", target, changes=True)
    shown = CopyShown(inv, names_of(here, there))
    with ExitStack() as stack:
        handover = None
        if serving is not None:
            from kcli.exporter.mirror_site import MirrorSite  # with metrics: only where they are served
            from kcli.flows.mirror.figures import Handover

            handover = Handover()
            stack.enter_context(served(inv, serving, MirrorSite(handover)))
        mirror = stack.enter_context(
            Mirror(settings, here, there, shown, hooks=inv.hooks, timeout=inv.timeout, handover=handover)
        )
        if not mirror.prepare():
            return shown.end()
        with Stop() as stop:
            result = mirror.copy(stop)
        return report(inv, result, stop)
