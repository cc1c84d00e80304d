"""``digest_records``: both implementations byte for byte, beside one as plain as can be; what a digest must notice."""

import random
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from types import ModuleType
from typing import Any

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.arrow_ops import ArrowPart
from kcli.core.kernels.shapes import NO_RECORDS
from kcli.core.types import Header
from tests.parity import plain
from tests.parity.damage import BLOCKS, TRIALS, GuardedMemory
from tests.parity.parts import EVERYTHING, NOW, Row, framed, mutated_parts, mutated_runs, part_of

Twins = tuple[ModuleType, ModuleType]

MANY = 1 << 40
WHOLE = (True, NO_RECORDS, MANY, MANY)


def digest(kernels: ModuleType, rows: Sequence[Row], *, timestamps: bool = True) -> bytes:
    """That of all records, as one chunk."""
    ((found, count, *_),) = kernels.digest_records(part_of(rows), timestamps, NO_RECORDS, MANY, MANY)
    assert count == len(rows)
    return bytes(found)


def outcome(kernels: ModuleType, *arguments: Any) -> Any:
    try:
        return [tuple(piece) for piece in kernels.digest_records(*arguments)]
    except CorruptRecordsError as error:
        return error.what, error.why, error.do
    except (ValueError, OverflowError) as error:
        return type(error), str(error)


def assert_same(twins: Twins, *arguments: Any) -> Any:
    pure, native = (outcome(twin, *arguments) for twin in twins)
    assert native == pure, arguments
    return pure


def all_differ(digests: Iterable[bytes]) -> bool:
    found = list(digests)
    return len(found) == len(set(found))


def headers(*given: Header) -> bytes:
    return plain.header_block(given)


def random_row(seeded: random.Random) -> Row:
    key, value = (
        seeded.choice(
            [None, b"", seeded.randbytes(seeded.randrange(40)), seeded.randbytes(seeded.randrange(700))]
        )
        for _ in range(2)
    )
    return Row(key, value, seeded.choice(BLOCKS), seeded.randrange(-(1 << 40), 1 << 40))


# --- both implementations -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_any_records_in_any_batches(twins: Twins, seed: int) -> None:
    seeded = random.Random(seed)
    rows = [random_row(seeded) for _ in range(seeded.randrange(1, 40))]
    whole = assert_same(twins, part_of(rows), *WHOLE)
    assert whole == [
        (plain.digest([(NOW + row.time, *row[:3]) for row in rows]), len(rows), 100, 99 + len(rows))
    ]
    at, state, pieces = 0, NO_RECORDS, []
    while at < len(rows):  # the same in batches, of which some are joined
        some = rows[at : at + seeded.randrange(1, 9)]
        parts = [part_of([row], 100 + at + index) for index, row in enumerate(some)]
        part = framed(parts) if seeded.random() < 0.5 else part_of(some, 100 + at)
        ((state, count, first, last),) = pieces = assert_same(twins, part, True, state, MANY, MANY)
        assert (count, first, last) == (len(some), 100 + at, 99 + at + len(some))
        at += len(some)
    assert pieces[0][0] == whole[0][0]


@pytest.mark.parametrize("size", range(201))
def test_values_of_any_length_anywhere_in_memory(twins: Twins, size: int) -> None:
    """Also where nothing behind them may be read."""
    memory = GuardedMemory(4_000)
    seeded = random.Random(size)
    for key in (None, b"", seeded.randbytes(1 + size % 17)):
        part = part_of([Row(key, seeded.randbytes(size))])
        at_the_end = part._replace(data=memory.hold(part.data))
        unaligned = part._replace(data=memoryview(bytes(size % 16) + bytes(part.data))[size % 16 :])
        assert len({str(assert_same(twins, one, *WHOLE)) for one in (part, at_the_end, unaligned)}) == 1


@pytest.mark.parametrize("size", [230, 240, 250, 256, 260, 480, 496, 500, 511, 512, 513, 4096, 70_000])
def test_values_about_the_size_of_groups(twins: Twins, size: int) -> None:
    seeded = random.Random(size)
    for more in range(-20, 21):
        assert_same(twins, part_of([Row(None, seeded.randbytes(size + more))]), *WHOLE)


