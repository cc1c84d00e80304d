"""``arrow_columns`` against the rows that it was made from, and the implementations against each other, byte for byte."""

import random
import struct
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels import arrow_ops as arrow
from kcli.core.kernels.arrow_ops import FRAMED, ArrowPart
from tests.parity import plain
from tests.parity.damage import BLOCKS, TRIALS
from tests.parity.parts import EVERYTHING, NOW, ROWS, Row, framed, mutated_parts, mutated_runs, part_of

Twins = tuple[ModuleType, ModuleType]

ALL = tuple(range(arrow.PARTITION + 1))


def bits(validity: Any, length: int) -> list[bool]:
    if validity is None:
        return [True] * length
    assert len(bytes(validity)) == (length + 7) // 8
    return [bool(bytes(validity)[index // 8] >> index % 8 & 1) for index in range(length)]


def numbers(kind: str, array: Any) -> list[int | None]:
    length, nulls, (validity, data), children = array
    assert not children
    found = struct.unpack(f"={length}{kind}", bytes(data))
    valid = bits(validity, length)
    assert valid.count(False) == nulls
    return [number if one else None for number, one in zip(found, valid, strict=True)]


def strings(array: Any) -> list[bytes | None]:
    length, nulls, (validity, offsets, data), children = array
    assert not children
    ends, content = struct.unpack(f"={length + 1}i", bytes(offsets)), bytes(data)
    assert (ends[0], ends[-1]) == (0, len(content))
    valid = bits(validity, length)
    assert valid.count(False) == nulls
    assert (validity is None) == (nulls == 0)
    return [content[ends[at] : ends[at + 1]] if one else None for at, one in enumerate(valid)]


def lists(array: Any) -> list[list[tuple[bytes | None, bytes | None]]]:
    length, nulls, (validity, offsets), (pairs,) = array
    assert not nulls
    assert validity is None
    count, nulls, buffers, (names, values) = pairs
    assert (nulls, buffers) == (0, (None,))
    ends = struct.unpack(f"={length + 1}i", bytes(offsets))
    assert ends[-1] == count
    both = list(zip(strings(names), strings(values), strict=True))
    return [both[ends[at] : ends[at + 1]] for at in range(length)]


def convert(
    kernels: ModuleType, parts: Sequence[ArrowPart], columns: Sequence[int] = ALL, *predicates: Any
) -> Any:
    chosen = predicates or (None, None, None, False)
    return kernels.arrow_columns(parts, columns, *chosen, b"orders", 3)


def plainly(found: Any) -> Any:
    """The result with bytes in place of buffers."""
    if isinstance(found, tuple):
        return tuple(map(plainly, found))
    return found if found is None or isinstance(found, int) else bytes(found)


def outcome(kernels: ModuleType, *arguments: Any) -> Any:
    try:
        return plainly(kernels.arrow_columns(*arguments))
    except CorruptRecordsError as error:
        return error.what, error.why, error.do
    except (ValueError, OverflowError) as error:
        return type(error), str(error)


def assert_same(twins: Twins, *arguments: Any) -> Any:
    pure, native = (outcome(twin, *arguments) for twin in twins)
    assert native == pure, arguments
    return pure


def test_every_column_of_a_batch(kernels: ModuleType) -> None:
    rows, seen, first, last, columns = convert(kernels, [part_of(ROWS)])
    assert (rows, seen, first, last) == (5, 5, 100, 104)
    assert numbers("q", columns[arrow.OFFSET]) == [100, 101, 102, 103, 104]
    assert numbers("q", columns[arrow.TIMESTAMP]) == [NOW + row.time for row in ROWS]
    assert strings(columns[arrow.TIMESTAMP_TYPE]) == [b"CreateTime"] * 5
    assert strings(columns[arrow.KEY]) == [row.key for row in ROWS]
    assert strings(columns[arrow.VALUE]) == [row.value for row in ROWS]
    assert strings(columns[arrow.KEY_TEXT]) == [None, b"", b"k1", None, b"k2"]
    assert strings(columns[arrow.VALUE_TEXT]) == [None, b"", "grün".encode(), None, b"v" * 300]
    assert lists(columns[arrow.HEADERS]) == [
        [],
        [(b"h", None), ("é".encode(), b""), (b"h", b"\xff")],
        [],
        [(b"", b"x")],
        [],
    ]
    assert strings(columns[arrow.HEADERS_PACKED]) == [row.headers for row in ROWS]
    assert numbers("i", columns[arrow.LEADER_EPOCH]) == [7] * 5
    assert strings(columns[arrow.TOPIC]) == [b"orders"] * 5
    assert numbers("i", columns[arrow.PARTITION]) == [3] * 5


def test_several_batches_and_runs_become_one_array(kernels: ModuleType) -> None:
    parts = [
        part_of(ROWS, 100),
        framed([part_of(ROWS[:2], 105, epoch=8), part_of(ROWS[2:], 200, kind=1, epoch=8)]),
        part_of(ROWS[:1], 300, kind=-1, epoch=-1)._replace(base_timestamp=-1),
    ]
    rows, _, first, last, columns = convert(kernels, parts)
    assert (rows, first, last) == (11, 100, 300)
    offsets = [*range(100, 107), *range(200, 203), 300]
    assert numbers("q", columns[arrow.OFFSET]) == offsets
    assert numbers("q", columns[arrow.TIMESTAMP])[5:] == [NOW, NOW, NOW + 99, NOW + 99, NOW + 99, None]
    assert strings(columns[arrow.TIMESTAMP_TYPE])[6:] == [b"CreateTime", *[b"LogAppendTime"] * 3, None]
    assert numbers("i", columns[arrow.LEADER_EPOCH]) == [7] * 5 + [8] * 5 + [None]
    assert strings(columns[arrow.VALUE]) == [row.value for row in (*ROWS, *ROWS, ROWS[0])]


def test_columns_that_are_not_chosen_are_not_made(kernels: ModuleType) -> None:
    *_, columns = convert(kernels, [part_of(ROWS)], (arrow.VALUE, arrow.OFFSET, arrow.VALUE))
    assert strings(columns[0]) == strings(columns[2]) == [row.value for row in ROWS]
    assert numbers("q", columns[1]) == [100, 101, 102, 103, 104]
    assert convert(kernels, [part_of(ROWS)], ()) == (5, 5, 100, 104, ())


def test_buffers_have_exactly_their_size(kernels: ModuleType) -> None:
    *_, columns = convert(kernels, [part_of(ROWS)])
    validity, offsets, data = columns[arrow.VALUE][2]
    assert [len(bytes(one)) for one in (validity, offsets, data)] == [1, 24, 308]
    assert columns[arrow.OFFSET][2][0] is None


def test_nothing_at_all(kernels: ModuleType) -> None:
    for parts in ([], [part_of(())], [framed([])], [part_of(ROWS, span=(105, 1 << 40))]):
        rows, _, first, last, columns = convert(kernels, parts)
        assert (rows, first, last) == (0, -1, -1)
        assert strings(columns[arrow.VALUE]) == []
        assert lists(columns[arrow.HEADERS]) == []


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 101), [0, 1]),
        ((102, 103), [2, 3]),
        ((104, 103), []),
        ((104, 1 << 70), [4]),
        ((-(1 << 70), 100), [0]),
    ],
)
def test_a_range_of_offsets(kernels: ModuleType, span: tuple[int, int], expected: list[int]) -> None:
    for part in (part_of(ROWS, span=span), framed([part_of(ROWS)], span=span)):
        rows, seen, *_, columns = convert(kernels, [part])
        assert rows == seen == len(expected)
        assert numbers("q", columns[arrow.OFFSET]) == [100 + index for index in expected]


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        ((NOW, None, None, False), [0, 1, 2, 4]),
        ((None, NOW + 5, None, False), [0, 1, 3]),
        ((NOW + 5, NOW + 6, None, False), [2]),
        ((1 << 70, None, None, False), []),
        ((-(1 << 70), 1 << 70, None, False), [0, 1, 2, 3, 4]),
        ((None, None, [b"k2", b"k1", b"k2", b"no"], False), [2, 4]),
        ((None, None, [b""], False), [1]),
        ((None, None, [None, b"\xff"], False), [0, 3]),
        ((None, None, [None], True), []),
        ((None, None, [], False), []),
        ((None, None, None, True), [1, 2, 3, 4]),
        ((NOW + 1, None, [b"k1", b"", None], True), [2]),
    ],
)
def test_predicates(kernels: ModuleType, predicates: Any, expected: list[int]) -> None:
    rows, seen, *_, columns = convert(kernels, [part_of(ROWS)], ALL, *predicates)
    assert (rows, seen) == (len(expected), 5)
    assert numbers("q", columns[arrow.OFFSET]) == [100 + index for index in expected]
    assert strings(columns[arrow.KEY]) == [ROWS[index].key for index in expected]


