"""The SQL of ``kcli pipeline query`` before Spark reads it: paths into JSON, and which columns of ``source`` occur. Pure.

``value:a.b`` is the text at a path of the value's JSON, as in Databricks SQL. Spark has ``:`` for variants only, which
can be neither grouped nor compared; so it becomes ``get_json_object``, outside of literals, comments and types. The
columns are ``value``, ``key``, ``value_text``, ``key_text``, ``value_json`` and ``key_json``, also behind an alias
(``s.value:a``); after the colon are names, `` `quoted names` ``, ``[0]``, ``[*]``, ``['name']``, and a cast: ``::int``.
Between all of them may be space and comments, as anywhere in SQL.

Also replaced are ``tumble(timestamp, '1 minute')``, ``window_start`` and ``window_end`` (``sql_windows.py``), and topics
that are named as tables (``sql_tables.py``): both engines get SQL that they have.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.pipeline.sql_headings import heading_pieces, of_several_tables
from kcli.pipeline.sql_tables import topic_tables
from kcli.pipeline.sql_tokens import Piece, Token, text_at, tokens_of
from kcli.pipeline.sql_windows import Tumble, tumbling_pieces

PATH_FUNCTION = "get_json_object"
"""What a path becomes."""
_JSON_OF = {"value": "value_text", "key": "key_text"}
_TEXTS = frozenset(_JSON_OF.values())
_WITH_PATHS = frozenset({"value", "key", "value_text", "key_text", "value_json", "key_json"})
_BETWEEN = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"`((?:``|[^`])*)`|\w+")
_NO_NAMES = frozenset(
    {"from", "as", "where", "and", "or", "then", "else", "end", "in", "is", "group", "order", "limit"}
)
"""What is no name of a path unless it follows its sign without space."""
_INDEX = re.compile(r"\[\s*(?:(\d+)|(\*)|'((?:''|[^'])*)'|\"((?:\"\"|[^\"])*)\")\s*\]")
_QUERIES = frozenset({"select", "with", "from", "table", "values", "explain", "describe", "desc", "("})
_JOINING = frozenset(
    {"group", "order", "sort", "join", "distinct", "over", "count", "sum", "min", "max", "avg"}
)
_BEFORE_STAR = frozenset({"select", "distinct", "all", ",", "(", "."})


class Rewritten(NamedTuple):
    """``sql`` is for Spark; ``columns`` are those of ``source`` to be read. ``tables``: names in it, and the topic that
    each stands for (None: all, for ``source``); ``read_once`` are those of which it has one scan. ``joins_rows``: rows of
    the result may be made of rows of several tasks. ``windows``: each ``tumble`` of it.
    """

    sql: str
    columns: tuple[str, ...]
    original: str
    pieces: tuple[Piece, ...]
    tables: Mapping[str, str | None]
    read_once: frozenset[str]
    joins_rows: bool
    windows: tuple[Tumble, ...]

    def heading(self, name: str) -> str:
        """The name of a column of the result as the user wrote it."""
        several = of_several_tables(self.original, self.pieces)
        for piece in self.pieces:
            written = self.original[piece.start : piece.end]
            if piece in several:  # which of the tables it is, is not known here
                column, colon, path = written.partition(":")
                written = column.rpartition(".")[2].lstrip() + colon + path
            name = name.replace(piece.heading, written)
        return name

    def original_position(self, position: int) -> int:
        """Where in the user's text a position of ``sql`` is."""
        shift = 0
        for piece in self.pieces:
            begin = piece.start + shift
            if position < begin:
                break
            if position < begin + len(piece.sql):
                return piece.start
            shift += len(piece.sql) - (piece.end - piece.start)
        return position - shift


