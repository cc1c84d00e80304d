"""Takes in Arrow data of any library through the PyCapsule interface, without a copy and without importing one.

An array is released exactly once: when the last reference to it or to one of its children is gone. Memoryviews of its
buffers keep nothing alive: they are used only as long as the array is held.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from kcli.core.arrow.export import schema_capsule
from kcli.core.arrow.fields import Field
from kcli.core.arrow.structs import (
    ARRAY,
    GET,
    GET_LAST_ERROR,
    NULLABLE,
    RELEASE,
    SCHEMA,
    STREAM,
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
    address_in,
)
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError

_MOST_CHILDREN = 10_000  # more are not believed
_DEEPEST = 8
_READ_ONLY = 0x100  # PyBUF_READ
_view_of_memory = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)


class ForeignDataError(KcliError):
    """The library that hands out Arrow data reported an error, or handed out something inconsistent."""


class ForeignField(NamedTuple):
    """A type, and the name of its column. ``format``: Arrow's format string; of ``dictionary``: that of its values."""

    name: str
    format: str
    children: tuple[ForeignField, ...]
    dictionary: ForeignField | None


class ForeignArray:
    """The values of a column, or of a table as a struct of its columns."""

    def __init__(self, array: ArrowArray, owner: object) -> None:
        self._array = array
        self._owner = owner
        self.length = int(array.length)
        self.offset = int(array.offset)
        self.null_count = int(array.null_count)
        self.buffer_count = int(array.n_buffers)
        if min(self.length, self.offset, self.buffer_count) < 0:
            raise _inconsistent(f"an array has {self.length} values from {self.offset} on")

    def child(self, index: int) -> ForeignArray:
        """A child; keeps all of the data alive."""
        if index >= self._array.n_children:
            raise _inconsistent(f"an array has {self._array.n_children} children, fewer than its type")
        return ForeignArray(self._array.children[index].contents, self._owner)

    def buffer(self, index: int, size: int) -> memoryview | None:
        """``size`` bytes of a buffer; None if there is none. Valid as long as this array is held."""
        if index >= self.buffer_count:
            raise _inconsistent(f"an array has {self.buffer_count} buffers, fewer than its type")
        address = self._array.buffers[index]
        if not address:
            return None
        view: memoryview = _view_of_memory(address, size, _READ_ONLY)
        return view


class _Owned:
    """An array that was moved here and is released with this object."""

    def __init__(self) -> None:
        self.array = ArrowArray()

    def __del__(self) -> None:
        if self.array.release:
            RELEASE(self.array.release)(ctypes.addressof(self.array))


def open_tables(data: Any) -> tuple[ForeignField, Iterator[ForeignArray]]:
    """The type of a table or a stream of tables, and its parts one after the other.

    Columns that are dictionaries are requested as plain ones: pyarrow and pandas convert them, others hand out the same
    again. ConfigError for an object that offers no Arrow data; errors of the library are a ForeignDataError.
    """
    field, tables = _opened(data, ())
    if any(column.dictionary for column in field.children):
        request = schema_capsule(_plain(field))
        with suppress(ForeignDataError):  # what can be handed out only once
            return _opened(data, (request,))
    return field, tables


def _opened(data: Any, request: tuple[object, ...]) -> tuple[ForeignField, Iterator[ForeignArray]]:
    kind = type(data).__name__
    try:
        if hasattr(data, "__arrow_c_array__"):
            schema, array = _called(kind, data.__arrow_c_array__, request)
            return read_field(schema), iter([_moved(array)])
        if hasattr(data, "__arrow_c_stream__"):
            stream = _Stream(_called(kind, data.__arrow_c_stream__, request))
            return stream.field(), stream.arrays()
    except (TypeError, ValueError) as error:  # no capsules
        raise _inconsistent(f"{kind} hands out something else: {error}") from error
    raise ConfigError(
        f"{kind} is no Arrow data",
        why="it has neither __arrow_c_array__ nor __arrow_c_stream__",
        do="a pyarrow RecordBatch or Table, a polars DataFrame or a DuckDB relation, for example",
    )


def _plain(field: ForeignField) -> Field:
    """The type with the values of dictionaries in their place."""
    values = field.dictionary or field
    return Field(values.format, field.name, NULLABLE, tuple(_plain(child) for child in values.children))


def _called(kind: str, hand_out: Callable[..., Any], request: tuple[object, ...]) -> Any:
    try:
        return hand_out(*request)
    except Exception as error:
        raise ForeignDataError(
            f"{kind} does not hand out its Arrow data", why=f"{type(error).__name__}: {error}"
        ) from error


def read_field(capsule: object) -> ForeignField:
    """The type in a capsule of a schema."""
    return _field(ArrowSchema.from_address(address_in(capsule, SCHEMA)), _DEEPEST)


def _field(schema: ArrowSchema, depth: int) -> ForeignField:
    if not schema.release or not schema.format:
        raise _inconsistent("its schema was released")
    if not 0 <= schema.n_children <= _MOST_CHILDREN or not depth:
        raise _inconsistent(f"its schema has {schema.n_children} columns, or is nested too deep")
    return ForeignField(
        (schema.name or b"").decode("utf-8", "replace"),
        schema.format.decode("utf-8", "replace"),
        tuple(_field(schema.children[index].contents, depth - 1) for index in range(schema.n_children)),
        _field(schema.dictionary.contents, depth - 1) if schema.dictionary else None,
    )


def _moved(capsule: object) -> ForeignArray:
    """The array in a capsule, which is empty after this."""
    given = ArrowArray.from_address(address_in(capsule, ARRAY))
    if not given.release:
        raise _inconsistent("it was released")
    owned = _Owned()
    ctypes.memmove(ctypes.addressof(owned.array), ctypes.addressof(given), ctypes.sizeof(ArrowArray))
    given.release = None
    return ForeignArray(owned.array, owned)


class _Stream:
    """A stream in a capsule, which releases it when the last reference is gone."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule
        self._stream = ArrowArrayStream.from_address(address_in(capsule, STREAM))
        if not self._stream.release:
            raise _inconsistent("it was released")

    def field(self) -> ForeignField:
        """The type of all its tables."""
        schema = ArrowSchema()
        self._get(self._stream.get_schema, schema)
        try:
            return _field(schema, _DEEPEST)
        finally:
            if schema.release:
                RELEASE(schema.release)(ctypes.addressof(schema))

    def arrays(self) -> Iterator[ForeignArray]:
        """Its tables; each is read from the library when it is asked for."""
        while True:
            owned = _Owned()
            self._get(self._stream.get_next, owned.array)
            if not owned.array.release:
                return
            yield ForeignArray(owned.array, owned)

    def _get(self, function: int | None, target: ArrowSchema | ArrowArray) -> None:
        address, last_error = ctypes.addressof(self._stream), self._stream.get_last_error
        if not function or not last_error:
            raise _inconsistent("a function of the stream is missing")
        code = GET(function)(address, ctypes.addressof(target))
        if code:
            words = GET_LAST_ERROR(last_error)(address)
            why = ctypes.string_at(words).decode("utf-8", "replace") if words else f"error {code}"
            raise ForeignDataError("the Arrow data could not be read", why=why.strip())


def _inconsistent(why: str) -> ForeignDataError:
    return ForeignDataError("the Arrow data are inconsistent", why=why)
