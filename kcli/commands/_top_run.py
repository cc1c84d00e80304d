"""What ``kcli top`` does: first contact, then the screen, which is loaded while the first reading is on its way.

Without Textual: that is loaded by ``_top_app.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from kcli.commands.shared.cluster import admin_options, connect, described_groups, unique
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.flows.lag.recording import check_appendable
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.output.progress import counted
from kcli.tui.feed import LiveFeed

_INTERVAL = 2.0


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster that was reached: ``groups`` were named and exist."""

    options: ClientOptions
    cluster: str
    groups: tuple[str, ...]
    feed: LiveFeed


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    # What is read has no cycles, and is many objects: a search of them all for garbage would keep a key waiting. It comes
    # with every hundredth search of what is new, about twice a minute, in place of every tenth.
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    if flags["replay"] is not None:
        from kcli.commands._top_app import replay  # loads Textual

        return replay(inv, flags)
    live = first_contact(inv, flags)
    if live is None:
        return inv.finish(done=False)
    with closing(live.feed) as feed:
        feed.begin()
        # Loads Textual; meanwhile the cluster answers.
        from kcli.commands._top_app import watch

        ended = watch(inv, flags, live)
    if feed.unrecorded:
        what = (
            f"{feed.unrecorded:,} of {counted(feed.unrecorded + feed.recorded, 'reading')} were not recorded"
        )
        why = f"{feed.record_failure}" if feed.record_failure is not None else ""
        inv.failed(
            ConfigError(f"{what} in {flags['record']}", why=why, do="free space, or record in another file"),
            partly=True,
        )
    return ended or inv.finish(done=True)


def first_contact(inv: Invocation, flags: dict[str, Any]) -> Live | None:
    """A feed that goes on with the client of the first contact; None where no group that was named exists."""
    options, latencies = admin_options(inv), Latencies(inv.hooks)
    with ExitStack() as clients:
        admin = clients.enter_context(Admin(options, latencies.hooks, timeout=inv.timeout))
        cluster = connect(inv, admin)
        names = tuple(described_groups(inv, admin, unique(flags["names"])))
        if flags["names"] and not names:
            return None
        record = _recorder(flags["record"])
        monitor = Monitor(admin, latencies, Wanted(names))
        kept = clients.pop_all()

    @contextmanager
    def open_monitor() -> Iterator[Monitor]:
        with kept:
            admin.cluster.loop.adopt()
            yield monitor

    return Live(options, cluster, names, LiveFeed(open_monitor, flags["interval"] or _INTERVAL, record))


def _recorder(path: str | None) -> Any:
    if path is None:
        return None
    from kcli.flows.monitor.recording import append_reading  # only with --record

    check_appendable(path)
    return partial(append_reading, path)
