"""``-o openmetrics``: the lag of groups in the text format of OpenMetrics 1.0, for a scraper's text file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kcli.flows.groups.description import SHARE
from kcli.flows.lag.partition_lag import COMMITTED, MEASURED, START, TYPE

_LABELS = ("group", "state", "topic", "partition", "member_id", "client_id", "host")


_MISSING = "kcli_lag_missing_parts"


def openmetrics(rows: Iterable[Mapping[str, Any]], missing: int) -> Iterator[str]:
    """The document, by lines. A gauge has no sample where its value is not known. ``missing``: how many parts of what was
    asked for could not be read.
    """
    kept = list(rows)
    shares = [row for row in kept if row.get(TYPE.key) == SHARE]
    own = {COMMITTED: [row for row in kept if row.get(TYPE.key) != SHARE], START: shares}
    for field in (*MEASURED, START):
        name = field.metric
        samples = [(row, row[field.key]) for row in own.get(field, kept) if row.get(field.key) is not None]
        if not samples:
            continue
        yield f"# HELP {name} {field.sentence}\n"
        yield f"# TYPE {name} gauge\n"
        if name.endswith("_seconds"):
            yield f"# UNIT {name} seconds\n"
        for row, value in samples:
            yield f"{name}{{{_labels(row)}}} {value}\n"
    yield f"# HELP {_MISSING} Parts of what was asked for that could not be read.\n"
    yield f"# TYPE {_MISSING} gauge\n"
    yield f"{_MISSING} {missing}\n"
    yield "# EOF\n"


def _labels(row: Mapping[str, Any]) -> str:
    return ",".join(f'{name}="{_escaped(str(row[name]))}"' for name in _LABELS if row.get(name) is not None)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
