"""The words of an expression of ``--where``: its text in pieces, and the values of those that are literals. Pure."""

import json
import re
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.serde.json_text import json_integer, json_number

OPERATOR = "an operator (== != < <= > >= =~ in and or), or the end"
QUOTES = "text and times are in single quotes: 'DE', '2026-11-28T10:00Z', '3h'"
_INSTEAD = {
    "=": "equality is written ==",
    "~": "a regular expression is key =~ '^k[0-9]', negated not key =~ '^k[0-9]'",
    "/": "a regular expression is in single quotes: key =~ '^k[0-9]'",
    "$": "a path begins with a field: value.a",
    "+": "there is no arithmetic, and a number has no plus sign",
}
_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r]+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<raw>'(?:[^'\\]|\\.)*')
      | (?P<json>`(?:[^`\\]|\\.)*`)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<sign>\[\?|\[\]|\|\||&&|==|!=|<=|>=|=~|[.*\],:@(){}\[|&<>!])""",
    re.VERBOSE | re.DOTALL,
)


class WhereError(ValueError):
    """What is wrong at ``column`` (from 1) of the text, and what to write."""

    def __init__(self, column: int, why: str, do: str = "") -> None:
        super().__init__(why)
        self.column = column
        self.why = why
        self.do = do


class Token(NamedTuple):
    """``kind`` is a group of ``_TOKEN``, or ``end``; ``start`` and ``stop`` are its place in the text."""

    kind: str
    text: str
    start: int
    stop: int

    def is_sign(self, *signs: str) -> bool:
        """Whether it is one of the signs."""
        return self.kind == "sign" and self.text in signs

    def __str__(self) -> str:
        return repr(self.text) if self.text else "the end"


def tokens(text: str) -> list[Token]:
    """All of the text, the last one ``end``; WhereError for what is no part of any expression."""
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unknown(text, at)
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match[0], at, match.end()))
        at = match.end()
    return [*found, Token("end", "", len(text), len(text))]


def _unknown(text: str, at: int) -> WhereError:
    sign = text[at]
    if sign in "'\"`":
        return WhereError(
            at + 1, f"expected another {sign} after this one", "a quote inside is written \\" + sign
        )
    do = _INSTEAD.get(sign, "")
    if sign not in "=~" and at and (text[at - 1] == "." or text[at - 1].isidentifier()):
        do = 'a name with other signs than a-z, A-Z, 0-9 and _ is in double quotes: value."unit price"'
    return WhereError(at + 1, f"expected {OPERATOR}, not {sign!r}", do)


def literal_number(text: str) -> Any:
    """The value of a number as it stands in an expression, with or without backticks."""
    return json_number(text) if any(sign in text for sign in ".eE") else json_integer(text)


def text_of(token: Token) -> str:
    """What is in double quotes."""
    try:
        return str(json.loads(token.text))
    except ValueError as error:
        what = str(error).partition(":")[0].lower()
        raise WhereError(
            token.start + 1,
            f"expected text as JSON writes it, between double quotes: {what}",
            "a backslash in double quotes is written twice, in single quotes once",
        ) from None


def json_of(token: Token) -> Any:
    """What is in backticks; what is not JSON is text there, which JMESPath keeps for old expressions."""
    inner = token.text[1:-1].replace("\\`", "`")
    for text in (inner, f'"{inner.lstrip()}"'):
        try:
            return json.loads(text, parse_int=literal_number, parse_float=literal_number)
        except ValueError:
            continue
    raise WhereError(token.start + 1, "expected JSON between the backticks", "text is in single quotes: 'DE'")