def test_the_keys_are_those_of_splitmix64() -> None:
    assert plain.DIGEST_KEYS[:3] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize(
    "state",
    [
        bytes(16),
        b"\xff" * 16,
        ((1 << 127) - 1).to_bytes(16, "little"),
        (1 << 127).to_bytes(16, "little"),
        ((1 << 128) - 2).to_bytes(16, "little"),
        b"\xff" * 8 + bytes(8),
        bytes(8) + b"\xff" * 8,
    ],
)
def test_a_digest_may_be_any_number(twins: Twins, state: bytes) -> None:
    for value in (b"", b"v" * 300, b"\xff" * 600):
        ((found, *_),) = assert_same(twins, part_of([Row(None, value)] * 3), True, state, MANY, MANY)
        assert int.from_bytes(found, "little") < (1 << 127) - 1


@pytest.mark.parametrize(("room", "chunk"), [(1, 1), (3, 4), (4, 4), (5, 2), (7, 3), (8, 1), (100, 1)])
def test_chunks(twins: Twins, room: int, chunk: int) -> None:
    rows = [Row(b"k%d" % index, b"v") for index in range(7)]
    for part in (part_of(rows), framed([part_of(rows[:2]), part_of(rows[2:], 102)])):
        pieces = assert_same(twins, part, True, NO_RECORDS, room, chunk)
        sizes = [min(room, 7), *[chunk] * 7]
        at = 0
        for found, count, first, last in pieces:
            size = min(sizes.pop(0), 7 - at)
            assert (count, first, last) == (size, 100 + at, 99 + at + size)
            assert found == digest(twins[0], rows[at : at + size])
            at += size
        assert at == 7


def test_only_wanted_offsets_count_and_none_is_no_entry(twins: Twins) -> None:
    rows = [Row(b"k%d" % index, b"v") for index in range(7)]
    pieces = assert_same(twins, part_of(rows, span=(102, 104)), *WHOLE)
    assert pieces == [(digest(twins[0], rows[2:5]), 3, 102, 104)]
    assert assert_same(twins, part_of(rows, span=(200, 300)), *WHOLE) == []
    assert assert_same(twins, framed([part_of(rows)], span=(0, 99)), *WHOLE) == []
    assert assert_same(twins, part_of([]), *WHOLE) == []


# --- what makes no difference -------------------------------------------------------------------------


def test_offsets_and_epochs_make_no_difference(kernels: ModuleType) -> None:
    rows = [Row(b"k%d" % index, b"v") for index in range(7)]
    holes = b"".join(plain.record(*row[:3], 5 * at + 2, row.time) for at, row in enumerate(rows))
    part = ArrowPart(holes, 7, 9_000, 40, NOW, NOW + 99, 0, 123, *EVERYTHING)
    assert kernels.digest_records(part, *WHOLE) == [(digest(kernels, rows), 7, 9_002, 9_032)]


def test_it_is_the_timestamp_that_counts_not_how_it_is_stored(kernels: ModuleType) -> None:
    rows = [Row(b"k", b"v", time=time) for time in (0, 5, -3)]
    moved = part_of([row._replace(time=row.time + 70) for row in rows])._replace(base_timestamp=NOW - 70)
    assert kernels.digest_records(moved, *WHOLE)[0][0] == digest(kernels, rows)
    appended = kernels.digest_records(part_of(rows, kind=1), *WHOLE)[0][0]
    assert appended == digest(kernels, [row._replace(time=99) for row in rows])
    none = kernels.digest_records(part_of(rows[:1], kind=-1)._replace(base_timestamp=-1), *WHOLE)[0][0]
    assert none == digest(kernels, [rows[0]._replace(time=-1 - NOW)])


