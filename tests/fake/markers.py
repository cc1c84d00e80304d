"""Control batches that end a transaction in a partition: attributes 0x30, one record, commit or abort (KIP-98)."""

import struct

from kcli.core.kernels.active import crc32c, encode_record
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.records.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END, MAGIC

TRANSACTIONAL, CONTROL = 0x10, 0x20
_ABORT, _COMMIT = 0, 1
_CRC_AT = CRC_START - 4


def marker(
    producer_id: int, epoch: int, *, committed: bool, now_ms: int, coordinator_epoch: int = 0
) -> bytes:
    """The batch, at base offset 0."""
    key = struct.pack(">hh", 0, _COMMIT if committed else _ABORT)
    value = struct.pack(">hi", 0, coordinator_epoch)
    record = encode_record(key, value, NO_HEADERS, 0, 0)
    header = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        header, 0,
        0, HEADER_SIZE + len(record) - LENGTH_END, -1, MAGIC, 0, TRANSACTIONAL | CONTROL, 0,
        now_ms, now_ms, producer_id, epoch, -1, 1,
    )  # fmt: skip
    return sealed(header + record)


def sealed(batch: bytearray) -> bytes:
    """The batch with its checksum made right."""
    struct.pack_into(">I", batch, _CRC_AT, crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)