def test_a_record_without_a_timestamp_is_at_no_time(kernels: ModuleType) -> None:
    part = part_of(ROWS[:1], kind=-1)._replace(base_timestamp=-1)
    assert convert(kernels, [part], ALL, None, NOW, None, False)[0] == 0
    assert convert(kernels, [part], ALL, -5, None, None, False)[0] == 0


def test_a_header_name_that_is_not_text_is_refused_with_its_offset(twins: Twins) -> None:
    rows = [*ROWS, Row(b"k", b"v", BLOCKS[2])]
    for parts in ([part_of(rows)], [framed([part_of(rows[:2]), part_of(rows[2:], 102)])]):
        said = assert_same(twins, parts, ALL, None, None, None, False, b"t", 0)
        assert said == (UnicodeError, "a header name of the record at offset 105 is not UTF-8")
        assert isinstance(
            assert_same(twins, parts, (arrow.HEADERS_PACKED,), None, None, None, False, b"t", 0)[0], int
        )
        assert assert_same(twins, parts, ALL, None, None, [b"k1"], False, b"t", 0)[0] == 1


def test_the_last_offset_that_there_can_be(twins: Twins) -> None:
    part = part_of(ROWS, (1 << 63) - 5)
    said = assert_same(twins, [part], (arrow.OFFSET,), None, None, None, False, b"t", 0)
    assert said[:4] == (5, 5, (1 << 63) - 5, (1 << 63) - 1)