def rewrite(
    sql: str, columns: Sequence[str], decoded: Collection[str], topics: Collection[str] = ()
) -> Rewritten:
    """The SQL for Spark. ``columns``: those that ``*`` stands for; ``decoded``: ``key`` and ``value`` if there is a serde
    for them; ``topics``: what may be named as a table. ConfigError for what is no query, and for a path that Spark does
    not have.
    """
    tokens = [token for token in tokens_of(sql) if token.kind not in ("space", "comment")]
    while tokens and tokens[-1].word == ";":
        sql, tokens = sql[: tokens[-1].start], tokens[:-1]
    _check_query(tokens)
    pieces: list[Piece] = []
    used: set[str] = set(columns) if tokens[0].word in ("describe", "desc") else set()
    stars: list[int] = []
    types = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if types or (token.kind == "name" and token.word == "struct" and text_at(tokens, at + 1) == "<"):
            types = _type_depth(types, token)
        elif token.kind in ("name", "quoted"):
            word = token.word
            piece = _path(sql, tokens, at, decoded) if word in _WITH_PATHS else None
            if piece is not None:
                pieces.append(piece)
                used.add(_json_column(word, decoded))
                while at < len(tokens) and tokens[at].start < piece.end:
                    at += 1
                continue
            used.add(word)
        elif token.text == "*" and _is_all(tokens, at):
            used.update(columns)
            stars.append(token.end)
        at += 1
    pieces += heading_pieces(sql, tokens, pieces)
    pieces += _without(stars, sorted(used & _TEXTS - set(columns)), tokens)
    windows, of_windows = tumbling_pieces(sql, tokens)
    tables, of_tables = topic_tables(tokens, topics)
    pieces += [*of_windows, *of_tables]
    pieces.sort()
    made = _replaced(sql, pieces)
    return Rewritten(
        made,
        tuple(sorted(used)),
        sql,
        tuple(pieces),
        {"source": None, **tables},
        _read_once(made, ("source", *tables)),
        _joins_rows(made),
        windows,
    )


def _without(stars: Sequence[int], names: Sequence[str], tokens: Sequence[Token]) -> Iterator[Piece]:
    """Lets ``*`` stand for the columns of a record, also where the SQL uses others: in a query that has no other columns
    than those of ``source``.
    """
    words = [token.word for token in tokens if token.kind == "name"]
    if names and words.count("select") == 1 and not {"join", "lateral", "pivot", "unpivot"} & set(words):
        for end in stars:
            if not any(token.start >= end and token.word == "except" for token in tokens):
                text = f" except ({', '.join(names)})"
                yield Piece(end, end, text, text)


def _check_query(tokens: Sequence[Token]) -> None:
    if not tokens:
        raise ConfigError(
            "the SQL is empty", why="it says what to read", do='--sql "select count(*) from source"'
        )
    if tokens[0].word not in _QUERIES:
        raise ConfigError(
            f"the SQL begins with {tokens[0].text}",
            why="queries only read: they begin with select, with, from, values or explain",
            do="`kcli pipeline replay TOPIC --to TOPIC` and `kcli produce TOPIC` write records",
        )
    for token in tokens:
        if token.text == ";":
            raise ConfigError(
                "the SQL has several statements", why="a query is one", do="give one, without ;"
            )


def _read_once(sql: str, tables: Collection[str]) -> frozenset[str]:
    """The tables that occur once, and not in a common table expression, which may be used several times."""
    tokens = [token for token in tokens_of(sql) if token.kind not in ("space", "comment")]
    if any(token.kind == "name" and token.word == "with" for token in tokens):
        return frozenset()
    words = [
        token.word
        for at, token in enumerate(tokens)
        if token.kind in ("name", "quoted") and text_at(tokens, at + 1) != "."
    ]
    return frozenset(name for name in tables if words.count(name) <= 1)


def _joins_rows(sql: str) -> bool:
    return any(token.kind == "name" and token.word in _JOINING for token in tokens_of(sql))


def _type_depth(depth: int, token: Token) -> int:
    """Within the angle brackets of a type, where a colon separates a name from its type."""
    if not depth:
        return -1  # struct, before its bracket
    if token.text == "<":
        return 1 if depth < 0 else depth + 1
    return depth - 1 if token.text == ">" else depth


