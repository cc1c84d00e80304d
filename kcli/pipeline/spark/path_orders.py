"""Whether a query that Spark has analysed needs the order of values at a path into JSON (see ``sql_orders.py``).

The plan of the analysis has the types and the names resolved: an attribute is followed to what it stands for, through
subqueries and common table expressions, up to ``get_json_object``. A cast in between ends that, also one to STRING.
"""

from collections.abc import Iterator
from typing import Any

from kcli.pipeline.sql_orders import is_number, no_order

_SIGNS = {"LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">", "GreaterThanOrEqual": ">="}
_ORDERED = {"Min": "min", "Max": "max", "Least": "least", "Greatest": "greatest", "SortOrder": "ORDER BY"}
_BY = {"MinBy": "min_by", "MaxBy": "max_by"}  # their second argument is ordered
_SAME = frozenset(
    {"Alias", "Coalesce", "If", "CaseWhen", "NullIf", "Nvl", "OuterReference", "AggregateExpression", "With",
     "CommonExpressionDef", "Min", "Max", "First", "Last", "AnyValue", "ScalarSubquery"}
)  # fmt: skip
"""Expressions that have the value of one of their children, if that is a text."""


def check_orders(plan: Any) -> None:
    """ConfigError for the first such place in the analysed plan of the JVM."""
    _Plan(plan).check()


class _Plan:
    def __init__(self, plan: Any) -> None:
        self._means: dict[Any, Any] = {}  # what an attribute stands for: by its id in the plan
        self._tables: dict[int, Any] = {}  # the columns of common table expressions
        self._expressions: list[Any] = []
        self._read(plan)

    def check(self) -> None:
        """See ``check_orders``."""
        for node in self._expressions:
            kind = _kind(node)
            if kind in _SIGNS:
                self._compared(_children(node), _SIGNS[kind])
            elif kind in _ORDERED:
                operands = _children(node)
                self._alone(operands[:1] if kind == "SortOrder" else operands, _ORDERED[kind])
            elif kind in _BY:
                self._alone(_children(node)[1:2], _BY[kind])

    def _alone(self, operands: list[Any], what: str) -> None:
        for operand in operands:
            if path := self._path(operand):
                raise no_order(path, what)

    def _compared(self, operands: list[Any], sign: str) -> None:
        for one, other in (operands, operands[::-1]):
            if _kind(other) != "Literal" or is_number(str(other.toString())):
                self._alone([one], sign)

    # --- the nodes of the plan ---------------------------------------------------------------------------

    def _read(self, plan: Any) -> None:
        kind = _kind(plan)
        if kind == "CTERelationDef":
            self._tables[plan.id()] = plan.output()
        for child in _children(plan):
            self._read(child)
        if kind == "CTERelationRef" and plan.cteId() in self._tables:
            for own, meant in zip(_items(plan.output()), _items(self._tables[plan.cteId()]), strict=True):
                if own.exprId().id() != meant.exprId().id():
                    self._means[own.exprId().id()] = meant
        for expression in _items(plan.expressions()):
            self._add(expression)

    def _add(self, node: Any) -> None:
        kind = _kind(node)
        self._expressions.append(node)
        if kind == "Alias":
            self._means[node.exprId().id()] = node.child()
        elif kind == "CommonExpressionDef":
            self._means[str(node.id().toString())] = node.child()
        elif kind in ("ScalarSubquery", "Exists", "ListQuery"):
            self._read(node.plan())
        for child in _children(node):
            self._add(child)

    def _path(self, node: Any) -> str:
        """The path into JSON that an expression has the text of; empty if it has none."""
        kind = _kind(node)
        if kind == "GetJsonObject":
            column, path = _children(node)
            name = str(column.name()) if _kind(column) == "AttributeReference" else str(column.toString())
            return f"{name.partition('_')[0]}:{str(path.toString()).removeprefix('$').removeprefix('.')}"
        if kind == "AttributeReference":
            meant = self._means.get(node.exprId().id())
            return "" if meant is None else self._path(meant)
        if kind == "CommonExpressionRef":
            meant = self._means.get(str(node.id().toString()))
            return "" if meant is None else self._path(meant)
        if kind not in _SAME:
            return ""
        inside = _items(node.plan().output()) if kind == "ScalarSubquery" else _children(node)
        return next(filter(None, map(self._path, inside)), "")


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _children(node: Any) -> list[Any]:
    return list(_items(node.children()))


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))