def test_offsets_that_do_not_increase_are_corrupt(twins: Twins) -> None:
    def data(*deltas: int) -> bytes:
        return b"".join(plain.record(None, b"v", b"\0", delta, 0) for delta in deltas)

    for deltas, why in (
        ((0, 1, 1), "the offset delta 1 follows 1"),
        ((0, 2, 1), "the offset delta 1 follows 2"),
        ((-1, 0, 1), "the offset delta -1 follows -1"),
        ((0, 1, 3), "the offset delta is 3, the last should be 2"),
    ):
        part = ArrowPart(data(*deltas), 3, 0, 2, 0, 0, 0, 0, *EVERYTHING)
        assert assert_same(twins, [part], ALL, None, None, None, False, b"t", 0)[1] == why


def test_a_timestamp_that_is_no_int64_is_corrupt(twins: Twins) -> None:
    part = part_of([Row(None, b"v"), Row(None, b"v", time=1 << 62)])._replace(base_timestamp=1 << 62)
    said = assert_same(twins, [part], ALL, None, None, None, False, b"t", 0)
    assert said == ("record data at byte 8", "the timestamp is no int64", "")
    appended = part._replace(timestamp_type=1)
    assert assert_same(twins, [appended], ALL, None, None, None, False, b"t", 0)[0] == 2


def test_columns_beyond_32_bits_are_refused_before_there_is_memory_for_them(native: ModuleType) -> None:
    part = part_of([Row(None, bytes(1 << 26))])
    with pytest.raises(OverflowError, match=f"a column of {33 << 26} bytes"):
        native.arrow_columns([part] * 33, (arrow.VALUE,), None, None, None, False, b"t", 0)
    assert native.arrow_columns([part] * 33, (arrow.OFFSET,), None, None, None, False, b"t", 0)[0] == 33


@pytest.mark.parametrize(
    "change",
    [
        {"base_offset": -1},
        {"last_offset_delta": -1},
        {"last_offset_delta": 1 << 31},
        {"base_offset": (1 << 63) - 4},
        {"timestamp_type": 2},
        {"timestamp_type": -2},
        {"leader_epoch": 1 << 31},
        {"records": -2},
        {"records": FRAMED},
        {"records": 1 << 62},
    ],
    ids=str,
)
def test_parts_that_cannot_be(twins: Twins, change: dict[str, int]) -> None:
    said = assert_same(twins, [part_of(ROWS)._replace(**change)], ALL, None, None, None, False, b"t", 0)
    assert not isinstance(said[0], int)


def test_arguments_that_cannot_be(twins: Twins) -> None:
    for columns, partition in (((12,), 0), ((-1,), 0), ((0,), 1 << 31)):
        said = assert_same(twins, [], columns, None, None, None, False, b"t", partition)
        assert said[0] is ValueError
    for twin in twins:
        with pytest.raises((TypeError, IndexError)):
            twin.arrow_columns([(b"", 0)], (), None, None, None, False, b"", 0)
        with pytest.raises(TypeError):
            twin.arrow_columns(7, (), None, None, None, False, b"", 0)


def test_mutated_payloads(twins: Twins) -> None:
    """Same verdict, words and bytes from both."""
    seeded = random.Random(23)
    accepted = 0
    for part in mutated_parts(19, TRIALS // 2):
        columns = tuple(seeded.choice(ALL) for _ in range(seeded.randrange(5)))
        keys = seeded.choice((None, None, [b"k1", b"k", None], [b"k%d" % index for index in range(9)]))
        said = assert_same(
            twins, [part], columns, seeded.choice((None, None, 5)), None, keys, seeded.random() < 0.1, b"t", 3
        )
        accepted += isinstance(said[0], int)
    assert TRIALS // 100 < accepted < TRIALS // 4


def test_mutated_runs(twins: Twins) -> None:
    accepted = 0
    for part in mutated_runs(20, TRIALS // 4):
        accepted += isinstance(assert_same(twins, [part], ALL, None, None, None, False, b"t", 3)[0], int)
    assert TRIALS // 50 < accepted < TRIALS // 4
