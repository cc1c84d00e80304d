"""Headers of adjacent batches in Python: what a segment holds, without opening a batch."""

from array import array
from struct import Struct

from kcli.core.kernels.pure.crc import crc32c
from kcli.core.kernels.shapes import MOST_EVENTS, SMALLEST_RECORD, Headers
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN, Buffer

_HEADER = Struct(">qiibIhiqqqhii")  # as in batch.py
_HEADER_SIZE = _HEADER.size
_LENGTH_END = 12
_CRC_START = 21
_MAGIC = 2
_CODEC, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_LAST_CODEC = 4
_SLOTS = 256


def scan_batches(
    data: Buffer, start: int, limit: int, after: int, until: int, since: int, verify: bool
) -> Headers:
    """What the headers of the batches of magic 2 in ``data[start:]`` say, see ``Scanned``.

    It ends once it has ``limit`` bytes or as many events as there may be. And it ends before a batch that is not whole,
    contradicts itself, begins below the offset ``after`` or the end of the one before it, is of another leader epoch than
    the first, has its last offset at ``until`` or above or its highest timestamp at ``since`` or above; with ``verify``,
    before one whose checksum is wrong. A caller looks at what is there.
    """
    view = memoryview(data)
    at, then, epoch, begins = start, after, -1, -1
    batches = records = markers = 0
    lowest, highest, highest_at = INT64_MAX, INT64_MIN, -1
    codecs, sizes = [0] * 8, [0] * 32
    writing: dict[int, int] = {}
    events = array("q")
    while at - start < limit and len(view) - at >= _HEADER_SIZE and len(events) < 3 * MOST_EVENTS:
        (
            base, length, leader_epoch, magic, crc, attributes, last, first_time, last_time, producer, *_, count,
        ) = _HEADER.unpack_from(view, at)  # fmt: skip
        size = _LENGTH_END + length
        if magic != _MAGIC or size < _HEADER_SIZE or size > len(view) - at:
            break
        codec = attributes & _CODEC
        if codec > _LAST_CODEC or last < 0 or not 0 <= count <= last + 1:
            break
        if not codec and count > (size - _HEADER_SIZE) // SMALLEST_RECORD:
            break
        if base < 0 or base < then or base > INT64_MAX - last - 1:
            break
        if (batches and leader_epoch != epoch) or base + last >= until or last_time >= since:
            break
        if verify and crc32c(view[at + _CRC_START : at + size]) != crc:
            break
        slot = producer % _SLOTS
        if attributes & _CONTROL:
            markers += 1
            events.extend((base, producer, at))
            if writing.get(slot) == producer:
                del writing[slot]
        else:
            records += count
            if attributes & _TRANSACTIONAL and writing.get(slot) != producer:
                events.extend((base, producer, -1))
                writing[slot] = producer
        if count:
            lowest = min(lowest, first_time)
        if last_time > highest:
            highest, highest_at = last_time, at
        codecs[codec] += 1
        sizes[size.bit_length() - 1] += 1
        begins = begins if batches else base
        batches += 1
        at, then, epoch = at + size, base + last + 1, leader_epoch
    return (
        at, batches, records, markers, begins, then, epoch, lowest, highest, highest_at, tuple(codecs), tuple(sizes),
        events.tobytes(),
    )  # fmt: skip
