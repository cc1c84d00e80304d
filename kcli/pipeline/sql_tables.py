"""Topics that a query names as tables: ``from orders o join `customers-v2` c``. Pure.

Such a name becomes one that both engines accept, with the topic as its alias unless it has one. A name that is not
among the topics that are queried, or that WITH defines, is left to the engine.
"""

from collections.abc import Collection, Iterator, Sequence

from kcli.pipeline.sql_tokens import Piece, Token, text_at

_BEFORE = frozenset({"from", "join"})
_ENDS = frozenset(
    {"where", "group", "having", "order", "on", "using", "select", "limit", "union", "intersect", "except"}
)
_NO_ALIAS = frozenset(
    {*_ENDS, "join", "inner", "left", "right", "full", "cross", "outer", "semi", "anti", "natural", "offset", "sort",
     "cluster", "distribute", "window", "lateral", "pivot", "unpivot", "tablesample", "minus", "qualify", "with"}
)  # fmt: skip
_NO_NAMES = frozenset({"select", "from", "with", "values", "lateral", "table"})
"""Words that are no name of a table without quotes."""
_NOT_TABLES = frozenset({"extract", "trim", "substring", "substr", "overlay", "position"})
"""Functions with a FROM of their own."""


def topic_tables(tokens: Sequence[Token], topics: Collection[str]) -> tuple[dict[str, str], list[Piece]]:
    """The topics by the names of their tables, and what replaces them in the SQL."""
    defined = {
        token.word
        for at, token in enumerate(tokens)
        if token.kind in ("name", "quoted")
        and [text_at(tokens, at + 1).lower(), text_at(tokens, at + 2)] == ["as", "("]
    }
    names: dict[str, str] = {}  # topic → table
    pieces: list[Piece] = []
    for first, last in _table_names(tokens):
        topic = _name(tokens[first : last + 1])
        if topic not in topics or topic in defined or topic == "source":
            continue
        table = names.setdefault(topic, f"kcli_topic_{len(names)}")
        after = tokens[last + 1] if last + 1 < len(tokens) else None
        has_alias = after is not None and (
            after.kind == "quoted" or (after.kind == "name" and after.word not in _NO_ALIAS)
        )
        made = table if has_alias else f"{table} as `{topic}`"
        pieces.append(Piece(tokens[first].start, tokens[last].end, made, made))
    return {table: topic for topic, table in names.items()}, pieces


def _table_names(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The first and the last token of each name that stands where a table does."""
    inside = [False]  # for each open parenthesis: whether a comma is followed by a table
    of_function = [False]
    expected = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.text == "(":
            inside.append(expected and tokens[at - 1].word not in _NOT_TABLES)
            of_function.append(at > 0 and tokens[at - 1].word in _NOT_TABLES)
        elif token.text == ")":
            if len(inside) > 1:
                inside.pop()
                of_function.pop()
            expected = False
        elif token.text == ",":
            expected = inside[-1]
        elif expected and (token.kind == "quoted" or (token.kind == "name" and token.word not in _NO_NAMES)):
            last = at
            while text_at(tokens, last + 1) in (".", "-") and tokens[last + 1].start == tokens[last].end:
                if last + 2 >= len(tokens) or tokens[last + 2].kind not in ("name", "quoted", "number"):
                    break
                last += 2
            if text_at(tokens, last + 1) != "(":
                yield at, last
            at, expected = last, False
        elif token.kind == "name" and token.word in _BEFORE:
            is_distinct = token.word == "from" and text_at(tokens, at - 1).lower() == "distinct"
            expected = not of_function[-1] and not is_distinct
            inside[-1] = inside[-1] or expected
        elif token.kind == "name" and token.word in _ENDS:
            inside[-1] = expected = False
        else:
            expected = False
        at += 1


def _name(tokens: Sequence[Token]) -> str:
    return "".join(
        token.text.strip("`").replace("``", "`") if token.kind == "quoted" else token.text for token in tokens
    )
