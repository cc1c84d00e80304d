"""Columns of a table: what a row shows, how it is sorted, and which columns a narrow terminal drops. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from kcli.core.classes import dataclass
from kcli.output.tables import Field
from kcli.tui.cells import Cell, Line, fitted, shortened, width_of

R = TypeVar("R")
GAP, NARROW_GAP, _NARROW = 2, 1, 40
"""Blanks after a column; narrow terminals have fewer."""
_SPARE = 6  # columns that leave, from this rank on, before a name is cut
WIDEST = 40
"""Columns of a course of five minutes: wider ones leave names and reasons no room."""
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Column(Generic[R]):
    """``width`` in columns of the terminal; ``grows``: up to what its texts need. ``order`` sorts, None: last.

    ``stretch`` is what it shows in more columns than ``width``: it takes what texts leave over, up to ``WIDEST``.

    ``drop``: narrow terminals drop the column with the largest number first; 0 is never dropped, but becomes as narrow
    as ``least``, where ``narrow`` is what it shows. ``data`` are its values for programs, ``about`` is what it means,
    where it does not mean the same as the first of them. ``needed``: of which rows one has to be in the table for the
    column to be shown; None: it always is.
    """

    title: str
    width: int
    cell: Callable[[R], Cell]
    order: Callable[[R], Any]
    drop: int = 0
    right: bool = False
    grows: bool = False
    falling: bool = False
    """Whether its usual order is the largest first."""
    least: int = 0
    narrow: Callable[[R], Cell] | None = None
    stretch: Callable[[R, int], Cell] | None = None
    middle: bool = False
    """Whether what is too long loses its middle: names often differ at their ends."""
    about: str = ""
    data: Sequence[Field[R]] = ()
    needed: Callable[[R], bool] | None = None

    @property
    def meaning(self) -> str:
        """What it means, for help."""
        if self.about or not self.data:
            return self.about
        sentence = self.data[0].sentence
        return sentence[0].lower() + sentence[1:].removesuffix(".")


@dataclass(frozen=True)
class Layout(Generic[R]):
    """The columns that fit, and their widths."""

    columns: Sequence[Column[R]]
    widths: Sequence[int]
    gap: int = GAP

    def head(self, sorted_by: str, *, falling: bool) -> Line:
        """The titles; that of the sorted column has an arrow."""
        return tuple(
            Cell(
                fitted(_title(column, sorted_by, falling=falling), width, right=column.right)
                + " " * self.gap,
                "head",
            )
            for column, width in zip(self.columns, self.widths, strict=True)
        )

    def line(self, row: R) -> Line:
        """The cells of a row, in their widths."""
        found = []
        for column, width in zip(self.columns, self.widths, strict=True):
            if column.stretch is not None and width > column.width:
                cell = column.stretch(row, width)
            else:
                cell = (column.cell if width >= column.width else column.narrow or column.cell)(row)
            text = shortened(cell.text, width) if column.middle else cell.text
            found.append(Cell(fitted(text, width, right=column.right) + " " * self.gap, cell.style))
        return tuple(found)


def fields_of(columns: Sequence[Column[R]]) -> tuple[Field[R], ...]:
    """The values for programs."""
    return tuple(field for column in columns for field in column.data)


def layout(columns: Sequence[Column[R]], width: int, needs: Mapping[str, int] = _NONE) -> Layout[R]:
    """The layout for a terminal of this width. ``needs``: the widths of texts, by the titles of growing columns."""
    kept = list(columns)
    gap = GAP if width >= _NARROW else NARROW_GAP
    while _width(kept, gap) > width and any(column.drop for column in kept):
        kept.remove(max(kept, key=lambda column: column.drop))
    while _width(kept, gap) + _of_names(kept, needs) > width and any(one.drop >= _SPARE for one in kept):
        kept.remove(max(kept, key=lambda column: column.drop))
    left = width - _width(kept, gap)
    return Layout(kept, _grown(kept, left, needs) if left >= 0 else _shrunk(kept, -left), gap)


def _of_names(columns: Sequence[Column[Any]], needs: Mapping[str, int]) -> int:
    """What texts that are always shown need beyond their columns' widths."""
    return sum(
        max(0, min(WIDEST, needs.get(one.title, 0)) - one.width)
        for one in columns
        if one.grows and not one.drop
    )


def needs_of(columns: Sequence[Column[R]], rows: Sequence[R], most: int) -> dict[str, int]:
    """The widths, up to ``most``, that the growing columns need for these rows."""
    return {
        column.title: max((min(most, width_of(column.cell(row).text[:most])) for row in rows), default=0)
        for column in columns
        if column.grows
    }


def in_order(rows: Sequence[R], column: Column[R], *, falling: bool) -> list[R]:
    """Sorted by a column; rows of which the value is not known come last in both directions."""
    valued = [(column.order(row), row) for row in rows]
    known = [pair for pair in valued if pair[0] is not None]
    known.sort(key=itemgetter(0), reverse=falling)
    return [row for _, row in known] + [row for value, row in valued if value is None]


def _title(column: Column[Any], sorted_by: str, *, falling: bool) -> str:
    """The arrow is where it moves no letter."""
    if column.title != sorted_by:
        return column.title
    arrow = "▾" if falling else "▴"
    return arrow + column.title if column.right else f"{column.title} {arrow}"


def _grown(columns: Sequence[Column[Any]], left: int, needs: Mapping[str, int]) -> list[int]:
    """Texts first, the shortest ones whole; then the columns that stretch share the rest."""
    widths = [column.width for column in columns]
    more = {at: max(0, needs.get(one.title, 0) - one.width) for at, one in enumerate(columns) if one.grows}
    stretching = [at for at, one in enumerate(columns) if one.stretch is not None]
    for some, wanted in ((sorted(more, key=lambda at: more[at]), more), (stretching, None)):
        for number, at in enumerate(some):
            share = left // (len(some) - number)
            taken = min(share, WIDEST - widths[at] if wanted is None else wanted[at])
            widths[at] += taken
            left -= taken
    return widths


def _shrunk(columns: Sequence[Column[Any]], missing: int) -> list[int]:
    """Takes width from columns that grow, down to their least, then from the others, then from the widest of all."""
    widths = [column.width for column in columns]
    for giving in (True, False):
        for at, column in enumerate(columns):
            if column.grows == giving and column.least:
                less = min(missing, widths[at] - column.least)
                widths[at] -= less
                missing -= less
    while missing > 0 and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
        missing -= 1
    return widths


def _width(columns: Sequence[Column[Any]], gap: int) -> int:
    return sum(column.width + gap for column in columns)
