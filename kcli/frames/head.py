"""The first rows of a frame as a small table: what a notebook shows, and ``head`` returns."""

import html
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError
from kcli.output.sanitise import visible_line

ROWS = 5
_WIDTH = 40


class Head(NamedTuple):
    """``title`` says of what; ``rows`` are texts; ``note`` is empty, or why there are none, or not more."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __repr__(self) -> str:
        lines = [self.title]
        if self.columns and self.rows:
            table = [list(self.columns), *map(list, self.rows)]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines += [
                "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                for row in table
            ]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        note = f"<div>{html.escape(self.note)}</div>" if self.note else ""
        return f"<div>{html.escape(self.title)}</div>{table}{note}"


class ShowsHead:
    """What has a head. Plain ``repr`` reads nothing: debuggers and logs call it; IPython and notebooks show the head."""

    def head(self, rows: int = ROWS) -> Head:
        """The first rows, at most; little is read for it. An error is its note."""
        if rows < 1:
            return Head(repr(self), (), ())
        if find_spec("pyarrow") is None:
            return Head(repr(self), (), (), "pyarrow shows the first rows")
        try:
            found, note = self._first(rows)
        except (KcliError, OSError, ValueError) as error:  # pyarrow's own errors are these
            return Head(repr(self), (), (), f"the first rows cannot be read: {visible_line(str(error))}")
        cells = [[_cell(value) for value in column.to_pylist()] for column in found.columns]
        return Head(
            repr(self),
            [visible_line(name) for name in found.column_names],
            list(zip(*cells, strict=True)),
            note,
        )

    def _first(self, rows: int) -> tuple[Any, str]:
        """The first rows as a table of pyarrow, and a note."""
        raise NotImplementedError

    def __array__(self, *_given: object, **_more: object) -> Any:
        """ConfigError: ``pandas.DataFrame(frame)`` asks for it, and would be one column of batches without."""
        raise ConfigError(
            f"a {type(self).__name__} is no array of NumPy",
            why="it has columns of several types",
            do="`pyarrow.table(frame).to_pandas()` makes a data frame of pandas",
        )

    def _repr_html_(self) -> str:
        return self.head()._repr_html_()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else repr(self.head()))


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = f"0x{value[:_WIDTH].hex()}"
    else:
        text = str(value)
    text = visible_line(text[: 2 * _WIDTH])
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
