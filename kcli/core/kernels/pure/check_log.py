"""A log file against its indexes in Python: batches of magic 2 are taken one after the other as long as all agrees."""

from struct import Struct

from kcli.core.kernels.pure.crc import crc32c
from kcli.core.kernels.shapes import SMALLEST_RECORD, LogState
from kcli.core.kernels.varint import INT64_MAX, Buffer

_HEADER = Struct(
    ">qiibIhiqqqhii"
)  # as in batch.py: base offset, length, leader epoch, magic, CRC, attributes, …
_LENGTH_END = 12
_CRC_START = 21
_MAGIC = 2
_CODEC, _CONTROL = 0x07, 0x20
_LAST_CODEC = 4
_REACH = 0x7FFF_FFFF  # of the relative offsets of a segment
_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


def check_log(
    data: Buffer,
    origin: int,
    state: LogState,
    entries: bytes,
    times: bytes,
    base: int,
    contiguous: bool,
    interval: int,
) -> LogState:
    """The state behind the batches in ``data`` that agree with themselves, with each other and with both indexes.

    ``data`` is at position ``origin`` of a segment with the base offset ``base``; ``entries`` and ``times`` are the
    entries of its .index and .timeindex. It ends at the first batch that is not whole in ``data``, or with which
    something is wrong or to be looked at: another magic, a marker, another leader epoch than the state's, a contradiction
    in its header, an offset below those before or 2³¹ above ``base``, its checksum; an index entry that is at no batch or
    names an offset that is not behind it, a time that is not the highest up to there; more than ``interval`` bytes
    without an entry. With ``contiguous``, also at an offset that is missing. The caller looks at that batch, and
    continues behind it.
    """
    view = memoryview(data)
    if not 0 <= base < INT64_MAX - _REACH:
        raise ValueError(f"the base offset is {base}")
    if len(state) != len(LogState._fields):
        raise ValueError(f"the state has {len(LogState._fields)} numbers")
    (at, then, epoch, batches, records, missing, entry, indexed_at, time_entry, max_timestamp) = state
    if entry < 0 or time_entry < 0 or then < -1:
        raise ValueError("the state has negative numbers")
    if not 0 <= at - origin <= len(view):
        raise ValueError(f"position {at} is not in the data")
    indexed, timed = len(entries) // _ENTRY.size, len(times) // _TIME_ENTRY.size
    while len(view) - (at - origin) >= _HEADER.size:
        start = at - origin
        first, length, leader_epoch, magic, crc, attributes, delta, _, highest, _, _, _, count = (
            _HEADER.unpack_from(view, start)
        )
        end, codec, last = start + _LENGTH_END + length, attributes & _CODEC, first + delta
        room = end - start - _HEADER.size
        if magic != _MAGIC or room < 0 or end > len(view) or leader_epoch != epoch:
            break
        if attributes & _CONTROL or codec > _LAST_CODEC or not 0 <= count <= delta + 1 or delta < 0:
            break
        if (not codec and count > room // SMALLEST_RECORD) or first < max(base, then) or last - base > _REACH:
            break
        if contiguous and ((then >= 0 and first != then) or count != delta + 1):
            break
        here, now, highest_now = entry, indexed_at, max_timestamp
        offset, position = (
            _ENTRY.unpack_from(entries, entry * _ENTRY.size) if entry < indexed else (0, at + 1)
        )
        before = base + _ENTRY.unpack_from(entries, (entry - 1) * _ENTRY.size)[0] if entry else -1
        if position > at:
            if at - indexed_at > interval:
                break
        elif position < at or not before < first <= base + offset:
            break
        else:
            here, now = entry + 1, at
        if count:
            highest_now = max(max_timestamp, highest)
        time_here = time_entry
        if time_entry < timed:
            timestamp, offset = _TIME_ENTRY.unpack_from(times, time_entry * _TIME_ENTRY.size)
            if base + offset <= last:
                if base + offset < first or timestamp != highest_now or timestamp != highest:
                    break
                time_here = time_entry + 1
        if crc32c(view[start + _CRC_START : end]) != crc:
            break
        missing += delta + 1 - count + (first - then if then >= 0 else 0)
        at, then, entry, indexed_at, time_entry, max_timestamp = (
            origin + end,
            last + 1,
            here,
            now,
            time_here,
            highest_now,
        )
        batches += 1
        records += count
    return LogState(at, then, epoch, batches, records, missing, entry, indexed_at, time_entry, max_timestamp)
