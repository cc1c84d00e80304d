"""Made-up values for every field of a table, and a form of them that can be compared. Not a test."""

import random
from typing import Any

from kcli.core.protocol.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Array,
    Field,
    Struct,
)
from kcli.core.protocol.table import Table

_BITS = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
_WORDS = ("", "a", "orders", "ünïcödé", "€" * 43, "x" * 127, "x" * 128, "\x00nul")


def fill(cls: type[Struct], version: int, rng: random.Random, *, nulls: bool = True) -> Any:
    """A ``cls`` with random values in the fields that ``version`` has."""
    present = [row for row in cls.fields if row.present(version)]
    return cls(**{row.name: _value(row, version, rng, nulls=nulls) for row in present})


def empty(cls: type[Struct], version: int) -> Any:
    """The ``cls`` whose every field has its default, empty records where null is not its choice."""
    return cls(**{row.name: row.default_value() for row in cls.fields})


def _value(row: Field, version: int, rng: random.Random, *, nulls: bool) -> Any:
    if nulls and row.may_be_null(version) and rng.random() < 0.3:
        return None
    if row.tag is not None and rng.random() < 0.4:
        return row.default_value()
    if isinstance(row.type, Array):
        return [_one(row.type.element, version, rng, nulls=nulls) for _ in range(rng.choice((0, 1, 2, 5)))]
    return _one(row.type, version, rng, nulls=nulls)


def _one(type_: Any, version: int, rng: random.Random, *, nulls: bool) -> Any:
    if isinstance(type_, type):
        return fill(type_, version, rng, nulls=nulls)
    if type_ in _BITS:
        edge = 1 << _BITS[type_] - 1
        return rng.choice((0, 1, -1, edge - 1, -edge, rng.randrange(-edge, edge)))
    if type_ in (UINT16, UINT32):
        return rng.randrange(1 << (16 if type_ == UINT16 else 32))
    if type_ == BOOL:
        return rng.random() < 0.5
    if type_ == FLOAT64:
        return rng.uniform(-1e9, 1e9)
    if type_ == UUID:
        return rng.randbytes(16)
    if type_ == STRING:
        return rng.choice(_WORDS)
    if type_ == BYTES:
        return rng.randbytes(rng.choice((0, 1, 126, 300)))
    assert type_ == RECORDS
    return [rng.randbytes(rng.choice((0, 1, 126, 300))) for _ in range(rng.choice((0, 1, 3)))]


def plain(value: Any, type_: Any = None) -> Any:
    """The value without views and buffers: equal for what was encoded and what was decoded."""
    if isinstance(value, Struct):
        return {row.name: plain(getattr(value, row.name), row.type) for row in value.fields}
    if type_ == RECORDS and value is not None:
        return bytes(value) if isinstance(value, (memoryview, bytes)) else b"".join(map(bytes, value))
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list | Table):
        return [plain(item) for item in value]
    return value
