"""CSV with a heading of its own, as spreadsheets and databases write it: each row becomes a JSON object.

The columns of the heading are its members, in their order. Cells are text, as they stand: whether ``007`` is a number
no file says. An empty cell without quotes is null, ``""`` is empty; with a null marker only the marker is null. Pure.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from kcli.flows.inputs.item import BadLine, InputError
from kcli.flows.inputs.lines import LineFormat, null_of

Field = tuple[bool, bytes]
"""Whether a cell has quotes, and its content."""


class Text(Protocol):
    """``Encoding.text``."""

    def __call__(self, part: str, data: bytes | None) -> bytes | None:
        """The bytes of a text; raises BadLine."""


class ObjectRows:
    """``value`` makes the value of a record of the cells of a row; ``encode`` makes bytes of its text."""

    def __init__(self, names: Sequence[str], how: LineFormat, encode: Text) -> None:
        self.names = tuple(names)
        self._how = how
        self._encode = encode
        self._json = msgspec.json.Encoder().encode

    def value(self, cells: Sequence[Field]) -> bytes | None:
        """Raises BadLine for a cell that is not UTF-8, and for what ``-s`` rejects."""
        found = {name: self._cell(name, cell) for name, cell in zip(self.names, cells, strict=True)}
        return self._encode("value", self._json(found))

    def _cell(self, name: str, cell: Field) -> str | None:
        quoted, data = cell
        if not (data or quoted or self._how.null_marker):
            return None
        text = null_of(data, self._how)
        try:
            return None if text is None else text.decode()
        except UnicodeDecodeError:
            raise BadLine(f"its column {name} is not UTF-8") from None


def check_heading(names: Sequence[str]) -> None:
    """InputError for a first line that cannot be the names of members: it is no heading, or not separated by commas."""
    separator = next((sign for sign in (";", "\t", "|") if len(names) == 1 and sign in names[0]), "")
    if separator:
        what = {";": "semicolons", "\t": "tabs", "|": "bars"}[separator]
        raise InputError(
            f"line 1 of the input has {what} and no comma: {names[0][:80]!r}",
            why="csv is read with commas between its columns",
            do="write it with commas",
        )
    if any("\N{REPLACEMENT CHARACTER}" in name for name in names):
        raise InputError(
            "line 1 of the input is not UTF-8",
            why="the names of its columns become those of the members of JSON objects",
            do="convert the file, for example with iconv",
        )
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice:
        raise InputError(
            f"line 1 of the input names the column {twice!r} twice",
            why="each row becomes a JSON object, and an object has a member once",
            do="rename one of the columns",
        )
    for at, name in enumerate(names, 1):
        if not name or _is_number(name):
            raise InputError(
                f"line 1 of the input is not a header line: its column {at} is "
                + (f"the number {name}" if name else "empty"),
                why="the names of its columns become those of the members of JSON objects",
                do="begin with column names, as in id,name",
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
