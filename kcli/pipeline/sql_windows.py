"""Windows in the SQL of a query: ``tumble(timestamp, '1 minute')``, ``window_start`` and ``window_end``. Pure.

A window is one of equal spans of time that begin at the epoch, in UTC. All three become arithmetic on the time, which
both engines have; as an item of SELECT without a name they are called ``window_start`` and ``window_end``.
"""

import re
from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.positions import parse_duration_ms
from kcli.pipeline.sql_tokens import Piece, Token, text_at

_WIDTH = re.compile(r"(\d+)\s+(second|minute|hour|day|week)s?", re.IGNORECASE)
_MS = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 7 * 86_400_000}
_USE = "tumble(timestamp, '1 minute')"
_CLAUSES = frozenset(
    {"from", "where", "group", "having", "order", "by", "on", "limit", "then", "when", "else"}
)


class Tumble(NamedTuple):
    """A ``tumble``: the width in ms, its column as it is written, and the SQL that it became."""

    width_ms: int
    column: str
    sql: str


def tumbling_pieces(sql: str, tokens: Sequence[Token]) -> tuple[tuple[Tumble, ...], list[Piece]]:
    """Each ``tumble``, and what replaces them; ConfigError for one that is wrong."""
    found: list[Tumble] = []
    pieces: list[Piece] = []
    for at, token in enumerate(tokens):
        if token.kind == "name" and token.word == "tumble" and text_at(tokens, at + 1) == "(":
            last, made = _tumble(sql, tokens, at)
            found.append(made)
            named = _with_name(tokens, at, last, made.sql, "window_start")
            pieces.append(Piece(token.start, tokens[last].end, named, made.sql))
    for at, token in enumerate(tokens):
        if found and token.kind == "name" and token.word in ("window_start", "window_end"):
            if text_at(tokens, at - 1).lower() == "as" or text_at(tokens, at - 1) == ".":
                continue
            made = found[0]
            ends = f" + interval {made.width_ms // 1000} second" if token.word == "window_end" else ""
            named = _with_name(tokens, at, at, f"({made.sql}{ends})" if ends else made.sql, token.word)
            pieces.append(Piece(token.start, token.end, named, made.sql + ends))
    return tuple(found), pieces


def _tumble(sql: str, tokens: Sequence[Token], at: int) -> tuple[int, Tumble]:
    """The index of the closing parenthesis, and what was made."""
    column = at + 2
    while text_at(tokens, column + 1) == ".":
        column += 2
    width = column + 2
    shown = sql[tokens[at].start : tokens[min(len(tokens) - 1, width + 1)].end]
    if (
        width + 1 >= len(tokens)
        or tokens[column].kind not in ("name", "quoted")
        or (text_at(tokens, column + 1), text_at(tokens, width + 1)) != (",", ")")
        or tokens[width].kind != "text"
    ):
        raise _wrong(shown, "it has a column with a time, and a width as a text")
    ms = _width_ms(tokens[width].text[1:-1])
    if ms is None:
        raise _wrong(
            shown, "its width is a whole number of seconds, as in '30 seconds', '5 minutes' or '1 hour'"
        )
    name = sql[tokens[at + 2].start : tokens[column].end]
    made = f"timestamp_millis(unix_millis({name}) div {ms} * {ms})"
    return width + 1, Tumble(ms, name, made)


def _width_ms(text: str) -> int | None:
    match = _WIDTH.fullmatch(text.strip())
    if match is not None:
        ms = int(match[1]) * _MS[match[2].lower()]
    else:
        try:
            ms = parse_duration_ms(text)
        except ValueError:
            return None
    return ms if ms >= 1000 and ms % 1000 == 0 else None


def _with_name(tokens: Sequence[Token], first: int, last: int, sql: str, name: str) -> str:
    """With a name where it is an item of SELECT that has none."""
    after = text_at(tokens, last + 1).lower()
    return f"{sql} as {name}" if after in (",", "from", "") and _is_item(tokens, first) else sql


def _is_item(tokens: Sequence[Token], at: int) -> bool:
    """Whether an expression that begins here is an item of SELECT by itself."""
    if text_at(tokens, at - 1).lower() not in ("select", "distinct", ","):
        return False
    depth = 0
    for token in reversed(tokens[:at]):
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0:
            return False
        if not depth and token.kind == "name":
            if token.word == "select":
                return True
            if token.word in _CLAUSES:
                return False
    return False


def _wrong(shown: str, why: str) -> ConfigError:
    return ConfigError(f"a window is wrong: {shown}", why=why, do=_USE)
