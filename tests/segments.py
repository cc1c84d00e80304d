"""Folders of partitions as a broker writes them: segments, indexes, snapshots and checkpoints. Not a test."""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from kcli.core.codecs.compression import compress
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER, LENGTH_END
from tests.parity.plain import record

BASE = 1_700_000_000_000
COMMIT, ABORT = 1, 0
_TRANSACTIONAL, _CONTROL, _APPENDED = 0x10, 0x20, 0x08


def batch(
    offset: int,
    values: Sequence[bytes | None] = (b"v",),
    *,
    times: Sequence[int] | None = None,
    codec: int = 0,
    epoch: int = 0,
    producer: int = -1,
    transactional: bool = False,
    flags: int = 0,
    appended: int | None = None,
    gaps: Sequence[int] | None = None,
) -> bytes:
    """A batch. ``gaps``: its offset deltas; ``appended``: the broker's time."""
    deltas = range(len(values)) if gaps is None else gaps
    stamps = [BASE + offset + delta for delta in deltas] if times is None else times
    body = b"".join(
        record(b"k%d" % (offset + delta), value, b"\0", delta, stamp - stamps[0])
        for delta, value, stamp in zip(deltas, values, stamps, strict=True)
    )
    flags |= codec | (_TRANSACTIONAL if transactional else 0) | (_APPENDED if appended is not None else 0)
    packed = bytes(compress(codec, body))
    highest = max(stamps) if appended is None else appended
    raw = bytearray(
        HEADER.pack(
            offset, HEADER.size - LENGTH_END + len(packed), epoch, 2, 0, flags, deltas[-1], stamps[0], highest,
            producer, 0, -1, len(values),
        )
        + packed
    )  # fmt: skip
    raw[CRC_START - 4 : CRC_START] = crc32c(raw[CRC_START:]).to_bytes(4, "big")
    return bytes(raw)


def marker(offset: int, producer: int, kind: int, *, epoch: int = 0) -> bytes:
    """The end of a transaction."""
    body = record(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0), b"\0", 0, 0)
    return sealed(offset, body, 1, _TRANSACTIONAL | _CONTROL, producer=producer, epoch=epoch)


def sealed(offset: int, body: bytes, count: int, flags: int, *, producer: int = -1, epoch: int = 0) -> bytes:
    """A batch of records as they are stored, with its checksum."""
    time = BASE + offset
    raw = bytearray(
        HEADER.pack(
            offset, HEADER.size - LENGTH_END + len(body), epoch, 2, 0, flags, count - 1, time, time, producer, 0, -1,
            count,
        )
        + body
    )  # fmt: skip
    raw[CRC_START - 4 : CRC_START] = crc32c(raw[CRC_START:]).to_bytes(4, "big")
    return bytes(raw)


def name(offset: int, suffix: str = ".log") -> str:
    """The name of a file of the segment that begins at this offset."""
    return f"{offset:020d}{suffix}"


def header(raw: bytes) -> tuple[int, int, int]:
    """Base offset, last offset and highest timestamp."""
    fields = HEADER.unpack_from(raw)
    return fields[0], fields[0] + fields[6], fields[8]


def write(
    folder: Path, batches: Iterable[bytes], *, base: int | None = None, tail: bytes = b"", every: int = 1
) -> Path:
    """A segment with its indexes: an entry for each ``every`` batches, as a broker makes them while it appends."""
    folder.mkdir(parents=True, exist_ok=True)
    data, index, times = bytearray(), bytearray(), bytearray()
    begins, highest, indexed, holder = base, -1, -1, 0
    for number, raw in enumerate(batches):
        first, last, time = header(raw)
        begins = first if begins is None else begins
        if time > highest:
            highest, holder = time, last
        if number and number % every == 0:
            index += struct.pack(">ii", last - begins, len(data))
            if highest > indexed:
                times += struct.pack(">qi", highest, holder - begins)
                indexed = highest
        data += raw
    assert begins is not None
    if highest > indexed:
        times += struct.pack(">qi", highest, holder - begins)
    path = folder / name(begins)
    path.write_bytes(bytes(data) + tail)
    (folder / name(begins, ".index")).write_bytes(index)
    (folder / name(begins, ".timeindex")).write_bytes(times)
    return path


def aborted_index(rows: Iterable[tuple[int, int, int, int]]) -> bytes:
    """Producer id, first and last offset, last stable offset."""
    return b"".join(struct.pack(">hqqqq", 0, *row) for row in rows)


def snapshot(rows: Iterable[tuple[int, int, int, int, int, int, int, int]]) -> bytes:
    """Producers, as ``producer_snapshot.ProducerState``."""
    body = [struct.pack(">qhiqiqiq", *row) for row in rows]
    covered = struct.pack(">i", len(body)) + b"".join(body)
    return struct.pack(">hI", 1, crc32c(covered)) + covered


def epochs(rows: Iterable[tuple[int, int]]) -> bytes:
    """A leader epoch checkpoint."""
    lines = [f"{epoch} {offset}" for epoch, offset in rows]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()


def offsets(rows: Iterable[tuple[str, int, int]]) -> bytes:
    """A checkpoint of offsets: topic, partition, offset."""
    lines = [f"{topic} {partition} {offset}" for topic, partition, offset in rows]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()
