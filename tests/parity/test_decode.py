"""Every implementation of the decoders gives back what was encoded, and refuses what contradicts itself."""

import random
import time
from functools import cache
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from tests.parity import plain

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

FIELDS = (
    st.none() | st.binary(max_size=70) | st.sampled_from([bytes(63), bytes(64), bytes(8191), bytes(8192)])
)
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=70)), max_size=3).map(tuple)
TIMES = st.sampled_from([0, -1, 1, 63, 64, 8191, 8192, 1 << 40, -(1 << 63), (1 << 63) - 1])
GAPS = st.sampled_from([1, 1, 1, 2, 60, 8000, 1 << 20])
ROWS = st.lists(st.tuples(FIELDS, FIELDS, HEADERS, TIMES, GAPS), max_size=30)
Rows = list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int, int]]


def deltas_of(rows: Rows) -> list[int]:
    at, deltas = -1, []
    for *_, gap in rows:
        at += gap
        deltas.append(at)
    return deltas


def encode(rows: Rows) -> bytes:
    return b"".join(
        plain.record(key, value, plain.header_block(headers), delta, when)
        for (key, value, headers, when, _), delta in zip(rows, deltas_of(rows), strict=True)
    )


@shared
@given(ROWS)
def test_columns(kernels: ModuleType, rows: Rows) -> None:
    payload = encode(rows)

    columns = kernels.decode_columns(memoryview(payload), len(rows))

    def cut(start: int, end: int) -> bytes | None:
        return None if start < 0 else payload[start:end]

    assert columns.offset_deltas == deltas_of(rows)
    assert columns.timestamp_deltas == [row[3] for row in rows]
    assert list(map(cut, columns.key_starts, columns.key_ends)) == [row[0] for row in rows]
    assert list(map(cut, columns.value_starts, columns.value_ends)) == [row[1] for row in rows]
    assert columns.header_counts == [len(row[2]) for row in rows]
    assert [
        kernels.decode_headers(payload, start, end)
        for start, end in zip(columns.header_starts, columns.header_ends, strict=True)
    ] == [row[2] for row in rows]


@shared
@given(ROWS, st.integers(-2, 40), st.integers(-2, 200))
def test_values(kernels: ModuleType, rows: Rows, first: int, last: int) -> None:
    wanted = [
        (b"NULL" if row[1] is None else row[1]) + b"\r\n"
        for row, delta in zip(rows, deltas_of(rows), strict=True)
        if first <= delta <= last
    ]

    found = kernels.decode_values(encode(rows), len(rows), first, last, b"\r\n", b"NULL")

    assert found == (b"".join(wanted), len(wanted))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 100, 9000])
@pytest.mark.parametrize("base_time", [0, 63, 64, -9000, 1 << 45])
@pytest.mark.parametrize(("first", "last"), [(0, 1 << 31), (100, 200), (65, 65), (9_000, 1 << 31), (5, 4)])
def test_values_of_one_size(kernels: ModuleType, size: int, base_time: int, first: int, last: int) -> None:
    """The shape that is decoded by strides, over the borders of one, two and three bytes of offset delta."""
    start = 0 if size < 9000 else 60
    values, payload = of_one_size(size, base_time, start)
    wanted = [value + b"\n" for index, value in enumerate(values, start) if first <= index <= last]

    found = kernels.decode_values(payload, len(values), first, last, b"\n", b"")
    assert found == (b"".join(wanted), len(wanted))


@cache
def of_one_size(size: int, base_time: int, start: int) -> tuple[list[bytes], bytes]:
    """Values, and the records that hold them from the offset delta ``start`` on."""
    values = [bytes([index % 251]) * size for index in range(8300 if size < 9000 else 100)]
    records = (
        plain.record(None, value, b"\0", start + index, base_time + index % 2)
        for index, value in enumerate(values)
    )
    return values, b"".join(records)


