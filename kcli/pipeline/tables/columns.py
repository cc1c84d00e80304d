"""The columns of a table: topic, partition, those of records, and typed ones in types that its format has. Pure.

Neither format has unsigned numbers, decimals of more than 38 digits or, in all its readers, nanoseconds; Delta has no
times of a day. A column without a type yet (``null``) is not in the table, until a schema gives it one. Imports pyarrow.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcli.core.errors import ConfigError
from kcli.output.sanitise import visible_line
from kcli.pipeline.manifest import TypedSchema
from kcli.pipeline.parquet_files import TABLE_SCHEMA
from kcli.pipeline.typed.evolution import ColumnConflictError, evolved

if TYPE_CHECKING:
    from kcli.pipeline.typed.export_columns import TypedTopic

_NOT_IN_NAMES = frozenset(" ,;{}()\n\t=")
"""Characters that Delta's readers refuse in names of columns, and of their members."""
_LONGEST_DECIMAL = 38
_TYPES = {
    pa.int16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def table_schema(typed: "TypedSchema | TypedTopic | None", form: str) -> pa.Schema:
    """The columns of a table; ConfigError for names that the format does not have."""
    if typed is None:
        return TABLE_SCHEMA
    from kcli.pipeline.typed.export_columns import export_schema  # serdes: only where they are used

    own = [
        pa.field(field.name, kind)
        for field in export_schema(typed, pa.schema([]))
        if (kind := _stored(field.type, form)) is not None
    ]
    refused = [name for name in _names(own) if form == "delta" and not _NOT_IN_NAMES.isdisjoint(name)]
    if refused:
        raise ConfigError(
            f"a table of Delta has no column or member {visible_line(repr(refused[0]))}",
            why="its readers refuse names with a blank or one of , ; { } ( ) =",
            do="--format iceberg or parquet; or leave --typed out",
        )
    return pa.schema([*TABLE_SCHEMA, *own])


def grown_table(there: pa.Schema, wanted: pa.Schema, name: str) -> pa.Schema:
    """The columns of a table after those that it lacks are added; ConfigError for one that it has with another type."""
    try:
        return evolved(there, wanted)
    except ColumnConflictError as error:
        raise other_type(name, f"{error}: the first is of the table, the other of the schema") from None


def other_type(name: str, why: str) -> ConfigError:
    """The error for a column that another program has made."""
    return ConfigError(f"{name}: a column has another type", why=why, do="export to another folder")


def nested_leaves(fields: Any, path: str = "") -> Iterator[str]:
    """The members of columns that have any, as Iceberg names them."""
    for field in fields:
        own = f"{path}{field.name}"
        if pa.types.is_struct(field.type):
            yield from nested_leaves(field.type, f"{own}.")
        elif pa.types.is_list(field.type):
            yield from nested_leaves([pa.field("element", field.type.value_type)], f"{own}.")
        elif pa.types.is_map(field.type):
            inner = [pa.field("key", field.type.key_type), pa.field("value", field.type.item_type)]
            yield from nested_leaves(inner, f"{own}.")
        elif path:
            yield own


def _names(fields: Any) -> Iterator[str]:
    for field in fields:
        yield field.name
        inner = field.type
        while pa.types.is_list(inner) or pa.types.is_map(inner):
            inner = inner.value_type if pa.types.is_list(inner) else inner.item_type
        if pa.types.is_struct(inner):
            yield from _names(inner)


def _stored(kind: Any, form: str) -> Any:
    """The type in a table; None for nulls."""
    if pa.types.is_struct(kind):
        members = [(field.name, own) for field in kind if (own := _stored(field.type, form)) is not None]
        return pa.struct(members) if members else None
    if pa.types.is_list(kind):
        item = _stored(kind.value_type, form)
        return None if item is None else pa.list_(item)
    if pa.types.is_map(kind):
        item = _stored(kind.item_type, form)
        return None if item is None else pa.map_(_stored(kind.key_type, form), item)
    if pa.types.is_time(kind):
        return pa.string() if form == "delta" else pa.time64("us")
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_decimal(kind) and kind.precision > _LONGEST_DECIMAL:
        return pa.string()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return None if pa.types.is_null(kind) else _TYPES.get(kind, kind)
