"""Inconsistent columns, both implementations side by side, on memory where nothing behind a buffer may be read."""

import os
import random
import struct
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from kcli.core.kernels.shapes import BytesColumn, HeadersColumn, NumberColumn, RecordColumns
from tests.parity.arrow_layout import Fields, Layout
from tests.parity.damage import TRIALS, GuardedMemory

Twins = tuple[ModuleType, ModuleType]
ODD = (-(1 << 62), -(1 << 31), -2, -1, 0, 1, 12, 13, 300, 1 << 20, (1 << 31) - 1, 1 << 62)


def outcome(function: Callable[..., object], *arguments: object) -> object:
    try:
        return repr(function(*arguments))
    except (ValueError, TypeError) as error:
        return type(error), str(error)


def assert_same(twins: Twins, name: str, *arguments: object) -> str | None:
    """What both give; None where both refuse."""
    pure, native = (outcome(getattr(twin, name), *arguments) for twin in twins)
    assert native == pure, (name, arguments)
    return pure if isinstance(pure, str) else None


# --- what is wrong, and what is said -------------------------------------------------------------------


def bytes_of(offsets: list[int], data: bytes, width: int = 4) -> BytesColumn:
    return BytesColumn(
        width, 0, None, struct.pack(f"={len(offsets)}{'i' if width == 4 else 'q'}", *offsets), (data,)
    )


def viewed(*view: int) -> BytesColumn:
    return BytesColumn(16, 0, None, struct.pack("=iiii", *view), (bytes(20),))


def headed(offsets: list[int], entries: int, names: BytesColumn, valid: bytes | None = None) -> HeadersColumn:
    positions = struct.pack(f"={len(offsets)}i", *offsets)
    return HeadersColumn(4, 0, None, positions, entries, 0, valid, names, bytes_of([0, 0, 0], b""))


GOOD = bytes_of([0, 1, 2], b"ab")
NAMES = bytes_of([0, 1, 2], b"xy")

