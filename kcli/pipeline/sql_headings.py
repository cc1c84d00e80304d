"""Headings of columns where a query reads the same path of several tables: ``a.value:amount``, ``b.value:amount``. Pure.

Engines name a column by its expression without the tables. So of the items of a SELECT that have such a path and no
alias, each gets one, which is its text; other items have the engine's name. An item of which it is not plain whether it
has an alias has the engine's name too, without the tables.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kcli.pipeline.sql_tokens import Piece, Token

_ENDS = frozenset(
    {"from", "where", "group", "having", "order", "limit", "union", "intersect", "except", "minus"}
)
_VALUES = frozenset({"null", "true", "false", "end"})
_FIRST = frozenset({"select", "distinct", "all"})


def heading_pieces(sql: str, tokens: Sequence[Token], paths: Sequence[Piece]) -> Iterator[Piece]:
    """The aliases. ``paths`` are the pieces of paths into JSON."""
    several = of_several_tables(sql, paths)
    for item in _items(tokens) if several else ():
        start, end = item[0].start, item[-1].end
        if any(start <= path.start < end for path in several) and not _may_have_alias(item, paths):
            name = " ".join(sql[start:end].split()).replace("`", "``")
            made = f" as `{name}`"
            yield Piece(end, end, made, made)


def of_several_tables(sql: str, paths: Sequence[Piece]) -> list[Piece]:
    """The paths that are written with several tables, or with and without one."""
    written = defaultdict(set)
    for path in paths:
        written[path.heading].add(sql[path.start : path.end].lower())
    return [path for path in paths if len(written[path.heading]) > 1]


def _items(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The items of all SELECTs, without the words before the first."""
    levels: list[list[Token] | None] = [None]  # for each open parenthesis: the item that is read
    for token in tokens:
        item, text = levels[-1], token.text
        if token.kind == "name" and token.word == "select":
            levels[-1] = []
            continue
        if item is not None and (
            text in (",", ")") or (token.kind == "name" and token.word in _ENDS and item[-1:] != [])
        ):
            if item:
                yield item
            levels[-1] = [] if text == "," else None
        elif item is not None and not (not item and token.word in _FIRST):
            item.append(token)
        if text == "(":
            levels.append(None)
        elif text == ")" and len(levels) > 1:
            levels.pop()
            if levels[-1] is not None:
                levels[-1].append(token)
    if levels[0]:
        yield levels[0]


def _may_have_alias(item: Sequence[Token], paths: Sequence[Piece]) -> bool:
    last, before = item[-1], item[-2:-1]
    if any(path.start <= last.start < path.end for path in paths) or last.text in (")", "]"):
        return False
    if last.kind in ("number", "text") or last.word in _VALUES:
        return False
    return not (before and before[0].kind == "sign" and before[0].text not in (")", "]"))
