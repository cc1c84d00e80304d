"""What ``kcli exporter`` serves; and its own metrics, by prometheus_client: those of a state and of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric as Collected
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from kcli.core.clock import monotonic
from kcli.core.version import __version__
from kcli.exporter import metrics
from kcli.exporter.exposition import OPENMETRICS, Packed, packed
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metric import COUNTER, Metric


class ClusterSite:
    """``sample`` returns what was sampled last. A ``server.Site``."""

    title = "kcli exporter"

    def __init__(self, sample: Callable[[], LastSample]) -> None:
        self._sample, self._health = sample, Health()
        self.checks = {"/healthz": self._trouble}

    def parts(self, form: str, scrapes: int) -> list[Packed]:
        """See Site."""
        now, state = monotonic(), self._sample()
        parts = [self._health.part(form, state, now, scrapes)]
        if state.page is not None and not state.trouble(now):
            parts += state.page.text.parts(form)
        return parts

    @property
    def state(self) -> str:
        """See Site."""
        return self._trouble() or "The last sample succeeded."

    def _trouble(self) -> str:
        return self._sample().trouble(monotonic())


class Health:
    """The exporter's own metrics."""

    def __init__(self) -> None:
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)

    def part(self, form: str, state: LastSample, now: float, scrapes: int) -> Packed:
        """The beginning of a page; ``scrapes``: how many were sent so far."""
        registry = CollectorRegistry()
        registry.register(_Once([*self._of(state, now, scrapes), *self._process.collect()]))
        if form == OPENMETRICS:
            text: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
            return packed(text.removesuffix(b"# EOF\n"))
        return packed(generate_latest(registry))

    def _of(self, state: LastSample, now: float, scrapes: int) -> Iterator[Collected]:
        shown = state.page if not state.trouble(now) else None
        values: dict[Metric, float | None] = {
            metrics.UP: int(shown is not None),
            metrics.LAST_SUCCESS: state.wall,
            metrics.AGE: state.age(now),
            metrics.SAMPLE_SECONDS: state.seconds,
            metrics.SERIES: 0 if shown is None else shown.text.samples,
            metrics.DROPPED: 0 if shown is None else shown.dropped,
            metrics.PROBLEMS: state.problems,
            metrics.SAMPLES: state.samples,
            metrics.FAILURES: state.failures,
            metrics.SENT: state.requests,
            metrics.SCRAPES: scrapes,
        }
        for metric, value in values.items():
            if value is not None:
                family = CounterMetricFamily if metric.kind == COUNTER else GaugeMetricFamily
                yield family(metric.name, metric.text, value=value, unit=metric.unit)
        yield InfoMetricFamily(metrics.VERSION.name, metrics.VERSION.text, value={"version": __version__})


class _Once(Collector):
    def __init__(self, families: list[Collected]) -> None:
        self._families = families

    def collect(self) -> list[Collected]:
        return self._families
