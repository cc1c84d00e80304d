"""Runs of batches: every implementation walks and decodes them as batch after batch would be, and stops at the rest."""

import itertools
import struct
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels import pure
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER_SIZE, RecordBatch, split_batches
from kcli.core.records.builder import BatchBuilder

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

ENDLESS = 1 << 40
NOTHING = (0, 0, 0, -1)
Batch = tuple[int, list[bytes | None]]
BATCHES = st.lists(
    st.tuples(st.integers(0, 5), st.lists(st.none() | st.binary(max_size=90), min_size=1, max_size=6)),
    max_size=6,
)


def made(
    offset: int, values: list[bytes | None], *, codec: int = 0, producer: int = -1, epoch: int = 7
) -> bytearray:
    builder = BatchBuilder(room=1 << 30, codec=codec)
    builder.append_keyed([b"k"] * len(values), values, 0, 1_700_000_000_000)
    raw = bytearray(b"".join(builder.wire(producer, 0, 0, transactional=producer >= 0)))
    struct.pack_into(">qi", raw, 0, offset, len(raw) - 12)
    struct.pack_into(">i", raw, 12, epoch)  # the leader's
    return raw


def sealed(raw: bytearray) -> bytearray:
    """The same with a right checksum, after fields were changed."""
    struct.pack_into(">I", raw, CRC_START - 4, crc32c(raw[CRC_START:]))
    return raw


def log(batches: list[Batch]) -> bytes:
    """Batches with gaps between their offsets."""
    pieces, offset = [], 0
    for gap, values in batches:
        pieces.append(made(offset + gap, values))
        offset += gap + len(values)
    return b"".join(pieces)


@shared
@given(BATCHES, st.integers(0, 30), st.integers(0, 30))
def test_a_run_gives_what_its_batches_give(
    kernels: ModuleType, batches: list[Batch], one: int, two: int
) -> None:
    data = log(batches)
    singles = list(split_batches(data))
    low, high = min(one, two), max(one, two)
    end, count, records, then = kernels.walk_batches(data, 0, ENDLESS, False, True)
    assert (end, count, records) == (len(data), len(singles), sum(b.count for b in singles))
    assert then == (singles[-1].next_offset if singles else -1)
    expected = [b.values(low, high, b"|", b"NULL") for b in singles]
    assert kernels.decode_run(data, low, high, b"|", b"NULL") == (
        b"".join(output for output, _ in expected),
        sum(some for _, some in expected),
    )


def test_a_run_starts_anywhere_and_ends_when_it_is_long_enough(kernels: ModuleType) -> None:
    one, two, three = made(0, [b"a"]), made(1, [b"b"]), made(2, [b"c"])
    data = memoryview(one + two + three)
    assert kernels.walk_batches(data, len(one), ENDLESS, False, True) == (len(data), 2, 2, 3)
    assert kernels.walk_batches(data, 0, len(one) + 1, False, True)[:2] == (len(one) + len(two), 2)
    assert kernels.walk_batches(data, 0, 1, False, True)[:2] == (len(one), 1)
    assert kernels.walk_batches(data, len(data), ENDLESS, False, True) == (len(data), *NOTHING[1:])


@pytest.mark.parametrize("epochs", [(7, 8), (7, 6), (-1, 0), (0, -1), (7, 8, 7), (7, 7, 8, 8, 8)])
def test_another_leader_epoch_ends_it(kernels: ModuleType, epochs: tuple[int, ...]) -> None:
    data = b"".join(made(2 * index, [b"a", b"b"], epoch=epoch) for index, epoch in enumerate(epochs))
    at = offset = 0
    for _, same in itertools.groupby(epochs):
        batches = len(list(same))
        offset += 2 * batches
        at, *found = kernels.walk_batches(data, at, ENDLESS, False, True)
        assert found == [batches, 2 * batches, offset]
    assert at == len(data)


def test_a_batch_that_is_not_plain_ends_the_run(kernels: ModuleType) -> None:
    fine = made(0, [b"a", b"b"])
    others = {
        "compressed": made(2, [b"c" * 100], codec=3),
        "transactional": made(2, [b"c"], producer=5),
        "a marker": _with(made(2, [b"c"]), 22, 0x20),
        "older": _with(made(2, [b"c"]), 16, 1, seal=False),
        "of a future format": _with(made(2, [b"c"]), 16, 3, seal=False),
        "damaged": _with(made(2, [b"c"]), HEADER_SIZE + 3, 0xFF, seal=False),
        "back in offsets": made(1, [b"c"]),
        "at a negative offset": made(-5, [b"c"]),
        "behind the last offset": made((1 << 63) - 1, [b"c"]),
        "of more records than bytes": _with(made(2, [b"c"]), 59, 0x7F),
        "of more records than offsets": _with(made(2, [b"c" * 50]), 60, 2),
        "of a negative length": bytearray(struct.pack(">qi", 2, -1)) + made(2, [b"c"])[12:],
        "of a length below its header": bytearray(struct.pack(">qi", 2, 40)) + made(2, [b"c"])[12:],
        "cut off": made(2, [b"c"])[:-1],
        "cut off in its header": made(2, [b"c"])[:40],
    }
    for what, other in others.items():
        found = kernels.walk_batches(fine + other, 0, ENDLESS, False, True)
        assert found == (len(fine), 1, 2, 2), what
        alone = kernels.walk_batches(other, 0, ENDLESS, False, True)
        assert alone == NOTHING or what == "back in offsets", what


