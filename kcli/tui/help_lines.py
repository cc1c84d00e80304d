"""The text of the help: the keys of classes with bindings, columns, verdicts, signs and colours. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.tui.cells import Cell, Line, width_of
from kcli.tui.columns import Column
from kcli.tui.fitting import cut
from kcli.tui.group_columns import VERDICTS_MEAN, verdict_cell
from kcli.tui.keys import key_rows
from kcli.tui.look import SIGNS as MEANING_SIGNS


class Section(NamedTuple):
    """A title, and rows of a word and what it means."""

    title: str
    rows: Sequence[tuple[Cell, str]]


SIGNS = (
    (Cell("–", "dim"), "not known, or there is none"),
    (Cell("≈"), "estimated from the time index of the log, not read from the records"),
    (Cell("▁▃▅█"), "a course of five minutes, from its least to its largest value"),
    (Cell(f"{MEANING_SIGNS['ok']} text", "ok"), "as it should be; in the first line: everything was read"),
    (
        Cell(f"{MEANING_SIGNS['warn']} amber", "warn"),
        "look at it when there is time; in the first line: something is missing",
    ),
    (Cell(f"{MEANING_SIGNS['bad']} red", "bad"), "look at it now"),
    (Cell(f"{MEANING_SIGNS['unread']} grey", "unread"), "not read: values in brackets are the last ones"),
    (Cell("grey", "stale"), "from before: the cluster cannot be read since the time in the first line"),
)


def keys_section(title: str, classes: Iterable[type[Any]], wanted: Callable[[str], bool]) -> Section:
    """The bindings of these classes whose actions are wanted."""
    rows = [row for cls in classes for row in key_rows(cls) if wanted(row.action)]
    return Section(title, [(Cell(row.keys, "key"), row.what) for row in rows])


def columns_section(title: str, columns: Sequence[Column[Any]]) -> Section:
    """What the columns mean."""
    return Section(title, [(Cell(column.title, "head"), column.meaning) for column in columns])


def meaning_sections() -> list[Section]:
    """The words, signs and colours of all screens."""
    verdicts = [(verdict_cell(one), text) for one, text in VERDICTS_MEAN.items()]
    return [Section("Verdicts of groups", verdicts), Section("Signs and colours", SIGNS)]


def help_lines(sections: Sequence[Section], width: int) -> list[Line]:
    """All sections, each a table of two columns; the second is wrapped."""
    lines: list[Line] = []
    first = min(max((width_of(one.text) for each in sections for one, _ in each.rows), default=0), width // 2)
    for section in sections:
        if not section.rows:
            continue
        lines += [(), (Cell(section.title, "title"),)]
        for word, text in section.rows:
            for number, part in enumerate(textwrap.wrap(text, max(8, width - first - 4)) or [""]):
                shown = word if not number else Cell("")
                gap = Cell(" " * max(0, first - width_of(shown.text)) + "  ")
                lines.append(cut((Cell("  "), shown, gap, Cell(part)), width))
    return lines[1:]
