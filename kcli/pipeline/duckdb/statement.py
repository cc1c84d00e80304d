"""A query in Spark's SQL as one of DuckDB: tables, names, and what of each topic has to be read. Pure.

``source`` becomes a scan wherever it occurs, and so does the name of a topic. A scan has the columns that are used of it,
the texts at paths of its JSON among them, and the conditions that limit what is read (``conditions.py``); these stay in
the SQL too. What Spark's SQL has and this module does not translate is refused by its name: both engines have the same
result, or one has none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.classes import NamedTuple, dataclass, field, replace
from kcli.core.errors import ConfigError
from kcli.core.near_names import near_names
from kcli.pipeline.duckdb.conditions import Condition, EqualTo, conditions_of
from kcli.pipeline.duckdb.expressions import Expressions, name_of
from kcli.pipeline.duckdb.typed import INT, LONG, TEXT, TIME, LacksError, Typed, comparable, ordered, quoted
from kcli.pipeline.result_values import HEADERS
from kcli.pipeline.sql_tables import no_table
from kcli.pipeline.sql_text import Rewritten

_KINDS = {
    "topic": TEXT, "partition": INT, "offset": LONG, "timestamp": TIME, "timestamp_type": TEXT, "key": "binary",
    "value": "binary", "headers": HEADERS, "leader_epoch": INT, "key_text": TEXT, "value_text": TEXT, "key_json": TEXT,
    "value_json": TEXT,
}  # fmt: skip
_NUMBER = re.compile(r"\d+")
_SET_OPERATIONS: Mapping[type, str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_OF_SELECT = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "distinct",
        "with_",
    }
)
_OF_SET = frozenset({"this", "expression", "distinct", "order", "limit", "offset", "with_"})


class PathColumn(NamedTuple):
    """The text at a path of a column of JSON; steps are names and indexes."""

    column: str
    steps: tuple[bytes | int, ...]


@dataclass(slots=True)
class Scan:
    """One reading of ``source``: the name of its table for DuckDB, its columns by name, and what limits it."""

    table: str
    columns: dict[str, str | PathColumn] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)


class Column(NamedTuple):
    """A column of a result. ``path``: see ``Typed``."""

    name: str
    kind: str
    path: str = ""


class Statement(NamedTuple):
    """What DuckDB runs. ``where``: the condition of its WHERE, if it is one SELECT, with the name of its table."""

    sql: str
    columns: tuple[Column, ...]
    scans: tuple[Scan, ...]
    where: str
    alias: str


@dataclass(frozen=True, slots=True)
class _Table:
    """A table in scope; ``scan``: it is ``source``."""

    alias: str
    columns: Sequence[Column]
    scan: Scan | None = None


def translate(query: Rewritten, decoded: Sequence[str]) -> Statement:
    """The query for DuckDB. ``decoded``: ``key_json`` and ``value_json``, as far as there are serdes.

    LacksError for what DuckDB does not have, or has with other results. ConfigError for a column that does not exist.
    """
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # what it warns of is refused here
    try:
        trees = sqlglot.parse(query.sql, dialect="databricks")
    except (SqlglotError, RecursionError) as error:
        places = getattr(error, "errors", None) or [{}]
        what = str(places[0].get("highlight") or "")
        raise LacksError(f"the syntax at {what}" if what else "this syntax") from None
    if len(trees) != 1 or trees[0] is None:
        raise LacksError("this syntax")
    translation = _Translation(query, decoded)
    sql, columns = translation.query(trees[0], None, {})
    return Statement(sql, columns, tuple(translation.scans), *translation.outermost)


class _Translation:
    """What all parts of one statement share."""

    def __init__(self, query: Rewritten, decoded: Sequence[str]) -> None:
        self.text = query
        self.star = [Column(name, _KINDS[name]) for name in (*RECORD_COLUMNS, *decoded)]
        self.known = {
            name: kind for name, kind in _KINDS.items() if not name.endswith("_json") or name in decoded
        }
        self.scans: list[Scan] = []
        self.outermost = ("", "")

    def query(
        self, node: Any, outer: _Select | None, views: Mapping[str, Sequence[Column]]
    ) -> tuple[str, tuple[Column, ...]]:
        """A query without its parentheses, and the columns of its result."""
        while isinstance(node, exp.Subquery) and not any(v for k, v in node.args.items() if k != "this"):
            node = node.this
        if not isinstance(node, exp.Select) and type(node) not in _SET_OPERATIONS:
            raise LacksError(name_of(node))
        _check_parts(node, _OF_SELECT if isinstance(node, exp.Select) else _OF_SET)
        head, views = self._with(node.args.get("with_"), outer, views)
        if isinstance(node, exp.Select):
            select = _Select(self, node, outer, views)
            sql, columns = select.translated()
            self.outermost = select.where, select.alias  # the outermost one is translated last
        else:
            sql, columns = self._set_operation(node, outer, views)
        return head + sql, columns

    def _with(
        self, node: Any, outer: _Select | None, views: Mapping[str, Sequence[Column]]
    ) -> tuple[str, Mapping[str, Sequence[Column]]]:
        if node is None:
            return "", views
        if node.args.get("recursive"):
            raise LacksError("WITH RECURSIVE")
        found, parts = dict(views), []
        for one in node.expressions:
            _check_parts(one, frozenset({"this", "alias"}))
            alias = one.args["alias"]
            _check_parts(alias, frozenset({"this"}))
            name = alias.this.name.lower()
            sql, columns = self.query(one.this, outer, found)
            found[name] = columns
            parts.append(f"{quoted(name)} AS ({sql})")
        return f"WITH {', '.join(parts)} ", found

    def _set_operation(
        self, node: Any, outer: _Select | None, views: Mapping[str, Sequence[Column]]
    ) -> tuple[str, tuple[Column, ...]]:
        sides = [self.query(side, outer, views) for side in (node.this, node.expression)]
        (left, columns), (right, others) = sides
        if len(columns) != len(others) or any(a.kind != b.kind for a, b in zip(columns, others, strict=True)):
            raise LacksError(f"{_SET_OPERATIONS[type(node)]} of other types")
        word = _SET_OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        columns = tuple(a._replace(path=a.path or b.path) for a, b in zip(columns, others, strict=True))
        end = self.end(node, columns, lambda one: _resolved_output(self, one, columns))
        return f"(({left}) {word} ({right})){end}", columns

    def end(self, node: Any, columns: Sequence[Column], order_sql: Any) -> str:
        """ORDER BY, LIMIT and OFFSET."""
        parts = []
        order = node.args.get("order")
        if order is not None:
            entries = []
            for one in order.expressions:
                if str(one.this).upper() == "ALL" and isinstance(one.this, exp.Var):
                    for column in columns:
                        ordered(_typed(column, ""), "ORDER BY")
                    sqls = [str(number + 1) for number in range(len(columns))]
                else:
                    sqls = [order_sql(one.this)]
                nulls = "FIRST" if one.args.get("nulls_first") else "LAST"
                entries += [
                    f"{sql} {'DESC' if one.args.get('desc') else 'ASC'} NULLS {nulls}" for sql in sqls
                ]
            parts.append(f" ORDER BY {', '.join(entries)}")
        for word in ("limit", "offset"):
            limit = node.args.get(word)
            if limit is not None:
                count = limit.expression
                if not isinstance(count, exp.Literal) or not _NUMBER.fullmatch(str(count.this)):
                    raise LacksError(f"{word.upper()} of something else than a number")
                parts.append(f" {word.upper()} {count.this}")
        return "".join(parts)

    def no_column(self, node: Any, names: Sequence[str]) -> ConfigError:
        """The error of a name that nothing has."""
        name = node.sql(dialect="databricks").replace("`", "")
        at = self.text.original_position(node.this.meta.get("start", 0))
        near = near_names(node.name, names)
        field_of = f"value:{node.name} is that field of the value's JSON"
        return ConfigError(
            f"there is no column {name} at character {at + 1}: {self.text.original[at : at + 20]}",
            why=f"{'source has' if set(names) <= set(_KINDS) else 'there are'} the columns {', '.join(names)}",
            do=f"did you mean {near[0]}? {field_of}" if near else field_of,
        )


class _Select:
    """One SELECT: its tables, and the names in it. ``outer``: the one whose columns it may use."""

    def __init__(
        self, whole: _Translation, node: Any, outer: _Select | None, views: Mapping[str, Sequence[Column]]
    ) -> None:
        self._whole, self._node, self._outer, self._views = whole, node, outer, views
        self._expressions = Expressions(self)
        self._tables: list[_Table] = []
        self._aliases: dict[str, Typed] = {}
        self._aliases_first = False
        self.where = ""
        """The condition of WHERE, once it is translated."""

    @property
    def alias(self) -> str:
        """The name of its first table."""
        return self._tables[0].alias if self._tables else ""

    def translated(self) -> tuple[str, tuple[Column, ...]]:
        """The SQL, and the columns of the result."""
        node = self._node
        tables = self._from()
        where = node.args.get("where")
        if where is not None:
            self.where = self._expressions.condition(where.this).sql
            tables += f" WHERE {self.where}"
        self._limit_scans(where)
        items: list[tuple[str | None, Typed]] = []
        for one in node.expressions:
            items += self._item(one)
        columns = tuple(Column(self._named(name, value), value.kind, value.path) for name, value in items)
        group = self._grouped(node.args.get("group"), items)
        self._aliases_first = True
        having = node.args.get("having")
        if having is not None:
            group += f" HAVING {self._expressions.condition(having.this).sql}"
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise LacksError("DISTINCT ON")
        if distinct is not None:
            for column in columns:
                comparable(column.kind, "DISTINCT")
        parts = [
            f"{value.sql} AS {quoted(column.name)}" for column, (_, value) in zip(columns, items, strict=True)
        ]
        end = self._whole.end(node, columns, lambda one: self._order(one, items, distinct is not None))
        word = "SELECT DISTINCT" if distinct is not None else "SELECT"
        return f"{word} {', '.join(parts)}{tables}{group}{end}", columns

    # --- tables -----------------------------------------------------------------------------------------

    def _from(self) -> str:
        first = self._node.args.get("from_")
        if first is None:
            return ""
        found = f" FROM {self._table(first.this)}"
        for join in self._node.args.get("joins") or ():
            _check_parts(join, frozenset({"this", "on", "side", "kind"}))
            side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
            if kind not in ("", "INNER", "CROSS", "OUTER"):
                raise LacksError(f"{kind} JOIN")
            table = self._table(join.this)
            on = join.args.get("on")
            if on is None:
                if side:
                    raise LacksError(f"{side} JOIN without ON")
                found += f" CROSS JOIN {table}"
            else:
                found += f" {side} JOIN {table} ON {self._expressions.condition(on).sql}"
        return found

    def _table(self, node: Any) -> str:
        if isinstance(node, exp.Subquery):
            _check_parts(node, frozenset({"this", "alias"}))
            sql, columns = self._whole.query(node.this, self._outer, self._views)
            alias = self._alias(node, f"kcli_query_{len(self._tables)}")
            self._add(_Table(alias, columns))
            return f"({sql}) AS {quoted(alias)}"
        if not isinstance(node, exp.Table):
            raise LacksError(name_of(node))
        _check_parts(node, frozenset({"this", "alias"}))
        name = node.name.lower()
        alias = self._alias(node, name)
        if name in self._views:
            self._add(_Table(alias, self._views[name]))
            return f"{quoted(name)} AS {quoted(alias)}"
        tables = self._whole.text.tables
        if name not in tables:
            at = self._whole.text.original_position(node.this.meta.get("start", 0))
            raise no_table(node.name, f" at character {at + 1}")
        scan = Scan(f"kcli_scan_{len(self._whole.scans)}")
        if (topic := tables[name]) is not None:
            scan.conditions.append(EqualTo(("topic",), topic))
        self._whole.scans.append(scan)
        self._add(_Table(alias, [Column(name, kind) for name, kind in self._whole.known.items()], scan))
        return f"{quoted(scan.table)} AS {quoted(alias)}"

    def _alias(self, node: Any, otherwise: str) -> str:
        alias = node.args.get("alias")
        if alias is None:
            return otherwise
        _check_parts(alias, frozenset({"this"}))
        return str(alias.this.name).lower()

    def _add(self, table: _Table) -> None:
        if any(table.alias == other.alias for other in self._tables):
            raise LacksError(f"two tables {table.alias}")
        self._tables.append(table)

    def _limit_scans(self, where: Any) -> None:
        """Conditions that each record of a result passes, for the scans that they are about. Behind an outer join, only
        those in WHERE, and only of the table that keeps its rows.
        """
        joins = self._node.args.get("joins") or ()
        sides = {str(join.args.get("side") or "").upper() for join in joins}
        inner = sides <= {""}
        if not inner and not sides <= {"", "LEFT"}:
            return
        wanted = [where.this] if where is not None else []
        if inner:
            wanted += [join.args["on"] for join in joins if join.args.get("on") is not None]
        tables = self._tables if inner else self._tables[:1]
        for condition in wanted:
            for column, found in conditions_of(condition):
                for table in tables:
                    if table.scan is not None and self._is_of(column, table):
                        table.scan.conditions.append(found)

    def _is_of(self, column: Any, table: _Table) -> bool:
        qualifier = str(column.table).lower()
        if qualifier:
            return qualifier == table.alias
        return [each for each in self._tables if _has(each, column.name)] == [table]

    # --- items ------------------------------------------------------------------------------------------

    def _item(self, node: Any) -> Iterator[tuple[str | None, Typed]]:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            yield from self._star(node)
            return
        if not isinstance(node, exp.Alias):
            value = self._expressions.of(node)
            # Spark names a cast of a column by the column.
            is_cast = isinstance(node, exp.Cast) and isinstance(node.this, exp.Column)
            yield None, _with_name(value, node.this.name) if is_cast else value
            return
        _check_parts(node, frozenset({"this", "alias"}))
        value = self._expressions.of(node.this)
        self._aliases.setdefault(node.alias.lower(), value)
        yield node.alias, value

    def _star(self, node: Any) -> Iterator[tuple[str, Typed]]:
        star = node if isinstance(node, exp.Star) else node.this
        _check_parts(star, frozenset({"except_"}))
        without = {one.name.lower() for one in star.args.get("except_") or ()}
        qualifier = "" if star is node else str(node.table).lower()
        tables = [table for table in self._tables if qualifier in ("", table.alias)]
        if not tables:
            raise LacksError(f"{qualifier or ''}* without a table")
        for table in tables:
            for column in self._whole.star if table.scan is not None else table.columns:
                if column.name.lower() not in without:
                    yield column.name, self._read(table, column)

    def _named(self, alias: str | None, value: Typed) -> str:
        if alias is not None:
            return alias
        if value.name is None:
            raise LacksError("a column of this kind without a name (EXPRESSION AS NAME gives it one)")
        return self._whole.text.heading(value.name)

    def _grouped(self, node: Any, items: Sequence[tuple[str | None, Typed]]) -> str:
        if node is None:
            return ""
        _check_parts(node, frozenset({"all", "expressions"}))
        if node.args.get("all"):
            keys = [value for _, value in items if not value.aggregates]
            if not keys:
                return ""
        else:
            keys = [self._group_key(one, items) for one in node.expressions]
        for key in keys:
            comparable(key.kind, "GROUP BY")
            if key.aggregates:
                raise LacksError("GROUP BY of an aggregate")
        return f" GROUP BY {', '.join(key.sql if key.literal is None else f'({key.sql})' for key in keys)}"

    def _group_key(self, node: Any, items: Sequence[tuple[str | None, Typed]]) -> Typed:
        place = _place(node, len(items))
        return self._expressions.of(node) if place is None else items[place][1]

    def _order(self, node: Any, items: Sequence[tuple[str | None, Typed]], only_results: bool) -> str:
        place = _place(node, len(items))
        if place is None:
            value = self._expressions.of(node)
            ordered(value, "ORDER BY")
            places = [number for number, (_, item) in enumerate(items) if item.sql == value.sql]
            if not places:
                if only_results:
                    raise LacksError("ORDER BY of something else than a column of the result")
                return f"({value.sql})"
            return str(places[0] + 1)
        ordered(items[place][1], "ORDER BY")
        return str(place + 1)

    # --- names, for expressions -------------------------------------------------------------------------

    def column(self, node: Any) -> Typed:
        """See ``expressions.Places``. In HAVING and ORDER BY Spark looks for names of the result first."""
        name = node.name.lower()
        if self._aliases_first and not node.table and name in self._aliases:
            return self._aliases[name]
        found = self._found(node)
        if found is not None:
            table, column = found
            return _with_name(self._read(table, column), node.name)
        if not node.table and name in self._aliases:
            return self._aliases[name]
        raise self._whole.no_column(node, [column.name for table in self._tables for column in table.columns])

    def path(self, node: Any, path: Any) -> Typed:
        """See ``expressions.Places``."""
        found = self._found(node)
        if found is None:
            raise self._whole.no_column(
                node, [column.name for table in self._tables for column in table.columns]
            )
        table, column = found
        if table.scan is None or column.kind != TEXT:
            raise LacksError("a path into something else than a column of source")
        steps = _steps(path)
        shown = "$" + "".join(f"[{step}]" if isinstance(step, int) else _shown(step) for step in steps)
        wanted = PathColumn(
            column.name, tuple(step if isinstance(step, int) else step.encode() for step in steps)
        )
        columns = table.scan.columns
        table_name = f"{table.alias}." if len(self._tables) > 1 else ""
        path_text = f"{table_name}{column.name.partition('_')[0]}:{shown.removeprefix('$').removeprefix('.')}"
        name = next((known for known, each in columns.items() if each == wanted), f"path_{len(columns)}")
        columns[name] = wanted
        return Typed(
            f"{quoted(table.alias)}.{quoted(name)}",
            TEXT,
            f"get_json_object({column.name}, {shown})",
            path=path_text,
        )

    def written(self, node: Any) -> str:
        """See ``expressions.Places``."""
        return self._whole.text.sql[node.meta["start"] : node.meta["end"] + 1]

    def subquery(self, node: Any) -> tuple[str, Sequence[Typed]]:
        """See ``expressions.Places``."""
        sql, columns = self._whole.query(node, self, self._views)
        return f"({sql})", [_typed(column, quoted(column.name)) for column in columns]

    def _found(self, node: Any) -> tuple[_Table, Column] | None:
        qualifier, name = str(node.table).lower(), node.name.lower()
        tables = [table for table in self._tables if _has(table, name) and qualifier in ("", table.alias)]
        if len(tables) > 1:
            raise LacksError(f"the name {node.name}, which several tables have")
        if tables:
            columns = [column for column in tables[0].columns if column.name.lower() == name]
            if len(columns) > 1:
                raise LacksError(f"the name {node.name}, which several columns have")
            return tables[0], columns[0]
        return None if self._outer is None else self._outer._found(node)

    def _read(self, table: _Table, column: Column) -> Typed:
        if table.scan is not None:
            table.scan.columns[column.name] = column.name
        return replace(_typed(column, f"{quoted(table.alias)}.{quoted(column.name)}"), name=column.name)


def _check_parts(node: Any, parts: frozenset[str]) -> None:
    for part, value in node.args.items():
        if value and part not in parts:
            raise LacksError(part.strip("_").upper().replace("_", " "))


def _has(table: _Table, name: str) -> bool:
    return any(column.name.lower() == name.lower() for column in table.columns)


def _with_name(value: Typed, name: str) -> Typed:
    return replace(value, name=name)


def _typed(column: Column, sql: str) -> Typed:
    return Typed(sql, column.kind, path=column.path)


def _place(node: Any, count: int) -> int | None:
    """Of a number in GROUP BY or ORDER BY, the index of the column that it stands for."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = str(node.this)
    if not _NUMBER.fullmatch(number) or not 1 <= int(number) <= count:
        raise ConfigError(
            f"the SQL is wrong: there is no column {number}",
            why=f"the result has {count}",
            do="number them from 1 on",
        )
    return int(number) - 1


