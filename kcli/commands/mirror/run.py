"""What ``kcli mirror`` does with two clusters: runs the driver, shows it, and reports."""

from kcli.commands.mirror.report import report
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.copy_plan import Names, may_begin, may_fill, names_of
from kcli.commands.shared.sides import Side
from kcli.core.exit_codes import ExitCode
from kcli.flows.mirror.plan import CopyPlan
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.stop import Stop


def run(inv: Invocation, source: str, target: str, settings: MirrorSettings) -> int:
    """Runs the mirror; returns the exit status."""
    here = Side(inv, "--from", source, changes=False)
    there = Side(inv, "--to", target, changes=not settings.verify_only)
    shown = Shown(inv, names_of(here, there))
    with Mirror(settings, here, there, shown, hooks=inv.hooks, timeout=inv.timeout) as mirror:
        if not mirror.prepare():
            return ExitCode.DONE
        if not settings.verify_only:
            mirror.create()
        with Stop() as stop:
            result = mirror.compare(stop) if settings.verify_only else mirror.copy(stop)
        return report(inv, result, stop)


class Shown:
    """The observer of a mirror: the terminal, and the options of the command."""

    def __init__(self, inv: Invocation, names: Names) -> None:
        self._inv = inv
        self._names = names
        self.dry_run = inv.dry_run
        self.may_fill = may_fill(inv)
        self.contact, self.progress, self.failed = inv.first_contact, inv.progress, inv.failed
        self.note, self.warn, self.detail = inv.talk.note, inv.talk.warn, inv.talk.detail

    def may_begin(self, plan: CopyPlan) -> bool:
        """See ``Observer``."""
        return may_begin(self._inv, self._names, plan)
