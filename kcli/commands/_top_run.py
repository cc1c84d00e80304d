"""What ``kcli top`` does: first contact, then the screen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kcli.commands._top_screen import revealed, run_screen
from kcli.commands.shared.cluster import admin_options, connect, open_admin, unique
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    names = unique(flags["names"])
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
    options = admin_options(inv)
    feed = LiveFeed(lambda: _monitor(inv, options, names), flags["interval"])
    app = TopApp(feed, Facts("cluster", cluster))
    return run_screen(app, revealed(options)) or inv.finish(done=True)


@contextmanager
def _monitor(inv: Invocation, options: ClientOptions, names: Sequence[str]) -> Iterator[Monitor]:
    latencies = Latencies(inv.hooks)
    with Admin(options, latencies.hooks, timeout=inv.timeout) as admin:
        yield Monitor(admin, latencies, Wanted(tuple(names)))
