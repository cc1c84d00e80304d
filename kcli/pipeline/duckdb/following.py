"""What of a query can go on as records arrive: rows one by one, or windows that close. Pure.

All other queries change their results with each record, or need memory without end: they are refused by name.
"""

from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.pipeline.duckdb.statement import Statement, translate
from kcli.pipeline.sql_text import Rewritten

_WINDOW = "select tumble(timestamp, '1 minute') w, key_text, count(*) from source group by 1, 2"
NO_FOLLOW = "leave --follow out: the query then ends with the records that are there now"
"""The remedy for what cannot be followed."""


@dataclass(frozen=True, slots=True)
class Followed:
    """``width_ms``: of the windows; None: rows one by one."""

    statement: Statement
    width_ms: int | None


def followed(query: Rewritten, decoded: Sequence[str]) -> Followed:
    """The query as one to follow. ConfigError for what cannot be followed; LacksError for what DuckDB lacks."""
    statement = translate(query, decoded)
    tree: Any = sqlglot.parse_one(query.sql, dialect="databricks")
    _check_tables(tree, statement)
    for part in ("limit", "offset"):
        if tree.args.get(part) is not None:
            raise _refused(part.upper(), "rows come without an end", "use the option: --limit N")
    if tree.find(exp.Window) is not None:
        raise _refused("OVER", "its rows depend on those that arrive later")
    group = tree.args.get("group")
    if group is None and tree.find(exp.AggFunc) is None and tree.args.get("having") is None:
        for part, what in (("distinct", "DISTINCT"), ("order", "ORDER BY")):
            if tree.args.get(part) is not None:
                raise _refused(what, "it needs all rows, and they have no end")
        return Followed(statement, None)
    if group is None or not query.windows:
        raise _refused(
            "an aggregate without a window"
            if tree.find(exp.AggFunc) is not None
            else "GROUP BY without a window",
            "its result changes with each record that arrives",
            f"group by a window, whose result is printed when it closes: {_WINDOW}",
        )
    widths = {window.width_ms for window in query.windows}
    if len(widths) > 1:
        raise _refused("windows of two widths", "a row belongs to one window", "use one width")
    if any(window.column.rpartition(".")[2].strip("`").lower() != "timestamp" for window in query.windows):
        raise _refused(
            f"a window of {query.windows[0].column}",
            "windows close by the times of the records",
            "tumble(timestamp, …)",
        )
    if not _groups_by_window(tree, query):
        raise _refused(
            "GROUP BY without the window",
            "a group would have rows of several windows, and never close",
            f"add tumble(…) to GROUP BY: {_WINDOW}",
        )
    return Followed(statement, widths.pop())


def _check_tables(tree: Any, statement: Statement) -> None:
    if isinstance(tree, exp.SetOperation):
        raise _refused(type(tree).__name__.upper(), "each of its sides would have an end of its own")
    if tree.args.get("joins"):
        raise _refused("a join", "a row may have its partner in a record that arrives at any later time")
    if tree.args.get("with_") is not None or len(list(tree.find_all(exp.Select))) > 1:
        raise _refused("a query within the query", "what is inside has no end")
    if len(statement.scans) != 1:
        raise _refused("a query that reads no topic", "nothing arrives for it")


def _groups_by_window(tree: Any, query: Rewritten) -> bool:
    window = {_shape(sqlglot.parse_one(each.sql, dialect="databricks")) for each in query.windows}
    items = [(item.alias_or_name.lower(), item.unalias()) for item in tree.expressions]
    group = tree.args["group"]
    if group.args.get("all"):
        return any(_shape(item) in window for _, item in items)
    for key in group.expressions:
        if isinstance(key, exp.Literal) and str(key.this).isdecimal():
            found = items[int(str(key.this)) - 1][1]
        elif isinstance(key, exp.Column) and not key.table:
            found = next((item for name, item in items if name == key.name.lower()), key)
        else:
            found = key
        if _shape(found) in window:
            return True
    return False


def _shape(node: Any) -> str:
    while isinstance(node, exp.Paren):
        node = node.this
    return str(node.sql(dialect="databricks")).lower()


def _refused(what: str, why: str, do: str = NO_FOLLOW) -> ConfigError:
    return ConfigError(f"--follow with {what}", why=why, do=do)
