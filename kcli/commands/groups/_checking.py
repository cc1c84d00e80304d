"""``kcli groups rewind GROUP --check ID``: a live rewind of the journal looked at again, and the journal updated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.shared.context import Invocation


def check(inv: Invocation, names: Sequence[str], journal_id: str, bound: float) -> int:
    """The exit status, as that of the rewind: 0, 6 where partitions are still unknown, 7 for overwritten ones."""
    from kcli.commands.groups._awaiting import new_watcher
    from kcli.commands.groups._live import read_history
    from kcli.commands.groups._settling import tell
    from kcli.commands.shared.orderly_end import orderly_end
    from kcli.core.clock import monotonic, wall_ms
    from kcli.core.errors import KcliError
    from kcli.flows.rewind.check import checked, outcomes
    from kcli.flows.rewind.execute import GroupReport
    from kcli.flows.rewind.journal import JournalError, Journals
    from kcli.flows.rewind.live_record import entry_of
    from kcli.flows.rewind.watching import BEFORE_MS, missing

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
            history = read_history(inv, admin, journal.group, since_ms=journal.live.let_in - BEFORE_MS)
            if history is None or not history.complete:
                history = None
                inv.talk.warn(
                    "the commits since then cannot be read from __consumer_offsets, only what is committed now"
                )
        told = admin.describe_groups([journal.group])[journal.group]
        group = None if isinstance(told, KcliError) else told
        found = checked(journal, history, monotonic(), wall_ms(), group)
        seen = watcher.watch(admin, [found.watched])[journal.group]
        known = outcomes(found, seen)
        absent = missing(found.plan.members, found.watched)
        error = None
        try:
            journals.update(
                journal.id,
                live=entry_of(found.watched.facts, seen.sentences, seen.seconds),
                statuses={one.item.tp: one.status for one in known},
            )
        except JournalError as not_written:
            error = not_written
        report = GroupReport(
            found.plan,
            tuple(known),
            kept=True,
            missing=absent,
            sent_out=len(found.watched.facts.sent_out),
            journal_error=error,
        )
        done = tell(inv, journals.cluster, [report])
    if watcher.interruption is not None:
        raise watcher.interruption
    return inv.finish(done=done)
