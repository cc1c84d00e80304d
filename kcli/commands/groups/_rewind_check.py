"""``kcli groups rewind GROUP --check ID``: a live rewind of the journal is judged again, and the journal updated."""

from collections.abc import Sequence

from kcli.commands.groups._record_consumer import record_consumer
from kcli.commands.groups._watch_progress import new_watcher
from kcli.commands.shared.changing import report_change
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.usage import usage
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.check import check
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.plan import RewindPlan
from kcli.flows.rewind.watching import BEFORE_MS


def check_rewind(inv: Invocation, names: Sequence[str], journal_id: str, bound: float) -> int:
    """The exit status, as that of the rewind: 0, 6 where partitions are still unknown, 7 for overwritten ones."""
    if len(names) > 1:
        raise usage(
            "groups rewind: --check with several groups",
            why="a rewind in the journal is of one group",
            do="name the group of the rewind",
        )
    with orderly_end(), open_admin(inv) as admin:
        watcher = new_watcher(inv, admin, bound)
        journals = Journals(connect(inv, admin))
        journal = journals.of(names[0], journal_id)
        history = None
        if journal.live is not None:
            log = OffsetsLog(admin, lambda: record_consumer(inv), inv.timeout)
            history = log.history(journal.group, journal.live.released_ms - BEFORE_MS)
            if history is None or not history.complete:
                history = None
                inv.talk.warn(
                    "the commits since then cannot be read from __consumer_offsets, only what is committed now"
                )
        report = check(admin, journals, journal, history, watcher)
        plan = RewindPlan(journals.cluster, (report.plan,))
        change = OffsetsChange(lambda _admin: plan, inv.cluster_name, again=False, dry=False)
        change.interruption = watcher.interruption
        return report_change(inv, journals.cluster, change, change.settled([report]))
