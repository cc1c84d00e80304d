"""JSON that passes as it is, and JSON that becomes values without loss."""

from decimal import Decimal
from typing import Any

import pytest

from kcli.serde.errors import EncodeError
from kcli.serde.json_text import (
    MAX_DEPTH,
    NotJsonError,
    RepeatedMemberError,
    compact_json,
    dump_json,
    json_number,
    parse_json,
)
from kcli.serde.serde import Serde
from tests.unit.serde.schemas import PLACE, serde, with_schema

LONG = "7" * 4_400


@pytest.mark.parametrize(
    "literal",
    [
        "12345678901234567.89", "0.1", "1.10", "1e5", "1E+05", "1e400", "1e-400", "-0.0", "1e999999999",
        "0.30000000000000004",
        "9007199254740993.0", "9007199254740993", "123456789012345678901234567890", LONG, f"{LONG}.5", f"-{LONG}e-4400",
        "-0",
        "9657846850519807.0",
    ],
)  # fmt: skip
def test_a_number_has_the_value_that_is_written(literal: str) -> None:
    (found,) = parse_json(f"[{literal}]")
    assert Decimal(repr(found) if isinstance(found, float) else found) == Decimal(literal)
    assert Decimal(dump_json(found)) == Decimal(literal)
    assert compact_json(f" [ {literal} ] ".encode()) == f"[{literal}]"


def test_numbers_that_a_float_is_printed_as_are_floats() -> None:
    assert [type(json_number(one)) for one in ("0.1", "1.50", "1e22", "1e300", "0.30000000000000004")] == [
        float
    ] * 5


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a":1,"a":2}', "the object has the member 'a' a second time at character 8"),
        (
            '{"a":{"b":[0,{"c d":{},"x":1,"c d":[]}]}}',
            "a.b[1] has the member 'c d' a second time at character 30",
        ),
        ('[{"a":"{\\"a\\""},{"a":1,"\\u0061":1}]', "[1] has the member 'a' a second time at character 24"),
        ('{"x y":{"":0,"a":[[],[1,2]],"":1}}', "['x y'] has the member '' a second time at character 29"),
    ],
)
def test_a_repeated_member_is_refused_with_its_place_and_passes_as_text(text: str, where: str) -> None:
    with pytest.raises(RepeatedMemberError) as caught:
        parse_json(text)
    assert str(caught.value) == where
    assert compact_json(text.encode()) == text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "at character 2"),
        (b'{"a":1,"a":2', "at character 13"),
        (b"NaN", "NaN is not JSON"),
        (b"[01]", "at character"),
        (b'"\\ud800"', "surrogate"),
        (b'"\\ud83d\\u0041"', "surrogate"),
        (b'"\xff"', "not UTF-8"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested"),
        (b"[" * 100_000, "nested"),
        (b"1 2", "Extra data"),
        (b'"\n"', "control character"),
    ],
)
def test_what_is_no_json_passes_neither_way(data: bytes, why: str) -> None:
    with pytest.raises(NotJsonError, match=why):
        compact_json(data)
    if data != b'{"a":1,"a":2':
        with pytest.raises(NotJsonError, match=why):
            parse_json(data)


def test_text_stays_as_it_is_spelled() -> None:
    text = '{ "a\\u0062\\/" : "\\ud83d\\ude00 \\" : , ä" ,\n"n" : [ 1.10 , -0 ] , "n" : {} }'
    assert compact_json(text.encode()) == '{"a\\u0062\\/":"\\ud83d\\ude00 \\" : , ä","n":[1.10,-0],"n":{}}'


# --- numbers that a format cannot hold ---------------------------------------------------------------------


def record(kind: Any) -> Serde:
    return with_schema({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]})


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
DURATION = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (
            "double",
            "12345678901234567.89",
            "more digits than a double keeps, which would be 1.2345678901234568e+16",
        ),
        ("double", "9007199254740993", "more digits than a double keeps"),
        ("double", "1180591620717411303424", "would be 1.1805916207174113e+21"),
        ("double", "1e400", "too large"),
        ("double", "1e-400", "would be 0.0"),
        ("double", LONG, "too large"),
        ("float", "0.123456789", "more digits than a float keeps, which would be 0.12345679"),
        ("float", "16777217", "more digits than a float keeps"),
        ("float", "1e39", "too large"),
        ("long", "9007199254740993.5", "not a whole number"),
        ("long", "1e999999999", "does not fit 64 bits"),
        ("int", "1e10", "does not fit 32 bits"),
        ({"type": "array", "items": "double"}, "[1,0.12345678901234567891]", "a[1]: it has more digits"),
        (DECIMAL, "12345678901234567.891", "more than 2 digits behind the point"),
        (DURATION, '{"months":1.5,"days":0,"millis":0}', "whole numbers"),
    ],
)
def test_what_avro_cannot_hold_is_refused_with_its_place(kind: Any, text: str, why: str) -> None:
    with pytest.raises(EncodeError) as caught:
        record(kind).encode_json(f'{{"a":{text}}}'.encode(), PLACE)
    assert caught.value.why.startswith("a")
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (DECIMAL, "12345678901234567.89", '"12345678901234567.89"'),
        (DECIMAL, "-1e3", '"-1000.00"'),
        ("long", "9007199254740993.0", "9007199254740993"),
        ("long", "-97768595527376370.0", "-97768595527376370"),
        ("long", "1e18", "1000000000000000000"),
        ("double", "1e22", "1e+22"),
        ("float", "16777216", "16777216.0"),
        (["float", "double"], "0.123456789", '{"double":0.123456789}'),
    ],
)
def test_what_avro_can_hold_is_kept(kind: Any, text: str, found: str) -> None:
    one = record(kind)
    data = one.encode_json(f'{{"a":{text}}}'.encode(), PLACE)
    assert one.decode_json(data, PLACE) == f'{{"a":{found}}}'


def test_a_key_that_a_map_of_avro_has_twice_is_not_dropped() -> None:
    one = with_schema({"type": "map", "values": "int"}, ":framing=none,subject=topic-value")
    assert one.decode_json(b"\x02\x02a\x02\x00", PLACE) == '{"a":1}'
    with pytest.raises(Exception, match="the key 'a' of a map occurs twice"):
        one.decode(b"\x04\x02a\x02\x02a\x04\x00", PLACE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("double", "12345678901234567.89"),
        ("float", "0.123456789"),
        ("double", LONG),
        ("long", "1e999999999"),
        ("long", "1.5"),
    ],
)
def test_what_javas_serializers_cannot_hold_is_refused(name: str, text: str) -> None:
    one = serde(name)
    for write in (one.encode_json, one.encode_text):
        with pytest.raises(EncodeError):
            write(text.encode(), PLACE)


def test_a_schema_of_json_is_applied_to_the_exact_number_and_the_text_is_written(tmp_path: Any) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"properties":{"a":{"type":"number","maximum":12345678901234567.89}}}')
    one = serde(f"jsonschema:file={path}")
    text = b'{ "a" : 12345678901234567.890, "b": 1e400, "c": ' + LONG.encode() + b" }"
    assert one.encode_json(text, PLACE) == text.replace(b" ", b"")
    assert one.decode_json(text, PLACE) == text.replace(b" ", b"").decode()
    with pytest.raises(EncodeError, match=r"a: 12345678901234567\.891 is greater than the maximum"):
        one.encode_json(b'{"a":12345678901234567.891}', PLACE)
    with pytest.raises(EncodeError, match="'a' a second time"):
        one.encode_json(b'{"a":1,"a":2}', PLACE)
