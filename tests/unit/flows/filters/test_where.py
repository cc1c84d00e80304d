"""``--where``: what an expression sees, what is true, and what is counted."""

import json
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from types import FrameType
from typing import Any

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
    for expression in ("value", "value.a", "!value.a.b", "@", "topic || value"):
        found, where = wanted(expression, Record("t", 0, 0, 0, 0, None, value))
        assert (found, where.not_json) == ([False], 1)


def test_an_unused_setting_may_have_any_value() -> None:
    row = Record("t", 0, 7, 0, 0, b"k", b"no json", (("a", b"1"),))
    for expression in ("topic", "key == 'k'", "headers.a == '1' && offset == `7`", "sort_by(['b'], &@)"):
        found, where = wanted(expression, row)
        assert (found, where.not_json) == ([True], 0)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (b'{"n":1e999}', True),
        (b'{"n":-1e999}', False),
        (b'{"n":1,"other":1e999}', True),
        (b'{"n":' + b"9" * 5000 + b"}", True),
        (b'{"n":18446744073709551616}', True),
    ],
)
def test_numbers_of_any_size_are_json(value: bytes, *, result: bool) -> None:
    for expression in ("value.n > `0`", "value && value.n > `0`"):
        found, where = wanted(expression, Record("t", 0, 0, 0, 0, None, value))
        assert (found, where.not_json, where.failed) == ([result], 0, 0)


LONG = "1" * 4_400


@pytest.mark.parametrize(
    ("value", "expression", "result"),
    [
        ("12345678901234567.89", "value.n == `12345678901234567.89`", True),
        ("12345678901234567.89", "value.n == `12345678901234567.88`", False),
        ("12345678901234567.89", "value.n != `12345678901234567.88`", True),
        ("12345678901234567.89", "value.n > `12345678901234567.88`", True),
        ("12345678901234567.89", "value.n <= `12345678901234567`", False),
        ("12345678901234567.89", "`12345678901234567.8901` > value.n", True),
        ("9007199254740993", "value.n == `9007199254740992.0`", False),
        ("9007199254740993", "value.n == `9007199254740993.0`", True),
        ("9007199254740993.0", "value.n == `9007199254740993`", True),
        ("1180591620717411303424", "value.n == `1.1805916207174113e21`", False),
        ("1.1805916207174113e21", "value.n == `1180591620717411300000`", True),
        ("1.1805916207174113e21", "value.n < `1180591620717411303424`", True),
        ("1e300", f"value.n == `1{'0' * 300}`", True),
        ("0.1", "value.n == `0.1000000000000000055511151231257827`", False),
        ("0.1000000000000000055511151231257827", "value.n > `0.1`", True),
        ("1.10", "value.n == `1.1`", True),
        ("1e999", "value.n == `1e998`", False),
        ("1e999", "value.n == `10e998`", True),
        ("1e999999999", "value.n > `1e999999998`", True),
        (LONG, f"value.n == `{LONG}`", True),
        (LONG, f"value.n == `{LONG[:-1]}2`", False),
        (LONG, f"value.n < `{LONG}.1`", True),
        ("[12345678901234567.89]", "value.n[?@ > `12345678901234567.88`]", True),
        ("[12345678901234567.89]", "contains(value.n, `12345678901234567.89`)", True),
        ("[12345678901234567.89,1]", "max(value.n) == `12345678901234567.89`", True),
        ("[12345678901234567.89,0.11]", "sum(value.n) == `12345678901234568.00`", True),
        ("[12345678901234567.89,2]", "sort(value.n)[0] == `2`", True),
        ("-12345678901234567890123456789.5", "abs(value.n) == `12345678901234567890123456789.5`", True),
        ("12345678901234567890123456789.5", "floor(value.n) == `12345678901234567890123456789`", True),
        ("1e999999999", "ceil(value.n) == value.n", True),
        ('"12345678901234567.89"', "to_number(value.n) == `12345678901234567.89`", True),
        ("12345678901234567.89", "to_string(value.n) == '12345678901234567.89'", True),
        ("12345678901234567.89", "type(value.n) == 'number'", True),
        ("12345678901234567.89", "sort_by([value], &n)[0].n == value.n", True),
        ("12345678901234567.89", "[value.n, `1`] == [`12345678901234567.89`, `1`]", True),
        ("12345678901234567.89", "value.{x: n}.x == `12345678901234567.89`", True),
    ],
)
def test_numbers_compare_by_value_without_rounding(value: str, expression: str, *, result: bool) -> None:
    for other in ("1", "1e999"):  # which msgspec reads, and does not
        row = Record("t", 0, 0, 0, 0, None, f'{{"n":{value},"other":{other}}}'.encode())
        for text in (expression, f"({expression}) && value && value.other != `5`"):
            found, where = wanted(text, row)
            assert (found, where.failed, where.not_json) == ([result], 0, 0), text


