"""What ``--where`` reads: JMESPath as ever, literals and operators as people write them, and where it says no."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError
from jmespath.parser import Parser

from kcli.flows.filters.grammar import NUMBER, TEXT, Parsed, parse
from kcli.flows.filters.tokens import WhereError

TYPES = {
    "key": TEXT, "value": None, "headers": None, "topic": TEXT, "partition": NUMBER, "offset": NUMBER,
    "timestamp": NUMBER,
}  # fmt: skip
TIMES = {"2026-11-28T10:00Z": 1_795_860_000_000, "3h": 1_795_849_200_000, "17321800000": None}


def instant(text: str) -> int:
    found = TIMES.get(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time")
    return found


def parsed(text: str) -> Parsed:
    return parse(text, TYPES, instant)


def why_not(text: str) -> str:
    """The error; empty for an expression."""
    try:
        parsed(text)
    except WhereError as error:
        return error.why if 1 <= error.column <= len(text) + 1 else "outside"
    return ""


def plain(node: Any) -> Any:
    """A tree without what jmespath's have not."""
    if isinstance(node, dict):
        return {
            key: plain(one) for key, one in node.items() if key not in ("text", "quoted", "word", "start")
        }
    return [plain(one) for one in node] if isinstance(node, list) else node


def tree(text: str) -> Any:
    return plain(parsed(text).tree)


def jmespath_tree(text: str) -> Any:
    return Parser()._do_parse(text).parsed


# --- JMESPath ----------------------------------------------------------------------------------------

WORDS = (
    "a b key value true false null not length ( ) [ ] [? [] . * @ & | || && == < > != ! , : 0 1 -1 'x' `1` "
    '`"t"` "q" { } abs( keys( sort_by( a.b [0] [*] [:2] .[ .{'
)
WORD = st.sampled_from(WORDS.split(" "))


@given(st.lists(WORD, min_size=1, max_size=9), st.sampled_from(["", " "]))
def test_what_jmespath_reads_means_the_same_inside_a_value(words: list[str], gap: str) -> None:
    text = "value | " + gap.join(words)
    try:
        wanted = jmespath_tree(text)
    except (JMESPathError, IndexError):
        assume(False)
    refused = why_not(text)
    if refused:
        assert any(word in refused for word in ("no function", "argument", "never equal")), text
        return
    found = parsed(text).tree
    if "not_null" not in repr(found):  # true and false beside a comparison: below
        assert plain(found) == wanted


@pytest.mark.parametrize(
    "text",
    [
        'value."unit price"',
        'value | "foo"',
        'value."foo"."bar"[0]."baz"',
        "value.items[?a == b].c",
        'value.items[?"unit price" > `5`]',
        'value.items[?"a b" == "c d"]',
        'value.{"x y": a, z: "b"}',
        'value.["a", b]',
        'sort_by(value.items, &"unit price")',
        'value | not_null("a", true)',
        "value.true.and.or.not.in.null",
        "value | and && or",
        "value | not[0]",
        "value.items[?not]",
        "value[?in].or[*].and",
        'value.*."a"',
        'value[].["a"]',
        '"value"."a" == `1`',
        '"key" == \'k\'',
        "value.a == `text`",
        "value.a == `\"quoted\"` || value.b == `[1, {\"a\": null}]`",
        "value.a == 'it\\'s' && value.b == '\\d'",
        "!value.a || !(value.b.c)",
        "value.a[1:2] | [0]",
        "value.a[0][1:]",
        "value.a[?b[?c]].d[]",
        "value.a[?b][].c",
        "*",
        "*.a",
        "@.value.a",
        "[value.a, key]",
        "{a: value, b: key}.a",
        "contains(value.a 'x')",
    ],
)  # fmt: skip
def test_an_expression_that_was_valid_keeps_its_meaning(text: str) -> None:
    assert tree(text) == jmespath_tree(text)


