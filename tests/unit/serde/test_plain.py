"""The serdes that need no schema: what Java's serializers write, round trips, and errors that say why."""

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.json_text import MAX_DEPTH, dump_json, parse_json
from kcli.serde.names import PLAIN, SerdeSpec, SerdeSpecs
from kcli.serde.opening import open_serdes
from kcli.serde.serde import Serde, SerdeContext

PLACE = SerdeContext("topic", "key")
SIZES = {"short": 2, "int": 4, "long": 8}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def serde(name: str) -> Serde:
    found = open_serdes(SerdeSpecs(value=SerdeSpec(name))).value
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("int", 1, b"\0\0\0\1"),
        ("int", -2, b"\xff\xff\xff\xfe"),
        ("short", 258, b"\1\2"),
        ("long", 1 << 62, b"\x40" + bytes(7)),
        ("double", 1.5, b"\x3f\xf8" + bytes(6)),
        ("float", 0.1, b"\x3d\xcc\xcc\xcd"),
        ("double", "NaN", b"\x7f\xf8" + bytes(6)),
        ("double", "-Infinity", b"\xff\xf0" + bytes(6)),
        ("str", "é", b"\xc3\xa9"),
        ("hex", "00ff", b"\x00\xff"),
        ("base64", "AP8=", b"\x00\xff"),
        ("json", {"a": [1, None]}, b'{"a":[1,null]}'),
        ("json", None, b"null"),
    ],
)
def test_bytes_are_those_of_java(name: str, value: Any, data: bytes) -> None:
    one = serde(name)
    assert one.name == name
    assert one.decode(data, PLACE) == value
    assert one.encode(value, PLACE) == data
    assert one.encode_text(one.decode_text(data, PLACE).encode(), PLACE) == data


@given(st.data())
@pytest.mark.parametrize("name", SIZES)
def test_integers_come_back(name: str, data: st.DataObject) -> None:
    last = 1 << (8 * SIZES[name] - 1)
    number = data.draw(st.integers(-last, last - 1))
    one = serde(name)
    assert one.decode(one.encode(number, PLACE), PLACE) == number
    assert one.encode_text(str(number).encode(), PLACE) == one.encode(number, PLACE)


@given(st.floats())
def test_doubles_come_back_bit_by_bit(number: float) -> None:
    one = serde("double")
    data = struct.pack(">d", number)
    value = one.decode(data, PLACE)
    dump_json(value)
    back = struct.unpack(">d", one.encode(value, PLACE))[0]
    assert back == number or (math.isnan(back) and math.isnan(number))


@given(st.floats(width=32))
def test_floats_come_back_and_are_short(number: float) -> None:
    one = serde("float")
    value = one.decode(struct.pack(">f", number), PLACE)
    back = struct.unpack(">f", one.encode(value, PLACE))[0]
    assert back == number or (math.isnan(back) and math.isnan(number))
    if isinstance(value, float):
        digits = dump_json(value).partition("e")[0].lstrip("-").replace(".", "").strip("0")
        assert len(digits) <= 9 or abs(value) >= 1e9


@given(st.binary())
@pytest.mark.parametrize("name", ["hex", "base64"])
def test_bytes_come_back(name: str, data: bytes) -> None:
    one = serde(name)
    assert one.encode_text(one.decode_text(data, PLACE).encode(), PLACE) == data


@given(JSON)
def test_json_comes_back(value: Any) -> None:
    one = serde("json")
    data = one.encode(value, PLACE)
    assert one.decode(data, PLACE) == value
    assert one.decode_text(data, PLACE).encode() == data


def test_json_keeps_integers_of_any_size_and_the_bytes_of_a_line() -> None:
    one = serde("json")
    number = 2**100
    assert one.decode(str(number).encode(), PLACE) == number
    assert one.encode_text(b'{ "a" : 1.50 }', PLACE) == b'{ "a" : 1.50 }'
    assert one.decode_text(b'{ "a" : 1.50 }', PLACE) == '{ "a" : 1.50 }'


def outcome(work: Callable[[], Any]) -> Any:
    """What it gives, or the error that it may raise."""
    try:
        return work()
    except (DecodeError, EncodeError) as error:
        return error


@given(st.binary(max_size=40))
@pytest.mark.parametrize("name", PLAIN)
def test_garbage_is_a_value_or_a_decode_error(name: str, data: bytes) -> None:
    found = outcome(lambda: serde(name).decode(data, PLACE))
    if isinstance(found, DecodeError):
        assert "the key" in found.what
        assert found.why
    else:
        dump_json(found).encode()


@given(st.binary(max_size=40))
@pytest.mark.parametrize("name", PLAIN)
def test_a_garbage_line_is_bytes_or_an_encode_error(name: str, line: bytes) -> None:
    found = outcome(lambda: serde(name).encode_text(line, PLACE))
    if isinstance(found, EncodeError):
        assert "the key" in found.what
        assert found.why
    else:
        assert isinstance(found, bytes)


@given(JSON)
def test_any_value_is_bytes_or_an_encode_error(value: Any) -> None:
    for name in PLAIN:
        found = outcome(partial(serde(name).encode, value, PLACE))
        assert found.why if isinstance(found, EncodeError) else isinstance(found, bytes)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("int", b"\0\0\0", "it has 3 bytes, an int has 4"),
        ("long", b"", "it has 0 bytes, a long has 8"),
        ("str", b"\xff", "not UTF-8"),
        ("json", b"{", "at character 2"),
        ("json", b"NaN", "NaN is not JSON"),
        ("json", b'"\\ud800"', "surrogate"),
        ("json", b"\xff", "not UTF-8"),
        ("json", b"1e9999999999999999999", "an exponent that is too large"),
        ("json", b'{"a":[{"b":1,"b":1}]}', "a[0] has the member 'b' a second time at character 14"),
        ("json", b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested"),
        ("json", b"[" * 100_000, "nested"),
        ("json", b'"\\u0041"' + b"", ""),
    ],
)
def test_why_it_cannot_be_decoded(name: str, data: bytes, why: str) -> None:
    if not why:
        assert serde(name).decode(data, PLACE) == "A"
        return
    with pytest.raises(DecodeError) as caught:
        serde(name).decode(data, PLACE)
    assert why in caught.value.why
    assert caught.value.schema_id is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("int", 1 << 31, "from -2147483648 to 2147483647"),
        ("int", True, "not a whole number"),
        ("int", "x", "not a whole number"),
        ("int", 1.5, "not a whole number"),
        ("short", "9" * 5000, "not a whole number"),
        ("double", "inf", "NaN, Infinity and -Infinity"),
        ("double", 10**400, "no number"),
        ("float", 1e300, "too large"),
        ("str", 5, "type number"),
        ("str", {"a": 1}, "type object"),
        ("str", "\ud800", "surrogate"),
        ("hex", "0g", "non-hexadecimal"),
        ("base64", "a", "base64"),
        ("json", "\ud800", "surrogate"),
        ("json", math.nan, "JSON compliant"),
    ],
)
def test_why_it_cannot_be_encoded(name: str, value: Any, said: str) -> None:
    with pytest.raises(EncodeError) as caught:
        serde(name).encode(value, PLACE)
    assert said.lower() in (caught.value.what + caught.value.why).lower()


def test_a_depth_that_is_allowed_can_be_printed() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert dump_json(parse_json(text)) == text
