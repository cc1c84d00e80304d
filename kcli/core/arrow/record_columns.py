"""Records to be sent, out of Arrow tables: which columns there are, of which types, and where their bytes are. Pure.

The columns are ``value``, and if they are there ``key``, ``headers`` or ``headers_packed``, ``timestamp``, ``partition``
and ``topic``. What only the broker assigns (``offset``, ``timestamp_type``, ``leader_epoch``) is ignored, so that records
that were read can be sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from kcli.core.arrow.foreign import ForeignArray, ForeignDataError, ForeignField
from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.kernels.shapes import BytesColumn, HeadersColumn, NumberColumn, RecordColumns

T = TypeVar("T")

IGNORED = frozenset({"offset", "timestamp_type", "leader_epoch"})

_BYTES = {"z": 4, "u": 4, "Z": 8, "U": 8, "vz": 16, "vu": 16}
"""Arrow's formats of byte strings and text, each with the width of its positions."""
_PACKED = {"z": 4, "Z": 8, "vz": 16}
_LISTS = {"+l": 4, "+m": 4, "+L": 8}
_INTEGERS = {"i": 4, "l": 8}
_UNITS = {"tss": (1000, 1), "tsm": (1, 1), "tsu": (1, 1000), "tsn": (1, 1_000_000)}
"""The units of timestamps, each with its factor to milliseconds."""
_NULL = "n"