def test_timestamps_can_be_left_out(kernels: ModuleType) -> None:
    rows = [Row(b"k", b"v", time=time) for time in (0, 5, -3)]
    other = [row._replace(time=7 * row.time + 1) for row in rows]
    assert digest(kernels, rows, timestamps=False) == digest(kernels, other, timestamps=False)
    assert digest(kernels, rows) != digest(kernels, other)


def long_varint(value: int, more: int) -> bytes:
    """With bytes that say nothing."""
    short = bytearray(plain.varint(value))
    if more:
        short[-1] |= 0x80
        short += b"\x80" * (more - 1) + b"\0"
    return bytes(short)


@pytest.mark.parametrize("seed", range(60))
def test_how_numbers_are_written_makes_no_difference(twins: Twins, seed: int) -> None:
    """Varints may be longer than they need be: no client writes such, and brokers accept them."""
    seeded = random.Random(seed)

    def number(value: int) -> bytes:
        return long_varint(value, seeded.choice((0, 0, 1, 2)) if len(plain.varint(value)) < 3 else 0)

    def field(data: bytes | None) -> bytes:
        return number(-1) if data is None else number(len(data)) + data

    key, value = (seeded.choice((None, b"", b"x", b"y" * 70, b"\0\1\0")) for _ in range(2))
    given = seeded.sample([("a", b"1"), ("b", None), ("", b""), ("c" * 70, b"\0")], seeded.randrange(4))
    block = number(len(given)) + b"".join(field(name.encode()) + field(data) for name, data in given)
    body = b"\0" + number(0) + number(0) + field(key) + field(value) + block
    payload = long_varint(len(body), 1) + body
    part = part_of([Row(None, None)])._replace(data=payload)
    ((found, *_),) = assert_same(twins, part, *WHOLE)
    assert found == digest(twins[0], [Row(key, value, headers(*given))])


# --- what makes a difference --------------------------------------------------------------------------


def test_null_is_not_empty_and_nothing_is_both(kernels: ModuleType) -> None:
    some = (None, b"", b"\0", b"\1", b"\0\0", bytes(16), bytes(17))
    blocks = [headers(), *(headers((name, value)) for name in ("", "\0") for value in some)]
    rows = [Row(key, value, block) for key in some for value in some for block in blocks]
    assert all_differ(digest(kernels, [row]) for row in rows)


def test_bytes_moved_between_fields_make_a_difference(kernels: ModuleType) -> None:
    """Key, value, header names and values, in all ways to divide the same bytes."""
    text = b"\1\2\1\0\1\2"
    rows = []
    for key, value, name in combinations(range(len(text) + 3), 3):
        cuts = (0, key, value - 1, name - 2, len(text))
        one, two, three, four = (text[start:end] for start, end in pairwise(cuts))
        rows.append(Row(one, two, headers((three, four))))
        rows.append(Row(one, two, headers((three, None), (four, None))))
        if not three + four:
            rows.append(Row(one, two))
    assert len(rows) > 150
    assert all_differ(digest(kernels, [row]) for row in rows)


def test_bytes_moved_between_records_make_a_difference(kernels: ModuleType) -> None:
    text = bytes(range(40))
    found = [
        digest(kernels, [Row(text[:one], text[one:two]), Row(text[two:three], text[three:])])
        for one, two, three in combinations(range(0, 41, 4), 3)
    ]
    assert all_differ(found)


def test_every_single_bit_makes_a_difference(kernels: ModuleType) -> None:
    key, value, name, more = b"key", bytes(range(60)), b"name", b"value"
    fields = [key, value, name, more]
    found = [digest(kernels, [Row(key, value, headers((name, more)))])]
    for which, data in enumerate(fields):
        for bit in range(8 * len(data)):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            a, b, c, d = [*fields[:which], bytes(changed), *fields[which + 1 :]]
            found.append(digest(kernels, [Row(a, b, headers((c, d)))]))
    for bit in range(40):
        found.append(digest(kernels, [Row(key, value, headers((name, more)), 1 << bit)]))
    assert all_differ(found)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
