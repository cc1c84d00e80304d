"""Values of a query's result as JSON has them. Pure.

Bytes are text where they are UTF-8, else base64; headers of a record are pairs, as in all of kcli's outputs.
"""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from kcli.core.classes import NamedTuple

HEADERS = "array<struct<key:string,value:binary>>"
BASE64 = "base64"


class ResultColumn(NamedTuple):
    """``kind``: Spark's type. Values of the type timestamp are ms since the epoch, variants are JSON."""

    name: str
    kind: str


def unique_names(names: Iterable[str]) -> list[str]:
    """Names of which none occurs twice: JSON has one value for each."""
    found: list[str] = []
    for name in names:
        number, own = 2, name
        while own in found:
            number, own = number + 1, f"{name}_{number}"
        found.append(own)
    return found


def bytes_text(data: bytes) -> tuple[str, bool]:
    """The text, and whether it is base64."""
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return b64encode(data).decode(), True


def plain(value: Any) -> Any:
    """Any value of Spark as one of JSON. Numbers that JSON does not have are text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return bytes_text(bytes(value))[0]
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_key(key): plain(inner) for key, inner in value.items()}
    if hasattr(value, "asDict"):  # a Row of Spark
        return {key: plain(inner) for key, inner in value.asDict().items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)


def headers(value: Sequence[Any] | None) -> list[list[Any]] | None:
    """The headers of a record: ``[["n","v"],…]``, with base64 as the third element where a value is no text."""
    if value is None:
        return None
    found = []
    for name, data in value:
        if data is None:
            found.append([name, None])
            continue
        text, encoded = bytes_text(bytes(data))
        found.append([name, text, BASE64] if encoded else [name, text])
    return found


def item_maker(columns: Sequence[tuple[str, str]]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Makes items of rows. ``columns``: names and types of Spark. Base64 is marked by a further key ``NAME_encoding``."""

    def item(row: Sequence[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for (name, kind), value in zip(columns, row, strict=True):
            if kind == "binary" and value is not None:
                found[name], encoded = bytes_text(bytes(value))
                if encoded:
                    found[f"{name}_encoding"] = BASE64
            else:
                found[name] = headers(value) if kind == HEADERS else plain(value)
        return found

    return item


def with_text_cells(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item for tables, where a list or a struct is one cell: its JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if isinstance(value, list | dict)
        else value
        for name, value in item.items()
    }


def _number(value: Decimal) -> Any:
    """As a number where that loses nothing, else as text."""
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value():
        return int(value)
    return float(value) if len(value.as_tuple().digits) <= 15 else str(value)


def _key(value: Any) -> str:
    found = plain(value)
    return found if isinstance(found, str) else str(found)