WRONG = {
    "offsets beyond the data": (
        RecordColumns(1, bytes_of([0, 3], b"ab"), None),
        "row 0: its key is not within",
    ),
    "offsets go backwards": (RecordColumns(2, None, bytes_of([0, 2, 1], b"ab")), "row 1: its value is not"),
    "a negative offset": (
        RecordColumns(1, bytes_of([-1, 1], b"ab", 8), None),
        "row 0: its key is not within",
    ),
    "a negative view": (RecordColumns(1, viewed(-1, 0, 0, 0), None), "row 0: its key is not within"),
    "a view of no buffer": (RecordColumns(1, viewed(13, 0, 1, 0), None), "row 0: its key is not within"),
    "a view beyond its buffer": (RecordColumns(1, viewed(13, 0, 0, 8), None), "row 0: its key is not within"),
    "a view before its buffer": (
        RecordColumns(1, viewed(13, 0, 0, -1), None),
        "row 0: its key is not within",
    ),
    "too few offsets": (RecordColumns(3, GOOD, None), "a buffer of the column of keys is too short"),
    "too few views": (RecordColumns(2, None, viewed(0, 0, 0, 0)), "a buffer of the column of values is too"),
    "too few bits": (RecordColumns(2, GOOD._replace(start=0, valid=b""), None), "of keys is too short"),
    "a negative start": (RecordColumns(1, GOOD._replace(start=-1), None), "of keys is too short"),
    "a start beyond all": (RecordColumns(1, GOOD._replace(start=1 << 61), None), "of keys is too short"),
    "unknown positions": (RecordColumns(1, GOOD._replace(width=2), None), "of keys has positions of 2 bytes"),
    "a negative count": (RecordColumns(-1, None, None), "the number of rows is -1"),
    "a large count": (RecordColumns(1 << 31, None, None), "the number of rows is 2147483648"),
    "headers beyond their entries": (
        RecordColumns(1, None, None, headed([0, 3], 2, NAMES)),
        "row 0: its headers are not within",
    ),
    "headers go backwards": (
        RecordColumns(2, None, None, headed([0, 2, 1], 2, NAMES)),
        "row 1: its headers are not within",
    ),
    "a header that is null": (
        RecordColumns(1, None, None, headed([0, 2], 2, NAMES, b"\x01")),
        "row 0: one of its headers has no name",
    ),
    "a name that is null": (
        RecordColumns(1, None, None, headed([0, 2], 2, NAMES._replace(valid=b"\x02"))),
        "row 0: one of its headers has no name",
    ),
    "a name beyond its data": (
        RecordColumns(1, None, None, headed([0, 2], 2, bytes_of([0, 1, 9], b"xy"))),
        "row 0: its headers are not within",
    ),
    "too few names": (RecordColumns(1, None, None, headed([0, 2], 9, NAMES)), "of header names is too short"),
    "negative entries": (RecordColumns(1, None, None, headed([0, 0], -1, NAMES)), "and -1 entries"),
    "a block with bytes behind": (
        RecordColumns(1, None, None, None, bytes_of([0, 2], b"\0\0")),
        "row 0: its packed headers are no header block",
    ),
    "a block that is cut": (
        RecordColumns(1, None, None, None, bytes_of([0, 3], b"\x02\x02n")),
        "row 0: its packed headers are no header block",
    ),
    "a block beyond its data": (
        RecordColumns(1, None, None, None, bytes_of([0, 3], b"\0")),
        "row 0: its headers are not within",
    ),
    "a time before 1970": (
        RecordColumns(1, None, None, timestamps=NumberColumn(8, 0, None, struct.pack("=q", -2))),
        "row 0: its timestamp is before 1970",
    ),
    "a time just before 1970": (
        RecordColumns(1, None, None, timestamps=NumberColumn(8, 0, None, struct.pack("=q", -1), 1, 1000)),
        "row 0: its timestamp is before 1970",
    ),
    "a time beyond int64": (
        RecordColumns(1, None, None, timestamps=NumberColumn(8, 0, None, struct.pack("=q", 1 << 62), 1000)),
        "row 0: its timestamp is before 1970, or more milliseconds than",
    ),
    "no factor": (
        RecordColumns(1, None, None, timestamps=NumberColumn(8, 0, None, bytes(8), 0)),
        "the factor of timestamps is 0/1",
    ),
    "narrow numbers": (
        RecordColumns(1, None, None, timestamps=NumberColumn(2, 0, None, bytes(8))),
        "of timestamps has numbers of 2 bytes",
    ),
    "too few numbers": (
        RecordColumns(2, None, None, timestamps=NumberColumn(8, 0, None, bytes(15))),
        "of timestamps is too short",
    ),
}


