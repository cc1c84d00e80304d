"""Expressions of Spark's SQL as those of DuckDB, where both have the same results. Pure.

Each kind of node of sqlglot's tree has a rule here, which names the parts that it understands: what has no rule, or
another part, is refused by its name. Rules return what they made with its type in Spark, and the name that Spark gives
to such a column of a result.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp

from kcli.core.classes import replace
from kcli.pipeline.duckdb.typed import (
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    LONG,
    NULL,
    NUMBERS,
    OF_DUCKDB,
    TEXT,
    TIME,
    WHOLE,
    LacksError,
    Typed,
    as_common,
    cast,
    common,
    comparable,
    ordered,
    sql_cast,
    text,
)
from kcli.pipeline.sql_orders import is_number, no_order

_TYPES = {
    "TEXT": TEXT, "VARCHAR": TEXT, "BINARY": BINARY, "BOOLEAN": BOOLEAN, "DATE": DATE, "TIMESTAMP": TIME,
    "TIMESTAMPTZ": TIME, "DOUBLE": DOUBLE, "TINYINT": "tinyint", "SMALLINT": "smallint", "INT": INT, "BIGINT": LONG,
}  # fmt: skip
_IN_SPARK = {kind: kind.upper() for kind in (*OF_DUCKDB, DECIMAL)}
_ESCAPES = re.compile(r"\\(.)", re.DOTALL)
_MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_LITERAL_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?"
)
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_MAY_FAIL = re.compile(r"\bkcli_(?!\w*_or_null\()\w+\(")
"""Macros that return an error for some values."""
_STEADY_UNITS = frozenset({"SECOND", "MINUTE", "HOUR"})


class Places(Protocol):
    """Where names are looked up, and queries within expressions are translated."""

    def column(self, node: exp.Column) -> Typed:
        """A column in scope."""

    def path(self, node: exp.Column, path: str) -> Typed:
        """The text at a path of a column of JSON: ``$.a.b``."""

    def written(self, node: exp.Expression) -> str:
        """The text of a literal as it stands in the SQL."""

    def subquery(self, node: exp.Expression) -> tuple[str, Sequence[Typed]]:
        """The SQL of a query within this one, and its columns, whose ``sql`` are their names."""


class Expressions:
    """Translates expressions of one SELECT."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def of(self, node: exp.Expression) -> Typed:
        """The expression for DuckDB; LacksError for what has no rule."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise LacksError(name_of(node))
        make, parts = rule
        for part, value in node.args.items():
            if value and part not in parts and part not in _HARMLESS:
                raise LacksError(f"{name_of(node)} with {part.strip('_')}")
        return make(self, node)

    def several(self, nodes: Sequence[exp.Expression]) -> list[Typed]:
        """Several expressions."""
        return [self.of(node) for node in nodes]

    def condition(self, node: exp.Expression) -> Typed:
        """An expression that is true or not."""
        found = self.of(node)
        if found.kind not in (BOOLEAN, NULL):
            raise LacksError(f"a condition of {found.kind.upper()}")
        return found

    # --- literals and names -----------------------------------------------------------------------------

    def _column(self, node: Any) -> Typed:
        return self._places.column(node)

    def _paren(self, node: Any) -> Typed:
        inner = self.of(node.this)
        return replace(inner, sql=f"({inner.sql})")

    def _literal(self, node: Any) -> Typed:
        value = str(node.this)
        if node.is_string:
            if set("\\'\"") & set(value):
                value = _unescaped(self._places.written(node))
            return Typed(text(value), TEXT, value, value)
        if re.fullmatch(r"\d+", value):
            if int(value) < 1 << 31:
                return Typed(f"CAST({value} AS INTEGER)", INT, str(int(value)), value)
            if int(value) < 1 << 63:
                return Typed(f"CAST({value} AS BIGINT)", LONG, str(int(value)), value)
        elif re.fullmatch(r"\d+\.\d+", value) and len(value) <= 19:
            return Typed(
                value,
                DECIMAL,
                value.lstrip("0") if value.startswith("0") and value[1] != "." else value,
                value,
            )
        elif re.fullmatch(r"[\d.]+[eE][+-]?\d+", value):
            return Typed(f"CAST({text(value)} AS DOUBLE)", DOUBLE, None, value)
        raise LacksError(f"the number {value}")

    def _raw_string(self, node: Any) -> Typed:
        return Typed(text(node.this), TEXT, node.this, node.this)

    def _hex_string(self, node: Any) -> Typed:
        digits = str(node.this)
        return Typed(f"from_hex({text(digits)})", BINARY, f"X'{digits.upper()}'")

    def _boolean(self, node: Any) -> Typed:
        word = "true" if node.this else "false"
        return Typed(word, BOOLEAN, word, word)

    def _null(self, _node: Any) -> Typed:
        return Typed("NULL", NULL, "NULL")

    def _path(self, node: Any) -> Typed:
        if not isinstance(node.this, exp.Column):
            raise LacksError("a path into something else than a column of source")
        return self._places.path(node.this, node.expression)

    # --- comparisons ------------------------------------------------------------------------------------

    def _compared(self, left: Typed, right: Typed, sign: str, shown: str | None = None) -> Typed:
        kind, sides = as_common([self._timed(left, right), self._timed(right, left)], "a comparison")
        comparable(kind, "a comparison")
        name = None if kind == DECIMAL else _infix(left, shown or sign, right)  # Spark rounds the literal
        return Typed(f"({sides[0]} {sign} {sides[1]})", BOOLEAN, name, None, _any(left, right))

    def _timed(self, one: Typed, other: Typed) -> Typed:
        """A text beside a time is one: as a literal of any form that both engines read."""
        if one.kind == TEXT and one.literal is not None and other.kind in (TIME, DATE):
            return Typed(_time_literal(one.literal, other.kind), other.kind, one.name)
        if one.kind == DECIMAL and one.literal is not None and other.kind in (DOUBLE, TEXT):
            return Typed(sql_cast(one.sql, DOUBLE), DOUBLE, one.name)
        return one

    def _binary_comparison(self, node: Any) -> Typed:
        sign, shown = _COMPARISONS[type(node)]
        left, right = self.of(node.this), self.of(node.expression)
        if sign[0] in "<>":
            self._check_order(left, right, sign)
        return self._compared(left, right, sign, shown)

    def _check_order(self, left: Typed, right: Typed, what: str) -> None:
        """ConfigError where texts of JSON are compared with others, or with a number in quotes."""
        for one, other in ((left, right), (right, left)):
            if one.path and other.kind == TEXT and (other.literal is None or is_number(other.literal)):
                raise no_order(one.path, what)

    def _not_equal(self, node: Any) -> Typed:
        return _negated(self._compared(self.of(node.this), self.of(node.expression), "="))

    def _null_unsafe(self, node: Any) -> Typed:
        return _negated(
            self._compared(self.of(node.this), self.of(node.expression), "IS NOT DISTINCT FROM", "<=>")
        )

    def _between(self, node: Any) -> Typed:
        value, low, high = self.several([node.this, node.args["low"], node.args["high"]])
        for bound in (low, high):
            self._check_order(value, bound, "BETWEEN")
        above, below = self._compared(value, low, ">="), self._compared(value, high, "<=")
        name = _call("between", value, low, high)
        return Typed(f"({above.sql} AND {below.sql})", BOOLEAN, name, None, _any(value, low, high))

    def _in(self, node: Any) -> Typed:
        value = self.of(node.this)
        query = node.args.get("query")
        if query is not None:
            sql, columns = self._places.subquery(query)
            if len(columns) != 1 or columns[0].kind != value.kind:
                raise LacksError("IN with a query of another type")
            return Typed(f"({value.sql} IN {sql})", BOOLEAN, None, None, value.aggregates)
        items = self.several(node.expressions)
        timed = [self._timed(item, value) for item in items]
        if any(item.kind == DECIMAL for item in timed):
            raise LacksError("IN of DECIMAL")
        kind, sides = as_common([value, *timed], "IN")
        comparable(kind, "IN")
        name = None if value.name is None else f"({value.name} IN {_listed(items)})"
        return Typed(f"({sides[0]} IN ({', '.join(sides[1:])}))", BOOLEAN, name, None, _any(value, *items))

    def _is(self, node: Any) -> Typed:
        value, what = self.of(node.this), node.expression
        if isinstance(what, exp.Null):
            return Typed(
                f"({value.sql} IS NULL)", BOOLEAN, _named("({} IS NULL)", value), None, value.aggregates
            )
        if isinstance(what, exp.Boolean) and value.kind == BOOLEAN:
            word = "true" if what.this else "false"
            return Typed(f"({value.sql} IS NOT DISTINCT FROM {word})", BOOLEAN, None, None, value.aggregates)
        raise LacksError("IS")

    def _not(self, node: Any) -> Typed:
        inner = node.this
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            value = self.of(inner.this)
            return Typed(
                f"({value.sql} IS NOT NULL)",
                BOOLEAN,
                _named("({} IS NOT NULL)", value),
                None,
                value.aggregates,
            )
        return _negated(self.condition(inner))

    def _joined(self, node: Any) -> Typed:
        word = "AND" if isinstance(node, exp.And) else "OR"
        sides = [self.condition(node.this), self.condition(node.expression)]
        return Typed(
            f"({sides[0].sql} {word} {sides[1].sql})",
            BOOLEAN,
            _infix(sides[0], word, sides[1]),
            None,
            _any(*sides),
        )

    def _like(self, node: Any) -> Typed:
        value, pattern = self.several([node.this, node.expression])
        if value.kind != TEXT or pattern.literal is None or pattern.kind != TEXT:
            raise LacksError("LIKE of something else than a text and a literal")
        if re.search(r"\\(?![%_\\])", pattern.literal):
            raise LacksError("LIKE with a backslash")
        like = Typed(
            f"({value.sql} LIKE {pattern.sql} ESCAPE '\\')",
            BOOLEAN,
            _named("{} LIKE {}", value, pattern),
            None,
            value.aggregates,
        )
        return _negated(like) if node.args.get("negate") else like

    # --- arithmetic -------------------------------------------------------------------------------------

    def _arithmetic(self, node: Any) -> Typed:
        sign, macro = _SIGNS[type(node)]
        if isinstance(node.expression, exp.Interval):
            return self._moved(node, sign)
        left, right = self.several([node.this, node.expression])
        kind = common([self._counted(left, right), self._counted(right, left)], "arithmetic")
        if kind not in (*WHOLE, DOUBLE):
            raise LacksError(f"arithmetic with {kind.upper()}")
        sides = [cast(side, kind) for side in (self._counted(left, right), self._counted(right, left))]
        name = _infix(left, sign, right)
        if isinstance(node, exp.Div):
            return Typed(f"kcli_divide({sides[0]}, {sides[1]})", DOUBLE, name, None, _any(left, right))
        sql = f"{macro}({sides[0]}, {sides[1]})" if macro else f"({sides[0]} {sign} {sides[1]})"
        return Typed(sql, kind, name, None, _any(left, right))

    def _divided_whole(self, node: Any) -> Typed:
        left, right = self.several([node.this, node.expression])
        if left.kind not in WHOLE or right.kind not in WHOLE:
            raise LacksError("div of something else than whole numbers")
        sql = f"kcli_whole({cast(left, LONG)}, {cast(right, LONG)})"
        return Typed(sql, LONG, _infix(left, "div", right), None, _any(left, right))

    def _counted(self, one: Typed, other: Typed) -> Typed:
        """A decimal literal beside a double or a text is a double; two texts are doubles."""
        if one.kind == DECIMAL and one.literal is not None and other.kind in (DOUBLE, TEXT):
            return Typed(sql_cast(one.sql, DOUBLE), DOUBLE, one.name)
        if one.kind == TEXT and other.kind == TEXT:
            return Typed(cast(one, DOUBLE), DOUBLE, one.name)
        return one

    def _moved(self, node: Any, sign: str) -> Typed:
        value, interval = self.of(node.this), node.expression
        unit = str(interval.args.get("unit") or "").upper().removesuffix("S")
        amount = interval.this
        if not isinstance(amount, exp.Literal) or not re.fullmatch(r"\d+", str(amount.this)):
            raise LacksError("INTERVAL")
        if value.kind != TIME or sign not in "+-" or unit not in (*_STEADY_UNITS, "DAY"):
            raise LacksError("INTERVAL")
        return Typed(
            f"({value.sql} {sign} INTERVAL {amount.this} {unit})", TIME, None, None, value.aggregates
        )

    def _negative(self, node: Any) -> Typed:
        value = self.of(node.this)
        if value.kind not in NUMBERS:
            raise LacksError(f"a minus sign before {value.kind.upper()}")
        if value.literal is not None:
            return Typed(f"(-{value.sql})", value.kind, f"-{value.name}", f"-{value.literal}")
        return Typed(f"(-{value.sql})", value.kind, _named("(- {})", value), None, value.aggregates)

    # --- casts, cases, texts ----------------------------------------------------------------------------

    def _cast(self, node: Any) -> Typed:
        value, wanted = self.of(node.this), node.args["to"]
        kind = _TYPES.get(getattr(wanted.this, "name", str(wanted.this)))
        if kind is None or wanted.expressions:
            raise LacksError(f"a cast to {wanted.sql('databricks').upper()}")
        name = _named("CAST({} AS " + _IN_SPARK[kind] + ")", value)
        if value.literal is not None and value.kind == TEXT and kind in (TIME, DATE):
            return Typed(_time_literal(value.literal, kind), kind, None)
        if value.literal is not None and value.kind in (*WHOLE, DECIMAL) and kind in (LONG, DOUBLE):
            name = None
        tries = isinstance(node, exp.TryCast)
        sql = cast(value, kind, tries=tries)
        return Typed(sql, kind, name and f"TRY_{name}" if tries else name, None, value.aggregates)

    def _case(self, node: Any) -> Typed:
        subject = node.this and self.of(node.this)
        whens, thens = [], []
        for one in node.args["ifs"]:
            if subject is None:
                whens.append(self.condition(one.this))
            else:
                whens.append(self._compared(subject, self.of(one.this), "="))
            thens.append(self.of(one.args["true"]))
        otherwise = node.args.get("default")
        if otherwise is not None:
            thens.append(self.of(otherwise))
        kind, values = as_common(thens, "CASE")
        if kind == DECIMAL:
            raise LacksError("CASE of DECIMAL")
        parts = [f"WHEN {when.sql} THEN {value}" for when, value in zip(whens, values, strict=False)]
        end = f" ELSE {values[-1]}" if otherwise is not None else ""
        return Typed(
            f"CASE {' '.join(parts)}{end} END",
            kind,
            _case_name(whens, thens),
            None,
            _any(*whens, *thens),
            _path_of(kind, *thens),
        )

    def _if(self, node: Any) -> Typed:
        when = self.condition(node.this)
        thens = self.several([node.args["true"], node.args["false"]])
        kind, values = as_common(thens, "IF")
        name = _named("(IF({}, {}, {}))", when, *thens)
        return Typed(
            f"CASE WHEN {when.sql} THEN {values[0]} ELSE {values[1]} END",
            kind,
            name,
            None,
            _any(when, *thens),
            _path_of(kind, *thens),
        )

    def _coalesce(self, node: Any) -> Typed:
        values = self.several([node.this, *node.expressions])
        kind, sides = as_common(values, "COALESCE")
        name = self._called(node, *values)
        sql = f"coalesce({', '.join(sides)})"
        return Typed(sql, kind, name, None, _any(*values), _path_of(kind, *values))

    def _extreme(self, node: Any) -> Typed:
        values = self.several([node.this, *node.expressions])
        kind, sides = as_common(values, "GREATEST and LEAST")
        comparable(kind, "GREATEST and LEAST")
        word = "greatest" if isinstance(node, exp.Greatest) else "least"
        if path := _path_of(kind, *values):
            raise no_order(path, word)
        if kind == TEXT and {value.kind for value in values} != {TEXT}:
            raise LacksError("GREATEST and LEAST of several types")
        return Typed(f"{word}({', '.join(sides)})", kind, _call(word, *values), None, _any(*values))

    def _null_if(self, node: Any) -> Typed:
        left, right = self.several([node.this, node.expression])
        same = self._compared(left, right, "=")
        sql = f"CASE WHEN {same.sql} THEN NULL ELSE {left.sql} END"
        return Typed(sql, left.kind, _call("nullif", left, right), None, _any(left, right), left.path)

    def _concat(self, node: Any) -> Typed:
        if isinstance(node, exp.Concat) and not node.meta:  # 'a''b', of which Spark 4 makes a'b
            raise LacksError("texts side by side")
        values = self.several(
            node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
        )
        sides = [cast(value, TEXT) for value in values if value.kind != BINARY or _refuse("|| of BINARY")]
        return Typed(f"({' || '.join(sides)})", TEXT, _call("concat", *values), None, _any(*values))

    def _text_function(self, node: Any) -> Typed:
        word, own, kind = _TEXT_FUNCTIONS[type(node)]
        values = self.several([node.this, node.expression])
        sql = ", ".join(self._text(value, word) for value in values)
        return Typed(f"{own}({sql})", kind, self._called(node, *values), None, _any(*values))

    def _text(self, value: Typed, word: str) -> str:
        return value.sql if value.kind == TEXT else str(_refuse(f"{word} of {value.kind.upper()}"))

    def _upper(self, node: Any) -> Typed:
        word = "upper" if isinstance(node, exp.Upper) else "lower"
        value = self.of(node.this)
        sql = self._text(value, word)
        return Typed(f"kcli_ascii({sql}, {word}({sql}))", TEXT, _call(word, value), None, value.aggregates)

    def _length(self, node: Any) -> Typed:
        value = self.of(node.this)
        function = {TEXT: "length", BINARY: "octet_length"}.get(value.kind)
        if function is None:
            raise LacksError(f"length of {value.kind.upper()}")
        sql = sql_cast(f"{function}({value.sql})", INT)
        return Typed(sql, INT, self._called(node, value), None, value.aggregates)

    def _trim(self, node: Any) -> Typed:
        value = self.of(node.this)
        word = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[
            str(node.args.get("position") or "").upper()
        ]
        return Typed(
            f"{word}({self._text(value, word)}, ' ')", TEXT, _call(word, value), None, value.aggregates
        )

    def _substring(self, node: Any) -> Typed:
        value = self.of(node.this)
        bounds = self.several(
            [node.args[part] for part in ("start", "length") if node.args.get(part) is not None]
        )
        if (
            not all(bound.literal is not None and bound.literal.isdecimal() for bound in bounds)
            or bounds[0].literal == "0"
        ):
            raise LacksError("substring with other positions than numbers from 1 on")
        sql = ", ".join([self._text(value, "substring"), *(bound.sql for bound in bounds)])
        return Typed(f"substring({sql})", TEXT, None, None, value.aggregates)

    def _replace(self, node: Any) -> Typed:
        values = self.several([node.this, node.expression, node.args["replacement"]])
        if not values[1].literal:
            raise LacksError("replace of something else than a literal")
        sql = ", ".join(self._text(value, "replace") for value in values)
        return Typed(f"replace({sql})", TEXT, _call("replace", *values), None, _any(*values))

    # --- numbers and times ------------------------------------------------------------------------------

    def _absolute(self, node: Any) -> Typed:
        value = self.of(node.this)
        if value.kind not in (*WHOLE, DOUBLE):
            raise LacksError(f"abs of {value.kind.upper()}")
        return Typed(f"abs({value.sql})", value.kind, _call("abs", value), None, value.aggregates)

    def _rounded(self, node: Any) -> Typed:
        value = self.of(node.this)
        word = "floor" if isinstance(node, exp.Floor) else "ceil"
        if value.kind != DOUBLE:
            raise LacksError(f"{word} of {value.kind.upper()}")
        name = _named(word.upper() + "({})", value)
        return Typed(sql_cast(f"{word}({value.sql})", LONG), LONG, name, None, value.aggregates)

    def _truncated(self, node: Any) -> Typed:
        value, unit = self.of(node.this), str(node.args["unit"].this).upper()
        if value.kind != TIME or unit not in _UNITS:
            raise LacksError(f"date_trunc to {unit} of {value.kind.upper()}")
        sql = f"date_trunc('{unit.lower()}', {value.sql})"
        return Typed(sql, TIME, None, None, value.aggregates)

    def _part_of_time(self, node: Any) -> Typed:
        inner = node.this
        value = self.of(inner.this if isinstance(inner, exp.TsOrDsToDate) else inner)
        word = type(node).__name__.lower()
        if value.kind not in (TIME, DATE):
            raise LacksError(f"{word} of {value.kind.upper()}")
        sql = sql_cast(f"{word}({value.sql})", INT)
        return Typed(sql, INT, _call(word, value), None, value.aggregates)

    def _date(self, node: Any) -> Typed:
        value = self.of(node.this)
        if value.kind not in (TIME, DATE):
            raise LacksError(f"to_date of {value.kind.upper()}")
        return Typed(cast(value, DATE), DATE, _call("to_date", value), None, value.aggregates)

    def _milliseconds(self, node: Any) -> Typed:
        value = self.of(node.this)
        if value.kind != TIME:
            raise LacksError(f"unix_millis of {value.kind.upper()}")
        return Typed(f"epoch_ms({value.sql})", LONG, _call("unix_millis", value), None, value.aggregates)

    def _unknown_function(self, node: Any) -> Typed:
        """A function that sqlglot has no class for."""
        if str(node.this).lower() != "timestamp_millis" or len(node.expressions) != 1:
            raise LacksError(name_of(node))
        value = self.of(node.expressions[0])
        if value.kind not in WHOLE:
            raise LacksError(f"timestamp_millis of {value.kind.upper()}")
        sql = f"make_timestamptz({cast(value, LONG)} * 1000)"
        return Typed(sql, TIME, _call("timestamp_millis", value), None, value.aggregates)

    def _now(self, _node: Any) -> Typed:
        return Typed("now()", TIME, None)

    def _called(self, node: exp.Expression, *values: Typed) -> str | None:
        """The name of a function that has several, by the one that was written."""
        return _call(self._places.written(node).lower(), *values) if node.meta else None

    # --- aggregates -------------------------------------------------------------------------------------

    def _count(self, node: Any) -> Typed:
        inner = node.this
        if isinstance(inner, exp.Star) and not any(inner.args.values()):
            return Typed("count(*)", LONG, "count(1)", None, aggregates=True)
        distinct, value = self._argument(inner)
        comparable(value.kind, "count")
        return Typed(
            f"count({distinct}{value.sql})",
            LONG,
            _named("count(" + distinct + "{})", value),
            None,
            aggregates=True,
        )

    def _argument(self, node: Any) -> tuple[str, Typed]:
        if not isinstance(node, exp.Distinct):
            return "", self.of(node)
        if len(node.expressions) != 1 or node.args.get("on"):
            raise LacksError("DISTINCT of several values")
        return "DISTINCT ", self.of(node.expressions[0])

    def _sum(self, node: Any) -> Typed:
        distinct, value = self._argument(node.this)
        word = "sum" if isinstance(node, exp.Sum) else "avg"
        if value.kind not in (*WHOLE, DOUBLE, TEXT):
            raise LacksError(f"{word} of {value.kind.upper()}")
        whole = value.kind in WHOLE
        made = f"{word}({distinct}{value.sql if whole else cast(value, DOUBLE)})"
        kind = LONG if whole and word == "sum" else DOUBLE
        return Typed(
            sql_cast(made, kind), kind, _named(word + "(" + distinct + "{})", value), None, aggregates=True
        )

    def _least(self, node: Any) -> Typed:
        value = self.of(node.this)
        word = "min" if isinstance(node, exp.Min) else "max"
        ordered(value, word)
        return Typed(f"{word}({value.sql})", value.kind, _call(word, value), None, aggregates=True)

    def _count_if(self, node: Any) -> Typed:
        value = self.condition(node.this)
        sql = f"count(*) FILTER (WHERE {value.sql})"
        return Typed(sql, LONG, _call("count_if", value), None, aggregates=True)

    def _logical(self, node: Any) -> Typed:
        value = self.condition(node.this)
        word = "bool_and" if isinstance(node, exp.LogicalAnd) else "bool_or"
        return Typed(f"{word}({value.sql})", BOOLEAN, self._called(node, value), None, aggregates=True)

    def _filtered(self, node: Any) -> Typed:
        value, where = self.of(node.this), self.condition(node.expression.this)
        if not isinstance(node.this, exp.Count) or node.args.get("ignore_nulls"):
            raise LacksError(f"FILTER of {name_of(node.this)}")
        name = _named("{} FILTER (WHERE {})", value, where)
        return Typed(f"{value.sql} FILTER (WHERE {where.sql})", value.kind, name, None, aggregates=True)

    def _window(self, node: Any) -> Typed:
        kind, sql = self._windowed(node.this)
        parts = self.several(node.args.get("partition_by") or [])
        over = [f"PARTITION BY {', '.join(part.sql for part in parts)}"] if parts else []
        order = node.args.get("order")
        keys = self.several([one.this for one in order.expressions]) if order is not None else []
        if any(_MAY_FAIL.search(one.sql) for one in (*parts, *keys)):  # which DuckDB takes for volatile
            raise LacksError("a window over a cast of a text")
        if order is not None:
            for key in keys:
                ordered(key, "ORDER BY")
            entries = map(self.ordered, order.expressions, (key.sql for key in keys))
            over.append(f"ORDER BY {', '.join(entries)}")
        elif type(node.this) in _RANKS:
            raise LacksError("a window without an order")
        return Typed(sql_cast(f"({sql} OVER ({' '.join(over)}))", kind), kind)

    def _windowed(self, node: Any) -> tuple[str, str]:
        if type(node) in _RANKS and not any(node.args.values()):
            return INT, _RANKS[type(node)]
        if isinstance(node, exp.Count):
            found = self.of(node)
            return found.kind, found.sql
        raise LacksError(f"{name_of(node)} over a window")

    def ordered(self, node: Any, sql: str) -> str:
        """An entry of ORDER BY. Spark has nulls first in an ascending order and last in a descending one."""
        nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
        return f"{sql} {'DESC' if node.args.get('desc') else 'ASC'} NULLS {nulls}"

    def _subquery(self, node: Any) -> Typed:
        sql, columns = self._places.subquery(node.this)
        if len(columns) != 1:
            raise LacksError("a query as a value with several columns")
        return replace(columns[0], sql=sql)

    def _exists(self, node: Any) -> Typed:
        return Typed(f"EXISTS {self._places.subquery(node.this)[0]}", BOOLEAN)


def name_of(node: exp.Expression) -> str:
    """What a message calls a node: the function as it was written, else its SQL's word."""
    if isinstance(node, exp.Anonymous):
        return f"the function {node.this}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__)
    return words.upper()