# --- what is new -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("value.a > 80", "value.a > `80`"),
        ("value.a > -1.5", "value.a > `-1.5`"),
        ("80 < value.a", "`80` < value.a"),
        ("value.a == 1e3", "value.a == `1e3`"),
        ("value.items[?qty > 5]", "value.items[?qty > `5`]"),
        ("value.items[0].qty == 5", "value.items[0].qty == `5`"),
        ("value.a == 123456789012345678901234567890", "value.a == `123456789012345678901234567890`"),
        ('value.c == "DE"', "value.c == 'DE'"),
        ('"DE" == value.c', "'DE' == value.c"),
        ('starts_with(key, "k")', "starts_with(key, 'k')"),
        ('contains(["a", "b"], value.c)', "contains(['a', 'b'], value.c)"),
        ("contains([1, 2], value.c)", "contains([`1`, `2`], value.c)"),
        ("contains([1], value.c)", "contains([`1`], value.c)"),
        ('value.c == "\\u00fc\\""', "value.c == 'ü\"'"),
        ("value.x == null", "value.x == `null`"),
        ("value.x != true", "value.x != `true`"),
        ("false == value.x", "`false` == value.x"),
        ("key and value.a or topic", "key && value.a || topic"),
        ("key and (value.a or topic)", "key && (value.a || topic)"),
        ("not value.a", "!(value.a)"),
        ("not value.a.b", "!(value.a.b)"),
        ("not value.a == 1", "!(value.a == `1`)"),
        ("not key and not topic", "!(key) && !(topic)"),
        ("not not key", "!(!(key))"),
        ("not(key)", "!(key)"),
        ("value[?a and not b]", "value[?a && !(b)]"),
        ("timestamp > '3h'", "timestamp > `1795849200000`"),
        ('timestamp >= "2026-11-28T10:00Z"', "timestamp >= `1795860000000`"),
        ("'3h' < timestamp", "`1795849200000` < timestamp"),
        ("not timestamp == '3h'", "!(timestamp == `1795849200000`)"),
    ],
)
def test_literals_and_operators_as_people_write_them(text: str, same: str) -> None:
    assert tree(text) == jmespath_tree(same)
    assert parsed(text).notes == ()


@pytest.mark.parametrize(
    ("text", "kind", "held"),
    [
        ("value.a in ('a', 'b')", "in", ["a", "b"]),
        ("value.a in ('a')", "in", ["a"]),
        ('value.a in ["a", 2, null]', "in", ["a", 2, None]),
        ("value.a in [1]", "in", [1]),
        ("timestamp in ('3h', '2026-11-28T10:00Z')", "in", [1_795_849_200_000, 1_795_860_000_000]),
        ("value.a not in (1, 2)", "not_expression", [1, 2]),
    ],
)
def test_lists_of_alternatives(text: str, kind: str, held: list[Any]) -> None:
    found = parsed(text).tree
    assert found["type"] == kind
    node = found["children"][0] if kind == "not_expression" else found
    assert node["children"][1]["value"] == held


def test_a_comparison_knows_how_it_was_written() -> None:
    found = parsed("key and (value.a.b  >=  80) or value.c in ( 1 , 2 )").tree
    conjunction, membership = found["children"]
    assert (conjunction["children"][1]["text"], membership["text"]) == (
        "value.a.b  >=  80",
        "value.c in ( 1 , 2 )",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'value.kind == "key"',
            "column 15: \"key\" is the field key of the record; text is in single quotes: 'key'",
        ),
        ('value.items[?sku == "A"]', "column 21: \"A\" is the member A there; text is in single quotes: 'A'"),
        ("value.items[?sku in (\"A\", 'B')]", 'column 22: "A" is the member A there'),
        ('value | a == "b"', 'column 14: "b" is the member b there'),
    ],
)
def test_a_name_in_double_quotes_where_text_may_be_meant_is_noted(text: str, says: str) -> None:
    (note,) = parsed(text).notes
    assert says in note


@pytest.mark.parametrize(
    "text", ['value.items[?"unit price" > 5]', 'value | "a"', 'value.{x: "a"}', "\"key\" == 'a'"]
)
def test_a_name_in_double_quotes_is_usual(text: str) -> None:
    assert parsed(text).notes == ()


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("value.c == 'DE' or 'FR'", 20, "true for every record"),
        ("not 'x'", 5, "true for every record"),
        ("80 < value.a < 90", 16, "value.a > 1 and value.a < 9"),
        ("(key == 'a') != 'b'", 17, "true or false and text are never equal"),
        ("offset == true", 11, "a number and true or false are never equal"),
        ("contains(key, 'a') == 'true'", 23, "are never equal"),
        ("value.items[*].price > 5", 24, "value.items[?price > 5]"),
        ("value.*.price in (5, 6)", 19, "a list and a number are never equal"),
        ("value.items[?price > 5] == 'x'", 28, "a list and text are never equal"),
        ("!value.a", 7, "write not value.a"),
        ("value.items[?!a.b]", 16, "write not value.a"),
        ("timestamp > 1700000002", 13, "1700000002 is ms, in 1970; '1700000002' in quotes"),
    ],
)
def test_what_was_valid_and_can_hardly_be_meant_is_noted(text: str, column: int, says: str) -> None:
    note = parsed(text).notes[0]
    assert note.startswith(f"--where at column {column}: "), note
    assert says in note