def test_transactions_and_damage_pass_where_that_is_requested(kernels: ModuleType) -> None:
    transactional = made(0, [b"a"], producer=5)
    assert kernels.walk_batches(transactional, 0, ENDLESS, True, True)[1] == 1
    damaged = _with(made(0, [b"abc"]), len(transactional) - 2, 0x41, seal=False)
    assert kernels.walk_batches(damaged, 0, ENDLESS, False, True)[1] == 0
    assert kernels.walk_batches(damaged, 0, ENDLESS, False, False)[1] == 1


def test_every_flipped_byte_gives_the_same_verdict(kernels: ModuleType) -> None:
    data = made(0, [b"a", None, b"c" * 70]) + made(9, [b"d"])
    for at in range(len(data)):
        for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
            mutant = bytes(data[:at]) + bytes([value]) + bytes(data[at + 1 :])
            walked = kernels.walk_batches(mutant, 0, ENDLESS, False, False)
            assert walked == pure.walk_batches(mutant, 0, ENDLESS, False, False)
            run = mutant[: walked[0]]
            assert _decoded(kernels, run) == _decoded(pure, run)


@pytest.mark.parametrize("size", range(0, 70))
def test_no_byte_behind_the_end_is_read(kernels: ModuleType, size: int) -> None:
    assert kernels.walk_batches(bytes(made(0, [b"a"]))[:size], 0, ENDLESS, False, True) == NOTHING


def _with(raw: bytearray, at: int, value: int, *, seal: bool = True) -> bytearray:
    raw[at] = value
    return sealed(raw) if seal else raw


def _decoded(kernels: ModuleType, run: bytes) -> object:
    try:
        return kernels.decode_run(run, 0, 100, b"\n", b"")
    except CorruptRecordsError as error:
        return str(error)


@shared
@given(BATCHES)
def test_a_joined_run_has_the_records_of_its_batches(kernels: ModuleType, batches: list[Batch]) -> None:
    data = log(batches)
    records, count, base, highest = kernels.join_run(data)
    expected = [record for batch in split_batches(data) for record in batch.records()]
    assert count == len(expected)
    if not expected:
        assert (records, base, highest) == (b"", -1, -1)
        return
    joined = RecordBatch(memoryview(batch_header(records, count, base, highest)))
    joined.verify_crc()
    found = list(joined.records())
    assert [(r.key, r.value, r.headers, r.timestamp) for r in found] == [
        (r.key, r.value, r.headers, r.timestamp) for r in expected
    ]
    assert [r.offset for r in found] == list(range(count))
    assert highest == max(r.timestamp for r in expected)


def batch_header(records: bytes, count: int, base: int, highest: int) -> bytes:
    builder = BatchBuilder.sealed(
        records, codec=0, count=count, base_timestamp=base, max_timestamp=highest, limit=1 << 30
    )
    return b"".join(builder.wire())


def test_a_joined_run_keeps_the_times_that_readers_see(kernels: ModuleType) -> None:
    appended, created = made(0, [b"a", b"b"]), made(5, [b"c"])
    struct.pack_into(">h", appended, 21, 8)  # LogAppendTime
    struct.pack_into(">q", appended, 35, 1_800_000_000_000)
    records, count, base, highest = kernels.join_run(bytes(sealed(appended) + created))
    joined = RecordBatch(memoryview(batch_header(records, count, base, highest)))
    assert [r.timestamp for r in joined.records()] == [1_800_000_000_000] * 2 + [1_700_000_000_000]


def test_times_that_are_too_far_apart_are_not_joined(kernels: ModuleType) -> None:
    early, late = made(0, [b"a"]), made(1, [b"b"])
    struct.pack_into(">q", early, 27, -(1 << 62))
    struct.pack_into(">q", late, 27, 1 << 62)
    with pytest.raises(ValueError, match="too far apart"):
        kernels.join_run(bytes(early + late + late))


@pytest.mark.parametrize("size", [1, 60, 61, 70])
def test_what_is_no_run_is_not_joined(kernels: ModuleType, size: int) -> None:
    with pytest.raises(ValueError, match="no run of batches"):
        kernels.join_run(bytes(made(0, [b"abcdefgh"]))[:size])