@pytest.mark.parametrize(
    ("value", "expression", "name"),
    [
        (b'{"n":1,"n":2}', "value.n == `2`", "n"),
        (b'{"n":1,"n":1}', "value.n", "n"),
        (b'{"n":1,"\\u006e":2}', "value.n == `2`", "n"),
        (b'{"a":{"n":1},"a":{"n":2}}', "value.a.n == `2`", "a"),
        (b'{"a":{"x":{"n":1,"n":2}}}', "value.a.x.n", "n"),
        (b'{"a":[{"n":1,"n":2}]}', "value.a[?n == `2`]", "n"),
        (b'{"a":{"x":1,"x":2}}', "keys(value.a) == ['x']", "x"),
        (b'{"a":{"x":1,"x":2}}', 'value.a == `{"x":2}`', "x"),
        (b'{"a":{"x":1,"x":2}}', "value.a.*", "x"),
        (b'{"n":1,"n":2,"big":' + b"9" * 5000 + b"}", "value.n", "n"),
        (b'{"n":1e999,"n":2}', "value.n", "n"),
        (b'{"n":"\\u0022:","n":2}', "value.n", "n"),
        (b'{"\\u00e9":1,"\xc3\xa9":2}', 'value."é"', "é"),
        (b'{"a/b":1,"a\\/b":2}', 'value."a/b"', "a/b"),
        (b'{"n":1,"n":2,"x":"\xff"}', "value.n", ""),
    ],
)
def test_a_value_with_a_member_twice_that_is_read_does_not_match_and_is_counted(
    value: bytes, expression: str, name: str
) -> None:
    good = Record("t", 0, 2, 0, 0, None, b'{"n":2,"a":{"n":2,"x":1}}')
    found, where = wanted(expression, Record("t", 0, 1, 0, 0, None, value), good)
    assert not found[0]
    if not name:  # it is no JSON either
        assert (where.repeated, where.not_json) == (0, 1)
        return
    assert (where.repeated, where.not_json, where.failed) == (1, 0, 0)
    assert where.first_repeated == f"t-0@1: the member {name!r} is there twice"


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        (b'{"n":2,"x":1,"x":2}', "value.n == `2`"),
        (b'{"n":2,"other":{"n":1,"n":2}}', "value.n == `2`"),
        (b'{"a":{"n":2},"n":3,"more":[{"n":4},{"n":5}]}', "value.a.n == `2`"),
        (b'{"a":{"x":1,"x":2}}', "value.a"),
        (b'{"x":1,"x":2}', "value"),
        (b'{"n":2,"text":"\\"n\\": \\"n\\":"}', "value.n == `2`"),
        (b'{"n":2,"x":1,"x":2}', "key == 'k'"),
    ],
)
def test_members_that_are_not_read_may_be_there_twice(value: bytes, expression: str) -> None:
    found, where = wanted(expression, Record("t", 0, 1, 0, 0, b"k", value))
    assert (found, where.repeated, where.not_json) == ([True], 0, 0)


