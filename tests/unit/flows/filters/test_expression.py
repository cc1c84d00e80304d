"""Compiled expressions beside ``jmespath``: the same records are wanted, the same ones are errors of types."""

import json
from decimal import InvalidOperation
from itertools import product
from typing import Any, NamedTuple

import jmespath
import jmespath.exceptions
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.types import Header, Record
from kcli.flows.filters.expression import Expression
from kcli.flows.filters.numbers import Functions
from kcli.flows.filters.selection import Selection
from kcli.flows.filters.where import Where
from kcli.serde.json_text import json_integer, json_number
from tests.batches import fetched_of, run_of, wanted_by

NAMES = ["a", "b", "status", "ü", "two words", 'a"b', "back\\slash", "", "m0", "\x01"]
TEXTS = ["", "a", "b", "1", "1.5", "abc", "ü", "\x01", '"', "null"]
NUMBERS = [0, 1, -1, 2, 0.0, -0.0, 1.0, 1.5, 2**53 + 1, 2**64, -(10**30), 1e300]
SCALARS: list[Any] = [None, True, False, *NUMBERS, *TEXTS]


class Outcome(NamedTuple):
    wanted: list[int]
    not_json: int
    failed: int
    repeated: int = 0


# --- the judge ---------------------------------------------------------------------------------------


def judged(text: str, rows: list[Record]) -> Outcome:
    """What ``jmespath`` makes of the records, each as one document."""
    search, options = jmespath.compile(text).search, jmespath.Options(custom_functions=Functions())
    wanted, not_json, failed, repeated = [], 0, 0, 0
    for index, row in enumerate(rows):
        try:
            value = None if row.value is None else parsed(row.value)
            if row.value is not None and looks_at_value(text) and reads_twice(text, row.value):
                repeated += 1
                continue
        except (ValueError, RecursionError):
            if looks_at_value(text):
                not_json += 1
                continue
            value = None
        headers = {
            name if isinstance(name, str) else name.decode(): None if held is None else held.decode()
            for name, held in row.headers
        }
        document = {
            "key": None if row.key is None else row.key.decode(),
            "value": value,
            "headers": headers,
            "topic": row.topic,
            "partition": row.partition,
            "offset": row.offset,
            "timestamp": row.timestamp,
        }
        try:
            result = search(document, options)
        except (jmespath.exceptions.JMESPathError, TypeError):
            failed += 1
            continue
        except InvalidOperation:  # the order of a Decimal and NaN
            continue
        if not (result is None or result is False or result in ("", [], {})):
            wanted.append(index)
    return Outcome(wanted, not_json, failed, repeated)


def reads_twice(text: str, data: bytes) -> bool:
    """Whether an object has a member twice that the expression reads."""
    expression = Expression(jmespath.compile(text).parsed)
    inside = [path[1:] for path in expression.paths if path[:1] in ((), ("value",))]

    def read_at(place: tuple[Any, ...], name: str) -> bool:
        for path in inside:
            if place == path[: len(place)] and len(place) < len(path) and path[len(place)] == name:
                return True
            if path == place[: len(path)] and (expression.reads_objects or name in expression.names):
                return True
        return False

    def walk(value: Any, place: tuple[Any, ...]) -> bool:
        if isinstance(value, list):
            return any(walk(one, (*place, None)) for one in value)
        if not isinstance(value, tuple):
            return False
        names = [name for name, _one in value]
        last = {name: at for at, name in enumerate(names)}
        return any(read_at(place, name) for name in set(names) if names.count(name) > 1) or any(
            walk(one, (*place, name)) for at, (name, one) in enumerate(value) if last[name] == at
        )

    return walk(json.loads(data, parse_int=str, object_pairs_hook=tuple), ())


def looks_at_value(text: str) -> bool:
    paths = Expression(jmespath.compile(text).parsed).paths
    return any(path[:1] in ((), ("value",)) for path in paths)


def parsed(data: bytes) -> Any:
    """Python's parser made as strict as RFC 8259 wants it."""
    value = json.loads(data.decode(), parse_constant=refused, parse_int=json_integer, parse_float=json_number)
    json.dumps(value, ensure_ascii=False, default=str).encode()  # half of a surrogate pair
    return value


def refused(text: str) -> Any:
    raise ValueError(text)


def compiled(text: str, rows: list[Record], *, joined: bool = False) -> Outcome:
    """What the filter makes of them."""
    where = Where(text)
    wanted = wanted_by(Selection([where]), fetched_of(rows, run_of(rows)) if joined else fetched_of(rows))
    return Outcome(wanted, where.not_json, where.failed, where.repeated)


def contradicts(text: str) -> bool:
    """Whether a field is compared with a literal of another type, which no record matches: that is refused."""
    try:
        Where(text)
    except ConfigError as error:
        return "never equal" in error.why or "expected a time" in error.why
    return False


