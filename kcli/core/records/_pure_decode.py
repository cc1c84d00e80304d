"""Decoding kernels in Python: positions of keys and values in the payload of a magic-2 batch, or plain values.

The payload is untrusted: every length is checked against the bytes that are there before it is believed, and what
contradicts itself is a CorruptRecordsError with the byte position. The result is the specification of the C twin.

``_parse`` is the whole truth about a record. The loops read eleven bytes at once and settle the usual record (lengths
and deltas of one or two bytes, no headers) without a call; whatever else they meet, wrong or rare, goes to ``_parse``.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812 - it is an exception class
from typing import NamedTuple

from kcli.core.records._pure_headers import skip_headers
from kcli.core.records._pure_stride import take_equal_records
from kcli.core.records.varint import Buffer, corrupt, read_varint, read_varlong

SMALLEST_RECORD = 7  # seven fields of at least one byte each

_WINDOW = Struct("11B")
_PADDING = bytes(11)  # lets the window be read at the last record; no record may end inside it
_CUT = "the payload ends inside a record"


class Columns(NamedTuple):
    """One entry per record in each list. Positions are bytes in the payload; a null starts and ends at −1.

    ``header_starts`` is where the header block (its count) begins, ``header_ends`` is the end of the record.
    """

    offset_deltas: list[int]
    timestamp_deltas: list[int]
    key_starts: list[int]
    key_ends: list[int]
    value_starts: list[int]
    value_ends: list[int]
    header_starts: list[int]
    header_ends: list[int]
    header_counts: list[int]


def decode_columns(payload: Buffer, count: int) -> Columns:
    """Where the fields of all ``count`` records are; the payload must hold exactly these records."""
    size = len(payload)
    _check_count(size, count)
    data = b"".join((payload, _PADDING))
    window = _WINDOW.unpack_from
    rows: list[int] = []  # row after row: extending once a record is cheaper than nine appends
    at = 0
    try:
        for _ in range(count):
            a, b, c, d, e, f, g, h, i, j, k = window(data, at)
            # From here on ``base`` is where the attributes stand and d to k are the bytes behind them.
            if a < 0x80:  # the record length
                base = at + 1
                d, e, f, g, h, i, j, k = c, d, e, f, g, h, i, j
            elif b < 0x80:
                base = at + 2
                a += (b - 1) << 7
            else:
                base = at
                a = 1  # an odd length is a negative one: whatever is not usual ends as odd
            end = base + (a >> 1)
            if d >= 0x80:  # the timestamp delta
                if e >= 0x80:
                    a = 1
                base += 1
                d += (e - 1) << 7
                e, f, g, h, i, j = f, g, h, i, j, k
            if e >= 0x80:  # the offset delta
                e += (f - 1) << 7
                if f < 0x80:
                    base += 1
                    f, g, h = g, h, i
                else:
                    if g >= 0x80:
                        a = 1
                    base += 2
                    e += (g - 1) << 14
                    f, g, h = h, i, j
            if f == 1:  # the key length
                key = key_end = -1
                start = base + 4
            elif f & 0x81:
                a = 1
                key = key_end = start = base
            else:
                key = base + 4
                start = key_end = key + (f >> 1)
                g = data[start]
                h = data[start + 1]
            if g < 0x80:  # the value length
                start += 1
            else:
                if h >= 0x80:
                    a = 1
                start += 2
                g += (h - 1) << 7
            stop = start + (g >> 1)
            if (a | g) & 1 or stop + 1 != end or end > size or data[stop]:
                row = _parse(data, at, size)
                end = row[7]
                rows += row
            else:
                e = (e >> 1) ^ -(e & 1)
                d = (d >> 1) ^ -(d & 1)
                rows += (e, d, key, key_end, start, stop, stop, end, 0)
            at = end
    except (IndexError, StructError):
        corrupt(at, _CUT)
    _check_end(at, size)
    return Columns(*(rows[column :: len(Columns._fields)] for column in range(len(Columns._fields))))


def decode_values(
    payload: Buffer, count: int, first_delta: int, last_delta: int, delimiter: bytes, null: bytes
) -> tuple[bytes, int]:
    """Values of the records with offset deltas in ``[first_delta, last_delta]``, each followed by ``delimiter``.

    A null value is written as ``null``. Returns the output and the number of values in it. All ``count``
    records are checked as in :func:`decode_columns`, inside the range or not.
    """
    size = len(payload)
    _check_count(size, count)
    data = b"".join((payload, _PADDING))
    window = _WINDOW.unpack_from
    values: list[bytes] = []
    append = values.append
    at, done = take_equal_records(data, size, count, first_delta, last_delta, values)
    try:
        for _ in range(count - done):
            a, b, c, d, e, f, g, h, i, j, k = window(data, at)
            # From here on ``base`` is where the attributes stand and d to k are the bytes behind them.
            if a < 0x80:  # the record length
                base = at + 1
                d, e, f, g, h, i, j, k = c, d, e, f, g, h, i, j
            elif b < 0x80:
                base = at + 2
                a += (b - 1) << 7
            else:
                base = at
                a = 1  # an odd length is a negative one: whatever is not usual ends as odd
            end = base + (a >> 1)
            if d >= 0x80:  # the timestamp delta
                if e >= 0x80:
                    a = 1
                base += 1
                e, f, g, h, i, j = f, g, h, i, j, k
            if e >= 0x80:  # the offset delta
                e += (f - 1) << 7
                if f < 0x80:
                    base += 1
                    f, g, h = g, h, i
                else:
                    if g >= 0x80:
                        a = 1
                    base += 2
                    e += (g - 1) << 14
                    f, g, h = h, i, j
            if f == 1:  # the key length
                start = base + 4
            elif f & 0x81:
                a = 1
                start = base
            else:
                start = base + 4 + (f >> 1)
                g = data[start]
                h = data[start + 1]
            if g < 0x80:  # the value length
                start += 1
            else:
                if h >= 0x80:
                    a = 1
                start += 2
                g += (h - 1) << 7
            stop = start + (g >> 1)
            if (a | g) & 1 or stop + 1 != end or end > size or data[stop]:
                e, _, _, _, start, stop, _, end, _ = _parse(data, at, size)
                if first_delta <= e <= last_delta:
                    append(data[start:stop] if start >= 0 else null)
            elif first_delta <= (e >> 1) ^ -(e & 1) <= last_delta:
                append(data[start:stop])
            at = end
    except (IndexError, StructError):
        corrupt(at, _CUT)
    _check_end(at, size)
    if not values:
        return b"", 0
    append(b"")  # so that join ends the last value as well
    return delimiter.join(values), len(values) - 1


def _parse(data: bytes, at: int, size: int) -> tuple[int, int, int, int, int, int, int, int, int]:
    """The record at ``at`` as a row of :class:`Columns`; ``size`` is where the payload ends in ``data``."""
    length, position = read_varint(data, at)
    end = position + length
    if length < 0 or end > size:
        corrupt(at, f"the record length is {length}, {size - position} bytes are left")
    position += 1  # attributes: none are defined, and Java ignores them too
    timestamp_delta, position = read_varlong(data, position)
    offset_delta, position = read_varint(data, position)
    key, position = _parse_bytes(data, position, end, "key")
    key_end = position if key >= 0 else -1
    value, position = _parse_bytes(data, position, end, "value")
    value_end = position if value >= 0 else -1
    headers = position
    header_count, position = skip_headers(data, position, end)
    if position != end:
        corrupt(at, f"the record ends at byte {end}, its fields at {position}")
    return offset_delta, timestamp_delta, key, key_end, value, value_end, headers, end, header_count


def _parse_bytes(data: bytes, at: int, end: int, name: str) -> tuple[int, int]:
    """Where the key or value begins whose length is at ``at`` (−1: null), and the position behind it."""
    length, position = read_varint(data, at)
    if length == -1:
        return -1, position
    if length < 0 or position + length > end:
        corrupt(at, f"the {name} length is {length}, {end - position} bytes are left in the record")
    return position, position + length


def _check_count(size: int, count: int) -> None:
    if count < 0 or count > size // SMALLEST_RECORD:
        corrupt(0, f"{count} records cannot stand in {size} bytes")


def _check_end(position: int, size: int) -> None:
    if position != size:
        corrupt(position, f"{size - position} bytes are left behind the last record")