@pytest.mark.parametrize("odd", [0, 15, 16, 100, 199])
@pytest.mark.parametrize(
    "other",
    [
        (b"key", bytes(20), b"\0", 0),
        (None, None, b"\0", 0),
        (None, bytes(19), b"\0", 0),
        (None, bytes(18), b"\0", 1000),
        (None, bytes(16), plain.header_block((("h", b""),)), 0),
        (b"", bytes(20), b"\0", 0),
    ],
)
def test_one_record_of_another_shape(
    kernels: ModuleType, odd: int, other: tuple[bytes | None, bytes | None, bytes, int]
) -> None:
    rows = [(None, b"%020d" % index, b"\0", 0) for index in range(200)]
    rows[odd] = other  # type: ignore[assignment]
    payload = b"".join(
        plain.record(key, value, headers, delta, when)
        for delta, (key, value, headers, when) in enumerate(rows)
    )

    found, count = kernels.decode_values(payload, 200, 0, 199, b"|", b"NULL")

    assert count == 200
    assert found.split(b"|")[:-1] == [b"NULL" if row[1] is None else row[1] for row in rows]


GOOD = plain.record(b"key", b"value", plain.header_block((("h", b"v"),)), 0, 0)


def raw(body: bytes, length: int | None = None) -> bytes:
    return plain.varint(len(body) if length is None else length) + body


MALFORMED = {
    "nothing where a record should be": b"",
    "cut inside the length": b"\xff",
    "cut inside the record": GOOD[:-3],
    "bytes behind the last record": GOOD + b"\0",
    "negative record length": plain.varint(-5) + bytes(20),
    "record length 0": b"\0" + bytes(20),
    "record of 2 GiB": plain.varint((1 << 31) - 1) + bytes(20),
    "length varint of six bytes": b"\x80\x80\x80\x80\x80\x00" + bytes(20),
    "length varint beyond 32 bits": b"\xff\xff\xff\xff\x1f" + bytes(20),
    "timestamp varint of eleven bytes": raw(b"\0" + b"\x80" * 10 + b"\0" + b"\0\x01\x01\0"),
    "timestamp varint beyond 64 bits": raw(b"\0" + b"\xff" * 9 + b"\x02" + b"\0\x01\x01\0"),
    "offset varint of six bytes": raw(b"\0\0" + b"\x80" * 5 + b"\0" + b"\x01\x01\0"),
    "key length -2": raw(b"\0\0\0\x03\x01\0" + bytes(5)),
    "value length -2": raw(b"\0\0\0\x01\x03\0" + bytes(5)),
    "key longer than the record": raw(b"\0\0\0\x40\x01\0"),
    "value of 2 GiB": raw(b"\0\0\0\x01" + plain.varint((1 << 31) - 1) + b"\0"),
    "key of 2 GiB": raw(b"\0\0\0" + plain.varint((1 << 31) - 1) + b"\x01\0"),
    "value longer than the record": raw(b"\0\0\0\x01\x0aabc\0"),
    "value shorter than the record": raw(b"\0\0\0\x01\x02abc\0"),
    "no header count": raw(b"\0\0\0\x01\x06abc"),
    "header count -1": raw(b"\0\0\0\x01\x06abc\x01"),
    "more headers than bytes": raw(b"\0\0\0\x01\x06abc" + plain.varint(1 << 30)),
    "null header name": raw(b"\0\0\0\x01\x06abc\x02\x01\x01"),
    "header value length -2": raw(b"\0\0\0\x01\x06abc\x02\x02h\x03"),
    "header name longer than the record": raw(b"\0\0\0\x01\x06abc\x02\x40h\x01"),
    "header value longer than the record": raw(b"\0\0\0\x01\x06abc\x02\x02h\x40"),
    "one byte behind the headers": raw(b"\0\0\0\x01\x06abc\x02\x02h\x01\x00"),
}


@pytest.mark.case("F4", "F18")
@pytest.mark.parametrize("before", [0, 3, 40])
@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_records_are_refused_with_a_position(kernels: ModuleType, bad: bytes, before: int) -> None:
    payload = b"".join(plain.record(None, bytes(30), b"\0", delta, 0) for delta in range(before)) + bad

    with pytest.raises(CorruptRecordsError, match=r"byte \d+"):
        kernels.decode_columns(payload, before + 1)
    with pytest.raises(CorruptRecordsError, match=r"byte \d+"):
        kernels.decode_values(payload, before + 1, 0, 1 << 31, b"\n", b"")


