"""The words and signs of SQL with their places, and what replaces some of them. Pure."""

import re
from collections.abc import Iterator, Sequence

from kcli.core.classes import NamedTuple

_TOKENS = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]*|/\*.*?(?:\*/|$))
    | (?P<text>[rR]'[^']*'?|[rR]"[^"]*"?|'(?:\\.|''|[^'\\])*'?|"(?:\\.|""|[^"\\])*"?)
    | (?P<quoted>`(?:``|[^`])*`?)
    | (?P<name>[^\W\d]\w*)
    | (?P<number>\d[\w.]*)
    | (?P<sign>::|<=>|<>|<=|>=|!=|->|=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """``kind`` is a group of the pattern; ``start`` is its place in the text."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """What a name or a sign means, without quotes and in lower case."""
        return (self.text.strip("`").replace("``", "`") if self.kind == "quoted" else self.text).lower()


class Piece(NamedTuple):
    """A part of the SQL that was replaced: where it was, what it is now, how Spark names such a column."""

    start: int
    end: int
    sql: str
    heading: str


def tokens_of(sql: str) -> Iterator[Token]:
    """All tokens, space and comments among them."""
    for match in _TOKENS.finditer(sql):
        yield Token(match.lastgroup or "sign", match.group(), match.start())


def text_at(tokens: Sequence[Token], at: int) -> str:
    """The text of a token; empty where there is none."""
    return tokens[at].text if 0 <= at < len(tokens) else ""