def test_two_bits_in_words_blocks_or_groups_do_not_cancel(native: ModuleType, width: int) -> None:
    """The same bit at two places: what sums and exclusive ors of equal weights would not notice."""
    value = bytes(8 * width)
    found = [digest(native, [Row(None, value)])]
    for one, two in combinations(range(8), 2):
        for bit in range(8):
            changed = bytearray(value)
            changed[one * width] ^= 1 << bit
            changed[two * width] ^= 1 << bit
            found.append(digest(native, [Row(None, bytes(changed))]))
    assert all_differ(found)


@pytest.mark.parametrize("width", [1, 4, 8, 16, 64, 256, 512])
def test_exchanged_parts_of_a_value_make_a_difference(kernels: ModuleType, width: int) -> None:
    seeded = random.Random(width)
    parts = [bytes([index]) + seeded.randbytes(width - 1) for index in range(6)]
    found = []
    for one, two in [(0, 0), *combinations(range(6), 2)]:
        order = list(parts)
        order[one], order[two] = order[two], order[one]
        found.append(digest(kernels, [Row(None, b"".join(order))]))
    assert all_differ(found)


def test_exchanged_missing_and_doubled_records_make_a_difference(kernels: ModuleType) -> None:
    rows = [Row(b"%d" % index, b"value %d" % index, time=index) for index in range(12)]
    found = [digest(kernels, rows)]
    for one, two in combinations(range(12), 2):
        order = list(rows)
        order[one], order[two] = order[two], order[one]
        found.append(digest(kernels, order))
    found += [digest(kernels, rows[:at] + rows[at + 1 :]) for at in range(12)]
    found += [digest(kernels, rows[: at + 1] + rows[at:]) for at in range(12)]
    assert all_differ(found)


def test_how_often_equal_records_come_makes_a_difference(kernels: ModuleType) -> None:
    for row in (Row(None, None, time=-NOW), Row(b"", b"", time=-NOW), Row(None, bytes(300), time=-NOW)):
        assert all_differ(digest(kernels, [row] * count) for count in range(1, 60))


def test_a_hundred_thousand_similar_records_all_differ(native: ModuleType) -> None:
    part = part_of([Row(b"%d" % (index % 10), b"%06d" % index) for index in range(100_000)])
    pieces = native.digest_records(part, True, NO_RECORDS, 1, 1)
    assert len(pieces) == 100_000
    assert all_differ(piece[0] for piece in pieces)


# --- what cannot be -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("digest", "room", "chunk"),
    [
        (b"", 1, 1),
        (bytes(15), 1, 1),
        (bytes(17), 1, 1),
        (NO_RECORDS, 0, 1),
        (NO_RECORDS, 1, 0),
        (NO_RECORDS, -1, 1),
    ],
)
def test_arguments_that_cannot_be(twins: Twins, digest: bytes, room: int, chunk: int) -> None:
    said = assert_same(twins, part_of([Row(b"k", b"v")]), True, digest, room, chunk)
    assert said[0] is ValueError


@pytest.mark.parametrize(
    "change", [{"base_offset": -1}, {"last_offset_delta": -1}, {"timestamp_type": 2}, {"records": 2}], ids=str
)
def test_parts_that_cannot_be(twins: Twins, change: dict[str, int]) -> None:
    said = assert_same(twins, part_of([Row(b"k", b"v")])._replace(**change), *WHOLE)
    assert not isinstance(said, list)


def test_mutated_payloads(twins: Twins) -> None:
    """Same verdict, words and bytes from both."""
    seeded = random.Random(24)
    accepted = 0
    for part in mutated_parts(21, TRIALS // 4):
        room, chunk = seeded.choice((1, 4, MANY)), seeded.choice((1, 3, MANY))
        accepted += isinstance(assert_same(twins, part, seeded.random() < 0.5, NO_RECORDS, room, chunk), list)
    assert TRIALS // 200 < accepted < TRIALS // 8


def test_mutated_runs(twins: Twins) -> None:
    accepted = 0
    for part in mutated_runs(22, TRIALS // 8):
        accepted += isinstance(assert_same(twins, part, True, NO_RECORDS, 2, 3), list)
    assert TRIALS // 100 < accepted < TRIALS // 8
