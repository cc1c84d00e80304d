"""JSON as this package reads and writes it: strict, exact for integers, bounded in depth. Pure.

Values that strict JSON parsers reject (``NaN``, numbers beyond a double, half of a surrogate pair) are refused, so that
everything that was read can be printed.
"""

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 200


def parse_json(data: bytes | str) -> Any:
    """The value; ValueError says what is invalid."""
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: {error}") from None
    try:
        value = json.loads(text, parse_float=_finite, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if "\\u" in text:
        _refuse_surrogates(value)
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_depth(value)
    return value


def dump_json(value: Any) -> str:
    """Compact JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_depth(value: Any) -> None:
    """ValueError for a value nested more than ``MAX_DEPTH`` times: printing or copying it would overflow the stack."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise ValueError(_too_deep())


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return []
    return [inner for inner in value if isinstance(inner, dict | list)]


def _too_deep() -> str:
    return f"it is nested more than {MAX_DEPTH} times"


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is beyond a double")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _refuse_surrogates(value: Any) -> None:
    try:
        dump_json(value).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair stands alone in a string") from None
    except RecursionError:
        raise ValueError(_too_deep()) from None
