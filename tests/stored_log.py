"""Logs of partitions as brokers leave them in a folder, batch by batch. Not a test."""

import struct
import time
from collections.abc import Sequence
from pathlib import Path

from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import RecordBatch
from kcli.core.records.builder import BatchBuilder

PLAIN = -1


def batch(
    offset: int,
    producer: int = PLAIN,
    key: bytes = b"k",
    value: bytes = b"v",
    flags: int = 0,
    time_ms: int | None = None,
) -> RecordBatch:
    """A batch of one record, in a transaction if it has a producer; its time is now, unless it is given."""
    builder = BatchBuilder(room=10_000)
    builder.append(key, value, (), int(time.time() * 1000) if time_ms is None else time_ms)
    raw = bytearray(b"".join(builder.wire(producer, 0, 0, transactional=producer >= 0)))
    raw[:8] = struct.pack(">q", offset)
    raw[22] |= flags
    raw[17:21] = crc32c(raw[21:]).to_bytes(4, "big")
    return RecordBatch(memoryview(bytes(raw)))


def marker(offset: int, producer: int, *, commit: bool) -> RecordBatch:
    """The end of a transaction."""
    return batch(offset, producer, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), 0x20)


def write_segment(folder: Path, batches: Sequence[RecordBatch]) -> Path:
    """Writes a segment of these batches; returns its path."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{batches[0].base_offset:020}.log"
    path.write_bytes(b"".join(bytes(one.raw) for one in batches))
    return path
