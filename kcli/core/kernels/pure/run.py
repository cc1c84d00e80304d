"""Runs of adjacent plain batches in Python, processed in one call.

A batch is plain if it has magic 2, is uncompressed, holds no transaction marker, and its header is consistent and
matches its checksum. Small batches are common, and the overhead per batch would exceed the work on their records.
"""

from struct import Struct

from kcli.core.kernels.pure.crc import crc32c
from kcli.core.kernels.pure.decode import decode_columns, decode_values
from kcli.core.kernels.shapes import SMALLEST_RECORD
from kcli.core.kernels.varint import (
    INT64_MAX,
    INT64_MIN,
    Buffer,
    corrupt,
    encode_varint,
    read_varint,
    read_varlong,
)

_HEADER = Struct(
    ">qiibIhiqqqhii"
)  # as in batch.py: base offset, length, leader epoch, magic, CRC, attributes, …
_HEADER_SIZE = _HEADER.size
_LENGTH_END = 12
_CRC_START = 21
_MAGIC = 2
_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20


def walk_batches(
    data: Buffer, start: int, limit: int, transactional: bool, verify: bool
) -> tuple[int, int, int, int]:
    """The longest run of plain batches of one leader epoch in ``data[start:]``; it ends once it has ``limit`` bytes.

    ``transactional``: transactional batches count as plain. ``verify``: checksums are compared. Returns where the run
    ends, its batches, its records, and the offset after the last batch. An empty run ends at ``start``, with an offset
    of −1: the caller must handle what follows, such as a truncated batch, another format, or damage.
    """
    view = memoryview(data)
    refused = _CODEC | _CONTROL | (0 if transactional else _TRANSACTIONAL)
    at, batches, records, then, epoch = start, 0, 0, -1, -1
    while at - start < limit and len(view) - at >= _HEADER_SIZE:
        base, length, leader_epoch, magic, crc, attributes, last, *_, count = _HEADER.unpack_from(view, at)
        end = at + _LENGTH_END + length
        if magic != _MAGIC or attributes & refused or end > len(view) or (batches and leader_epoch != epoch):
            break
        room = length + _LENGTH_END - _HEADER_SIZE
        if room < 0 or not 0 <= count <= min(room // SMALLEST_RECORD, last + 1) or last < 0:
            break
        if base < 0 or base < then or base > INT64_MAX - last - 1:
            break
        if verify and crc32c(view[at + _CRC_START : end]) != crc:
            break
        at, then, epoch = end, base + last + 1, leader_epoch
        batches += 1
        records += count
    return at, batches, records, then


def decode_run(
    data: Buffer, first_offset: int, last_offset: int, delimiter: bytes, null: bytes
) -> tuple[bytes, int]:
    """Values of all records with offsets in ``[first_offset, last_offset]``, each followed by ``delimiter``.

    ``data`` is exactly a run as found by ``walk_batches``. Like ``decode_values`` for each batch: a null is written as
    ``null``, every record is validated, inside the range or not; CorruptRecordsError with the position in its batch's
    payload. Batches that do not fill the data exactly are a ValueError.
    """
    view = memoryview(data)
    _check_run(view)
    pieces: list[bytes] = []
    at = written = 0
    while at < len(view):
        base, length, *_, count = _HEADER.unpack_from(view, at)
        end = at + _LENGTH_END + length
        low, high = max(0, first_offset - base), min(last_offset - base, 0x7FFF_FFFF)
        output, some = decode_values(view[at + _HEADER_SIZE : end], count, low, high, delimiter, null)
        pieces.append(output)
        written += some
        at = end
    return b"".join(pieces), written


def join_run(data: Buffer) -> tuple[bytes, int, int, int]:
    """The records of all batches as those of one: consecutive offset deltas from 0, timestamps relative to the first's.

    ``data`` as for ``decode_run``; errors too. Keys, values and headers keep their bytes. Returns the encoded records,
    how many there are, the first one's timestamp and the highest (−1 without any). ValueError if the timestamps are too
    far apart for one batch.
    """
    view = memoryview(data)
    _check_run(view)
    pieces: list[bytes] = []
    stamps: list[int] = []
    at = 0
    while at < len(view):
        _, length, _, _, _, attributes, _, base, highest, *_, count = _HEADER.unpack_from(view, at)
        payload = bytes(view[at + _HEADER_SIZE : at + _LENGTH_END + length])
        start = 0
        for delta in decode_columns(payload, count).timestamp_deltas:
            stamp = highest if attributes & _APPEND_TIME else base + delta
            if not INT64_MIN <= stamp <= INT64_MAX:
                corrupt(start, "the timestamp is no int64")
            stamps.append(stamp)
            size, body = read_varint(payload, start)
            _, rest = read_varlong(payload, body + 1)
            _, rest = read_varint(payload, rest)
            start = body + size
            pieces.append(payload[rest:start])
        at += _LENGTH_END + length
    if (stamps and max(stamps) - stamps[0] > INT64_MAX) or (stamps and min(stamps) - stamps[0] < INT64_MIN):
        raise ValueError("the timestamps are too far apart for one batch")
    records = [
        b"".join((b"\0", encode_varint(stamp - stamps[0]), encode_varint(index), piece))
        for index, (stamp, piece) in enumerate(zip(stamps, pieces, strict=True))
    ]
    output = b"".join([encode_varint(len(record)) + record for record in records])
    return output, len(records), stamps[0] if stamps else -1, max(stamps, default=-1)


def _check_run(view: memoryview) -> None:
    at = 0
    while at < len(view):
        if len(view) - at >= _HEADER_SIZE:
            size = _LENGTH_END + _HEADER.unpack_from(view, at)[1]
            if _HEADER_SIZE <= size <= len(view) - at:
                at += size
                continue
        raise ValueError("the data is no run of batches")
