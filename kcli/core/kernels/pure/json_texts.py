"""The kernel ``json_texts`` in Python: the texts at a path of JSON documents, as Spark's ``get_json_object`` has them.

Spark reads and writes with Jackson: strings may stand in single quotes and contain bare control characters, what follows
the outermost value is not read, levels and the characters of a number are limited, a number with a fraction or an
exponent is a double.
"""

import re
from collections.abc import Iterator, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.kernels.arrow_ops import Array
from kcli.core.kernels.pure.arrow import bytes_array

_DEEPEST = 1000
_LONGEST = 1000
_TOKENS = re.compile(
    rb"""[ \t\r\n]*(?:
      (?P<text>"(?:[^"\\]|\\(?:[btnfr"'/\\]|u[0-9a-fA-F]{4}))*"|'(?:[^'\\]|\\(?:[btnfr"'/\\]|u[0-9a-fA-F]{4}))*')
    | (?P<number>-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?)
    | (?P<word>true|false|null)
    | (?P<sign>[][{}:,])
    )""",
    re.VERBOSE,
)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPES = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANING = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


class _BrokenError(Exception):
    """The document is no JSON, or what is found in it no text."""


class _Token(NamedTuple):
    kind: str
    text: bytes


class _Value(NamedTuple):
    """``entries``: those of an object by name, of an array by index. ``start``, ``end``: which tokens it is made of."""

    start: int
    end: int
    entries: list[tuple[str | int, "_Value"]]
    opening: bytes
    is_null: bool = False


def json_texts(column: Array, path: Sequence[bytes | int]) -> Array:
    """A column of texts, of which each is that at ``path`` in the document of the same row of ``column``, or null.

    A step of the path is the name of an entry, or the index in an array. A string is its text, a number with a fraction
    or an exponent a double's as Java writes it, any other value its JSON without spaces. Null: the document is broken,
    there is no such value, or it is a null at a name; at an index that is ``null``. Of several entries with a name, the
    first one counts that has the value.

    ``column`` is utf8; a row that is null has no bytes. ValueError for offsets that cannot be, OverflowError for more
    than 2 GiB of texts.
    """
    length, _, (_, ends, data), _ = column
    assert ends is not None
    assert data is not None
    places = memoryview(ends).cast("B").cast("i")
    view = memoryview(data)
    if len(places) <= length or places[0] < 0 or places[length] > len(view):
        raise ValueError("the offsets of the column are wrong")
    if any(places[row] > places[row + 1] for row in range(length)):
        raise ValueError("the offsets of the column are wrong")
    return bytes_array([_text(bytes(view[places[row] : places[row + 1]]), path) for row in range(length)])


def _text(document: bytes, path: Sequence[bytes | int]) -> bytes | None:
    tokens: list[_Token] = []
    try:
        root = _parse(_scan(document), tokens)
        found = _find(root, [step if isinstance(step, int) else step.decode() for step in path])
        if found is None:
            return None
        first = tokens[found.start]
        if first.kind == "text":
            return _decoded(first.text).encode()
        return b"".join(_written(token) for token in tokens[found.start : found.end])
    except (_BrokenError, UnicodeEncodeError):  # half a surrogate pair
        return None


def _scan(document: bytes) -> Iterator[_Token]:
    at = 0
    while match := _TOKENS.match(document, at):
        at = match.end()
        kind = match.lastgroup or ""
        text = match[kind]
        if kind == "number" and (len(text) > _LONGEST or not _NUMBER.fullmatch(text)):
            return
        yield _Token(kind, text)


def _parse(found: Iterator[_Token], tokens: list[_Token]) -> _Value:
    """The outermost value; all tokens up to its end."""
    open_ones: list[_Value] = []
    names: list[str | int] = []
    while True:
        token = _next(found, tokens)
        start = len(tokens) - 1
        name: str | int = len(open_ones[-1].entries) if open_ones else 0
        if open_ones and token.text in (b"}", b"]"):
            _check(_closes(open_ones[-1], token) and not open_ones[-1].entries)
            value = open_ones.pop()._replace(end=len(tokens))
        else:
            if open_ones and open_ones[-1].opening == b"{":
                _check(token.kind == "text")
                name = _decoded(token.text)
                _check(_next(found, tokens).text == b":")
                token, start = _next(found, tokens), len(tokens) - 1
            names.append(name)
            if token.text in (b"{", b"["):
                open_ones.append(_Value(start, 0, [], token.text))
                _check(len(open_ones) <= _DEEPEST)
                continue
            _check(token.kind != "sign")
            value = _Value(start, len(tokens), [], b"", token.text == b"null")
        # The value is complete; and so are those that end behind it.
        while True:
            if not open_ones:
                return value
            open_ones[-1].entries.append((names.pop(), value))
            token = _next(found, tokens)
            if token.text == b",":
                break
            _check(_closes(open_ones[-1], token))
            value = open_ones.pop()._replace(end=len(tokens))


def _next(found: Iterator[_Token], tokens: list[_Token]) -> _Token:
    token = next(found, None)
    if token is None:
        raise _BrokenError
    tokens.append(token)
    return token


def _closes(value: _Value, token: _Token) -> bool:
    return token.text == (b"}" if value.opening == b"{" else b"]")


def _check(good: bool) -> None:
    if not good:
        raise _BrokenError


def _find(value: _Value, path: Sequence[str | int]) -> _Value | None:
    if not path:
        return value
    step = path[0]
    if value.opening != (b"[" if isinstance(step, int) else b"{"):
        return None
    for name, entry in value.entries:
        if name == step and not (entry.is_null and isinstance(step, str)):
            found = _find(entry, path[1:])
            if found is not None:
                return found
    return None


def _decoded(literal: bytes) -> str:
    """The meaning of a string with its quotes; halves of surrogate pairs that stand alone stay."""
    text = literal[1:-1].decode()
    if "\\" not in text:
        return text
    found = _ESCAPES.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _MEANING.get(match[2], match[2]), text
    )
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _written(token: _Token) -> bytes:
    if token.kind == "text":
        return f'"{_TO_ESCAPE.sub(_escape, _decoded(token.text))}"'.encode()
    return _number(token.text) if token.kind == "number" else token.text


def _escape(match: re.Match[str]) -> str:
    """As Jackson does: characters of more than 16 bits are two escapes."""
    if match[0] in _SHORT:
        return _SHORT[match[0]]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def _number(text: bytes) -> bytes:
    match = _NUMBER.fullmatch(text)
    assert match is not None
    if match[1] is None and match[2] is None:
        return b"0" if text == b"-0" else text
    value = float(text)
    sign = "-" if text.startswith(b"-") else ""
    if value in (float("inf"), float("-inf")):
        return f'"{sign}Infinity"'.encode()
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0.0".encode()
    if 0 < point <= 7:
        shown = f"{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    elif -3 < point <= 0:
        shown = f"0.{'0' * -point}{digits}"
    else:
        shown = f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    return (sign + shown).encode()
