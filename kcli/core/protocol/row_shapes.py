"""The shape of an array's elements for the kernel ``read_rows``, and the objects that its tuples become on access.

For the arrays that are long on large clusters: thousands of elements, with strings and with arrays inside.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.kernels import active
from kcli.core.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct
from kcli.core.protocol.table import Table

_NUMBERS = (INT16, INT32, INT64)


class LongArray(Array):
    """An array that has thousands of elements on large clusters; a Table if its elements are as usual.

    A message with such an array loads the kernels when it is imported, not when its first response is read: by then
    connections may have taken the last file descriptor.
    """

    columns = True
    read_rows = staticmethod(active.read_rows)

    def shape(self, version: int) -> "RowShape | None":
        """The shape of its elements; None where their field table is as fast, or they have none."""
        return None if active.IMPLEMENTATION == "pure" else row_shape(self.element, version)


class RowShape(NamedTuple):
    """``names`` are the fields that tuples have a value for, ``shape`` that of the kernel."""

    cls: type[Struct]
    names: list[str]
    shape: str
    inner: dict[str, "RowShape"]
    by_column: bool

    def table(self, tuples: list[tuple[Any, ...]]) -> Table[Any]:
        """The elements, made from their tuples on access."""
        return Table(self.names, tuples, self._elements)

    def _elements(self, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        convert: list[Callable[[Any], Any]] = [
            partial(_inner_table, self.inner[name]) if name in self.inner else _unchanged
            for name in self.names
        ]
        return [
            self.cls(
                **{name: made(value) for name, made, value in zip(self.names, convert, row, strict=True)}
            )
            for row in rows
        ]


def row_shape(cls: type[Struct], version: int) -> RowShape | None:
    """The shape in a flexible version; None for elements with other fields than numbers, strings and such arrays.

    Strings of elements without arrays that have numbers are errors and metadata, usually empty.
    """
    rows = [row for row in cls.fields if row.present(version)]
    if any(row.tag is not None for row in rows):
        return None
    by_column = any(row.type in _NUMBERS for row in rows) and all(
        row.type in _NUMBERS or row.type == STRING for row in rows
    )
    names: list[str] = []
    letters: list[str] = []
    inner: dict[str, RowShape] = {}
    for row in rows:
        letter = "e" if by_column and row.type == STRING else _letter(row, version, inner)
        if letter is None:
            return None
        letters.append(letter)
        if letter != "e":
            names.append(row.name)
    return RowShape(cls, names, "".join(letters) + "_", inner, by_column)


def _letter(row: Field, version: int, inner: dict[str, RowShape]) -> str | None:
    if row.type in _NUMBERS:
        return str(row.type)
    if row.may_be_null(version):
        return None
    if row.type == STRING:
        return "s"
    if not isinstance(row.type, Array) or not isinstance(row.type.element, type):
        return None
    found = row_shape(row.type.element, version)
    if found is None:
        return None
    inner[row.name] = found
    return f"{{{found.shape}}}" if found.by_column else f"[{found.shape}]"


def _inner_table(shape: RowShape, found: Any) -> Table[Any]:
    return shape.table(list(zip(*found, strict=True)) if shape.by_column else found)


def _unchanged(value: Any) -> Any:
    return value