# --- random documents --------------------------------------------------------------------------------


@st.composite
def document(draw: st.DrawFn, depth: int = 3) -> str:
    """JSON as somebody may write it: names twice, escapes, white space."""
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind == 0:
        scalar = draw(st.sampled_from([*SCALARS, 10**25]))
        return json.dumps(scalar, ensure_ascii=draw(st.booleans()))
    if kind == 1:
        return "[" + ", ".join(draw(st.lists(document(depth=depth - 1), max_size=3))) + "]"
    pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES), document(depth=depth - 1)), max_size=4))
    return "{" + ",".join(json.dumps(n, ensure_ascii=len(v) % 2 == 0) + ": " + v for n, v in pairs) + "}"


ODD = [
    b"",
    b"no json",
    b"\xff",
    b'{"a":"\xff"}',
    b'{"status":1,"b":"\xed\xa0\x80"}',
    b'{"status":1,"\xff":2}',
    b'{"status":1,"b":1e999}',
    b'{"status":1e999}',
    b'{"status":-1e999,"b":"\xc3\xbc"}',
    b'{"status":1,"b":"\\ud800"}',
    b'{"status":1,"b":NaN}',
    b'{"status":1,"b":"\t"}',
    b'{"status":1,"b":[1,]}',
    b'{"status":1,"b":01}',
    b'{"status":1}}',
    b'{"status":1,"b":' + b"9" * 5000 + b"}",
    b'{"status":' + b"9" * 5000 + b"}",
    b'{"stat\\u0075s":1}',
    b'\xef\xbb\xbf{"status":1}',
    b'{"status":1} ',
    b'{"status":1,"b":' + b"[" * 50_000 + b"}",
    b'{"status":1,"b":' + b"[" * 90 + b"]" * 90 + b"}",
    b"1e999",
    b"9" * 5000,
    b"null",
]
VALUES = st.none() | document().map(str.encode) | st.sampled_from(ODD)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    found = []
    for n in range(draw(st.integers(1, 4))):
        key = draw(st.none() | st.sampled_from(TEXTS).map(str.encode))
        headers: list[Header] = draw(
            st.lists(
                st.tuples(st.sampled_from(["a", "b"]), st.none() | st.sampled_from(TEXTS).map(str.encode)),
                max_size=3,
            )
        )
        found.append(Record("t", 1, n, 1000 + n, 0, key, draw(VALUES), tuple(headers)))
    return found


# --- random expressions ------------------------------------------------------------------------------


def identifier(name: str) -> str:
    plain = name.isascii() and name.isidentifier()
    return name if plain else json.dumps(name)


def literal(value: Any) -> str:
    if isinstance(value, str) and not set(value) & set("'\\"):
        return f"'{value}'"
    return "`" + json.dumps(value).replace("`", "\\`") + "`"


ROOTS = ["value"] * 6 + ["key", "headers", "topic", "partition", "offset", "timestamp", "@"]
MEMBER = st.sampled_from(NAMES).map(identifier)
LITERALS = st.sampled_from([*SCALARS, [], {}, [1], [True], ["a", 1], {"a": 1}, float("inf")]).map(literal)


@st.composite
def place(draw: st.DrawFn, *, root: bool = True) -> str:
    steps = [draw(st.sampled_from(ROOTS) if root else MEMBER | st.just("@"))]
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.integers(0, 11))
        if kind < 7:
            steps.append("." + draw(MEMBER))
        elif kind < 9:
            steps.append(f"[{draw(st.integers(-2, 2))}]")
        else:
            steps.append(
                draw(
                    st.sampled_from(
                        ["[*]", "[]", ".*", "[0:2]", "[?a]", "[?status > `1`].a", ".{x: a}", ".[a, b]"]
                    )
                )
            )
    return "".join(steps)


@st.composite
def expression(draw: st.DrawFn, depth: int = 3, *, root: bool = True) -> str:
    inner = expression(depth=depth - 1, root=root)
    kind = draw(st.integers(0, 12)) if depth else draw(st.integers(0, 3))
    if kind < 3:
        return draw(place(root=root))
    if kind == 3:
        return draw(LITERALS)
    if kind < 7:
        return f"{draw(inner)} {draw(st.sampled_from(['==', '!=', '<', '<=', '>', '>=']))} {draw(inner)}"
    if kind == 7:
        return f"({draw(inner)}) && {draw(inner)}"
    if kind == 8:
        return f"{draw(inner)} || ({draw(inner)})"
    if kind == 9:
        return f"!({draw(inner)})"
    if kind == 10:
        return f"{draw(inner)} | {draw(expression(depth=depth - 1, root=False))}"
    if kind == 11:
        return f"[{draw(inner)}, {draw(inner)}]"
    one = st.sampled_from(
        ["length", "to_number", "to_string", "type", "keys", "not_null", "sort", "abs", "max"]
    )
    two = st.sampled_from(["contains", "starts_with", "ends_with", "not_null", "join"])
    if draw(st.booleans()):
        return f"{draw(one)}({draw(inner)})"
    return f"{draw(two)}({draw(inner)}, {draw(inner)})"


