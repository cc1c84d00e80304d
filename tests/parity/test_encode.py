"""Every implementation of the encoders gives byte for byte what the plain twin gives."""

from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity import plain

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

VALUES = st.one_of(st.binary(max_size=20), st.integers(0, 20_000).map(bytes))
TIMES = st.one_of(st.sampled_from([0, -1, 63, 64, -64, -65]), st.integers(-(1 << 63), (1 << 63) - 1))
FIRSTS = st.one_of(st.sampled_from([0, 60, 8190, 8191, 65_534, (1 << 20) - 2]), st.integers(0, 1 << 24))
ROOMS = st.one_of(st.integers(0, 200), st.integers(0, 100_000), st.just(1 << 40))
HEADERS = st.sampled_from([b"\0", plain.header_block((("h", b"1"), ("é", None), (b"\xff", b"")))])


@shared
@given(st.lists(VALUES, max_size=40), st.integers(0, 5), FIRSTS, TIMES, st.none() | VALUES, HEADERS, ROOMS)
def test_lines(
    kernels: ModuleType,
    lines: list[bytes],
    start: int,
    first: int,
    time: int,
    key: bytes | None,
    headers: bytes,
    room: int,
) -> None:
    expected = [
        plain.record(key, line, headers, delta, time) for delta, line in enumerate(lines[start:], first)
    ]

    assert kernels.encode_lines(lines, start, first, time, key, headers, room) == plain.fill(expected, room)


@pytest.mark.parametrize("size", [0, 1, 50, 63, 64, 100, 8192])
@pytest.mark.parametrize("room", [0, 10_000, 1 << 40])
def test_lines_of_one_length(kernels: ModuleType, size: int, room: int) -> None:
    lines = [bytes([index % 256]) * size for index in range(300)]
    expected = [plain.record(None, line, b"\0", delta, 7) for delta, line in enumerate(lines, 8000)]

    assert kernels.encode_lines(lines, 0, 8000, 7, None, b"\0", room) == plain.fill(expected, room)


@pytest.mark.parametrize("room", [1_000, 65_536, 1_000_000, 1 << 40])
def test_many_lines_of_many_lengths_fill_batches_one_after_the_other(kernels: ModuleType, room: int) -> None:
    lines = [b"x" * (index * 7 % 140) for index in range(20_000)]
    start = 0
    while start < len(lines):
        records, taken, size = kernels.encode_lines(lines, start, 0, 0, None, b"\0", room)
        last = plain.record(None, lines[start + taken - 1], b"\0", taken - 1, 0)
        after = lines[start + taken : start + taken + 1]

        assert size == len(records) <= room
        assert records.endswith(last)
        assert not after or size + len(plain.record(None, after[0], b"\0", taken, 0)) > room
        start += taken


@shared
@given(
    st.lists(st.tuples(st.none() | VALUES, st.none() | VALUES), max_size=30),
    st.integers(0, 3),
    FIRSTS,
    TIMES,
    HEADERS,
    ROOMS,
)
def test_keyed(
    kernels: ModuleType,
    pairs: list[tuple[bytes | None, bytes | None]],
    start: int,
    first: int,
    time: int,
    headers: bytes,
    room: int,
) -> None:
    keys = [key for key, _ in pairs]
    values = [value for _, value in pairs]
    expected = [
        plain.record(key, value, headers, delta, time)
        for delta, (key, value) in enumerate(pairs[start:], first)
    ]

    assert kernels.encode_keyed(keys, values, start, first, time, headers, room) == plain.fill(expected, room)


@pytest.mark.case("F18")
@shared
@given(
    st.lists(
        st.tuples(st.none() | VALUES, st.none() | VALUES, HEADERS, st.integers(-1, 1 << 62)), max_size=30
    ),
    st.integers(0, 3),
    FIRSTS,
    st.integers(-1, 1 << 62),
    ROOMS,
)
def test_rows(
    kernels: ModuleType,
    rows: list[tuple[bytes | None, bytes | None, bytes, int]],
    start: int,
    first: int,
    base: int,
    room: int,
) -> None:
    expected = [
        plain.record(key, value, headers, delta, time - base)
        for delta, (key, value, headers, time) in enumerate(rows[start:], first)
    ]

    assert kernels.encode_rows(rows, start, first, base, room) == plain.fill(expected, room)


def test_a_row_whose_timestamp_is_too_far_from_the_base_waits_for_the_next_batch(kernels: ModuleType) -> None:
    rows = [(None, b"a", b"\0", -2), (None, b"b", b"\0", (1 << 63) - 1)]

    assert kernels.encode_rows(rows, 0, 0, -2, 1000)[1] == 1


@shared
@given(st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=70))
def test_headers(kernels: ModuleType, headers: list[tuple[str, bytes | None]]) -> None:
    assert kernels.encode_headers(headers) == plain.header_block(tuple(headers))