def _is_all(tokens: Sequence[Token], at: int) -> bool:
    """Whether a star stands for columns: it is no multiplication, and not that of ``count(*)``."""
    before = tokens[at - 1].word if at else ""
    if before == "(" and at > 1 and tokens[at - 2].word == "count":
        return False
    return before in _BEFORE_STAR


def _json_column(word: str, decoded: Collection[str]) -> str:
    if word not in _JSON_OF:
        return word
    return f"{word}_json" if word in decoded else _JSON_OF[word]


def _path(sql: str, tokens: Sequence[Token], at: int, decoded: Collection[str]) -> Piece | None:
    """The replacement for a path that begins with this column; None if no path follows."""
    column = tokens[at]
    if text_at(tokens, at + 1) != ":":
        return None
    place = tokens[at + 1].end
    steps: list[str] = []
    while True:
        step, place = _step(sql, place, first=not steps)
        if not step:
            break
        steps.append(step)
    if not steps:
        raise _no_path(sql, column.start, place, "a name or [INDEX] follows the colon")
    start = at
    while start >= 2 and tokens[start - 1].text == "." and tokens[start - 2].kind in ("name", "quoted"):
        start -= 2
    qualifier = sql[tokens[start].start : column.start]
    source = qualifier + _json_column(column.word, decoded)
    path = "$" + "".join(steps)
    literal = path.replace("\\", "\\\\").replace("'", "\\'")
    heading = f"{PATH_FUNCTION}({_json_column(column.word, decoded)}, {path})"
    return Piece(tokens[start].start, place, f"{PATH_FUNCTION}({source}, '{literal}')", heading)


def _step(sql: str, place: int, *, first: bool) -> tuple[str, int]:
    """The next step of a path in the form of ``get_json_object``, and its end; empty at the end of the path."""
    end, place = place, _behind_space(sql, place)
    if sql[place : place + 1] == "[":
        match = _INDEX.match(sql, place)
        if match is None:
            raise _no_path(sql, place, place + 1, "in brackets are a number, *, or a name in quotes")
        number, star, single, double = match.groups()
        if number is not None or star is not None:
            return f"[{number or star}]", match.end()
        name = single.replace("''", "'") if single is not None else double.replace('""', '"')
        return _named(sql, place, name), match.end()
    if not first:
        if sql[place : place + 1] != ".":
            return "", end
        place = _behind_space(sql, place + 1)
    match = _NAME.match(sql, place)
    if match is not None and sql[place - 1].isspace() and match.group().lower() in _NO_NAMES:
        match = None
    if match is None:
        if first:
            return "", place
        raise _no_path(sql, place, place, "a name follows each point")
    name = match.group() if match[1] is None else match[1].replace("``", "`")
    return _named(sql, place, name), match.end()


def _behind_space(sql: str, place: int) -> int:
    match = _BETWEEN.match(sql, place)
    return place if match is None else match.end()


def _named(sql: str, place: int, name: str) -> str:
    if re.fullmatch(r"\w+", name):
        return f".{name}"
    if not name or any(sign in name for sign in "'?"):
        raise _no_path(sql, place, place, "Spark's paths have no names that are empty, or contain ' or ?")
    return f"['{name}']"


def _no_path(sql: str, start: int, end: int, why: str) -> ConfigError:
    shown = sql[max(0, start - 20) : end + 10].strip()
    return ConfigError(
        f"a path into JSON is wrong: {shown}",
        why=why,
        do="value:a.b, value:items[0].sku, value:['a b'], value:a::int",
    )


def _replaced(sql: str, pieces: Sequence[Piece]) -> str:
    found, done = [], 0
    for piece in pieces:
        found += [sql[done : piece.start], piece.sql]
        done = piece.end
    return "".join(found) + sql[done:]
