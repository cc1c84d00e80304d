"""Expressions for DuckDB with their types in Spark, and the casts that Spark makes by itself. Pure.

A cast whose result would differ is a macro of ``macros.py``, which fails where Spark's fails.
"""

from collections.abc import Sequence

from kcli.core.classes import dataclass
from kcli.pipeline.result_values import HEADERS
from kcli.pipeline.sql_orders import no_order

TEXT, BINARY, BOOLEAN, DATE, TIME, NULL = "string", "binary", "boolean", "date", "timestamp", "void"
INT, LONG, DOUBLE, DECIMAL = "int", "bigint", "double", "decimal"
WHOLE = {"tinyint": 1, "smallint": 2, INT: 4, LONG: 8}
"""Types of whole numbers, with their bytes."""
NUMBERS = frozenset({*WHOLE, DOUBLE, DECIMAL})
OF_DUCKDB = {
    TEXT: "VARCHAR", BINARY: "BLOB", BOOLEAN: "BOOLEAN", DATE: "DATE", TIME: "TIMESTAMPTZ", DOUBLE: "DOUBLE",
    "tinyint": "TINYINT", "smallint": "SMALLINT", INT: "INTEGER", LONG: "BIGINT",
}  # fmt: skip
_FROM_TEXT = {
    LONG: "kcli_long",
    DOUBLE: "kcli_double",
    BOOLEAN: "kcli_boolean",
    TIME: "kcli_time",
    DATE: "kcli_date",
}


class LacksError(Exception):
    """What DuckDB does not have, or has with other results: a name for the message."""


@dataclass(frozen=True, slots=True)
class Typed:
    """``sql`` is for DuckDB, ``kind`` Spark's type, ``name`` that of such a column in Spark (None: not known here).
    ``literal``: the value of a literal. ``aggregates``: an aggregate function is in it. ``path``: it is the text at this
    path into JSON, whose type is not known; empty for all else.
    """

    sql: str
    kind: str
    name: str | None = None
    literal: str | None = None
    aggregates: bool = False
    path: str = ""


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A literal of DuckDB, which has no escapes."""
    if "\0" in value:
        raise LacksError("a NUL character in a text")
    return "'" + value.replace("'", "''") + "'"


def cast(value: Typed, kind: str, *, tries: bool = False) -> str:
    """The SQL of a value as another type, as Spark's ANSI casts do it; LacksError where that is not the same. ``tries``:
    it is null where such a cast fails.
    """
    own, sql = value.kind, value.sql
    if own == kind:
        return sql
    if own == NULL:
        return f"CAST(NULL AS {OF_DUCKDB[kind]})" if kind in OF_DUCKDB else "NULL"
    if own == TEXT:
        macro = _FROM_TEXT.get(LONG if kind in WHOLE else kind)
        if macro is not None:
            made = f"{macro}{'_or_null' if tries else ''}({sql})"
            return sql_cast(made, kind, tries=tries) if kind in WHOLE and kind != LONG else made
        if kind == BINARY:
            return f"encode({sql})"
    if own in WHOLE and kind in (*WHOLE, DOUBLE, TEXT):
        return sql_cast(sql, kind, tries=tries)
    if own == DOUBLE and kind in WHOLE:
        return sql_cast(f"trunc({sql})", kind, tries=tries)
    if own == DECIMAL and kind == DOUBLE:
        return sql_cast(sql, kind)
    if own == BINARY and kind == TEXT and not tries:
        return f"decode({sql})"
    if own == BOOLEAN and kind in (TEXT, INT, LONG):
        return sql_cast(sql, kind)
    if (own, kind) in ((TIME, DATE), (DATE, TIME), (DATE, TEXT)):
        return sql_cast(sql, kind)
    raise LacksError(f"a cast from {own.upper()} to {kind.upper()}")


def sql_cast(sql: str, kind: str, *, tries: bool = False) -> str:
    """DuckDB's own cast."""
    return f"{'TRY_CAST' if tries else 'CAST'}({sql} AS {OF_DUCKDB[kind]})"


def common(values: Sequence[Typed], what: str) -> str:
    """The type in which Spark compares or joins these values; LacksError for types that it joins in other ways."""
    kinds = {value.kind for value in values} - {NULL}
    if not kinds:
        return NULL
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {*WHOLE}:
        return max(kinds, key=WHOLE.__getitem__)
    if kinds <= NUMBERS:
        return DOUBLE if DOUBLE in kinds else DECIMAL
    if TEXT in kinds:
        others = kinds - {TEXT}
        if others <= {*WHOLE}:
            return LONG
        if others <= NUMBERS:
            return DOUBLE
        if len(others) == 1 and others <= {BINARY, TIME, DATE, BOOLEAN}:
            return others.pop()
    if kinds == {TIME, DATE}:
        return TIME
    raise LacksError(f"{what} of {' and '.join(sorted(kind.upper() for kind in kinds))}")


def as_common(values: Sequence[Typed], what: str) -> tuple[str, list[str]]:
    """The common type, and the SQL of the values in it. Decimals stay: DuckDB compares them with whole numbers as Spark
    does.
    """
    kind = common(values, what)
    if kind == DECIMAL:
        return kind, [value.sql for value in values]
    return kind, [value.sql if kind == NULL else cast(value, kind) for value in values]


def comparable(kind: str, what: str) -> None:
    """LacksError for types that cannot be compared."""
    if kind == HEADERS:
        raise LacksError(f"{what} of {kind.upper()}")


def ordered(value: Typed, what: str) -> None:
    """LacksError for types without an order, ConfigError for a path into JSON without a type."""
    comparable(value.kind, what)
    if value.path:
        raise no_order(value.path, what)
