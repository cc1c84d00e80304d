"""Numbers in ``--where``: by their decimal value, which no comparison rounds. Pure.

A number of a record is an int, a float that is printed as that number, or a ``Decimal``, as ``json_text`` reads it.
Python compares an int with a float by the float's binary value, which below 2**53 is the same; elsewhere, and where a
``Decimal`` is concerned, the float stands for the number that it is printed as.
"""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact, InvalidOperation, Overflow
from operator import eq
from typing import Any

from jmespath import functions

from kcli.serde.json_text import json_number, shortest

NUMBERS = frozenset((int, float, Decimal))
_FIRST_INEXACT = 1 << 53
_SUM_DIGITS = 10_000
_NAME = Decimal.__name__


def by_value(compare: Callable[[Any, Any], Any], one: Any, two: Any) -> Any:
    """``compare(one, two)`` for two numbers of any types."""
    if _comparable_as_they_are(one, two):
        return compare(one, two)
    try:
        return compare(_exact(one), _exact(two))
    except InvalidOperation:  # NaN, which only a literal can be
        return False


def same_number(one: Any, two: Any) -> bool:
    """Whether both are numbers, and equal."""
    if type(one) not in NUMBERS or type(two) not in NUMBERS:
        return False
    return bool(by_value(eq, one, two))


class Functions(functions.Functions):  # type: ignore[misc]
    """The functions of jmespath, which know numbers that no float is."""

    def _get_allowed_pytypes(self, types: Sequence[str]) -> tuple[list[str], list[tuple[str, ...]]]:
        allowed, inside = super()._get_allowed_pytypes(types)
        return _with_decimal(allowed), [tuple(_with_decimal(names)) for names in inside]

    def _convert_to_jmespath_type(self, pyobject: str) -> str:
        found: str = super()._convert_to_jmespath_type("float" if pyobject == _NAME else pyobject)
        return found

    @functions.signature({"types": ["number"]})  # type: ignore[untyped-decorator]
    def _func_abs(self, arg: Any) -> Any:
        return arg.copy_abs() if isinstance(arg, Decimal) else abs(arg)

    @functions.signature({"types": ["number"]})  # type: ignore[untyped-decorator]
    def _func_ceil(self, arg: Any) -> Any:
        return _rounded(arg, ROUND_CEILING) if isinstance(arg, Decimal) else super()._func_ceil(arg)

    @functions.signature({"types": ["number"]})  # type: ignore[untyped-decorator]
    def _func_floor(self, arg: Any) -> Any:
        return _rounded(arg, ROUND_FLOOR) if isinstance(arg, Decimal) else super()._func_floor(arg)

    @functions.signature({"types": ["array-number"]})  # type: ignore[untyped-decorator]
    def _func_sum(self, arg: Any) -> Any:
        return _sum(arg) if any(isinstance(one, Decimal) for one in arg) else sum(arg)

    @functions.signature({"types": ["array-number"]})  # type: ignore[untyped-decorator]
    def _func_avg(self, arg: Any) -> Any:
        if any(isinstance(one, Decimal) for one in arg):
            return _sum(arg) / len(arg)
        return super()._func_avg(arg)

    @functions.signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_to_string(self, arg: Any) -> Any:
        return str(arg) if isinstance(arg, Decimal) else super()._func_to_string(arg)

    @functions.signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_to_number(self, arg: Any) -> Any:
        if isinstance(arg, Decimal):
            return arg
        if not isinstance(arg, str):
            return super()._func_to_number(arg)
        try:
            return int(arg)
        except ValueError:
            return _number_of(arg)

    @functions.signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_type(self, arg: Any) -> Any:
        return "number" if isinstance(arg, Decimal) else super()._func_type(arg)


def _comparable_as_they_are(one: Any, two: Any) -> bool:
    if type(one) is type(two):
        return True
    return Decimal not in (type(one), type(two)) and -_FIRST_INEXACT < one < _FIRST_INEXACT


def _exact(number: Any) -> Any:
    return shortest(number) if type(number) is float else number


def _with_decimal(names: Sequence[str]) -> list[str]:
    return [*names, _NAME] if "float" in names else list(names)


def _number_of(text: str) -> float | Decimal | None:
    try:
        return json_number(text)
    except ValueError:
        return None


def _rounded(number: Decimal, how: str) -> Decimal:
    return number.to_integral_value(how)


def _sum(numbers: Sequence[Any]) -> Decimal:
    """Without rounding; TypeError where that takes more digits than a sum may have."""
    context, total = Context(prec=_SUM_DIGITS, traps=[Inexact, InvalidOperation, Overflow]), Decimal(0)
    try:
        for one in numbers:
            total = context.add(total, Decimal(_exact(one)))
    except (Inexact, InvalidOperation, Overflow):
        raise TypeError(f"the sum has more than {_SUM_DIGITS:,} digits") from None
    return total
