"""How columns of an export grow from one run to the next: what is new is added, and nothing changes its type. Pure."""

from typing import Any

import pyarrow as pa


class ColumnConflictError(Exception):
    """A column would have two types: its name, and both."""


def evolved(old: pa.Schema, new: pa.Schema) -> pa.Schema:
    """The columns of both, the new ones at the end; ColumnConflictError for another type of a column or of a member."""
    known = {field.name: field for field in old}
    fields = [
        pa.field(field.name, _joined(field.type, new.field(field.name).type, field.name))
        if field.name in new.names
        else field
        for field in old
    ]
    return pa.schema([*fields, *(field for field in new if field.name not in known)])


def _joined(old: Any, new: Any, path: str) -> Any:
    if old.equals(new):
        return old
    if pa.types.is_null(old) or pa.types.is_null(new):
        return new if pa.types.is_null(old) else old
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return pa.struct(
            [
                (field.name, field.type)
                for field in _joined_members(pa.schema(list(old)), pa.schema(list(new)), path)
            ]
        )
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pa.list_(_joined(old.value_type, new.value_type, f"{path}[]"))
    raise ColumnConflictError(f"{path} is {old} in one and {new} in the other")


def _joined_members(old: pa.Schema, new: pa.Schema, path: str) -> pa.Schema:
    try:
        return evolved(old, new)
    except ColumnConflictError as error:
        raise ColumnConflictError(f"{path}.{error}") from None


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with all columns of a schema that its own has grown to: null where it has none."""
    arrays = [
        _with_members(batch.column(field.name), field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _with_members(column: Any, wanted: Any) -> Any:
    if column.type.equals(wanted):
        return column
    if pa.types.is_struct(wanted) and pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        members = [
            _with_members(column.field(field.name), field.type)
            if field.name in names
            else pa.nulls(len(column), field.type)
            for field in wanted
        ]
        return pa.StructArray.from_arrays(members, fields=list(wanted), mask=column.is_null())
    if pa.types.is_list(wanted) and pa.types.is_list(column.type):
        if column.offset:  # Arrow makes no list of a part of its offsets
            column = column.take(pa.array(range(len(column)), pa.int64()))
        items = _with_members(column.values, wanted.value_type)
        return pa.ListArray.from_arrays(column.offsets, items, type=wanted, mask=column.is_null())
    return column.cast(wanted)
