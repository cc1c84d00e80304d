"""What ``kcli mirror run`` does with two clusters: run the driver, show it, and report."""

from kcli.commands.mirror.report import report
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import CopyShown, names_of
from kcli.commands.shared.sides import Side
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.stop import Stop


def copy_topics(inv: Invocation, source: str, target: str, settings: MirrorSettings) -> int:
    """Runs the mirror; returns the exit status."""
    here = Side(inv, "--from", source, changes=False)
    there = Side(inv, "--to", target, changes=True)
    shown = CopyShown(inv, names_of(here, there))
    with Mirror(settings, here, there, shown, hooks=inv.hooks, timeout=inv.timeout) as mirror:
        if not mirror.prepare():
            return shown.end()
        with Stop() as stop:
            result = mirror.copy(stop)
        return report(inv, result, stop)