@pytest.mark.parametrize(
    "text",
    [
        "(value.a || 'x') == 'x'",
        "value.flag == true",
        "(value.a > 5) == true",
        "contains(key, 'a') == false",
        "value.items[*].price == `[5]`",
        "value.items[*].price | [0] > 5",
        "!value",
        "!(value.a)",
        "true",
        "timestamp > 1700000002000",
        "timestamp > `1700000002`",
        'value.path == "value.c"',
        'value.tags[0] == "x" or contains(value.tags, "y")',
    ],
)
def test_what_may_be_meant_is_not_noted(text: str) -> None:
    assert parsed(text).notes == ()


@pytest.mark.parametrize("null", ["null", "`null`"])
def test_a_timestamp_of_null_is_none(null: str) -> None:
    assert tree(f"timestamp == {null}") == tree("timestamp == -1")
    assert tree(f"timestamp in ({null}, '3h')") == tree("timestamp in (-1, '3h')")


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "why", "do"),
    [
        ("", 1, "expected a field", ""),
        ("value.a =", 9, "not '='", "written =="),
        ("value.a = 5", 9, "not '='", "written =="),
        ("value.a === 5", 11, "not '='", "written =="),
        ("value.a <> 5", 10, "not '>'", "written !="),
        ("value.a >", 10, "expected a field, a number, or text in single quotes, not the end", ""),
        ("value.a >> 5", 10, "not '>'", ""),
        ("value.a 5", 9, "expected an operator", ""),
        ("value.a AND key", 9, "not 'AND'", "small letters"),
        ("value.unit-price > 2", 11, "not '-'", "double quotes"),
        ("value.größe > 2", 9, "not 'ö'", "double quotes"),
        ("(value.a", 9, "expected ')', not the end", ""),
        ("value.a)", 8, "not ')'", ""),
        ("length(value.a", 15, "expected ')'", ""),
        ("value.items[?a", 15, "expected ']'", ""),
        ("value.items[a]", 13, "expected an index", ""),
        ("value.items[1.5]", 13, "expected a whole number", ""),
        ("value.items.[0]", 14, "an index has no dot", ""),
        ("value.", 7, "expected a name after the dot", ""),
        ("value.'a'", 7, "expected a name after the dot", ""),
        ("value.a == 'x", 12, "expected another '", ""),
        ('value.a == "x', 12, 'expected another "', ""),
        ("value.a == `x", 12, "expected another `", ""),
        ('value.a =~ "\\d"', 12, "invalid \\escape", "in single quotes once"),
        ("value.a == DE", 12, "no field DE", "text is 'DE'"),
        ("status > 5", 1, "no field status; it has key, value", "value.status"),
        ('"status".a', 1, 'no field "status"', ""),
        ("true.a", 1, "no field true", ""),
        ("\"value.c\" == 'DE'", 1, "expected a field", "without quotes: value.c"),
        ("'DE' == \"value.c\"", 9, "expected a field", "without quotes: value.c"),
        ('"value.c" == "DE"', 1, "expected a field", "without quotes: value.c"),
        ('"headers.n" in ("a", "b")', 1, "expected a field", "without quotes: headers.n"),
        ("\"value.c\" =~ 'D'", 1, "expected a field", "without quotes: value.c"),
        ("contains(\"value.c\", 'D')", 10, "expected a field", "without quotes: value.c"),
        ('"status" == 5', 1, "expected a field", ""),
        ('"value.ok"', 1, "expected a condition", "without quotes: value.ok"),
        ('key and not "value.ok"', 13, "expected a condition", "without quotes: value.ok"),
        ('value.c == "DE" or "FR"', 20, "true for every record", "value.a in (1, 2)"),
        ("value.a == 1 or 2", 17, "true for every record", "value.a in (1, 2)"),
        ('{"value.a": {"$gt": 80}}', 21, "true for every record", "value.a == 1"),
        ("5", 1, "true for every record", ""),
        ("value.x == NULL", 12, "no field NULL", "what is missing is null"),
        ("value.x == None", 12, "no field None", "what is missing is null"),
        ("value.x == True", 12, "no field True", "small letters"),
        ("NOT value.x", 1, "no field NOT", "small letters"),
        ("value.x IS NOT NULL", 9, "not 'IS'", "=="),
        ("value.c LIKE 'D%'", 9, "not 'LIKE'", "=~"),
        ("value.a between 1 and 2", 9, "not 'between'", ">="),
        ("value.c contains 'D'", 9, "not 'contains'", "contains(value.a, 'b')"),
        ("value['c'] == 1", 7, "expected an index", 'after a dot: value."c"'),
        ("$.value.c", 1, "not '$'", "begins with a field"),
        ("value.$oid", 7, "not '$'", "double quotes"),
        ("value.c =~ /D/", 12, "not '/'", "single quotes"),
        ("value.c !~ 'D'", 10, "not '~'", "not key =~"),
        ("value.a == +5", 12, "not '+'", "no plus sign"),
        ("timestamp > 3h", 14, "not 'h'", "single quotes: 'DE', '2026-11-28T10:00Z', '3h'"),
        ("timestamp > 2026-11-28", 17, "not '-11'", "single quotes"),
        ("timestamp > 10:30", 15, "not ':'", "single quotes"),
        ("timestamp > 'soon'", 13, "expected a time: 'soon' is not a time", "kcli help times"),
        ("timestamp == 'soon'", 14, "expected a time", ""),
        ("'soon' < timestamp", 1, "expected a time", ""),
        ("timestamp in ('3h', 'soon')", 21, "expected a time", ""),
        ("timestamp > '17321800000'", 13, "expected a time", ""),
        ("partition > 'a'", 13, "expected a number", ""),
        ("partition == '3'", 14, "expected a number", "write 3, without quotes"),
        ("'3' == partition", 1, "expected a number", ""),
        ("offset != '3'", 11, "expected a number", ""),
        ("offset in (1, '2')", 15, "expected a number", ""),
        ("offset =~ '1'", 11, "expected a number", ""),
        ("key == 5", 8, "expected text", "write '5'"),
        ("topic in ('a', 5)", 16, "expected text", ""),
        ("headers.n > 5", 13, "expected text", "apply to_number(…)"),
        ('headers."x y" > 5', 17, "expected text", ""),
        ("to_number(headers.n) > '5'", 24, "expected a number", ""),
        ("length(value) == '5'", 18, "expected a number", ""),
        ("key > offset", 1, "never equal", "to_number(…)"),
        ("key =~ 5", 8, "expected a regular expression", ""),
        ("key =~ topic", 8, "expected a regular expression", ""),
        ("key =~ '('", 8, "expected a regular expression: missing )", ""),
        ("key in 'a'", 8, "expected a list", ""),
        ("key in topic", 8, "expected a list", ""),
        ("key in ()", 9, "expected a field", ""),
        ("key in ('a' 'b')", 13, "expected ','", ""),
        ("lenght(key)", 1, "no function lenght()", "did you mean length()?"),
        ("key || starts_with(key)", 8, "starts_with() expects 2 arguments, not 1", ""),
        ('"length"(key)', 1, "expected the name of a function", ""),
        ('{"a" value}', 6, "expected ':'", ""),
    ],
)  # fmt: skip
def test_an_error_points_at_the_character_and_says_what_was_expected(
    text: str, column: int, why: str, do: str
) -> None:
    with pytest.raises(WhereError) as raised:
        parsed(text)
    error = raised.value
    assert (error.column, why in error.why, do in error.do) == (column, True, True), (
        error.column,
        error.why,
        error.do,
    )


@pytest.mark.parametrize(
    "text",
    [
        "key == 'a' or value == 5",
        "value.a == '5'",
        "value.a > 'b'",
        "'a' != 1",
        "headers == null",
        "key != null",
    ],
)
def test_comparisons_that_may_hold_are_not_refused(text: str) -> None:
    parsed(text)


@given(
    st.lists(
        WORD | st.sampled_from(["and", "or", "in", "=~", "timestamp", "'3h'", "1.5", "=", "ü"]), max_size=9
    )
)
def test_any_text_is_an_expression_or_an_error_in_it(words: list[str]) -> None:
    why_not(" ".join(words))


@pytest.mark.parametrize("text", ["value.a - 1 > 2", "value.a > - 5", "value.a == 80; x", "value.a # x"])
def test_a_sign_beside_no_name_is_not_said_to_be_of_a_name(text: str) -> None:
    with pytest.raises(WhereError) as raised:
        parsed(text)
    assert raised.value.do == ""
