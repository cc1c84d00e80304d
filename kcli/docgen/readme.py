"""Tables in pages that people write, between ``<!-- docgen:NAME -->`` and ``<!-- docgen:end -->``. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence

from kcli.docgen.describe import CommandDoc
from kcli.exporter import mirror_metrics
from kcli.exporter.metric import Metric
from kcli.exporter.metrics import METRICS
from kcli.pipeline.spark.source_options import OPTIONS, USED_BY

PAGES = (
    "README.md",
    "docs/exporter.md",
    "docs/mirror.md",
    "docs/python.md",
    "docs/from/spark-connector.md",
)
_BLOCK = re.compile(r"(<!-- docgen:(\w+) -->\n).*?(<!-- docgen:end -->)", re.DOTALL)


def filled(text: str, docs: Sequence[CommandDoc]) -> str:
    """The page with its tables replaced; unchanged if it has no marker."""
    return _BLOCK.sub(lambda match: match[1] + _TABLES[match[2]](docs) + match[3], text)


def _commands(docs: Sequence[CommandDoc]) -> str:
    rows = [f"| `{' '.join(doc.path)}` | {doc.summary} |" for doc in docs if not doc.is_group]
    return "\n".join(("| command | |", "|---|---|", *rows)) + "\n"


def _metrics(metrics: Sequence[Metric]) -> str:
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.text} |"
        for one in metrics
    ]
    return "\n".join(("| name | type | labels | meaning |", "| --- | --- | --- | --- |", *rows)) + "\n"


def _source_options() -> str:
    """The options of ``format("kcli")`` that something takes, and by what."""
    rows = [
        f"| `{one.name}` | "
        + " | ".join("✓" if use in one.uses else "" for use in USED_BY)
        + f" | {one.meaning} |"
        for one in OPTIONS
        if one.uses
    ]
    heads = " | ".join(f"`{name}`" for name in USED_BY.values())
    return "\n".join((f"| option | {heads} | |", f"| --- |{' --- |' * (len(USED_BY) + 1)}", *rows)) + "\n"


def _connector_options() -> str:
    """The options of Spark's Kafka connector, and how they differ here."""
    rows = []
    for one in OPTIONS:
        if one.connector is None:
            continue
        differs = one.connector or "nothing"
        if one.refused is not None:
            why, do = one.refused
            differs = f"refused{' there too' if one.connector else ''}: {why}; {do}"
        where = ", ".join(f"`{USED_BY[use]}`" for use in one.uses) or "–"
        rows.append(f"| `{one.name}` | {where} | {differs} |")
    return "\n".join(("| option | taken by | what differs |", "| --- | --- | --- |", *rows)) + "\n"


_TABLES: Mapping[str, Callable[[Sequence[CommandDoc]], str]] = {
    "commands": _commands,
    "metrics": lambda _docs: _metrics(METRICS),
    "source_options": lambda _docs: _source_options(),
    "connector_options": lambda _docs: _connector_options(),
    "mirror_metrics": lambda _docs: _metrics(mirror_metrics.METRICS),
}
