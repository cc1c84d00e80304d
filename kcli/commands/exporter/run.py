"""What ``kcli exporter`` does: first contact, then samples and scrapes until a signal."""

from __future__ import annotations

import re
from collections.abc import Callable

from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.shared.cluster import admin_options, connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.core.errors import ConfigError, ConnectError, NotKafkaError, TimedOutError
from kcli.core.extras import installation
from kcli.exporter.address import parse_address
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
    options = admin_options(inv)
    lookups = USUAL if asked.time == EXACT else _ESTIMATES
    loop = Loop(
        lambda: open_readers(options, wanted, lookups, inv.hooks, inv.timeout, asked.collectors),
        Collecting(asked.time, asked.collectors, wanted.accepts_topic),
        interval=asked.interval,
        most=asked.max_series,
        warn=lambda text: inv.talk.write(visible_line(f"warning: {text}")),
    )
    with orderly_end():
        server = asked.serving.server(ClusterSite(lambda: loop.state), inv.talk.warn)
        try:
            _first_contact(inv)
            asked.serving.warn_of_strangers(server.address, inv.talk.warn)
            server.start()
            inv.out.text(f"{server.url}\n")
            inv.out.flush()
            loop.start()
            loop.first.wait()
            notify(READY)
            loop.ended.wait()
        finally:
            notify(STOPPING)
            server.close()
            loop.close()
    assert loop.error is not None  # nothing else ends it
    raise loop.error


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


def _first_contact(inv: Invocation) -> None:
    """A cluster that is away may come back; everything else that is wrong ends the command."""
    try:
        with open_admin(inv) as admin:
            connect(inv, admin)
    except NotKafkaError:
        raise
    except (ConnectError, TimedOutError) as error:
        inv.talk.warn(f"no cluster yet, trying again: {error}")
