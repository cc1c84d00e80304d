"""The primitive types: what is written is read, and no length is believed that the bytes do not back."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ProtocolError
from kcli.core.protocol import codec

REFUSED = (ProtocolError, struct.error, IndexError, UnicodeDecodeError)
"""What readers may raise; ``compiler.decode`` turns all of it into ProtocolError."""

NULLABLE: list[tuple[Any, Any, Any]] = [
    (codec.write_string, codec.read_nullable_string, "text"),
    (codec.write_compact_string, codec.read_compact_nullable_string, "text"),
    (codec.write_bytes, codec.read_nullable_bytes, b"data"),
    (codec.write_compact_bytes, codec.read_compact_nullable_bytes, b"data"),
]
NOT_NULL: list[tuple[Any, Any]] = [
    (codec.write_string, codec.read_string),
    (codec.write_compact_string, codec.read_compact_string),
    (codec.write_bytes, codec.read_bytes),
    (codec.write_compact_bytes, codec.read_compact_bytes),
]


def written(write: Callable[[bytearray, Any], None], value: Any) -> memoryview:
    out = bytearray(b"head")
    write(out, value)
    return memoryview(bytes(out))


@given(st.integers(0, 0xFFFFFFFF))
def test_uvarint_round_trip(value: int) -> None:
    data = written(codec.write_uvarint, value)
    assert codec.read_uvarint(data, 4) == (value, len(data))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (0xFFFFFFFF, "ffffffff0f")],
)
def test_uvarint_golden_bytes(value: int, data: str) -> None:
    assert bytes(written(codec.write_uvarint, value)[4:]).hex() == data


@pytest.mark.case("X3")
@pytest.mark.parametrize("data", ["808080808000", "ffffffffffff", "808080808080808000"])
def test_a_varint_of_six_bytes_is_refused(data: str) -> None:
    with pytest.raises(ProtocolError, match="more than 5 bytes"):
        codec.read_uvarint(memoryview(bytes.fromhex(data)), 0)


@given(st.text(max_size=300))
def test_strings_round_trip(text: str) -> None:
    for write, read in (
        (codec.write_string, codec.read_string),
        (codec.write_compact_string, codec.read_compact_string),
    ):
        data = written(write, text)
        assert read(data, 4) == (text, len(data))


@given(st.binary(max_size=300))
def test_bytes_round_trip(value: bytes) -> None:
    for write, read in (
        (codec.write_bytes, codec.read_bytes),
        (codec.write_compact_bytes, codec.read_compact_bytes),
    ):
        data = written(write, value)
        assert read(data, 4) == (value, len(data))


@pytest.mark.parametrize(("write", "read", "value"), NULLABLE)
def test_null_and_empty_are_distinguished(write: Any, read: Any, value: Any) -> None:
    for case in (None, type(value)(), value):
        assert read(written(write, case), 4)[0] == case


@pytest.mark.case("X2")
@pytest.mark.parametrize(("write", "read"), NOT_NULL)
def test_null_is_refused_where_it_is_not_allowed(write: Any, read: Any) -> None:
    with pytest.raises(ProtocolError, match="null"):
        read(written(write, None), 4)


@pytest.mark.parametrize(("write", "read", "value"), NULLABLE)
def test_every_truncation_is_refused(write: Any, read: Any, value: Any) -> None:
    data = written(write, value)
    for end in range(4, len(data)):
        with pytest.raises(REFUSED):
            read(data[:end], 4)


@pytest.mark.case("X2")
@pytest.mark.parametrize(
    ("read", "data"),
    [
        (codec.read_nullable_string, "fffe61"),
        (codec.read_nullable_string, "8000"),
        (codec.read_nullable_bytes, "fffffffe61"),
        (codec.read_nullable_bytes, "80000000"),
        (codec.read_nullable_bytes, "7fffffff61"),
        (codec.read_compact_nullable_bytes, "ffffffff0f61"),
        (codec.read_compact_nullable_string, "ffffffff7f61"),
    ],
)
def test_negative_and_huge_lengths_are_refused(read: Any, data: str) -> None:
    with pytest.raises(ProtocolError, match="are left"):
        read(memoryview(bytes.fromhex(data)), 0)


@pytest.mark.case("F5")
@pytest.mark.parametrize("read", [codec.read_string, codec.read_nullable_string])
def test_text_that_is_not_utf8_is_refused(read: Any) -> None:
    with pytest.raises(UnicodeDecodeError):
        read(memoryview(b"\x00\x02\xff\xfe"), 0)


def test_bytes_are_views_and_not_copies() -> None:
    buffer = bytearray(b"\x00\x00\x00\x03abc")
    value, _ = codec.read_bytes(memoryview(buffer), 0)
    buffer[4:] = b"xyz"
    assert value == b"xyz"


@pytest.mark.case("X2")
@pytest.mark.parametrize(
    ("count", "minimum", "fine"), [(3, 4, True), (4, 4, False), (12, 1, True), (13, 1, False)]
)
def test_a_count_is_checked_against_the_bytes_that_are_left(count: int, minimum: int, *, fine: bool) -> None:
    for write, read in (
        (codec.write_count, codec.read_count),
        (codec.write_compact_count, codec.read_compact_count),
    ):
        data = memoryview(bytes(written(write, count)) + bytes(12))
        if fine:
            assert read(data, 4, minimum) == (count, len(data) - 12)
        else:
            with pytest.raises(ProtocolError, match="an array"):
                read(data, 4, minimum)


def test_a_null_array_is_minus_one() -> None:
    assert codec.read_count(memoryview(b"\xff\xff\xff\xff"), 0, 4) == (-1, 4)
    assert codec.read_compact_count(memoryview(b"\x00"), 0, 4) == (-1, 1)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ProtocolError):
        codec.read_count(memoryview(b"\xff\xff\xff\xfe"), 0, 1)


def test_uuids_have_sixteen_bytes() -> None:
    assert codec.read_uuid(memoryview(bytes(range(20))), 2) == (bytes(range(2, 18)), 18)
    with pytest.raises(ProtocolError):
        codec.read_uuid(memoryview(bytes(15)), 0)


@pytest.mark.parametrize(
    ("section", "size"), [("00", 1), ("010003616263", 6), ("0100006162", 3), ("0205016107026263", 8)]
)
def test_tagged_sections_are_stepped_over(section: str, size: int) -> None:
    assert codec.skip_tagged(memoryview(bytes.fromhex(section)), 0) == size


@pytest.mark.parametrize("section", ["01", "0100", "010005", "01000561", "ffffffff0f", "0100ffffffff0f"])
def test_malformed_tagged_sections_are_refused(section: str) -> None:
    with pytest.raises(REFUSED):
        codec.skip_tagged(memoryview(bytes.fromhex(section)), 0)


def test_a_string_that_is_too_long_for_its_length_is_a_value_error() -> None:
    assert len(written(codec.write_string, "x" * 32767)) == 4 + 2 + 32767
    with pytest.raises(ValueError, match="32767"):
        written(codec.write_string, "x" * 32768)


@pytest.mark.parametrize("write", [codec.write_records, codec.write_compact_records])
def test_records_are_spliced_in_without_a_copy(write: Any) -> None:
    out, splices = bytearray(), list[codec.Splice]()
    first, second = bytearray(b"batch one"), memoryview(b"batch two")
    write(out, splices, [first, second])
    out += b"tail"
    parts = codec.join_splices(out, splices)
    assert parts[1] is first
    assert parts[2] is second
    assert b"".join(parts).endswith(b"batch onebatch twotail")


def test_a_message_without_records_is_one_buffer() -> None:
    out = bytearray(b"all")
    assert codec.join_splices(out, []) == [out]
