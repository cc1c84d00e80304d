"""Types of columns, and how values of JSON, as the serdes decode them, become values of these types. Pure.

Nothing is guessed: a value that does not fit its type is a ValueError. What a schema leaves open (any JSON, a type that
contains itself) is a column of JSON text. Members that a type does not have are left out, and noted in ``dropped``.

Imports pyarrow: the module is imported where columns are made.
"""

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from kcli.core.classes import NamedTuple
from kcli.serde.json_text import dump_json

Convert = Callable[[Any], Any]
_LARGEST_DECIMAL = 76
"""Digits of decimal256."""


class Shape(NamedTuple):
    """``convert`` makes a value of ``type`` of one of JSON; None is null. ``is_json``: the type is text, and the value
    its JSON. ``members``: of an object; ``item``: of a list, a shape.
    """

    type: Any
    convert: Convert
    is_json: bool = False
    members: Sequence[tuple[str, Any]] = ()
    item: Any = None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | dict | list):
        raise ValueError(f"{_shown(value)} is no text")
    return str(value)  # the number of an enum's value that has no name


def _boolean(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ValueError(f"{_shown(value)} is no boolean")


def _json(value: Any) -> str | None:
    return None if value is None else dump_json(value)


def _float(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool | dict | list):
        raise ValueError(f"{_shown(value)} is no number")
    return float(value)  # NaN and Infinity are text in JSON


def _null(value: Any) -> None:
    if value is not None:
        raise ValueError(f"{_shown(value)} is not null")


STRING = Shape(pa.string(), _text)
BOOLEAN = Shape(pa.bool_(), _boolean)
JSON = Shape(pa.string(), _json, is_json=True)
FLOAT = Shape(pa.float32(), _float)
DOUBLE = Shape(pa.float64(), _float)
NULL = Shape(pa.null(), _null)
MAP_BOOLEAN = Shape(pa.bool_(), lambda name: {"true": True, "false": False}[name])
"""The key of a map, which is text in JSON."""
BASE64 = Shape(pa.binary(), lambda text: None if text is None else base64.b64decode(text, validate=True))
"""Bytes as Protobuf's JSON has them."""


def whole(kind: Any, bits: int, *, signed: bool = True) -> Shape:
    """Whole numbers: also as text, as Protobuf's JSON has those of 64 bits."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def convert(value: Any) -> int | None:
        if value is None:
            return None
        number = value
        if isinstance(value, str | float | Decimal):
            try:
                number = int(Decimal(value))
            except (InvalidOperation, ValueError, OverflowError):
                raise ValueError(f"{_shown(value)} is no whole number") from None
            if number != Decimal(value):
                raise ValueError(f"{_shown(value)} is no whole number")
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"{_shown(value)} is no whole number")
        if not low <= number <= high:
            raise ValueError(f"{_shown(value)} is no number of {bits} bits")
        return number

    return Shape(kind, convert)


INT16, INT32, INT64 = whole(pa.int16(), 16), whole(pa.int32(), 32), whole(pa.int64(), 64)
UINT32, UINT64 = whole(pa.uint32(), 32, signed=False), whole(pa.uint64(), 64, signed=False)


def counted(kind: Any, bits: int, read: Callable[[Any], Any]) -> Shape:
    """A date or a time, which ``read`` makes a number of, in the unit of the type."""
    number = whole(kind, bits).convert
    return Shape(kind, lambda value: None if value is None else number(read(value)))


def decimal(precision: int, scale: int) -> Shape:
    """Decimals; as text where no type has as many digits."""
    if precision > _LARGEST_DECIMAL:
        return STRING
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def convert(value: Any) -> Decimal | None:
        if value is None:
            return None
        found = Decimal(value)
        if len(found.as_tuple().digits) > precision:
            raise ValueError(f"{_shown(value)} has more than {precision} digits")
        return found

    return Shape(kind, convert)


def latin1(size: int = -1) -> Shape:
    """Bytes as Avro's JSON has them: a character for each."""
    return Shape(pa.binary(size), lambda text: None if text is None else text.encode("latin-1"))


def record(fields: Sequence[tuple[str, Shape]], path: str, dropped: set[str]) -> Shape:
    """An object with these members; one without any is JSON text."""
    if not fields:
        return JSON
    names = frozenset(name for name, _ in fields)
    made = [(name, shape.convert) for name, shape in fields]

    def convert(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ValueError(f"{_shown(value)} is no object")
        if not value.keys() <= names:
            dropped.update(f"{path}.{name}" if path else name for name in value.keys() - names)
        return {name: inner(value.get(name)) for name, inner in made}

    return Shape(pa.struct([(name, shape.type) for name, shape in fields]), convert, members=tuple(fields))


def several(item: Shape) -> Shape:
    """A list."""

    def convert(value: Any) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise ValueError(f"{_shown(value)} is no list")
        return [item.convert(inner) for inner in value]

    return Shape(pa.list_(item.type), convert, item=item)


def mapping(key: Shape, value: Shape) -> Shape:
    """An object with members of any name."""

    def convert(found: Any) -> list[tuple[Any, Any]] | None:
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ValueError(f"{_shown(found)} is no object")
        return [(key.convert(name), value.convert(inner)) for name, inner in found.items()]

    return Shape(pa.map_(key.type, value.type), convert)


_WIDER = ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))


def joined(old: Shape, new: Shape, path: str, dropped: set[str]) -> Shape:
    """The shape of values of two versions of a schema: members of both, and of two kinds of whole or floating numbers the
    wider. ValueError, which names the member, for other types.
    """
    if old.members and new.members:
        ours, theirs = dict(old.members), dict(new.members)
        fields = [
            (name, joined(ours[name], theirs[name], f"{path}.{name}" if path else name, dropped))
            if name in ours and name in theirs
            else (name, ours.get(name) or theirs[name])
            for name in ours | theirs
        ]
        return record(fields, path, dropped)
    if old.item is not None and new.item is not None:
        return several(joined(old.item, new.item, f"{path}[]", dropped))
    if old.type == new.type and (old is JSON) == (new is JSON):
        return new
    if NULL in (old, new):
        return new if old is NULL else old
    for narrow, wide in _WIDER:
        if {old.type, new.type} == {narrow, wide}:
            return old if old.type == wide else new
    raise ValueError(f"{path or 'the whole'} is {_named(new)} in one and {_named(old)} in the other")


def _named(shape: Shape) -> str:
    return "any JSON" if shape is JSON else str(shape.type)


def _shown(value: Any) -> str:
    text = dump_json(value)
    return text if len(text) <= 60 else text[:59] + "…"
