"""Conditions of a query that limit what is read, in the form that ``pipeline/pushdown.py`` takes. Pure.

Of ``a and b`` each one; a column of ``source`` beside a literal. They only limit: the engine evaluates all of them again.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlglot import exp

from kcli.core.classes import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """``attribute`` is the path of a column, as in ``pyspark.sql.datasource``, whose names the classes have."""

    attribute: tuple[str, ...]
    value: Any = None


class EqualTo(Condition):
    """The column is equal to the value."""


class In(Condition):
    """The column is equal to one of the values."""


class GreaterThan(Condition):
    """The column is greater than the value."""


class GreaterThanOrEqual(Condition):
    """The column is not less than the value."""


class LessThan(Condition):
    """The column is less than the value."""


class LessThanOrEqual(Condition):
    """The column is not greater than the value."""


class IsNull(Condition):
    """The column is null."""


class IsNotNull(Condition):
    """The column is not null."""


_KINDS: dict[type, type[Condition]] = {
    exp.EQ: EqualTo,
    exp.GT: GreaterThan,
    exp.GTE: GreaterThanOrEqual,
    exp.LT: LessThan,
    exp.LTE: LessThanOrEqual,
}
_MIRRORED: dict[type, type[Condition]] = {
    exp.EQ: EqualTo,
    exp.GT: LessThan,
    exp.GTE: LessThanOrEqual,
    exp.LT: GreaterThan,
    exp.LTE: GreaterThanOrEqual,
}
_NUMBERS = frozenset({"partition", "offset"})
_TEXTS = frozenset({"topic", "key", "key_text"})


def conditions_of(node: Any) -> Iterator[tuple[Any, Condition]]:
    """The conditions, each with the node of its column."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        yield from conditions_of(node.this)
        yield from conditions_of(node.expression)
        return
    if isinstance(node, exp.Between):
        yield from _compared(exp.GTE(this=node.this, expression=node.args["low"]))
        yield from _compared(exp.LTE(this=node.this, expression=node.args["high"]))
    elif type(node) in _KINDS:
        yield from _compared(node)
    elif isinstance(node, exp.In) and isinstance(node.this, exp.Column) and not node.args.get("query"):
        values = [_value(node.this.name.lower(), one) for one in node.expressions]
        if None not in values:
            yield node.this, In((node.this.name.lower(),), values)
    elif (
        isinstance(node, exp.Is)
        and isinstance(node.this, exp.Column)
        and isinstance(node.expression, exp.Null)
    ):
        yield node.this, IsNull((node.this.name.lower(),))
    elif isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
        for column, _ in conditions_of(node.this):
            yield column, IsNotNull((column.name.lower(),))


def _compared(node: Any) -> Iterator[tuple[Any, Condition]]:
    for column, other, kinds in (
        (node.this, node.expression, _KINDS),
        (node.expression, node.this, _MIRRORED),
    ):
        if isinstance(column, exp.Column):
            name = column.name.lower()
            value = _value(name, other)
            if value is not None:
                yield column, kinds[type(node)]((name,), value)


def _value(column: str, node: Any) -> Any:
    """The value of a literal that the column may be compared with; None for anything else."""
    if isinstance(node, exp.Cast) and column == "timestamp" and "TIMESTAMP" in str(node.args["to"].this):
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    if column in _NUMBERS:
        return int(text) if not node.is_string and text.isdecimal() else None
    if not node.is_string or "\\" in text:
        return None
    if column == "timestamp":
        return _moment(text)
    return text if column in _TEXTS else None


def _moment(text: str) -> datetime | None:
    """A time with its zone; None for a text that is none, and for one that a clock shows twice or never."""
    if re.search("[T ]24", text):  # midnight for Python from 3.14 on
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if found.tzinfo is not None:
        return found
    early, late = found.astimezone(), found.replace(fold=1).astimezone()
    return early if early.utcoffset() == late.utcoffset() else None
