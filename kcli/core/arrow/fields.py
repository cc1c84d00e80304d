"""Types of Arrow as format strings, and the columns that records of a topic have. Pure values."""

from collections.abc import Iterable, Sequence

from kcli.core.arrow.structs import NULLABLE
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.kernels import arrow_ops as op
from kcli.core.near_names import near_names

INT32, INT64, BINARY, TEXT, LIST, STRUCT = "i", "l", "z", "u", "+l", "+s"
UTC_MILLISECONDS = "tsm:UTC"
_MILLISECONDS = "tsm:"


class Field(NamedTuple):
    """A column or a part of one: format string, name, flags, children."""

    format: str
    name: str
    flags: int = NULLABLE
    children: tuple["Field", ...] = ()


_HEADER = Field(STRUCT, "item", NULLABLE, (Field(TEXT, "key"), Field(BINARY, "value")))
_COLUMNS = {
    "topic": (op.TOPIC, TEXT, ()),
    "partition": (op.PARTITION, INT32, ()),
    "offset": (op.OFFSET, INT64, ()),
    "timestamp": (op.TIMESTAMP, UTC_MILLISECONDS, ()),
    "timestamp_type": (op.TIMESTAMP_TYPE, TEXT, ()),
    "key": (op.KEY, BINARY, ()),
    "value": (op.VALUE, BINARY, ()),
    "key_text": (op.KEY_TEXT, TEXT, ()),
    "value_text": (op.VALUE_TEXT, TEXT, ()),
    "headers": (op.HEADERS, LIST, (_HEADER,)),
    "headers_packed": (op.HEADERS_PACKED, BINARY, ()),
    "leader_epoch": (op.LEADER_EPOCH, INT32, ()),
}
COLUMNS = tuple(_COLUMNS)
"""The names of all columns."""
RECORD_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "leader_epoch",
)
"""Those that hold everything of a record, each once."""


class Columns(NamedTuple):
    """Chosen columns: their codes for ``arrow_columns``, and their fields."""

    codes: tuple[int, ...]
    fields: tuple[Field, ...]


def chosen_columns(names: Iterable[str], *, utc_timestamps: bool = True) -> Columns:
    """The columns with these ``names``; ConfigError for a name that is none, or is given twice.

    ``timestamp`` is timestamp[ms, UTC], or else int64.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    for at, name in enumerate(wanted):
        if name not in _COLUMNS:
            near = near_names(str(name), COLUMNS)
            do = f"did you mean {near[0]}? " if near else ""
            raise ConfigError(
                f"no column {name!r}",
                why="records have no such column",
                do=f"{do}Columns: {', '.join(COLUMNS)}",
            )
        if name in wanted[:at]:
            raise ConfigError(
                f"the column {name} is given twice", why="columns of a table have different names"
            )
    fields = []
    for name in wanted:
        _, kind, children = _COLUMNS[name]
        fields.append(
            Field(INT64 if name == "timestamp" and not utc_timestamps else kind, name, NULLABLE, children)
        )
    return Columns(tuple(_COLUMNS[name][0] for name in wanted), tuple(fields))


def table_schema(fields: Sequence[Field]) -> Field:
    """The schema of a table or a record batch with these columns."""
    return Field(STRUCT, "", 0, tuple(fields))


def requested_fields(fields: Sequence[Field], requested: Sequence[tuple[str, str]]) -> tuple[Field, ...]:
    """The fields with the formats that a consumer requests, where the same buffers have that meaning too.

    ``requested`` has formats and names. Columns are neither reordered nor left out: a request that the buffers cannot
    fulfil is the consumer's to cast, as the PyCapsule interface leaves it.
    """
    if [field.name for field in fields] != [name for _, name in requested]:
        return tuple(fields)
    return tuple(
        field._replace(format=kind) if _same_buffers(field.format, kind) else field
        for field, (kind, _) in zip(fields, requested, strict=True)
    )


def _same_buffers(own: str, other: str) -> bool:
    if own == TEXT:
        return other == BINARY
    return own in (INT64, UTC_MILLISECONDS) and (
        other == INT64 or (other.startswith(_MILLISECONDS) and own != INT64)
    )
