"""Batches and runs as kernels take them: whole ones made from rows, and ones with mistakes."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcli.core.kernels.arrow_ops import FRAMED, ArrowPart
from kcli.core.records.batch import HEADER, HEADER_SIZE, LENGTH_END
from tests.parity import plain
from tests.parity.damage import GuardedMemory, mutations

EVERYTHING = (0, 1 << 70)
NOW = 1_700_000_000_000


class Row(NamedTuple):
    """A record as it is written; ``headers`` is a block."""

    key: bytes | None
    value: bytes | None
    headers: bytes = plain.header_block(())
    time: int = 0


ROWS = (
    Row(None, None),
    Row(b"", b"", plain.header_block((("h", None), ("é", b""), ("h", b"\xff")))),
    Row(b"k1", "grün".encode(), time=5),
    Row(b"\xff", b"\xed\xa0\x80", plain.header_block((("", b"x"),)), -9),
    Row(b"k2", b"v" * 300, time=1 << 40),
)


def part_of(
    rows: Sequence[Row], base: int = 100, *, kind: int = 0, epoch: int = 7, span: tuple[int, int] = EVERYTHING
) -> ArrowPart:
    """A batch of these records at consecutive offsets."""
    data = b"".join(plain.record(*row[:3], at, row.time) for at, row in enumerate(rows))
    return ArrowPart(data, len(rows), base, max(0, len(rows) - 1), NOW, NOW + 99, kind, epoch, *span)


def framed(parts: Sequence[ArrowPart], *, span: tuple[int, int] = EVERYTHING) -> ArrowPart:
    """A run of these batches."""
    raw = b"".join(
        HEADER.pack(
            part.base_offset, HEADER_SIZE - LENGTH_END + len(part.data), part.leader_epoch, 2, 0,
            8 * part.timestamp_type, part.last_offset_delta, part.base_timestamp, part.max_timestamp,
            -1, -1, -1, part.records,
        )
        + part.data
        for part in parts
    )  # fmt: skip
    return ArrowPart(raw, FRAMED, 0, 0, 0, 0, 0, 0, *span)


# --- with mistakes: each is valid until the next one, in memory where nothing behind it may be read -------------------


def mutated_parts(seed: int, trials: int) -> Iterator[ArrowPart]:
    """Batches with mistakes in their records, and with headers that may not suit them."""
    memory = GuardedMemory(64_000)
    seeded = random.Random(seed)
    for payload, count in mutations(seed, trials):
        yield ArrowPart(
            memory.hold(payload),
            count,
            seeded.choice((0, 5, (1 << 63) - 1 - 9000)),
            seeded.choice((8000, 8999, 300)),
            seeded.choice((0, NOW, -1, (1 << 63) - 1)),
            NOW,
            seeded.choice((0, 0, 1, -1)),
            seeded.choice((3, -1)),
            seeded.choice((0, 5, 8192)),
            seeded.choice((1 << 62, 60, (1 << 63) - 1)),
        )


def mutated_runs(seed: int, trials: int) -> Iterator[ArrowPart]:
    """Runs with changed and lost bytes; some are whole."""
    memory = GuardedMemory(4_000)
    seeded = random.Random(seed)
    whole = [bytes(framed([part_of(ROWS[:count], base) for base in (0, 50, 90)]).data) for count in (1, 3, 5)]
    for _ in range(trials):
        raw = memory.hold(_damaged(seeded.choice(whole), seeded))
        yield ArrowPart(raw, FRAMED, 0, 0, 0, 0, 0, 0, 0, seeded.choice((60, 1 << 62)))


def _damaged(whole: bytes, seeded: random.Random) -> bytearray:
    raw = bytearray(whole)
    for _ in range(seeded.randrange(3)):
        at = seeded.randrange(len(raw))
        if seeded.random() < 0.2:
            del raw[at:]
            break
        raw[at] = seeded.choice((0, 1, 0x7F, 0x80, 0xFF, raw[at] ^ 1))
    return raw
