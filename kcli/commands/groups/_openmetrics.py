"""``-o openmetrics``: the lag of groups in the text format of OpenMetrics 1.0, for a scraper's text file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcli.exporter.exposition import OPENMETRICS, heading, labels_of
from kcli.exporter.metrics import GAUGE, OF_PARTITIONS, Metric
from kcli.flows.lag.fields import MEASURED

_LABELS = ("group", "state", "topic", "partition", "member_id", "client_id", "host")
_MISSING = Metric("kcli_lag_missing_parts", GAUGE, (), "Parts of what was asked for that could not be read.")


def openmetrics(rows: Iterable[Mapping[str, Any]], missing: int) -> Iterator[str]:
    """The document, by lines. A gauge has no sample where its value is not known. ``missing``: how many parts of what was
    asked for could not be read.
    """
    kept = [(_labels(row), row) for row in rows]
    for field, metric in zip(MEASURED, OF_PARTITIONS, strict=True):
        samples = [(labels, row[field.key]) for labels, row in kept if row.get(field.key) is not None]
        if samples:
            yield heading(metric, OPENMETRICS)
            yield from (f"{metric.name}{labels}{value}\n" for labels, value in samples)
    yield heading(_MISSING, OPENMETRICS)
    yield f"{_MISSING.name} {missing}\n"
    yield "# EOF\n"


def _labels(row: Mapping[str, Any]) -> str:
    known = [name for name in _LABELS if row.get(name) is not None]
    return labels_of(known, [row[name] for name in known])