def _refuse(what: str) -> object:
    raise LacksError(what)


def _path_of(kind: str, *values: Typed) -> str:
    """The path into JSON that a text may be from; empty for none."""
    return next((value.path for value in values if value.path), "") if kind == TEXT else ""


def _any(*values: Typed) -> bool:
    return any(value.aggregates for value in values)


def _named(form: str, *values: Typed) -> str | None:
    names = [value.name for value in values]
    return None if None in names else form.format(*names)


def _call(word: str, *values: Typed) -> str | None:
    return _named(word + "(" + ", ".join("{}" for _ in values) + ")", *values)


def _infix(left: Typed, sign: str, right: Typed) -> str | None:
    return _named("({} " + sign + " {})", left, right)


def _negated(value: Typed) -> Typed:
    return Typed(f"(NOT {value.sql})", BOOLEAN, _named("(NOT {})", value), None, value.aggregates)


def _listed(items: Sequence[Typed]) -> str:
    return "(" + ", ".join(str(item.name) for item in items) + ")"


def _case_name(whens: Sequence[Typed], thens: Sequence[Typed]) -> str | None:
    parts = ["WHEN {} THEN {}" for _ in whens]
    end = " ELSE {}" if len(thens) > len(whens) else ""
    pairs = [value for pair in zip(whens, thens, strict=False) for value in pair]
    return _named(f"CASE {' '.join(parts)}{end} END", *pairs, *thens[len(whens) :])


