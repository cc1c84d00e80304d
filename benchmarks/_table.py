"""What a benchmark has found, as tables: text for the terminal, markdown for docs/performance.md, JSON for programs.

``python -m benchmarks`` writes them to .cache/benchmarks/, and with ``--docs`` into docs/performance.md,
between the marks ``<!-- benchmark NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kcli.core.version import __version__

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".cache" / "benchmarks"
DOCUMENT = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` have a cell for each of ``heads``; the first column is of names, the others of figures. ``notes``: what
    was not measured, and whether targets are met."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default_factory=tuple)

    def plain(self) -> str:
        """For the terminal."""
        lines = [self.heads, *self.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        texts = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
            ).rstrip()
            for line in lines
        ]
        return "\n".join([f"-- {self.title}", *texts, *self.notes])

    def markdown(self) -> str:
        """For a document."""
        head = [_row(self.heads), f"| --- |{' --: |' * (len(self.heads) - 1)}"]
        rows = map(_row, self.rows)
        notes = "".join(f"\n\n{note}" for note in self.notes)
        return f"**{self.title}**\n\n" + "\n".join([*head, *rows]) + notes


def write_tables(name: str, tables: Sequence[Table], about: str, *, docs: bool) -> None:
    """``about``: the machine, as it was when the benchmark began."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    at = datetime.now(UTC).strftime("%Y-%m-%d")
    text = _text(tables, f"{about}; {at}, kcli {__version__}")
    found = {"benchmark": name, "at": at, "machine": about, "tables": [asdict(table) for table in tables]}
    (FOLDER / f"{name}.md").write_text(text)
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if docs:
        DOCUMENT.write_text(with_block(DOCUMENT.read_text(), name, text))


def _row(cells: Sequence[str]) -> str:
    """A row of a table in markdown, in which a bar within a cell would begin another cell."""
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _text(tables: Sequence[Table], about: str) -> str:
    return "\n\n".join([about, *(table.markdown() for table in tables)]) + "\n"


def with_block(document: str, name: str, text: str) -> str:
    """The document with the text between the marks of the benchmark; ValueError if it has none of them."""
    begin, end = f"<!-- benchmark {name} -->\n", "<!-- end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if pattern.search(document) is None:
        raise ValueError(f"the document has no place for {name}: {begin.strip()}")
    return pattern.sub(lambda _: f"{begin}\n{text.strip()}\n\n{end}", document)
