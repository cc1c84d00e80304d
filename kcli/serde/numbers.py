"""The numbers of Java's serializers: ``short``, ``int``, ``long``, ``float``, ``double``, big-endian. Pure.

Doubles that are not JSON numbers are the strings ``NaN``, ``Infinity`` and ``-Infinity``, as in Protobuf's JSON.
"""

import math
import struct
from decimal import Decimal
from typing import Any

from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.json_text import dump_json, json_number, shortest
from kcli.serde.serde import JsonValue, Serde, SerdeContext, text_of_line

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_FLOAT32 = struct.Struct(">f")
_BEYOND_LONG = 1 << 64
"""Larger numbers are not converted: 1e999999999 has as many digits."""


class IntegerSerde(Serde):
    """A signed integer of a fixed size."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._size = size

    def decode(self, data: bytes, context: SerdeContext) -> int:
        check_size(data, self._size, self.name, context)
        return int.from_bytes(data, "big", signed=True)

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        number = _integer(value, self.name, context)
        try:
            return number.to_bytes(self._size, "big", signed=True)
        except OverflowError:
            last = (1 << (8 * self._size - 1)) - 1
            raise EncodeError(
                f"the {context.part} {_short(value)} does not fit {_a(self.name)}",
                why=f"it goes from {-last - 1} to {last}",
            ) from None

    def encode_text(self, data: bytes, context: SerdeContext) -> bytes:
        return self.encode(text_of_line(data, context), context)


class FloatSerde(Serde):
    """``float`` (32 bit) or ``double`` (64 bit)."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._codec = struct.Struct(">f" if size == 4 else ">d")

    def decode(self, data: bytes, context: SerdeContext) -> float | str:
        check_size(data, self._codec.size, self.name, context)
        (value,) = self._codec.unpack(data)
        return json_float(value) if self._codec.size == 8 else json_float32(value)

    def decode_text(self, data: bytes, context: SerdeContext) -> str:
        value = self.decode(data, context)
        return value if isinstance(value, str) else dump_json(value)

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:
        number = _number(value, self.name, context)
        try:
            return pack_float(number, self._codec)
        except ValueError as error:
            what = f"the {context.part} {_short(value)} does not fit {_a(self.name)}"
            raise EncodeError(what, why=str(error)) from None

    def encode_text(self, data: bytes, context: SerdeContext) -> bytes:
        return self.encode(text_of_line(data, context), context)


def json_float(value: float) -> float | str:
    """The JSON form of a double."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def json_float32(value: float) -> float | str:
    """The shortest number that is equal to this 32-bit float: 0.1, not 0.10000000149011612."""
    if not math.isfinite(value):
        return json_float(value)
    for digits in range(6, 9):
        shorter = float(f"{value:.{digits}g}")
        try:
            if _FLOAT32.unpack(_FLOAT32.pack(shorter))[0] == value:
                return shorter
        except OverflowError:  # rounded up beyond the largest float
            continue
    return float(f"{value:.9g}")


def integer_of(number: float | Decimal) -> int | None:
    """The integer that a number is, None if it is none: a float stands for what it is printed as. Not for large ones,
    which have as many digits as 1e999999999.
    """
    exact = shortest(number) if isinstance(number, float) else Decimal(number)
    return int(exact) if exact == exact.to_integral_value() else None


def pack_float(number: float | Decimal, codec: struct.Struct) -> bytes:
    """The bytes of a float or double that is printed as this number; ValueError where there is none."""
    try:
        data = codec.pack(float(number))
    except OverflowError:
        raise ValueError("it is too large") from None
    (stored,) = codec.unpack(data)
    if not math.isfinite(stored):
        if isinstance(number, float):  # NaN or infinite itself
            return data
        raise ValueError("it is too large")
    shown = stored if codec.size == 8 else float(json_float32(stored))
    if shown != number if isinstance(number, float) else shortest(shown) != number:
        name = "double" if codec.size == 8 else "float"
        raise ValueError(f"it has more digits than {_a(name)} keeps, which would be {shown!r}")
    return data


def check_size(data: bytes, size: int, name: str, context: SerdeContext) -> None:
    """DecodeError for data of another size."""
    if len(data) != size:
        raise DecodeError(
            f"the {context.part} is not {_a(name)}", why=f"it has {len(data)} bytes, {_a(name)} has {size}"
        )


def _integer(value: Any, name: str, context: SerdeContext) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal) and -_BEYOND_LONG < value < _BEYOND_LONG:
        number = integer_of(value)
        if number is not None:
            return number
    if isinstance(value, str) and len(value) <= 40:
        try:
            return int(value)
        except ValueError:
            pass
    raise EncodeError(f"the {context.part} {_short(value)} is not {_a(name)}", why="it is not a whole number")


def _number(value: Any, name: str, context: SerdeContext) -> float | Decimal:
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    try:
        number = json_number(value) if isinstance(value, str) else value
        if (
            isinstance(number, int | float | Decimal)
            and not isinstance(number, bool)
            and math.isfinite(number)
        ):
            return number
    except (ValueError, OverflowError):
        pass
    raise EncodeError(
        f"the {context.part} {_short(value)} is not {_a(name)}",
        why="it is no number of that range; beside numbers there are NaN, Infinity and -Infinity",
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _a(name: str) -> str:
    return f"an {name}" if name == "int" else f"a {name}"