@pytest.mark.parametrize("damaged", [b'"\xff"', rb'"\ud800"', b"01", b"NaN", b'"\t"', b"[1,]", b"tru"])
def test_unused_values_have_to_be_json_all_the_same(damaged: bytes) -> None:
    good = Record("t", 0, 0, 0, 0, None, '{"n":1,"other":"ü"}'.encode())
    bad = Record("t", 0, 1, 0, 0, None, b'{"n":1,"other":' + damaged + b"}")
    found, where = wanted("value.n == `1`", good, bad)
    assert (found, where.not_json) == ([True, False], 1)


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
def test_an_invalid_expression_is_a_usage_error(expression: str) -> None:
    with pytest.raises(ConfigError, match=r"is not valid at column [0-9]+"):
        Where(expression)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("value.n ==", "expected a field, a number, or text in single quotes, not the end"),
        ("value.n = `1`", "or the end, not '='"),
        ("value.n ] == `1`", "or the end, not ']'"),
        ("starts_with(key)", "starts_with() expects 2 arguments, not 1"),
        ("topic || length(key, value)", "length() expects 1 argument, not 2"),
        ("not_null()", "not_null() expects at least 1 argument, not 0"),
        ("(" * 5000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_an_expression_is_reported(expression: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Where(expression)
    assert why in str(raised.value.why)


NEW = [
    ("value.n > 2", True),
    ("value.n > 3", False),
    ("value.n == 3.0", True),
    ("2 < value.n", True),
    ("value.zero == 0 and value.no == false", True),
    ("value.no == 0", False),
    ("value.nil == null and value.missing == null", True),
    ('value.name == "ü"', True),
    ("not value.missing", True),
    ("not value.n == 3 or value.empty", False),
    ("value.n in (1, 2)", False),
    ("value.n in (1, 3)", True),
    ("value.n not in (1, 2)", True),
    ("value.no in (0, 1)", False),
    ("value.zero in (false)", False),
    ("value.missing in ('a', 'b')", False),
    ("value.missing in (null)", True),
    ("2 in value.list", True),
    ("2 in value.missing", False),
    ("value.n in value.list", False),
    ("value.list in ([1, 2], 3)", True),
    ("value.list[?@ > 1]", True),
    ("value.list[?@ in (3)]", False),
    ("key =~ '^k[0-9]$'", True),
    ("key =~ '^[0-9]'", False),
    ("value.text =~ 'x' or value.missing =~ '.'", False),
    ("value.{a: n} | a > 2 and a in (3)", True),
    ("sort_by([value, value], &(n > 2 and 'x' =~ 'x' && 'a' || 'b'))", True),
    ("timestamp > '2023-11-14T22:13:20Z'", True),
    ("timestamp > '2023-11-14T22:13:21Z'", False),
    ("timestamp < '1h' and timestamp > '2h'", True),
    ("timestamp > 'yesterday'", True),
]
HOURS = 3_600_000


@pytest.mark.parametrize(("expression", "result"), NEW)
def test_what_people_write_is_true_of_what_they_mean(expression: str, *, result: bool) -> None:
    """Now it is an hour and a half after the record, in UTC."""
    where = Where(expression, now_ms=ROW.timestamp + HOURS * 3 // 2, tz=UTC)
    chosen = wanted_by(Selection([where]), fetched_of([ROW]))
    assert (bool(chosen), where.failed, where.unlike) == (result, 0, 0)


def warned(expression: str, *values: bytes) -> tuple[list[int], list[str], Where]:
    said: list[str] = []
    where = Where(expression, warn=said.append)
    rows = [Record("t", 0, n, 0, 0, b"k", value) for n, value in enumerate(values)]
    return wanted_by(Selection([where]), fetched_of(rows)), said, where


NUMBERS_AND_TEXT = [b'{"a":81}', b'{"a":"85"}', b"{}", b'{"a":null}', b'{"a":"90"}']


@pytest.mark.parametrize(
    "expression",
    [
        "value.a > 80",
        "80 < value.a",
        "value.a >= value.b.c || value.a > 80",
        "value.[a] | @[0] > 80",
        "value.{x: a.b, y: a}.y > 80",
    ],
)
def test_an_order_of_numbers_and_text_is_an_error_that_is_reported_once(expression: str) -> None:
    found, said, where = warned(expression, *NUMBERS_AND_TEXT)
    assert (found, where.failed) == ([0], 2)
    (line,) = said
    assert line.startswith("--where skips t-0@1: ")
    assert line.endswith("the text '85' was compared with the number 80") or line.endswith(
        "the number 80 was compared with the text '85'"
    )
    assert "80" in line.partition("@1: ")[2].partition(": the")[0]


@pytest.mark.parametrize(
    ("expression", "found", "unlike"),
    [
        ("value.a == 85", [], 2),
        ("85 == value.a", [], 2),
        ("value.a != 81", [1, 2, 3, 4], 2),
        ("value.a == '85'", [1], 1),
        ("value.a in (81, 85)", [0], 2),
        ("value.a in ('85')", [1], 1),
        ("value.a in (81, '85')", [0, 1], 0),
        ("value.a == 0", [], 2),
        ("value.[a][?@ == 85]", [], 2),
        ("value.{x: a}.x == 85", [], 2),
        ("value.a == value.a", [0, 1, 2, 3, 4], 0),
        ("value.a == to_number(value.a)", [0, 2, 3], 2),
        ("to_string(value.a) == '85'", [1], 0),
        ("value.a == null", [2, 3], 0),
    ],
)
def test_an_equality_of_numbers_and_text_is_false_and_reported_once(
    expression: str, found: list[int], unlike: int
) -> None:
    chosen, said, where = warned(expression, *NUMBERS_AND_TEXT)
    assert (chosen, where.unlike, where.failed) == (found, unlike, 0)
    assert len(said) == (unlike > 0)
    assert all(line.endswith("never equal") and " t-0@" in line for line in said)


def test_a_pattern_on_a_number_is_an_error() -> None:
    chosen, said, where = warned("value.a =~ '8'", *NUMBERS_AND_TEXT)
    assert (chosen, where.failed) == ([1], 1)
    assert said == ["--where skips t-0@0: value.a =~ '8': the number 81 was compared with the text '8'"]


def test_a_function_that_was_given_another_type_is_named() -> None:
    _, said, where = warned("starts_with(value.a, '8') && contains(value.a, '5')", *NUMBERS_AND_TEXT)
    assert where.failed == 3
    assert said == ["--where skips t-0@0: starts_with() was given the number 81 and the text '8'"]


@pytest.mark.parametrize("given", ["null", "true", "false"])
def test_words_of_json_are_named_as_in_json(given: str) -> None:
    _, said, _ = warned("length(value.a) > 1", b'{"a": %s}' % given.encode())
    assert said == [f"--where skips t-0@0: length() was given {given}"]


def test_a_record_without_timestamp_is_found_by_null() -> None:
    rows = [ROW._replace(offset=n, timestamp=stamp) for n, stamp in enumerate((-1, 0, 1000))]
    assert wanted("timestamp == null", *rows)[0] == [True, False, False]
    assert wanted("timestamp != null", *rows)[0] == [False, True, True]


def test_a_key_that_a_serde_decodes_may_be_a_number() -> None:
    from kcli.flows.filters.decoded import DecodedField
    from kcli.serde.names import parse_serdes
    from kcli.serde.opening import open_serdes

    key = open_serdes(parse_serdes(["key=int"])).key
    assert key is not None
    where = Where("key == 5", DecodedField("key", key))
    rows = [Record("t", 0, n, 0, 0, n.to_bytes(4, "big"), None) for n in (4, 5)]
    assert wanted_by(Selection([where]), fetched_of(rows)) == [1]


def test_a_long_list_of_alternatives_is_no_deep_expression() -> None:
    keys = [f"k{n}" for n in range(3000)]
    assert wanted(" || ".join(f"key == '{key}'" for key in keys), ROW._replace(key=b"k2999"))[0] == [True]
    assert wanted(" && ".join(f"key != '{key}'" for key in keys))[0] == [False]


def test_only_records_that_other_filters_left_are_checked() -> None:
    from kcli.flows.filters.grep import parse_grep

    where = Where("value.n")
    rows = [Record("t", 0, 0, 0, 0, b"a", b"no json"), Record("t", 0, 1, 0, 0, b"b", b'{"n":1}')]
    assert Selection([parse_grep("k:b"), where]).select(fetched_of(rows)) == b"\0\1"
    assert where.not_json == 0


ROWS = [
    Record(
        "t", 0, n, n, 0, b"k%d" % n, b'{"status":%d,"more":{"text":"%d"}}' % (500 + n % 2, n), (("a", b"1"),)
    )
    for n in range(1000)
]
USUAL = [
    "value.status > 500 and not value.more.text in ('7', '8')",
    "value.more.text =~ '^7'",
    "value.status == `500`",
    "value.more.text == '7' || !(value.status)",
    "value.status >= `500` && value.status < `600`",
    "starts_with(key, 'k') && timestamp > `5`",
    "value.more && value.items[0].id == 'x'",
    "contains(['1', '2'], value.more.text)",
    "length(value.more.text) > `1` && offset > `5`",
]


def calls(work: Callable[[], object]) -> int:
    """How many functions that are written in Python it calls, apart from kernels."""
    count = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call" and "records" not in Path(frame.f_code.co_filename).parts

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("expression", USUAL)
def test_usual_expressions_are_not_interpreted(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from jmespath.visitor import TreeInterpreter

    selection, batch = Selection([Where(expression)]), fetched_of(ROWS)
    monkeypatch.setattr(TreeInterpreter, "visit", None)
    assert selection.select(batch) is not None or expression == USUAL[6]


def test_a_comparison_with_a_member_takes_two_calls_a_record() -> None:
    selection, batch = Selection([Where("value.status == `500`")]), fetched_of(ROWS)
    assert calls(lambda: selection.select(batch)) < 2 * len(ROWS) + 50


@pytest.mark.parametrize("expression", USUAL)
def test_usual_expressions_take_few_calls_a_record(expression: str) -> None:
    selection, batch = Selection([Where(expression)]), fetched_of(ROWS)
    assert calls(lambda: selection.select(batch)) < 12 * len(ROWS)


def test_only_the_members_that_are_read_become_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a document as a whole nor, without need, any value at all."""
    from kcli.flows.filters import json_value

    def refuse(_data: bytes) -> Any:
        raise AssertionError("the whole document was asked for")

    monkeypatch.setattr(json_value, "decode", refuse)
    for expression in ("value.status == `500`", "value.more.text == '7'", "key == 'k7'", "timestamp < `9`"):
        assert Selection([Where(expression)]).select(fetched_of(ROWS)) is not None
    with pytest.raises(AssertionError):
        Selection([Where("value")]).select(fetched_of(ROWS))


def test_after_another_filter_only_what_it_left_is_read() -> None:
    from kcli.flows.filters.grep import parse_grep

    rows = [*ROWS[:4], ROWS[4]._replace(value=None), ROWS[5]._replace(key=None)]
    first = [parse_grep("!k:[13]")]
    for expression, found in (("value.status", [0, 2, 5]), ("key", [0, 2, 4]), ("value && key", [0, 2])):
        assert wanted_by(Selection([*first, Where(expression)]), fetched_of(rows)) == found


LONG = b'{"amt": 12345678901234567.89, "id": 9007199254740993, "huge": %s}' % (b"7" * 4_400)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("value.amt == 12345678901234567.89", True),
        ("value.amt == 12345678901234567.9", False),
        ("value.amt > 12345678901234567.88 and value.amt < 12345678901234567.9", True),
        ("value.amt in (1, 12345678901234567.89)", True),
        ("value.amt in (1, 12345678901234567.9)", False),
        ("value.id == 9007199254740993.0", True),
        ("value.id == 9007199254740992.0", False),
        ("value.id in (9007199254740992.0, 9.007199254740993e15)", True),
        (f"value.huge == {'7' * 4_400}", True),
        (f"value.huge > {'7' * 4_399}6", True),
        (f"value.huge in ({'7' * 4_399}6)", False),
    ],
)
def test_numbers_that_no_double_keeps_are_compared_digit_by_digit(expression: str, *, result: bool) -> None:
    chosen, said, _where = warned(expression, LONG)
    assert (bool(chosen), said) == (result, [])