def _resolved_output(whole: _Translation, node: Any, columns: Sequence[Column]) -> str:
    """An entry of ORDER BY behind a set operation: a number, or the name of a column of the result."""
    place = _place(node, len(columns))
    if place is not None:
        ordered(_typed(columns[place], ""), "ORDER BY")
        return str(place + 1)
    if not isinstance(node, exp.Column) or node.table:
        raise LacksError("ORDER BY of something else than a column of the result")
    for number, column in enumerate(columns):
        if column.name.lower() == node.name.lower():
            ordered(_typed(column, ""), "ORDER BY")
            return str(number + 1)
    raise whole.no_column(node, [column.name for column in columns])


def _steps(path: Any) -> list[str | int]:
    """The steps of sqlglot's path; LacksError for a star in it."""
    found: list[str | int] = []
    for part in path.expressions[1:] if isinstance(path, exp.JSONPath) else ():
        is_name = isinstance(part, exp.JSONPathKey) and isinstance(part.this, str)
        is_index = isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int) and part.this >= 0
        if not is_name and not is_index:
            raise LacksError("a path with *")
        found.append(part.this)
    if not isinstance(path, exp.JSONPath) or not isinstance(path.expressions[0], exp.JSONPathRoot):
        raise LacksError("a path that is no literal")
    return found


def _shown(step: str) -> str:
    return f".{step}" if re.fullmatch(r"\w+", step) else f"['{step}']"
