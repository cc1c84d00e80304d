"""The first contact of ``kcli top``: the client that reaches the cluster goes on to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.cluster import admin_options, connect, described_groups, unique
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.record_consumer import record_consumer
from kcli.commands.top.options import TopOptions
from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ClientOptions
from kcli.flows.lag.recording import check_appendable
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.tui.feed import LiveFeed

if TYPE_CHECKING:
    from kcli.flows.mirror.job.jobs_reader import JobsReader

_INTERVAL = 2.0


@dataclass(frozen=True, slots=True)
class Live:
    """A cluster that was reached: ``groups`` were named and exist."""

    options: ClientOptions
    cluster: str
    groups: tuple[str, ...]
    feed: LiveFeed


def first_contact(inv: Invocation, asked: TopOptions) -> Live | None:
    """A feed that goes on with the client of the first contact; None where no group that was named exists."""
    options, latencies = admin_options(inv), Latencies(inv.hooks)
    with ExitStack() as clients:
        admin = clients.enter_context(Admin(options, latencies.hooks, timeout=inv.timeout))
        cluster = connect(inv, admin)
        names = tuple(described_groups(inv, admin, unique(asked.names)))
        if asked.names and not names:
            return None
        record = _recorder(inv, asked.record)
        monitor = Monitor(admin, latencies, Wanted(names), jobs=partial(_jobs_reader, inv))
        kept = clients.pop_all()

    @contextmanager
    def open_monitor() -> Iterator[Monitor]:
        with kept:
            admin.cluster.loop.adopt()
            yield monitor

    return Live(options, cluster, names, LiveFeed(open_monitor, asked.interval or _INTERVAL, record))


def _jobs_reader(inv: Invocation) -> JobsReader:
    from kcli.flows.mirror.job.jobs_reader import JobsReader  # only for the screen of mirrors

    return JobsReader(lambda: record_consumer(inv, NO_HOOKS))


def _recorder(inv: Invocation, path: str | None) -> Any:
    if path is None:
        return None
    if inv.dry_run:
        inv.talk.note("--dry-run: nothing is done for --record")
        check_appendable(path, create=False)
        return None
    from kcli.flows.monitor.recording import append_reading  # only with --record

    check_appendable(path)
    return partial(append_reading, path)
