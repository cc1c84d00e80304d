"""``--where``: what an expression sees, what is true, and what is counted."""

import json

import pytest

from kcli.core.errors import ConfigError
from kcli.core.types import Header, Record
from kcli.flows.filters.selection import Selection
from kcli.flows.filters.where import Where
from tests.batches import fetched_of, wanted_by

VALUE = {"n": 3, "name": "ü", "list": [1, 2], "empty": [], "zero": 0, "no": False, "nil": None, "text": ""}
HEADERS: tuple[Header, ...] = (("a", b"1"), ("a", b"2"), ("nul", None), (b"\xff", b"\xfe"))
ROW = Record("orders", 3, 42, 1_700_000_000_123, 0, b"k1", json.dumps(VALUE).encode(), HEADERS)


def wanted(expression: str, *rows: Record) -> tuple[list[bool], Where]:
    where = Where(expression)
    chosen = wanted_by(Selection([where]), fetched_of(rows or [ROW]))
    return [index in chosen for index in range(len(rows) or 1)], where


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("value.n == `3`", True),
        ("value.n > `3`", False),
        ("value.name == 'ü'", True),
        ("value.list[1] == `2`", True),
        ("length(value.list) == `2`", True),
        ("value.zero", True),  # as JMESPath has it
        ("value.no", False),
        ("value.nil", False),
        ("value.text", False),
        ("value.empty", False),
        ("value.missing", False),
        ("!(value.missing)", True),
        ("key == 'k1'", True),
        ("starts_with(key, 'k')", True),
        ("headers.a == '2'", True),  # the last of that name
        ("headers.nul == `null` && contains(keys(headers), 'nul')", True),
        ("headers.\"/w==\" == '/g=='", True),
        ("topic == 'orders' && partition == `3` && offset == `42`", True),
        ("timestamp == `1700000000123`", True),
    ],
)
def test_what_an_expression_sees(expression: str, *, result: bool) -> None:
    assert wanted(expression)[0] == [result]


@pytest.mark.parametrize("value", [b"no json", b"\xff", b"", b"{", b'{"a":1} x', b"[" * 100_000])
def test_a_value_that_is_not_json_does_not_match_and_is_counted(value: bytes) -> None:
    found, where = wanted("topic", Record("t", 0, 0, 0, 0, None, value))
    assert (found, where.not_json) == ([False], 1)


def test_a_null_value_is_null() -> None:
    found, where = wanted("value == `null`", Record("t", 0, 0, 0, 0, None, None))
    assert (found, where.not_json) == ([True], 0)


def test_a_type_that_does_not_fit_is_counted() -> None:
    rows = [Record("t", 0, n, 0, 0, None, value) for n, value in enumerate([b'"text"', b"17"])]
    found, where = wanted("starts_with(value, 't')", *rows)
    assert (found, where.failed, where.not_json) == ([True, False], 1, 0)


@pytest.mark.parametrize(
    "expression", ["", "value.", "a ==", "nofunction(value)[", "'", "a && sort_by(b, &lenght(c))"]
)
def test_what_is_no_expression_is_a_usage_error(expression: str) -> None:
    with pytest.raises(ConfigError, match="not a JMESPath"):
        Where(expression)


def test_only_what_other_filters_left_is_looked_at() -> None:
    from kcli.flows.filters.grep import parse_grep

    where = Where("value.n")
    rows = [Record("t", 0, 0, 0, 0, b"a", b"no json"), Record("t", 0, 1, 0, 0, b"b", b'{"n":1}')]
    assert Selection([parse_grep("k:b"), where]).select(fetched_of(rows)) == b"\0\1"
    assert where.not_json == 0
