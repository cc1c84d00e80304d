"""The check of a segment against its indexes: both implementations stop at the same batch, with the same state."""

import random
import struct
from types import ModuleType

import pytest

from kcli.core.kernels.shapes import LogState
from tests.segments import batch, header, marker

Twins = tuple[ModuleType, ModuleType]
START = LogState(0, -1, 0, 0, 0, 0, 0, 0, 0, -1)
TRIALS = 300


def log_of(batches: list[bytes]) -> tuple[bytes, bytes, bytes]:
    """A log with an entry for each batch but the first in both indexes."""
    base = header(batches[0])[0]
    at, index, times = 0, b"", b""
    for number, raw in enumerate(batches):
        _, last, time = header(raw)
        if number:
            index += struct.pack(">ii", last - base, at)
            times += struct.pack(">qi", time, last - base)
        at += len(raw)
    return b"".join(batches), index, times


def batches_of(seed: random.Random) -> list[bytes]:
    found, offset = [], 0
    for _ in range(seed.randrange(1, 9)):
        if seed.random() < 0.1:
            found.append(marker(offset, 5, 1))
            offset += 1
            continue
        values: list[bytes | None] = [b"v" * seed.randrange(20)] * seed.randrange(1, 6)
        found.append(batch(offset, values, codec=seed.choice((0, 0, 1)), epoch=seed.choice((0,) * 9 + (1,))))
        offset += len(values) + seed.choice((0, 0, 0, 3))
    return found


def both(twins: Twins, *args: object) -> tuple[int, ...]:
    pure, native = (tuple(kernels.check_log(*args)) for kernels in twins)
    assert pure == native
    return pure


def test_a_log_that_agrees_is_taken_whole(kernels: ModuleType) -> None:
    data, index, times = log_of([batch(3 * number + 40, [b"a", None, b"c"]) for number in range(10)])
    found = LogState(*kernels.check_log(data, 0, START, index, times, 40, True, 100))
    assert found == LogState(
        len(data), 70, 0, 10, 30, 0, 9, len(data) - len(data) // 10, 9, found.max_timestamp
    )
    half = len(data) // 2 + 7
    some = LogState(*kernels.check_log(data[:half], 0, START, index, times, 40, True, 100))
    rest = kernels.check_log(data[some.at :], some.at, some, index, times, 40, True, 100)
    assert LogState(*rest) == found
    assert some.batches == 5


@pytest.mark.parametrize(
    ("number", "place", "new"),
    [
        (4, 70, b"\xff"),  # a record
        (4, 7, b"\xff"),  # the base offset
        (4, 15, b"\x01"),  # the leader epoch
        (4, 16, b"\x01"),  # the magic
        (4, 22, b"\x20"),  # control
    ],
)
def test_it_stops_at_what_is_to_be_looked_at(twins: Twins, number: int, place: int, new: bytes) -> None:
    batches = [batch(2 * one, [b"a", b"b"]) for one in range(8)]
    data, index, times = log_of(batches)
    changed = bytearray(data)
    at = sum(map(len, batches[:number]))
    changed[at + place : at + place + 1] = new
    assert both(twins, bytes(changed), 0, START, index, times, 0, True, 1 << 20)[0] == at


@pytest.mark.parametrize("wrong", ["position", "offset", "time", "early", "far"])
def test_it_stops_where_an_index_disagrees(twins: Twins, wrong: str) -> None:
    batches = [batch(2 * one, [b"a", b"b"]) for one in range(8)]
    data, index, times = log_of(batches)
    at = sum(map(len, batches[:4]))
    entries, timed = bytearray(index), bytearray(times)
    interval = 1 << 20
    if wrong == "position":
        entries[28:32] = struct.pack(">i", at - 1)
    elif wrong == "offset":
        entries[24:28] = struct.pack(">i", 7)
    elif wrong == "early":  # what the entry before covers reaches into this batch
        entries[16:20] = struct.pack(">i", 8)
    elif wrong == "time":
        timed[43:44] = b"\xff"
    else:
        entries, interval = bytearray(), at - 1
    assert both(twins, data, 0, START, bytes(entries), bytes(timed), 0, True, interval)[0] == at


def test_missing_offsets_are_counted_or_stopped_at(twins: Twins) -> None:
    data, index, times = log_of([batch(0, [b"a"]), batch(5, [b"a", b"b"], gaps=(0, 3)), batch(9, [b"a"])])
    assert both(twins, data, 0, START, index, times, 0, False, 1 << 20)[3:6] == (3, 4, 6)
    assert both(twins, data, 0, START, index, times, 0, True, 1 << 20)[3:6] == (1, 1, 0)


def test_it_stops_at_an_offset_beyond_the_segment(twins: Twins) -> None:
    first = batch(40, [b"a"])
    for offset, taken in (((1 << 31) + 38, 2), ((1 << 31) + 39, 1), ((1 << 63) - 2, 1)):
        data = first + batch(offset, [b"a", b"b"], times=[1, 1])
        assert both(twins, data, 0, START, b"", b"", 40, False, 1 << 20)[3] == taken


def test_mutated_logs_and_indexes(twins: Twins) -> None:
    seeded = random.Random(39)
    taken = 0
    for _ in range(TRIALS):
        data, index, times = (bytearray(part) for part in log_of(batches_of(seeded)))
        for _ in range(seeded.choice((0, 0, 1, 2))):
            part = seeded.choice((data, data, index, times))
            if part:
                part[seeded.randrange(len(part))] = seeded.choice((0, 1, 0x7F, 0x80, 0xFF))
        size = seeded.choice((len(data), seeded.randrange(len(data) + 1)))
        contiguous = seeded.choice((True, False))
        found = both(
            twins,
            bytes(data[:size]),
            0,
            START,
            bytes(index),
            bytes(times),
            0,
            contiguous,
            seeded.choice((50, 1 << 20)),
        )
        taken += found[3]
    assert taken > TRIALS


def test_arguments_that_make_no_sense_are_refused(kernels: ModuleType) -> None:
    data, index, times = log_of([batch(0, [b"a"])])
    for args in (
        (data, 0, START[:9], index, times, 0, True, 1),
        (data, 0, START._replace(at=-1), index, times, 0, True, 1),
        (data, 0, START._replace(at=len(data) + 1), index, times, 0, True, 1),
        (data, 0, START._replace(entry=-1), index, times, 0, True, 1),
        (data, 0, START, index, times, -1, True, 1),
        (data, 0, START, index, times, (1 << 63) - (1 << 31), True, 1),
    ):
        with pytest.raises(ValueError, match=r"state|position|base offset"):
            kernels.check_log(*args)
