"""JSON as this package reads and writes it: strict, lossless, bounded in depth. Pure.

A text either passes as it is (``compact_json``), with every digit, escape and repeated member, or becomes values
(``parse_json``), which lose nothing: a number that no float is becomes a ``Decimal``, and an object that has a member
twice is refused. Values that strict JSON parsers reject (``NaN``, half of a surrogate pair) are refused either way, so
that everything that was read can be printed.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

MAX_DEPTH = 200
_KEPT_DIGITS = 15
"""Without an exponent, so many characters have no more digits than every double keeps."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

Pairs = list[tuple[str, Any]]


class NotJsonError(ValueError):
    """What is wrong, and where: ``position`` counts characters from 0; None where it is not known."""

    verdict = "is not JSON"

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason} at character {position + 1}")
        self.reason = reason
        self.position = position

    def line_in(self, text: str) -> int:
        """The line of the position, from 1."""
        return text.count("\n", 0, self.position or 0) + 1


class RepeatedMemberError(NotJsonError):
    """An object has a member twice: which of them is meant is not known."""

    verdict = "is ambiguous JSON"


class _RepeatedMember(Exception):  # noqa: N818 - a finding, whose place is looked for afterwards
    """An object has a member twice."""


def parse_json(data: bytes | str) -> Any:
    """The value, without loss; NotJsonError says what is invalid, RepeatedMemberError what an object has twice."""
    text = _text(data)
    try:
        value = _parsed(text, _object)
    except _RepeatedMember:
        raise _repeated_member(text) from None
    _check(text, value)
    return value


def compact_json(data: bytes) -> str:
    """The same text without blanks between its tokens, on one line; NotJsonError for what is no JSON."""
    import msgspec  # only where JSON passes: serdes of other formats need no library

    text = _text(data)
    try:
        found = msgspec.json.format(data, indent=-1).decode()
    except (msgspec.DecodeError, RecursionError) as error:
        _check(text, _parsed(text))
        raise NotJsonError(str(error)) from None
    if _HALF_A_PAIR.search(text) or _may_be_deep(text):
        _check(text, _parsed(text))
    return found


def dump_json(value: Any) -> str:
    """Compact JSON on one line."""
    if (
        type(value) is int
    ):  # most values of records are numbers and text, for which the encoder takes ten times as long
        return int.__repr__(value)
    try:
        return _encode(value)
    except TypeError:
        return _dump_exactly(value)


def json_number(literal: str) -> float | Decimal:
    """The value of a number with a fraction or an exponent: a float if it is printed as that number, else a Decimal."""
    near = float(literal)
    if len(literal) <= _KEPT_DIGITS and "e" not in literal and "E" not in literal:
        return near
    try:
        exact = Decimal(literal)
    except InvalidOperation:
        raise ValueError(f"the number {literal[:40]} has an exponent that is too large") from None
    return near if shortest(near) == exact else exact


def json_integer(literal: str) -> int | Decimal:
    """The value of a number of digits; a Decimal where it has more than Python converts."""
    try:
        return int(literal)
    except ValueError:
        return Decimal(literal)


def shortest(number: float) -> Decimal:
    """The number that a float is printed as, which is what it stands for in JSON."""
    return Decimal(repr(number))


def check_depth(value: Any) -> None:
    """ValueError for a value nested more than ``MAX_DEPTH`` times: printing or copying it would overflow the stack."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise _too_deep()


def _text(data: bytes | str) -> str:
    try:
        return data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise NotJsonError(f"it is not UTF-8: {error}") from None


def _parsed(text: str, of_pairs: Callable[[Pairs], Any] | None = None) -> Any:
    try:
        return json.loads(
            text,
            parse_float=json_number,
            parse_int=json_integer,
            parse_constant=_no_constant,
            object_pairs_hook=of_pairs,
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(error.msg, error.pos) from None
    except ValueError as error:
        raise NotJsonError(str(error)) from None
    except RecursionError:
        raise _too_deep() from None


def _object(pairs: Pairs) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatedMember
    return found


def _check(text: str, value: Any) -> None:
    if _HALF_A_PAIR.search(text):
        _refuse_surrogates(value)
    if _may_be_deep(text):
        check_depth(value)


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_DEPTH


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return []
    return [inner for inner in value if isinstance(inner, dict | list)]


def _too_deep() -> NotJsonError:
    return NotJsonError(f"it is nested more than {MAX_DEPTH} times")


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _refuse_surrogates(value: Any) -> None:
    try:
        dump_json(value).encode()
    except UnicodeEncodeError:
        raise NotJsonError("half of a surrogate pair stands alone in a string") from None
    except RecursionError:
        raise _too_deep() from None


def _dump_exactly(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump_json(name)}:{dump_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump_json, value)) + "]"
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


# --- where a member is repeated ----------------------------------------------------------------------


class _Level:
    """An object or array that a scan is inside of: ``step`` is the name or the index where it is."""

    def __init__(self, *, is_object: bool) -> None:
        self.is_object = is_object
        self.names: set[str] = set()
        self.step: str | int = 0

    def __str__(self) -> str:
        if isinstance(self.step, int):
            return f"[{self.step}]"
        return f".{self.step}" if self.step.isidentifier() else f"[{self.step!r}]"


def _repeated_member(text: str) -> RepeatedMemberError:
    """Finds the first member that an object of this JSON has twice."""
    levels: list[_Level] = []
    before = ""
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        here = levels[-1] if levels else _Level(is_object=False)
        if sign in "{[":
            levels.append(_Level(is_object=sign == "{"))
        elif sign in "}]":
            levels.pop()
        elif isinstance(here.step, int) and not here.is_object:
            here.step += sign == ","
        elif sign == '"' and before in "{,":
            name = json.loads(token[0])
            if name in here.names:
                path = "".join(map(str, levels[:-1])).removeprefix(".")
                reason = f"{path or 'the object'} has the member {name!r} a second time"
                return RepeatedMemberError(reason, token.start())
            here.names.add(name)
            here.step = name
        before = sign
    raise AssertionError("no member is repeated")
