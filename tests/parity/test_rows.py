"""Rows of the protocol's arrays by shape: what is usual is read by both twins, everything else by neither."""

import random
import struct
from types import ModuleType
from typing import Any

import pytest

GROUPS = "s[s{iqieh_}_]h_"
BIG = 1 << 40


def text(value: str) -> bytes:
    data = value.encode()
    assert len(data) < 127
    return bytes([len(data) + 1]) + data


def group(name: str, topics: dict[str, list[tuple[int, int, int, int]]], error: int = 0) -> bytes:
    out = text(name) + bytes([len(topics) + 1])
    for topic, rows in topics.items():
        out += text(topic) + bytes([len(rows) + 1])
        for number, offset, epoch, code in rows:
            out += struct.pack(">iqi", number, offset, epoch) + b"\x01" + struct.pack(">h", code) + b"\0"
        out += b"\0"
    return out + struct.pack(">h", error) + b"\0"


TWO = group("one", {"orders": [(0, 5, -1, 0), (1, BIG, 3, -1)], "paid-ä": [(7, -1, -1, 0)]}) + group(
    "two", {}, 16
)


def test_rows_and_columns_are_read_with_the_position_behind_them(kernels: ModuleType) -> None:
    rows, end = kernels.read_rows(memoryview(b"xx" + TWO + b"rest"), 2, 2, GROUPS)
    orders = ((0, 1), (5, BIG), (-1, 3), (0, -1))
    assert rows == [
        ("one", [("orders", orders), ("paid-ä", ((7,), (-1,), (-1,), (0,)))], 0),
        ("two", [], 16),
    ]
    assert end == 2 + len(TWO)


def test_no_rows_are_no_bytes(kernels: ModuleType) -> None:
    assert kernels.read_rows(memoryview(b""), 0, 0, GROUPS) == ([], 0)


def test_a_long_string_has_a_length_of_several_bytes(kernels: ModuleType) -> None:
    data = b"\xad\x02" + b"x" * 300 + b"\0"
    assert kernels.read_rows(memoryview(data), 0, 1, "s_") == ([("x" * 300,)], len(data))


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        pytest.param(b"\x00\0", "s_", id="null string"),
        pytest.param(b"\x02\xff\0", "s_", id="not UTF-8"),
        pytest.param(b"\x05ab\0", "s_", id="string ends too early"),
        pytest.param(b"\xff\xff\xff\xff\x0f\0", "s_", id="length of five bytes"),
        pytest.param(b"\x02a\0", "e_", id="string that should be empty"),
        pytest.param(b"\0\1\1\0\0", "h_", id="tagged field"),
        pytest.param(b"\0", "[h]", id="null array"),
        pytest.param(b"\x7f\0\1", "{h}", id="array longer than its bytes"),
        pytest.param(b"\0\0\0", "i", id="number ends too early"),
    ],
)
def test_the_unusual_is_left_to_the_field_tables(kernels: ModuleType, data: bytes, shape: str) -> None:
    assert kernels.read_rows(memoryview(data), 0, 1, shape) is None


@pytest.mark.parametrize("count", [-1, 3, 1 << 40])
def test_rows_that_cannot_be_there_are_not_read(kernels: ModuleType, count: int) -> None:
    assert kernels.read_rows(memoryview(TWO), 0, count, GROUPS) is None


def test_twins_agree_on_damaged_bytes(twins: tuple[ModuleType, ModuleType]) -> None:
    pure, native = twins
    chance = random.Random(22)
    usual = 0
    for _ in range(20_000):
        data = bytearray(TWO)
        for _ in range(chance.choice((1, 1, 2, 5))):
            data[chance.randrange(len(data))] = chance.choice(
                (0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        cut: Any = memoryview(
            bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.3 else data)
        )
        found = pure.read_rows(cut, 0, 2, GROUPS)
        assert native.read_rows(cut, 0, 2, GROUPS) == found
        usual += found is not None
    assert 1_000 < usual < 19_000