@pytest.mark.parametrize(("columns", "words"), WRONG.values(), ids=WRONG.keys())
def test_wrong_columns_are_refused(kernels: ModuleType, columns: RecordColumns, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.measure_columns(columns, None, 0, columns.length, 1000, 1000)
    with pytest.raises(ValueError, match=words):
        kernels.encode_columns(columns, None, 0, columns.length, 0, None, 0, 1 << 40)


@pytest.mark.parametrize("rows", [[2], [-1], [0, 7], [-(1 << 31)]])
def test_rows_that_are_not_there_are_refused(kernels: ModuleType, rows: list[int]) -> None:
    columns, packed = RecordColumns(2, GOOD, None), array("i", rows).tobytes()
    for call in (
        lambda: kernels.measure_columns(columns, packed, 0, len(rows), 1000, 1000),
        lambda: kernels.encode_columns(columns, packed, 0, len(rows), 0, None, 0, 1000),
        lambda: kernels.group_columns(columns, None, packed, 0, len(rows), 3, 0),
        lambda: kernels.group_values(GOOD, 2, packed, 0, len(rows)),
    ):
        with pytest.raises(ValueError, match=f"row {rows[-1]}: there is no such row"):
            call()


@pytest.mark.parametrize(("start", "stop"), [(-1, 1), (2, 1), (0, 3), (3, 3)])
def test_a_selection_that_is_none_is_refused(kernels: ModuleType, start: int, stop: int) -> None:
    with pytest.raises(ValueError, match=f"rows {start} to {stop} of 2"):
        kernels.measure_columns(RecordColumns(2, GOOD, None), None, start, stop, 1000, 1000)


def test_headers_that_repeat_one_value_until_they_are_too_large(kernels: ModuleType) -> None:
    count = 3000
    views = BytesColumn(16, 0, None, struct.pack("=iiii", 1 << 20, 0, 0, 0) * count, (bytes(1 << 20),))
    names = BytesColumn(16, 0, None, struct.pack("=iiii", 1, 0, 0, 0) * count, ())
    headers = HeadersColumn(4, 0, None, struct.pack("=ii", 0, count), count, 0, None, names, views)
    with pytest.raises(ValueError, match="row 0: its headers have more than 2147483647 bytes"):
        kernels.measure_columns(RecordColumns(1, None, None, headers), None, 0, 1, 1 << 40, 1 << 40)


def test_a_wrong_row_behind_a_full_batch_is_not_read(kernels: ModuleType) -> None:
    columns = RecordColumns(3, None, bytes_of([0, 2, 3, 1], b"abc"))
    assert kernels.encode_columns(columns, None, 0, 3, 0, None, 0, 10)[1] == 1
    assert kernels.measure_columns(columns, None, 0, 3, 40, 100) == (1, 35)


def test_a_wrong_key_is_not_grouped(kernels: ModuleType) -> None:
    columns = RecordColumns(2, bytes_of([0, 2, 1], b"ab"), None)
    with pytest.raises(ValueError, match="row 1: its key is not within"):
        kernels.group_columns(columns, None, None, 0, 2, 3, 0)
    with pytest.raises(ValueError, match="row 1: its value is not within"):
        kernels.group_values(columns.keys, 2, None, 0, 2)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        kernels.group_columns(columns, None, None, 0, 2, 0, 0)


def test_what_is_no_column_is_refused(native: ModuleType) -> None:
    for columns in (
        None,
        (1, None),
        (1, (4, 0), None, None, None, None),
        (1, (4, 0, None, b"", b""), None, None, None, None),
        (1, (4, 0, None, "text", (b"",)), None, None, None, None),
        ("1", None, None, None, None, None),
        (1, (4, 0, None, bytes(8), (b"", 5)), None, None, None, None),
    ):
        with pytest.raises(TypeError):
            native.measure_columns(columns, None, 0, 1, 0, 0)


# --- damage ----------------------------------------------------------------------------------------------


class _Buffer(NamedTuple):
    """Where a buffer is: fields of tuples from the columns on."""

    path: tuple[int, ...]
    data: bytes


def buffers_of(value: Any, path: tuple[int, ...] = ()) -> Iterator[_Buffer]:
    if isinstance(value, bytes):
        yield _Buffer(path, value)
    elif isinstance(value, tuple):
        for at, field in enumerate(value):
            yield from buffers_of(field, (*path, at))


def replaced(value: Any, path: tuple[int, ...], new: Any) -> Any:
    if not path:
        return new
    fields = list(value)
    fields[path[0]] = replaced(fields[path[0]], path[1:], new)
    return type(value)(*fields) if hasattr(value, "_fields") else tuple(fields)


def damaged(seeded: random.Random, columns: RecordColumns, memories: list[GuardedMemory]) -> RecordColumns:
    """Some of its buffers changed, all of them flush against memory that must not be touched."""
    buffers = list(buffers_of(columns))
    wrong = seeded.sample(buffers, min(len(buffers), seeded.choice((0, 1, 1, 2))))
    for memory, (path, data) in zip(memories, buffers, strict=False):
        changed = bytearray(data)
        if _Buffer(path, data) in wrong and data:
            for _ in range(seeded.randrange(1, 4)):
                at = seeded.randrange(len(changed) // 4 + 1) * 4
                odd = struct.pack("=i", seeded.choice(ODD) & 0x7FFFFFFF) if seeded.random() < 0.5 else b"\xff"
                changed[at : at + len(odd)] = odd
            del changed[seeded.choice((len(changed), len(changed), seeded.randrange(len(changed) + 1))) :]
        columns = replaced(columns, path, memory.hold(changed))
    if seeded.random() < 0.1:
        columns = columns._replace(length=max(0, columns.length + seeded.choice((-1, 1, 8))))
    return columns


def test_damaged_columns(twins: Twins) -> None:
    memories = [GuardedMemory(4096) for _ in range(24)]
    seeded = random.Random(19)
    trials = TRIALS // 8 if "KCLI_MUTATIONS" not in os.environ else TRIALS
    accepted = 0
    for trial in range(trials):
        rows: list[Fields] = [
            (
                seeded.choice((None, b"", b"k", bytes(20))),
                seeded.choice((None, b"v" * seeded.randrange(40))),
                seeded.choice((None, [], [("n", b"v")], [("name", None), ("", bytes(14))])),
                seeded.choice((None, -1, 5, 1 << 40)),
            )
            for _ in range(seeded.randrange(1, 9))
        ]
        columns = damaged(seeded, Layout(trial).records(rows, trial % 3 == 0), memories)
        chosen = [None, array("i", [seeded.randrange(len(rows)) for _ in range(5)]).tobytes()][trial % 2]
        stop = columns.length if chosen is None else 5
        if assert_same(
            twins, "encode_columns", columns, chosen, 0, stop, 0, None, 7, seeded.choice((50, 1 << 20))
        ):
            accepted += 1
        assert_same(twins, "measure_columns", columns, chosen, 0, stop, 1 << 20, seeded.choice((60, 1 << 20)))
        assert_same(twins, "group_columns", columns, columns.timestamps, chosen, 0, stop, 3, 0)
        assert_same(twins, "group_values", columns.values, columns.length, chosen, 0, stop)
    assert trials // 5 < accepted < trials


def test_references_are_given_back(native: ModuleType) -> None:
    columns = Layout(8).records([(b"k" * 20, b"v" * 20, [("n", b"x")], 5)] * 9)
    held = [buffer.data for buffer in buffers_of(columns)]
    before = [sys.getrefcount(one) for one in held]
    native.encode_columns(columns, None, 0, 9, 0, None, 0, 1 << 20)
    native.measure_columns(columns, None, 0, 9, 100, 100)
    native.group_columns(columns, columns.timestamps, None, 0, 9, 3, 0)
    native.group_values(columns.values, 9, None, 0, 9)
    for wrong in (columns._replace(length=10_000), columns._replace(timestamps=5)):
        with pytest.raises((ValueError, TypeError)):
            native.measure_columns(wrong, None, 0, 9, 100, 100)
    assert [sys.getrefcount(one) for one in held] == before


def test_timestamps_and_headers_that_change_meanwhile_are_never_written_beyond_the_records(
    native: ModuleType,
) -> None:
    """Arrow's buffers must not change, but numpy's that lie below one can: memory stays whole, and an error is raised."""
    rows: list[Fields] = [(b"k", bytes(400), [("n", b"x" * 9)], 5)] * 4000
    columns = Layout(11).records(rows)
    names = columns.headers.values.positions  # type: ignore[union-attr]
    moving = bytearray(names)
    columns = columns._replace(
        headers=columns.headers._replace(values=columns.headers.values._replace(positions=moving))  # type: ignore[union-attr]
    )
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            moving[len(moving) // 2 :] = bytes(len(moving) - len(moving) // 2)
            moving[:] = names

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(30):
            try:
                native.encode_columns(columns, None, 0, len(rows), 0, None, 0, 1 << 30)
            except (ValueError, BufferError) as error:
                assert "row" in str(error) or "buffer" in str(error)  # noqa: PT017
    finally:
        done.set()
        changer.join()


def test_many_threads_at_once(native: ModuleType) -> None:
    columns = Layout(12).records([(b"k%d" % row, bytes(100), None, row) for row in range(3000)])
    expected = native.encode_columns(columns, None, 0, 3000, 0, None, 0, 1 << 30)
    groups = native.group_columns(columns, None, None, 0, 3000, 7, 0)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(30):
            if native.encode_columns(columns, None, 0, 3000, 0, None, 0, 1 << 30) != expected:
                wrong.append("encoded")
            if native.group_columns(columns, None, None, 0, 3000, 7, 0) != groups:
                wrong.append("grouped")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
