"""Varints keep any number of their width, and stop where they must."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.varint import encode_varint, read_varint, read_varlong, varint_range, varint_size

BORDERS = [0, -1, 63, 64, -64, -65, 8191, 8192, (1 << 31) - 1, -(1 << 31)]


@given(st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(BORDERS))
def test_round_trip(value: int) -> None:
    encoded = encode_varint(value)

    assert len(encoded) == varint_size(value)
    assert read_varlong(b"xx" + encoded, 2) == (value, 2 + len(encoded))
    if -(1 << 31) <= value < 1 << 31:
        assert read_varint(encoded, 0) == (value, len(encoded))
    else:
        with pytest.raises(CorruptRecordsError, match=r"byte 0.*32 bits"):
            read_varint(encoded, 0)


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (300, "d804"), (-150, "ab02")]
)
def test_known_encodings(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded


@pytest.mark.parametrize("first", [0, 63, 8191, 65_530, (1 << 20) - 3, 1 << 30])
def test_a_range_is_each_of_its_numbers(first: int) -> None:
    assert varint_range(first, 10) == [encode_varint(value) for value in range(first, first + 10)]
    assert varint_range(first, 0) == []
