"""What ``kcli exporter`` does: first contact, then samples and scrapes until a signal."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from threading import Event

from kcli.commands.exporter.clusters import Cluster, clusters
from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError, ConnectError, NotKafkaError, TimedOutError
from kcli.core.extras import installation
from kcli.exporter.address import parse_address
from kcli.exporter.exposition import labels_of
from kcli.exporter.loop import Collecting, Loop, open_readers
from kcli.exporter.server import READY, STOPPING, notify
from kcli.flows.lag.measure import EXACT
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import USUAL, Lookups
from kcli.output.sanitise import visible_line

_ESTIMATES = Lookups(most=100_000, again_ms=0)
"""With every sample, and for more than are in 2,000 groups with 20 partitions each: that is 0.5 s of CPU time."""


def run(inv: Invocation, asked: ExporterOptions) -> int:
    """Ends by a signal only: SystemExit or KeyboardInterrupt."""
    parse_address(asked.serving.listen)
    wanted = Wanted(
        accepts_group=_pattern("--groups", asked.groups),
        accepts_topic=_pattern("--topics", asked.topics),
    )
    try:
        from kcli.exporter.health import ClusterSite  # an optional extra
    except ImportError as error:
        if not (error.name or "").startswith("prometheus_client"):
            raise
        raise ConfigError(
            "kcli exporter needs prometheus-client", why="it is not installed", do=installation("exporter")
        ) from None
    found = clusters(inv, asked.profiles)
    several, ended = len(found) > 1, Event()
    loops = {one.name: _loop(inv, asked, one, wanted, ended, several=several) for one in found}
    samples = {name: partial(getattr, loop, "state") for name, loop in loops.items()}
    with orderly_end():
        server = asked.serving.server(ClusterSite(samples, labelled=several), inv.talk.warn)
        try:
            for one in found:
                _first_contact(inv, one, _where(one, several=several))
            asked.serving.warn_of_strangers(server.address, inv.talk.warn)
            server.start()
            inv.out.text(f"{server.url}\n")
            inv.out.flush()
            for loop in loops.values():
                loop.start()
            for loop in loops.values():
                loop.first.wait()
            notify(READY)
            ended.wait()
        finally:
            notify(STOPPING)
            server.close()
            for loop in loops.values():
                loop.close()
    raise next(loop.error for loop in loops.values() if loop.error is not None)  # nothing else ends it


def _loop(
    inv: Invocation, asked: ExporterOptions, one: Cluster, wanted: Wanted, ended: Event, *, several: bool
) -> Loop:
    lookups = USUAL if asked.time == EXACT else _ESTIMATES
    where = _where(one, several=several)
    return Loop(
        lambda: open_readers(one.options, wanted, lookups, inv.hooks, one.timeout, asked.collectors),
        Collecting(asked.time, asked.collectors, wanted.accepts_topic),
        interval=asked.interval,
        most=asked.max_series,
        warn=lambda text: inv.talk.write(visible_line(f"warning: {where}{text}")),
        label=labels_of(("cluster",), (one.name,))[1:-2] if several else "",
        ended=ended,
    )


def _pattern(flag: str, text: str | None) -> Callable[[str], bool] | None:
    """Whether a whole name matches."""
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{flag} {text} is not a regular expression",
            why=str(error),
            do=f"for example: {flag} 'billing-.*'",
        ) from None
    return lambda name: pattern.fullmatch(name) is not None


def _where(one: Cluster, *, several: bool) -> str:
    """What warnings begin with."""
    return f"{one.name}: " if several else ""


def _first_contact(inv: Invocation, one: Cluster, where: str) -> None:
    """A cluster that is away may come back; everything else that is wrong ends the command."""
    try:
        with Admin(one.options, inv.hooks, timeout=one.timeout) as admin, inv.first_contact(one.servers):
            inv.cluster_id = admin.cluster_id()
    except NotKafkaError:
        raise
    except (ConnectError, TimedOutError) as error:
        inv.talk.warn(f"{where}no cluster yet, trying again: {error}")
