"""What ``kcli exporter`` serves; and its own metrics, by prometheus_client: those of states and of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric as Collected
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from kcli.core.clock import monotonic
from kcli.core.version import __version__
from kcli.exporter import metrics
from kcli.exporter.exposition import OPENMETRICS, Packed, joined, packed
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metric import COUNTER, Metric

Sampled = Callable[[], LastSample]
"""Returns what was sampled last."""


class ClusterSite:
    """``samples`` are by the name of the cluster; with ``labelled`` each series has it as its label ``cluster``. A
    ``server.Site``.
    """

    title = "kcli exporter"

    def __init__(self, samples: Mapping[str, Sampled], *, labelled: bool = False) -> None:
        self._samples, self._labelled, self._health = samples, labelled, Health()
        self.checks = {"/healthz": self._trouble}
        self.targets = [name for name in samples if name]

    def parts(self, form: str, scrapes: int, target: str = "") -> list[Packed]:
        """See Site."""
        now = monotonic()
        states = {name: sample() for name, sample in self._samples.items() if target in ("", name)}
        shown = [one.page.text for one in states.values() if one.page is not None and not one.trouble(now)]
        health = self._health.part(form, states, now, scrapes, labelled=self._labelled)
        return [health, *joined(shown, form)]

    @property
    def state(self) -> str:
        """See Site."""
        return self._trouble() or "The last sample succeeded."

    def _trouble(self) -> str:
        now = monotonic()
        found = {name: sample().trouble(now) for name, sample in self._samples.items()}
        return "; ".join(
            f"{name}: {text}" if self._labelled else text for name, text in found.items() if text
        )


class Health:
    """The exporter's own metrics; those of ``once`` are of a single sample, without those of a process that goes on."""

    def __init__(self, *, once: bool = False) -> None:
        self._once, self._process = once, CollectorRegistry()
        ProcessCollector(registry=self._process)

    def part(
        self,
        form: str,
        states: Mapping[str, LastSample],
        now: float,
        scrapes: int,
        *,
        labelled: bool = False,
    ) -> Packed:
        """The beginning of a page. ``states`` by cluster, see ClusterSite; ``scrapes``: how many were sent so far."""
        registry = CollectorRegistry()
        process = () if self._once else self._process.collect()
        registry.register(_Once([*self._of(states, now, scrapes, labelled=labelled), *process]))
        if form == OPENMETRICS:
            text: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
            return packed(text.removesuffix(b"# EOF\n"))
        return packed(generate_latest(registry))

    def _of(
        self, states: Mapping[str, LastSample], now: float, scrapes: int, *, labelled: bool
    ) -> Iterator[Collected]:
        of_clusters = {name: _values(state, now) for name, state in states.items()}
        for metric in dict.fromkeys(one for values in of_clusters.values() for one in values):
            if self._once and not metrics.is_of_one_sample(metric):
                continue
            family = _family(metric)(
                metric.name, metric.text, labels=("cluster",) if labelled else (), unit=metric.unit
            )
            for name, values in of_clusters.items():
                if (value := values[metric]) is not None:
                    family.add_metric((name,) if labelled else (), value)
            if family.samples:
                yield family
        if not self._once:
            yield _family(metrics.SCRAPES)(metrics.SCRAPES.name, metrics.SCRAPES.text, value=scrapes)
        yield InfoMetricFamily(metrics.VERSION.name, metrics.VERSION.text, value={"version": __version__})


def _family(metric: Metric) -> type[CounterMetricFamily | GaugeMetricFamily]:
    return CounterMetricFamily if metric.kind == COUNTER else GaugeMetricFamily


def _values(state: LastSample, now: float) -> dict[Metric, float | None]:
    shown = state.page if not state.trouble(now) else None
    return {
        metrics.UP: int(shown is not None),
        metrics.COMPLETE: int(shown is not None and shown.complete),
        metrics.LAST_SUCCESS: state.wall,
        metrics.AGE: state.age(now),
        metrics.SAMPLE_SECONDS: state.seconds,
        metrics.SERIES: 0 if shown is None else shown.text.samples,
        metrics.DROPPED: 0 if shown is None else shown.dropped,
        metrics.PROBLEMS: state.problems,
        metrics.SAMPLES: state.samples,
        metrics.FAILURES: state.failures,
        metrics.SENT: state.requests,
    }


class _Once(Collector):
    def __init__(self, families: list[Collected]) -> None:
        self._families = families

    def collect(self) -> list[Collected]:
        return self._families
