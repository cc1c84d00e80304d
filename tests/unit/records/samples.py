"""Batches by other hands, for the tests of this folder: Java's from ``golden/``, kafka-python's built on the spot."""

import struct
from pathlib import Path

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kcli.core.records.builder import BatchBuilder

JAVA = {
    name: bytes.fromhex(content)
    for name, content in (
        line.split() for line in (Path(__file__).parent / "golden" / "golden.txt").read_text().splitlines()
    )
}

Sample = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def kafka_python_batch(records: list[Sample], codec: int, magic: int = 2) -> bytes:
    """A batch, or message set, by kafka-python: ``(timestamp, key, value, headers)``."""
    if magic == 2:
        builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 30)
    else:
        builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
    for offset, (timestamp, key, value, headers) in enumerate(records):
        builder.append(offset, timestamp, key, value, list(headers) if magic == 2 else [])
    built = bytearray(builder.build())
    if magic < 2 and codec:
        # kafka-python leaves a wrapper at offset 0; a broker gives it that of its last message.
        struct.pack_into(">q", built, 0, len(records) - 1)
    return bytes(built)


def own_batch(values: list[bytes], codec: int = 0) -> bytearray:
    """One of ours, to be damaged."""
    builder = BatchBuilder(room=1 << 30, codec=codec)
    assert builder.append_lines(values, 0, 1_700_000_000_000) == len(values)
    return bytearray(b"".join(builder.wire()))