ROW = Record("t", 1, 0, 1000, 0, b"k", b'{"status":1,"a":{"b":[true,{"a":"x"}],"status":"1"}}')

ODD_ROWS = [ROW._replace(offset=n, value=value) for n, value in enumerate(ODD)]


@given(expression(), records())
@example("value.status == `true`", [ROW])
@example("value.a.b[1].a == 'x' && value.a.status < `5`", [ROW])
@example('value.a.b == `[1, {"a": "x"}]`', [ROW])
@example("contains(['a', 'x'], value.a.b[1].a)", [ROW])
@example("sort_by(value.a.b, &a)", [ROW])
@example("value.a.b[?a == 'x'] | length(@) == `1`", [ROW])
@example("value.status", ODD_ROWS)
@example("value", ODD_ROWS)
@example("value.status > `5` || value.b.c", ODD_ROWS)
@example("topic == 't'", ODD_ROWS)
def test_the_same_records_are_wanted_as_by_jmespath(text: str, rows: list[Record]) -> None:
    assume(not contradicts(text))
    assert compiled(text, rows) == judged(text, rows)
    if len(rows) > 1:
        assert compiled(text, rows, joined=True) == judged(text, rows)


# --- every kind of value beside every other ----------------------------------------------------------

OPERATORS = ["==", "!=", "<", "<=", ">", ">="]
KINDS: list[Any] = [*SCALARS, float("inf"), [], {}, [1], [True], [1, "a"], {"a": 1}, {"a": True}]
PAIRS = list(product(KINDS, KINDS))


def pairs() -> list[Record]:
    """All pairs of values that JSON can say, as members ``a`` and ``b``."""
    return [
        ROW._replace(offset=n, value=json.dumps({"a": a, "b": b}).replace("Infinity", "1e999").encode())
        for n, (a, b) in enumerate(PAIRS)
    ]


@pytest.mark.parametrize("operator", OPERATORS)
def test_any_two_values_compare_as_in_jmespath(operator: str) -> None:
    rows = pairs()
    for text in (
        f"value.a {operator} value.b",
        f"(value.a {operator} value.b) == `null`",
        f"!(value.a {operator} value.b)",
        f"value | a {operator} b",
    ):
        assert compiled(text, rows) == judged(text, rows), text


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("value", [*KINDS, float("nan")], ids=repr)
def test_any_value_compares_with_any_literal_as_in_jmespath(operator: str, value: Any) -> None:
    rows = pairs()[:: len(KINDS)]
    for text in (f"value.a {operator} {literal(value)}", f"{literal(value)} {operator} value.a"):
        assert compiled(text, rows) == judged(text, rows), text
        assert compiled(f"({text}) == `null`", rows) == judged(f"({text}) == `null`", rows), text


@pytest.mark.parametrize(
    "text",
    [
        "value.a",
        "!(value.a)",
        "value.a && value.b",
        "value.a || value.b",
        "(value.a && value.b) == value.b",
        "(value.a || value.b) == value.a",
        "!(value.a && !(value.b || value.a.a)) || value.missing",
        "value.a[0]",
        "value.a[1] == 'a'",
        "value.a[-2] == `1`",
        "value.a[-3] == `null`",
        "value.a[0:1]",
        "value.a[]",
        "value.a[*]",
        "value.a.*",
        "value.a.a",
        "value.a.a == value.b.a",
        "value.a == `1` && value.a.a == `1`",
        "value.a[?@ == `1`]",
        "[value.a, value.b] == [value.b, value.a]",
        "contains(value.a, value.b)",
        "contains([value.a, 'x'], value.b)",
        "starts_with(value.a, value.b)",
        "ends_with(value.a, value.b)",
        "length(value.a) == `1`",
        "to_number(value.a) == value.b",
        "not_null(value.a, value.b)",
        "type(value.a) == type(value.b)",
        "to_string(value.a) == to_string(value.b)",
        "keys(value.a) == ['a']",
        "max(value.a) > `0`",
        "value.a || starts_with(value.b, 'a')",
        "value.a && length(value.b) > `0`",
        "value.{x: a}.x == value.b",
        "sort_by(value.a, &@)",
        "max_by([value.a, value.b], &@) == value.a",
    ],
)
def test_any_two_values_as_in_jmespath(text: str) -> None:
    rows = pairs()
    assert compiled(text, rows) == judged(text, rows)