@pytest.mark.case("F3")
@pytest.mark.parametrize("count", [-1, 2, 1000, (1 << 31) - 1])
def test_a_count_that_is_not_that_of_the_records_is_refused_at_once(kernels: ModuleType, count: int) -> None:
    started = time.process_time()
    with pytest.raises(CorruptRecordsError):
        kernels.decode_columns(GOOD, count)
    with pytest.raises(CorruptRecordsError):
        kernels.decode_values(GOOD, count, 0, 0, b"", b"")
    assert time.process_time() - started < 1


def test_varints_that_are_longer_than_necessary_are_read_as_java_does(kernels: ModuleType) -> None:
    body = (
        b"\0"
        + b"\x80\x00"
        + b"\x80\x80\x00"
        + b"\x86\x00"
        + b"key"
        + b"\x8a\x80\x00"
        + b"value"
        + b"\x80\x00"
    )
    payload = plain.varint(len(body)) + body

    columns = kernels.decode_columns(payload, 1)

    assert payload[columns.value_starts[0] : columns.value_ends[0]] == b"value"
    assert kernels.decode_values(payload, 1, 0, 0, b"", b"") == (b"value", 1)


@pytest.mark.case("F18")
def test_ten_thousand_headers(kernels: ModuleType) -> None:
    headers = tuple((f"h{index}", b"x") for index in range(10_000))
    payload = plain.record(None, b"v", plain.header_block(headers), 0, 0)

    columns = kernels.decode_columns(payload, 1)

    assert columns.header_counts == [10_000]
    assert kernels.decode_headers(payload, columns.header_starts[0], len(payload)) == headers


@pytest.mark.case("F5")
def test_a_header_name_that_is_not_utf8_stays_bytes(kernels: ModuleType) -> None:
    block = plain.header_block(((b"\xff\xfe", b"1"),))

    assert kernels.decode_headers(block, 0, len(block)) == ((b"\xff\xfe", b"1"),)


@pytest.mark.case("F4")
@pytest.mark.parametrize("block", [b"", b"\x02", b"\x01", b"\x02\x01\x01", b"\x00\x00", b"\x02\x02h\x01\x00"])
def test_malformed_header_blocks_are_refused(kernels: ModuleType, block: bytes) -> None:
    payload = b"xxxx" + block + b"yy"
    if not block:
        assert kernels.decode_headers(payload, 4, 4) == ()  # as formats before magic 2 have it
        return
    with pytest.raises(CorruptRecordsError):
        kernels.decode_headers(payload, 4, 4 + len(block))


@pytest.mark.case("R12")
def test_mutated_records_give_the_same_verdict_from_columns_and_values(kernels: ModuleType) -> None:
    """4,000 payloads with a few bytes changed: both decoders accept or refuse alike, and agree on the values."""
    seeded = random.Random(7)
    fixed = b"".join(plain.record(None, b"%010d" % index, b"\0", index, 3) for index in range(80))
    mixed = b"".join(
        plain.record(seeded.choice([None, b"k"]), bytes(seeded.randrange(90)), b"\0", index, index)
        for index in range(40)
    )
    with_headers = b"".join(plain.record(b"k", b"v", GOOD[-4:], index, 0) for index in range(20))
    accepted = 0
    for trial in range(4000):
        payload, count = [(fixed, 80), (mixed, 40), (with_headers, 20)][trial % 3]
        mutated = bytearray(payload)
        for _ in range(seeded.randrange(1, 4)):
            mutated[seeded.randrange(len(mutated))] = seeded.choice(
                [0, 1, 2, 127, 128, 255, seeded.randrange(256)]
            )
        outcomes: list[object] = []
        try:
            columns = kernels.decode_columns(mutated, count)
            outcomes.append(
                [bytes(mutated[a:b]) if a >= 0 else b"N" for a, b in zip(*columns[4:6], strict=True)]
            )
            low, high = min(columns.offset_deltas), max(columns.offset_deltas)
        except CorruptRecordsError:
            outcomes.append(None)
            low, high = -(1 << 31), 1 << 31
        try:
            out, found = kernels.decode_values(mutated, count, low, high, b"", b"N")
            outcomes.append((out, found))
        except CorruptRecordsError:
            outcomes.append(None)
        if outcomes[0] is None:
            assert outcomes[1] is None
        else:
            accepted += 1
            assert isinstance(outcomes[0], list)
            assert outcomes[1] == (b"".join(outcomes[0]), len(outcomes[0]))
    assert 0 < accepted < 4000
