"""Batches as brokers store them and clients do not write them: compacted, empty, of old formats. Not a test."""

import struct
import zlib
from collections.abc import Mapping, Sequence

from kcli.core.codecs.compression import compress
from kcli.core.kernels.active import encode_headers, encode_record
from kcli.core.records.batch import HEADER, HEADER_SIZE, LENGTH_END, MAGIC
from tests.fake.markers import sealed

Content = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int]
"""Key, value, headers, milliseconds after the batch's base timestamp."""

BASE = 1_700_000_000_000


def compacted(records: Mapping[int, Content], last: int, codec: int = 0) -> bytes:
    """A batch with records at these offset deltas only; ``last`` is its last offset delta, which compaction keeps."""
    data = b"".join(
        encode_record(key, value, encode_headers(list(headers)), delta, later)
        for delta, (key, value, headers, later) in records.items()
    )
    payload = compress(codec, data, None) if codec else data
    newest = BASE + max((row[3] for row in records.values()), default=0)
    header = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        header, 0,
        0, HEADER_SIZE + len(payload) - LENGTH_END, -1, MAGIC, 0, codec, last,
        BASE, newest, -1, -1, -1, len(records),
    )  # fmt: skip
    return sealed(header + payload)


def message(offset: int, key: bytes | None, value: bytes | None, *, magic: int) -> bytes:
    """A message of magic 0, or of magic 1 with timestamp ``BASE``."""
    body = struct.pack(">bb", magic, 0)
    if magic:
        body += struct.pack(">q", BASE)
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body
