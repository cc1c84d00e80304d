"""What the two ways of ``kcli exporter``, to serve pages and to write one, have in common: who samples a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event

from kcli.commands.exporter.clusters import Cluster, clusters
from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.shared.context import Invocation
from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.exporter.exposition import labels_of
from kcli.exporter.loop import Collecting, Loop, Readers, open_readers
from kcli.flows.lag.measure import EXACT
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import USUAL, Lookups
from kcli.output.sanitise import visible_line

_ESTIMATES = Lookups(most=100_000, again_ms=0)
"""With every sample, and for more than are in 2,000 groups with 20 partitions each: that is 0.5 s of CPU time."""


class Sampler:
    """Of one cluster; ``where`` is what warnings begin with where there are ``several``."""

    def __init__(
        self, inv: Invocation, asked: ExporterOptions, cluster: Cluster, wanted: Wanted, *, several: bool
    ) -> None:
        self._inv, self._asked, self._wanted, self.cluster = inv, asked, wanted, cluster
        self.where = f"{cluster.name}: " if several else ""
        self._label = labels_of(("cluster",), (cluster.name,))[1:-2] if several else ""

    def open_readers(self) -> AbstractContextManager[Readers]:
        """The clients, for the thread that samples."""
        one, lookups = self.cluster, USUAL if self._asked.lag_time == EXACT else _ESTIMATES
        return open_readers(
            one.options, self._wanted, lookups, self._inv.hooks, one.timeout, self._asked.collectors
        )

    def loop(self, ended: Event, warn: Callable[[str], object] | None = None) -> Loop:
        """``warn``: instead of warnings on stderr."""
        return Loop(
            self.open_readers,
            Collecting(self._asked.lag_time, self._asked.collectors, self._wanted.accepts_topic),
            interval=self._asked.interval,
            most=self._asked.max_series,
            warn=self._warn if warn is None else warn,
            label=self._label,
            ended=ended,
        )

    def _warn(self, text: str) -> None:
        self._inv.talk.write(visible_line(f"warning: {self.where}{text}"))


def samplers(inv: Invocation, asked: ExporterOptions) -> list[Sampler]:
    """One for each cluster. ConfigError for what was asked for wrongly, or if prometheus_client is not installed."""
    wanted = Wanted(
        accepts_group=_pattern("--groups", asked.groups),
        accepts_topic=_pattern("--topics", asked.topics),
    )
    try:
        import kcli.exporter.health  # noqa: F401 - an optional extra
    except ImportError as error:
        if not (error.name or "").startswith("prometheus_client"):
            raise
        raise ConfigError(
            "kcli exporter needs prometheus-client", why="it is not installed", do=installation("exporter")
        ) from None
    found = clusters(inv, asked.profiles)
    return [Sampler(inv, asked, one, wanted, several=len(found) > 1) for one in found]


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
