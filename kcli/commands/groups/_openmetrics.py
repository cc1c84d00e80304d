"""``-o openmetrics``: the lag of groups in the text format of OpenMetrics 1.0, for a scraper's text file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LABELS = ("group", "state", "topic", "partition", "member_id", "client_id", "host")
_GAUGES = {
    "lag_records": ("kcli_group_lag_records", "Records between the committed offset and the end of the log."),
    "lag_seconds": ("kcli_group_lag_seconds", "Age of the first unread record."),
    "retention_margin_seconds": (
        "kcli_group_retention_margin_seconds",
        "How long the first unread record is kept at least.",
    ),
    "lost_records": ("kcli_group_lost_records", "Offsets between the commit and the start of the log."),
    "committed": ("kcli_group_committed_offset", "The committed offset."),
    "end": ("kcli_group_log_end_offset", "The end of the log."),
}


_MISSING = "kcli_lag_missing_parts"


def openmetrics(rows: Iterable[Mapping[str, Any]], missing: int) -> Iterator[str]:
    """The document, by lines. A gauge has no sample where its value is not known. ``missing``: how many parts of what was
    asked for could not be read.
    """
    kept = list(rows)
    for key, (name, text) in _GAUGES.items():
        samples = [(row, row[key]) for row in kept if row.get(key) is not None]
        if not samples:
            continue
        yield f"# HELP {name} {text}\n"
        yield f"# TYPE {name} gauge\n"
        if key.endswith("_seconds"):
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