def _unescaped(written: str) -> str:
    """The meaning of a text with its quotes in Spark; sqlglot's own does not tell ``\\n`` from ``\\\\n``."""
    quote, inner = written[0], written[1:-1]
    if re.search(r"\\[0-3uU]", inner):
        raise LacksError("an escape with a number in a text")
    if quote not in "'\"" or quote * 2 in inner:
        raise LacksError("a doubled quote in a text")
    return _ESCAPES.sub(lambda match: _MEANINGS.get(match[1], match[1]), inner)


def _time_literal(literal: str, kind: str) -> str:
    wanted = literal.strip()
    if not _LITERAL_TIME.fullmatch(wanted) or (kind == DATE and len(wanted) > 10):
        raise LacksError(f"the time {literal}")
    return f"CAST({text(wanted)} AS {OF_DUCKDB[kind]})"


_COMPARISONS: Mapping[type, tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.GT: (">", ">"),
    exp.GTE: (">=", ">="),
    exp.LT: ("<", "<"),
    exp.LTE: ("<=", "<="),
    exp.NullSafeEQ: ("IS NOT DISTINCT FROM", "<=>"),
}
_SIGNS: Mapping[type, tuple[str, str]] = {
    exp.Add: ("+", ""),
    exp.Sub: ("-", ""),
    exp.Mul: ("*", ""),
    exp.Div: ("/", "kcli_divide"),
    exp.Mod: ("%", "kcli_remainder"),
}
_RANKS: Mapping[type, str] = {
    exp.RowNumber: "row_number()",
    exp.Rank: "rank()",
    exp.DenseRank: "dense_rank()",
}
_TEXT_FUNCTIONS: Mapping[type, tuple[str, str, str]] = {
    exp.StartsWith: ("startswith", "starts_with", BOOLEAN),
    exp.EndsWith: ("endswith", "ends_with", BOOLEAN),
    exp.Contains: ("contains", "contains", BOOLEAN),
}
_HARMLESS = frozenset({"big_int", "safe", "is_string", "typed"})
"""Facts about Spark's own dialect."""
_Rule = Callable[[Expressions, Any], Typed]
_E = Expressions
_RULES: Mapping[type, tuple[_Rule, frozenset[str]]] = {
    kind: (rule, frozenset(parts.split()))
    for kinds, rule, parts in (
        ((exp.Column,), _E._column, "this table"),
        ((exp.Paren,), _E._paren, "this"),
        ((exp.Literal,), _E._literal, "this"),
        ((exp.RawString,), _E._raw_string, "this"),
        ((exp.HexString,), _E._hex_string, "this"),
        ((exp.Boolean,), _E._boolean, "this"),
        ((exp.Null,), _E._null, ""),
        ((exp.JSONExtractScalar,), _E._path, "this expression"),
        (tuple(_COMPARISONS), _E._binary_comparison, "this expression"),
        ((exp.NEQ,), _E._not_equal, "this expression"),
        ((exp.NullSafeNEQ,), _E._null_unsafe, "this expression"),
        ((exp.Between,), _E._between, "this low high"),
        ((exp.In,), _E._in, "this expressions query"),
        ((exp.Is,), _E._is, "this expression"),
        ((exp.Not,), _E._not, "this"),
        ((exp.And, exp.Or), _E._joined, "this expression"),
        ((exp.Like,), _E._like, "this expression negate"),
        (tuple(_SIGNS), _E._arithmetic, "this expression"),
        ((exp.IntDiv,), _E._divided_whole, "this expression"),
        ((exp.Neg,), _E._negative, "this"),
        ((exp.Cast, exp.TryCast), _E._cast, "this to"),
        ((exp.Case,), _E._case, "this ifs default"),
        ((exp.If,), _E._if, "this true false"),
        ((exp.Coalesce,), _E._coalesce, "this expressions"),
        ((exp.Greatest, exp.Least), _E._extreme, "this expressions ignore_nulls"),
        ((exp.Nullif,), _E._null_if, "this expression"),
        ((exp.Concat,), _E._concat, "expressions"),
        ((exp.DPipe,), _E._concat, "this expression"),
        (tuple(_TEXT_FUNCTIONS), _E._text_function, "this expression"),
        ((exp.Upper, exp.Lower), _E._upper, "this"),
        ((exp.Length,), _E._length, "this"),
        ((exp.Trim,), _E._trim, "this position"),
        ((exp.Substring,), _E._substring, "this start length"),
        ((exp.Replace,), _E._replace, "this expression replacement"),
        ((exp.Abs,), _E._absolute, "this"),
        ((exp.Floor, exp.Ceil), _E._rounded, "this"),
        ((exp.TimestampTrunc,), _E._truncated, "this unit"),
        ((exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second), _E._part_of_time, "this"),
        ((exp.TsOrDsToDate,), _E._date, "this"),
        ((exp.UnixMillis,), _E._milliseconds, "this"),
        ((exp.Anonymous,), _E._unknown_function, "this expressions"),
        ((exp.CurrentTimestamp,), _E._now, ""),
        ((exp.Count,), _E._count, "this"),
        ((exp.Sum, exp.Avg), _E._sum, "this"),
        ((exp.Min, exp.Max), _E._least, "this"),
        ((exp.CountIf,), _E._count_if, "this"),
        ((exp.LogicalAnd, exp.LogicalOr), _E._logical, "this"),
        ((exp.Filter,), _E._filtered, "this expression"),
        ((exp.Window,), _E._window, "this partition_by order over"),
        ((exp.Subquery,), _E._subquery, "this"),
        ((exp.Exists,), _E._exists, "this"),
    )
    for kind in kinds
}
