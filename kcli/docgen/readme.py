"""Tables in pages that people write, between ``<!-- docgen:NAME -->`` and ``<!-- docgen:end -->``. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence

from kcli.docgen.describe import CommandDoc
from kcli.exporter import mirror_metrics
from kcli.exporter.metric import Metric
from kcli.exporter.metrics import METRICS

PAGES = ("README.md", "docs/exporter.md", "docs/mirror.md")
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


_TABLES: Mapping[str, Callable[[Sequence[CommandDoc]], str]] = {
    "commands": _commands,
    "metrics": lambda _docs: _metrics(METRICS),
    "mirror_metrics": lambda _docs: _metrics(mirror_metrics.METRICS),
}
