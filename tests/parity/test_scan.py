"""Headers of segments: every implementation says what the batches one by one say, and stops at what is none."""

import struct
from array import array
from random import Random
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.kernels import pure
from kcli.core.kernels.shapes import MOST_EVENTS, Scanned
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN
from kcli.core.records.batch import CRC_START, HEADER, RecordBatch, split_batches
from tests.parity.test_run import ENDLESS, made, sealed

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
EVERYTHING = (ENDLESS, -1, INT64_MAX, INT64_MAX)
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


def scanned(kernels: ModuleType, data: bytes | memoryview, start: int = 0, *, verify: bool = True) -> Scanned:
    return Scanned._make(kernels.scan_batches(data, start, *EVERYTHING, verify))


def batch(
    offset: int,
    records: int = 1,
    *,
    flags: int = 0,
    producer: int = -1,
    codec: int = 0,
    epoch: int = 7,
    time: int = 5,
) -> bytes:
    """A batch with a right checksum; its records are not read."""
    body = bytes(records * 10)
    raw = bytearray(
        HEADER.pack(
            offset, 49 + len(body), epoch, 2, 0, flags | codec, records - 1, time, time + 9, producer, 0, -1, records
        )
        + body
    )  # fmt: skip
    return bytes(sealed(raw))


@shared
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 5), st.sampled_from((0, 8, 16, 48)), st.integers(0, 4)),
        max_size=8,
    )
)
def test_a_scan_says_what_the_batches_say(kernels: ModuleType, rows: list[tuple[int, int, int, int]]) -> None:
    pieces, offset = [], 0
    for gap, records, flags, codec in rows:
        offset += gap
        pieces.append(
            batch(
                offset, records, flags=flags, codec=codec, producer=4 if flags & 16 else -1, time=offset % 3
            )
        )
        offset += records
    data = b"".join(pieces)
    batches = [one for one in split_batches(data) if isinstance(one, RecordBatch)]
    found = scanned(kernels, data)
    assert (found.end, found.batches) == (len(data), len(batches))
    assert found.records == sum(one.count for one in batches if not one.is_control)
    assert found.markers == sum(one.is_control for one in batches)
    assert (found.first_offset, found.next_offset) == (
        (batches[0].base_offset, offset) if batches else (-1, -1)
    )
    assert found.lowest == min((one.base_timestamp for one in batches), default=INT64_MAX)
    assert found.highest == max((one.max_timestamp for one in batches), default=INT64_MIN)
    assert list(found.codecs) == [sum(one.codec == codec for one in batches) for codec in range(8)]
    assert list(found.sizes) == [
        sum(one.size.bit_length() == bits + 1 for one in batches) for bits in range(32)
    ]


def events(found: Scanned) -> list[tuple[int, ...]]:
    numbers = array("q", found.events)
    return [tuple(numbers[at : at + 3]) for at in range(0, len(numbers), 3)]


def test_transactions_are_events(kernels: ModuleType) -> None:
    data, control = _TRANSACTIONAL, _TRANSACTIONAL | _CONTROL
    one = (
        batch(0, flags=data, producer=5)
        + batch(1)
        + batch(2, flags=data, producer=5)
        + batch(3, flags=data, producer=6)
    )
    two = batch(4, flags=control, producer=5)
    three = batch(5, flags=data, producer=5) + batch(6, flags=control, producer=6)
    found = scanned(kernels, one + two + three)
    assert events(found) == [
        (0, 5, -1), (3, 6, -1), (4, 5, len(one)), (5, 5, -1), (6, 6, len(one + two + three) - len(two)),
    ]  # fmt: skip
    collide = (
        batch(0, flags=data, producer=1)
        + batch(1, flags=data, producer=257)
        + batch(2, flags=data, producer=1)
    )
    assert [event[1] for event in events(scanned(kernels, collide))] == [1, 257, 1]


def test_a_scan_ends_where_it_was_told_to(kernels: ModuleType) -> None:
    data = b"".join(batch(offset, time=offset * 100) for offset in range(6))
    size = len(data) // 6

    def end(limit: int, after: int, until: int, since: int) -> int:
        return kernels.scan_batches(data, 0, limit, after, until, since, False)[0] // size

    assert end(1, -1, INT64_MAX, INT64_MAX) == 1
    assert end(ENDLESS, 0, INT64_MAX, INT64_MAX) == 6
    assert end(ENDLESS, 1, INT64_MAX, INT64_MAX) == 0
    assert end(ENDLESS, -1, 4, INT64_MAX) == 4
    assert end(ENDLESS, -1, INT64_MAX, 309) == 3
    assert end(ENDLESS, -1, INT64_MAX, 310) == 4
    many = b"".join(
        batch(offset, flags=_TRANSACTIONAL | _CONTROL, producer=offset) for offset in range(MOST_EVENTS + 5)
    )
    assert scanned(kernels, many).markers == MOST_EVENTS


@pytest.mark.parametrize(
    "second",
    [
        batch(0),  # offsets must rise
        batch(2, epoch=8),
        batch(2, codec=5),
        batch(2)[:-1],
        bytes(made(2, [b"x"]))[:40],
        bytes(61),
        bytes(
            sealed(bytearray(HEADER.pack(2, 49, 7, 2, 0, 0, 0, 0, 0, -1, 0, -1, 1)))
        ),  # a record in no byte
        bytes(sealed(bytearray(HEADER.pack(2, 49, 7, 2, 0, 0, -1, 0, 0, -1, 0, -1, 0)))),
        bytes(sealed(bytearray(HEADER.pack(2, 49, 7, 2, 0, 0, 0, 0, 0, -1, 0, -1, 2)))),
        bytes(sealed(bytearray(HEADER.pack(INT64_MAX, 49, 7, 2, 0, 0, 0, 0, 0, -1, 0, -1, 0)))),
        bytes(HEADER.pack(2, 49, 7, 2, 1, 0, 0, 0, 0, -1, 0, -1, 0)),  # the checksum
    ],
)
def test_it_ends_before_what_does_not_follow(kernels: ModuleType, second: bytes) -> None:
    first = batch(1)
    assert scanned(kernels, first + second).end == len(first)


def test_both_say_the_same_of_damaged_bytes(twins: tuple[ModuleType, ModuleType]) -> None:
    rng = Random(39)
    one = (
        batch(0) + batch(3, 4, flags=16, producer=9) + batch(9, flags=48, producer=9) + batch(10, 2, codec=3)
    )
    for _ in range(3_000):
        data = bytearray(one)
        for _ in range(rng.choice((1, 1, 2, 5))):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        verify = rng.random() < 0.3
        args = (
            rng.choice((0, 0, 0, 71, 5)),
            rng.choice((1, ENDLESS)),
            rng.choice((-1, 0, 4)),
            INT64_MAX,
            INT64_MAX,
            verify,
        )
        left, right = (kernels.scan_batches(memoryview(data), *args) for kernels in twins)
        assert left == right
    base = struct.pack(">q", 1 << 62)
    assert scanned(twins[1], base + one[8:], verify=False) == scanned(pure, base + one[8:], verify=False)
    assert CRC_START == 21
