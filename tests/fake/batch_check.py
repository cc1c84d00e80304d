"""What a broker checks of a produced batch before it looks at its producer. Raises RefusedError; stores nothing."""

import struct
import time
from collections.abc import Callable
from typing import Any

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC, RecordBatch
from kcli.core.types import Codec, TopicPartition
from tests.fake.codes import Code, RefusedError

_FIRST_WITH_ZSTD = 7
_AHEAD_MS = 3_600_000  # message.timestamp.after.max.ms of Kafka 4
_PEEK = 17
FIRST_WITH_RECORD_ERRORS = 8
_POLICY = "cleanup.policy"
_BEFORE, _AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
NO_TIMESTAMP = -1


def only_batch(records: Any, version: int) -> RecordBatch:
    """The one batch in a partition's records, a memoryview or None. A partial one behind it is dropped silently."""
    data = memoryview(b"") if records is None else records
    if len(data) < _PEEK:
        raise RefusedError(Code.INVALID_RECORD, "no record batch")
    if data[16] != MAGIC:
        raise RefusedError(Code.INVALID_RECORD, f"magic {data[16]}")
    sizes = _whole_batches(data)
    if not sizes:
        raise RefusedError(Code.INVALID_RECORD, "the batch is cut off")
    if len(sizes) > 1:
        raise RefusedError(Code.INVALID_RECORD, "more than one batch for a partition")
    batch = RecordBatch(data[: sizes[0]])
    if batch.codec == Codec.ZSTD and version < _FIRST_WITH_ZSTD:
        raise RefusedError(Code.UNSUPPORTED_COMPRESSION_TYPE)
    return batch


def check_batch(batch: RecordBatch, max_bytes: int) -> None:
    """Size, checksum, and a header that does not contradict itself."""
    if batch.size > max_bytes:
        raise RefusedError(Code.MESSAGE_TOO_LARGE, f"{batch.size} bytes, {max_bytes} are allowed")
    if crc32c(batch.raw[CRC_START:]) != batch.crc:
        raise RefusedError(Code.CORRUPT_MESSAGE, "the checksum is wrong")
    if batch.base_offset != 0:
        raise RefusedError(Code.INVALID_RECORD, f"base offset {batch.base_offset}")
    if batch.is_control:
        raise RefusedError(Code.INVALID_RECORD, "clients do not write control records")
    if batch.count <= 0 or batch.last_offset_delta + 1 != batch.count:
        raise RefusedError(
            Code.INVALID_RECORD, f"{batch.count} records, last offset delta {batch.last_offset_delta}"
        )
    if batch.producer_id >= 0 and (batch.base_sequence < 0 or batch.producer_epoch < 0):
        raise RefusedError(Code.INVALID_RECORD, f"sequence {batch.base_sequence} of an idempotent producer")


def check_records(
    batch: RecordBatch, version: int, tp: TopicPartition, config: Callable[[str, str], str]
) -> None:
    """Each record: it can be read, offsets are dense, a compacted topic gets keys, no time is out of range.

    As LogValidator: all records are checked, and named with the reason from Produce v8 on (KIP-467). Brokers before
    that call a missing key CORRUPT_MESSAGE.
    """
    try:
        columns = batch.columns()
    except CorruptRecordsError as error:
        raise RefusedError(Code.INVALID_RECORD, str(error)) from None
    if list(columns.offset_deltas) != list(range(batch.count)):
        raise RefusedError(Code.INVALID_RECORD, "offset deltas are not dense")
    keyless = (
        [i for i, key in enumerate(columns.key_starts) if key < 0] if "compact" in config(_POLICY, "") else []
    )
    if keyless and version < FIRST_WITH_RECORD_ERRORS:
        raise RefusedError(Code.CORRUPT_MESSAGE)
    now = int(time.time() * 1000)
    first, last = now - int(config(_BEFORE, str(now))), now + int(config(_AFTER, str(_AHEAD_MS)))
    times = [batch.base_timestamp + delta for delta in columns.timestamp_deltas]
    late = {
        index: f"Timestamp {stamp} of message with offset {index} is out of range. The timestamp should be within "
        f"[{first}, {last}]"
        for index, stamp in enumerate(times)
        if config("message.timestamp.type", "CreateTime") == "CreateTime"
        and stamp != NO_TIMESTAMP
        and not first <= stamp <= last
    }
    reason = f"Compacted topic cannot accept message without key in topic partition {tp}"
    found = late | dict.fromkeys(keyless, reason)
    if late:
        raise RefusedError(
            Code.INVALID_TIMESTAMP,
            "One or more records have been rejected due to invalid timestamp",
            records=found,
        )
    if found:
        raise RefusedError(
            Code.INVALID_RECORD,
            f"One or more records have been rejected due to {len(found)} record errors in total, and only showing the "
            "first three errors at most: "
            f"{[f'RecordError(batchIndex={i}, message={m!r})' for i, m in sorted(found.items())[:3]]}",
            records=found,
        )


def _whole_batches(data: memoryview) -> list[int]:
    sizes = []
    at = 0
    while len(data) - at >= HEADER_SIZE:
        (length,) = struct.unpack_from(">i", data, at + 8)
        size = LENGTH_END + length
        if size < HEADER_SIZE or at + size > len(data):
            break
        sizes.append(size)
        at += size
    return sizes
