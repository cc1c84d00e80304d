"""Every implementation of the text kernels gives what splitting line by line gives."""

from array import array
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity import plain

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

Line = tuple[bytes | None, bytes | None]

DELIMITERS = st.sampled_from([b"\n", b"\0", b"\r\n", b"aba", b"\n\n", b"--8<--"])
KEY_DELIMITERS = st.sampled_from([None, b":", b"=>", b"aa", b"\n"])
MARKERS = st.sampled_from([None, b"NULL", b"", b"a"])
TEXTS = st.lists(
    st.sampled_from(
        [b"\n", b"\0", b"\r\n", b"aba", b":", b"=>", b"NULL", b"a", b"k", b"\xff\x00", b"--8<--", b"x" * 200]
    ),
    max_size=40,
).map(b"".join)
ROOMS = st.one_of(st.integers(0, 300), st.just(1 << 40))
LONGEST = st.sampled_from([0, 3, 250, 1 << 30])
HEADERS = st.sampled_from([b"\0", plain.header_block((("h", b"1"), ("n", None)))])
FIRSTS = st.sampled_from([0, 62, 8190])
TIMES = st.sampled_from([0, -1, 1 << 40])


def lines_of(text: bytes, delimiter: bytes, longest: int) -> tuple[list[bytes], list[int]]:
    """The lines before one that is too long, and where each begins; last where the next one would."""
    lines, starts, at = [], [0], 0
    while at < len(text):
        found = text.find(delimiter, at)
        line = text[at:] if found < 0 else text[at:found]
        if len(line) > longest:
            break
        at = len(text) if found < 0 else found + len(delimiter)
        lines.append(line)
        starts.append(at)
    return lines, starts


def split(
    line: bytes, key_delimiter: bytes | None, key: bytes | None, marker: bytes | None, empty: bool
) -> Line:
    def null(data: bytes | None) -> bytes | None:
        return None if data == marker or (empty and not data) else data

    if key_delimiter is None:
        return key, null(line)
    before, found, after = line.partition(key_delimiter)
    return (null(before), null(after)) if found else (None, null(before))


@shared
@given(
    TEXTS, st.binary(max_size=3), DELIMITERS, KEY_DELIMITERS, st.none() | st.binary(max_size=3), HEADERS, MARKERS,
    st.booleans(), FIRSTS, TIMES, ROOMS, LONGEST, st.booleans(),
)  # fmt: skip
def test_text_of_one_partition(
    kernels: ModuleType, text: bytes, before: bytes, delimiter: bytes, key_delimiter: bytes | None,
    key: bytes | None, headers: bytes, marker: bytes | None, empty: bool, first: int, time: int, room: int,
    longest: int, mutable: bool,
) -> None:  # fmt: skip
    lines, starts = lines_of(text, delimiter, longest)
    key = None if key_delimiter else key
    pairs = [split(line, key_delimiter, key, marker, empty) for line in lines]
    records = [plain.record(k, v, headers, delta, time) for delta, (k, v) in enumerate(pairs, first)]
    expected, taken, _ = plain.fill(records, room)

    whole = before + text + b"behind"
    found = kernels.encode_text(
        bytearray(whole) if mutable else whole, len(before), len(before) + len(text), delimiter, key_delimiter,
        key, headers, marker, empty, first, time, room, longest,
    )  # fmt: skip

    assert found == (expected, taken, len(before) + starts[taken])


@shared
@given(TEXTS, DELIMITERS, KEY_DELIMITERS, MARKERS, st.booleans(), HEADERS, FIRSTS, TIMES, ROOMS, LONGEST)
def test_text_of_many_partitions(
    kernels: ModuleType, text: bytes, delimiter: bytes, key_delimiter: bytes | None, marker: bytes | None,
    empty: bool, headers: bytes, first: int, time: int, room: int, longest: int,
) -> None:  # fmt: skip
    lines, starts = lines_of(text, delimiter, longest)
    pairs = [split(line, key_delimiter, None, marker, empty) for line in lines]

    slices, count, position = kernels.index_text(
        text, 0, len(text), delimiter, key_delimiter, marker, empty, longest
    )
    assert (count, position, len(slices)) == (len(lines), starts[-1], 16 * len(lines))
    for (key, value), (at, size, value_at, value_size) in zip(pairs, quads(slices), strict=True):
        assert key == (None if size < 0 else text[at : at + size])
        assert value == (None if value_size < 0 else text[value_at : value_at + value_size])

    groups = kernels.group_slices(text, slices, 3, 1)
    assert [number for number, _, _ in groups] == sorted({partition(key) for key, _ in pairs})
    for number, own, rows in groups:
        wanted = [row for row, (key, _) in enumerate(pairs) if partition(key) == number]
        assert array("i", rows).tolist() == wanted
        assert own == b"".join(slices[16 * row : 16 * row + 16] for row in wanted)
        start = len(wanted) // 3
        records = [
            plain.record(*pairs[row], headers, delta, time) for delta, row in enumerate(wanted[start:], first)
        ]
        assert kernels.encode_slices(text, own, start, headers, first, time, room) == plain.fill(
            records, room
        )


def partition(key: bytes | None) -> int:
    return 1 if key is None else (plain.murmur2(key) & 0x7FFFFFFF) % 3


def quads(slices: bytes) -> list[tuple[int, ...]]:
    return list(zip(*[iter(array("i", slices))] * 4, strict=True))


@pytest.mark.parametrize("room", [1_000, 65_536, 1_000_000])
def test_a_long_text_fills_batch_after_batch(kernels: ModuleType, room: int) -> None:
    lines = [b"%d:" % index + b"x" * (index * 7 % 140) for index in range(20_000)]
    text = b"\n".join(lines)
    position = done = 0
    while position < len(text):
        records, taken, position = kernels.encode_text(
            text, position, len(text), b"\n", None, None, b"\0", None, False, 0, 0, room, 1 << 20
        )
        last = plain.record(None, lines[done + taken - 1], b"\0", taken - 1, 0)
        assert len(records) <= room
        assert records.endswith(last)
        done += taken
    assert done == len(lines)


def test_a_line_longer_than_any_window_is_one_line(kernels: ModuleType) -> None:
    text = b"short\n" + b"y" * 300_000 + b"\nend\n"
    found = kernels.index_text(text, 0, len(text), b"\n", None, None, False, 1 << 20)
    assert [(at, size) for _, _, at, size in quads(found[0])] == [(0, 5), (6, 300_000), (300_007, 3)]