_ACCEPTED = {
    "key": "binary or utf8, also large ones and views",
    "value": "binary or utf8, also large ones and views",
    "headers": "list<struct<key: utf8, value: binary>>, map<utf8, binary>, or header blocks as binary",
    "headers_packed": "header blocks as binary",
    "timestamp": "timestamp of any unit, or int64 in milliseconds since 1970",
    "partition": "int32 or int64",
    "topic": "utf8",
}
_TYPES = {
    "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64",
    "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "z": "binary", "Z": "large_binary", "u": "utf8",
    "U": "large_utf8", "vz": "binary_view", "vu": "utf8_view", "tdD": "date32", "tdm": "date64", "+s": "struct",
    "+r": "run_end_encoded",
}  # fmt: skip
_FAMILIES = {
    "d:": "decimal", "w:": "fixed_size_binary", "tt": "time", "tD": "duration", "ti": "interval", "ts": "timestamp",
    "+w": "fixed_size_list", "+u": "union", "+v": "list_view",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrowRecords:
    """The records of one table. ``array`` keeps the buffers of all columns alive."""

    columns: RecordColumns
    partition: NumberColumn | None
    topic: BytesColumn | None
    array: ForeignArray


class RecordSchema:
    """Checks the type of a table once; raises ConfigError for a column that is unknown or of a wrong type."""

    def __init__(self, field: ForeignField) -> None:
        if field.format != "+s" or field.dictionary:
            raise ConfigError(f"the Arrow data are of the type {type_name(field)}", why="a table is needed")
        names = [child.name for child in field.children]
        for name, repeated in groupby(sorted(names)):
            if len(list(repeated)) > 1:
                raise ConfigError(f"there are several columns {name}", why="a record has one")
        self._fields = {child.name: (index, child) for index, child in enumerate(field.children)}
        for child in field.children:
            _check(child)
        if "headers" in self and "headers_packed" in self:
            raise ConfigError(
                "there are the columns headers and headers_packed", why="a record has headers once"
            )
        if "value" not in self._fields:
            raise ConfigError(
                "there is no column value",
                why=f"the columns are {', '.join(names) or 'none'}",
                do="a column value of nulls makes tombstones",
            )

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def records(self, array: ForeignArray) -> ArrowRecords:
        """The records of a table of this type, without a copy."""
        if array.null_count and _has_nulls(array):
            raise ForeignDataError("the Arrow data are inconsistent", why="some rows of the table are null")
        headers = self._column("headers", array, _headers)
        packed = self._column("headers", array, _packed) or self._column("headers_packed", array, _packed)
        columns = RecordColumns(
            array.length,
            self._column("key", array, _bytes),
            self._column("value", array, _bytes),
            headers,
            packed,
            self._column("timestamp", array, _numbers),
        )
        partition, topic = self._column("partition", array, _numbers), self._column("topic", array, _bytes)
        return ArrowRecords(columns, partition, topic, array)

    def _column(
        self,
        name: str,
        table: ForeignArray,
        convert: Callable[[ForeignField, ForeignArray, int, int], T | None],
    ) -> T | None:
        found = self._fields.get(name)
        if found is None or found[1].format == _NULL or not table.length:
            return None
        index, field = found
        column = table.child(index)
        _check_length(column, table.offset + table.length)
        return convert(field, column, table.offset + column.offset, table.length)


def _check(field: ForeignField) -> None:
    name, kind = field.name, field.format
    if name in IGNORED:
        return
    if name not in _ACCEPTED:
        raise ConfigError(
            f"the column {name or '(without a name)'} is unknown",
            why=f"the columns of records are {', '.join(_ACCEPTED)}",
            do="drop it, or rename it",
        )
    fits = {
        "key": kind in _BYTES,
        "value": kind in _BYTES,
        "headers": kind in _PACKED or (kind in _LISTS and _is_header(field)),
        "headers_packed": kind in _PACKED,
        "timestamp": kind == "l" or kind.partition(":")[0] in _UNITS,
        "partition": kind in _INTEGERS,
        "topic": kind in _BYTES,
    }
    if field.dictionary or not (fits[name] or kind == _NULL):
        raise ConfigError(
            f"the column {name} is of the type {type_name(field)}",
            why=f"accepted is {_ACCEPTED[name]}",
            do="cast it",
        )


def _is_header(field: ForeignField) -> bool:
    """Whether the entries of a list are a name and a value."""
    entry = field.children[0] if field.children else None
    if entry is None or entry.format != "+s" or entry.dictionary or len(entry.children) != 2:
        return False
    named = field.format == "+m" or {child.name for child in entry.children} == {"key", "value"}
    return named and all(
        child.format in {*_BYTES, _NULL} and not child.dictionary for child in entry.children
    )


def _bytes(field: ForeignField, column: ForeignArray, start: int, length: int) -> BytesColumn | None:
    width = _BYTES.get(field.format)
    if width is None or not length:
        return None
    valid = _valid(column, start, length)
    if width == 16:
        positions = _needed(column, 1, 16 * (start + length))
        return BytesColumn(16, start, valid, positions, _view_data(column))
    positions = _needed(column, 1, width * (start + length + 1))
    end = int.from_bytes(positions[-width:], sys.byteorder, signed=True)
    return BytesColumn(width, start, valid, positions, (_needed(column, 2, max(0, end)),))


def _packed(field: ForeignField, column: ForeignArray, start: int, length: int) -> BytesColumn | None:
    return _bytes(field, column, start, length) if field.format in _PACKED else None


def _view_data(column: ForeignArray) -> tuple[memoryview, ...]:
    """The buffers of a column of views; the last buffer has their sizes."""
    count = column.buffer_count - 3
    if count < 0:
        raise ForeignDataError(
            "the Arrow data are inconsistent", why="a column of views has no sizes of its buffers"
        )
    sizes = _needed(column, count + 2, 8 * count).cast("q")
    if count and min(sizes) < 0:
        raise ForeignDataError("the Arrow data are inconsistent", why="a buffer has a negative size")
    return tuple(_needed(column, index + 2, size) for index, size in enumerate(sizes))


def _numbers(field: ForeignField, column: ForeignArray, start: int, length: int) -> NumberColumn | None:
    width = _INTEGERS.get(field.format, 8)
    times, per = _UNITS.get(field.format.partition(":")[0], (1, 1))
    numbers = _needed(column, 1, width * (start + length))
    return NumberColumn(width, start, _valid(column, start, length), numbers, times, per)


def _headers(field: ForeignField, column: ForeignArray, start: int, length: int) -> HeadersColumn | None:
    width = _LISTS.get(field.format)
    if width is None:
        return None
    entries = column.child(0)
    parts = _name_and_value(field)
    found = []
    for index in parts:
        child, kind = entries.child(index), field.children[0].children[index]
        _check_length(child, entries.offset + entries.length)
        found.append(_bytes(kind, child, entries.offset + child.offset, entries.length))
    names, values = found
    return HeadersColumn(
        width,
        start,
        _valid(column, start, length),
        _needed(column, 1, width * (start + length + 1)),
        entries.length,
        entries.offset,
        _valid(entries, entries.offset, entries.length),
        names,
        values,
    )


def _name_and_value(field: ForeignField) -> Sequence[int]:
    """Which children of an entry these are: by name, but those of a map have any."""
    names = [child.name for child in field.children[0].children]
    return (1, 0) if field.format != "+m" and names[0] == "value" else (0, 1)


def _valid(column: ForeignArray, start: int, length: int) -> memoryview | None:
    return column.buffer(0, (start + length + 7) // 8) if column.null_count else None


def _needed(column: ForeignArray, index: int, size: int) -> memoryview:
    """A buffer; one of no bytes may be missing."""
    if not size:
        return memoryview(b"")
    found = column.buffer(index, size)
    if found is None:
        raise ForeignDataError("the Arrow data are inconsistent", why=f"a buffer of {size} bytes is missing")
    return found


def _check_length(column: ForeignArray, needed: int) -> None:
    if column.length < needed:
        raise ForeignDataError(
            "the Arrow data are inconsistent", why=f"a column has {column.length} rows, fewer than the table"
        )


def _has_nulls(array: ForeignArray) -> bool:
    valid = array.buffer(0, (array.offset + array.length + 7) // 8)
    if valid is None:
        return False
    bits = int.from_bytes(valid, "little") >> array.offset
    return bits & ((1 << array.length) - 1) != (1 << array.length) - 1


def type_name(field: ForeignField) -> str:
    """A type in Arrow's words."""
    kind = field.format
    if field.dictionary:
        return f"dictionary<{type_name(field.dictionary)}>"
    if kind in _LISTS:
        inner = ", ".join(type_name(child) for child in field.children)
        return f"{'map' if kind == '+m' else 'list' if kind == '+l' else 'large_list'}<{inner}>"
    if kind == "+s" and field.children:
        return f"struct<{', '.join(f'{child.name}: {type_name(child)}' for child in field.children)}>"
    return _TYPES.get(kind) or _FAMILIES.get(kind[:2]) or ("null" if kind == _NULL else kind)
