"""Decoding kernels in Python: positions of keys and values in the payload of a magic-2 batch, or plain values.

The payload is untrusted: every length is checked against the available bytes before it is used, and inconsistent data
is a CorruptRecordsError with the byte position. The results are the specification of the C twin.

``_parse`` defines how a record is read. The two loops read eleven bytes at once, the varints before a value (a to k;
after each longer one the rest shifts down), and decode the usual record without a call: deltas and lengths of few
bytes, no headers. A negative number is odd in zigzag form, so "unusual" is marked by making the length odd; a record
that is unusual, or does not end where its length says, goes to ``_parse``, which reads it or raises the error. A
record that ends beyond the payload is detected by where the last one ends, as positions only increase. So the loops may
detect an error late; ``_refuse`` then reads strictly from the start and reports the first one.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812 - it is an exception class
from typing import NoReturn

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.pure.headers import skip_headers
from kcli.core.kernels.pure.stride import take_equal_records
from kcli.core.kernels.shapes import SMALLEST_RECORD, Columns, find_in_columns
from kcli.core.kernels.varint import Buffer, corrupt, read_varint, read_varlong

_WINDOW = Struct("11B")
# The window is read even at the last record, and a fast guess at a key reads up to 127 bytes further: that
# must not fail on a valid record. No record may end in the padding.
_PADDING = bytes(160)
_BLOCK = 256
_CUT = "the payload ends inside a record"


def decode_columns(payload: Buffer, count: int) -> Columns:
    """The positions of the fields of all ``count`` records; the payload must hold exactly these records."""
    size = len(payload)
    _check_count(size, count)
    data = b"".join((payload, _PADDING))
    window = _WINDOW.unpack_from
    rows: list[int] = []  # row by row: one extend per record is cheaper than nine appends
    at = 0
    try:
        for _ in range(count):
            a, b, c, d, e, f, g, h, i, j, k = window(data, at)
            if a < 0x80:  # the record length
                start = at + 5
                end = at + 1 + (a >> 1)
                d, e, f, g, h, i, j, k = c, d, e, f, g, h, i, j
            else:
                start = at + 6
                end = at - 62 + (a + (b << 7) >> 1)
                if b >= 0x80:
                    a = 1
            if d >= 0x80:  # the timestamp delta
                if e >= 0x80:
                    a = 1
                start += 1
                d += (e << 7) - 128
                e, f, g, h, i, j = f, g, h, i, j, k
            if e >= 0x80:  # the offset delta
                e += (f << 7) - 128
                if f < 0x80:
                    start += 1
                    f, g, h = g, h, i
                else:
                    if g >= 0x80:
                        a = 1
                    start += 2
                    e += (g - 1) << 14
                    f, g, h = h, i, j
            if f == 1:  # the key length; 1 is a null
                key = key_end = -1
            else:
                if f & 0x81:
                    a = 1
                key = start
                start = key_end = key + (f >> 1)
                g = data[start]
                h = data[start + 1]
            if g < 0x80:  # the value length
                start += 1
                stop = start + (g >> 1)
            else:
                if h >= 0x80:
                    a = 1
                g += h << 7
                start += 2
                stop = start - 64 + (g >> 1)
            if (a | e | g) & 1 or stop + 1 != end or data[stop]:
                row = _parse(data, at, size)
                end = row[7]
                rows += row
            else:
                rows += (e >> 1, (d >> 1) ^ -(d & 1), key, key_end, start, stop, stop, end, 0)
            at = end
    except (IndexError, StructError, CorruptRecordsError):
        at = -1
    if at != size:
        _refuse(bytes(payload), count)
    return Columns(*(rows[column :: len(Columns._fields)] for column in range(len(Columns._fields))))


def decode_values(
    payload: Buffer, count: int, first_delta: int, last_delta: int, delimiter: bytes, null: bytes
) -> tuple[bytes, int]:
    """Values of the records with offset deltas in ``[first_delta, last_delta]``, each followed by ``delimiter``.

    A null value is written as ``null``. Returns the output and the number of values in it. All ``count`` records are
    validated as in :func:`decode_columns`, inside the range or not.
    """
    size = len(payload)
    _check_count(size, count)
    data = b"".join((payload, _PADDING))
    window = _WINDOW.unpack_from
    at, done, pieces, written = take_equal_records(data, size, count, first_delta, last_delta, delimiter)
    values: list[bytes] = []
    append = values.append
    first, last = first_delta * 2, last_delta * 2  # compared with zigzag numbers
    try:
        # Block by block, so that the memory of one block's values is reused for the next: twice as fast as
        # fresh pages.
        for block in range(done, count, _BLOCK):
            for _ in range(min(_BLOCK, count - block)):
                a, b, c, d, e, f, g, h, i, j, k = window(data, at)
                if a < 0x80:  # the record length
                    start = at + 5
                    end = at + 1 + (a >> 1)
                    d, e, f, g, h, i, j, k = c, d, e, f, g, h, i, j
                else:
                    start = at + 6
                    end = at - 62 + (a + (b << 7) >> 1)
                    if b >= 0x80:
                        a = 1
                if d >= 0x80:  # the timestamp delta
                    if e >= 0x80:
                        a = 1
                    start += 1
                    e, f, g, h, i, j = f, g, h, i, j, k
                if e >= 0x80:  # the offset delta
                    e += (f << 7) - 128
                    if f < 0x80:
                        start += 1
                        f, g, h = g, h, i
                    else:
                        if g >= 0x80:
                            a = 1
                        start += 2
                        e += (g - 1) << 14
                        f, g, h = h, i, j
                if f != 1:  # the key length; 1 is a null
                    if f & 0x81:
                        a = 1
                    start += f >> 1
                    g = data[start]
                    h = data[start + 1]
                if g < 0x80:  # the value length
                    start += 1
                    stop = start + (g >> 1)
                else:
                    if h >= 0x80:
                        a = 1
                    g += h << 7
                    start += 2
                    stop = start - 64 + (g >> 1)
                if (a | e | g) & 1 or stop + 1 != end or data[stop]:
                    e, _, _, _, start, stop, _, end, _ = _parse(data, at, size)
                    if first_delta <= e <= last_delta:
                        append(data[start:stop] if start >= 0 else null)
                elif first <= e <= last:
                    append(data[start:stop])
                at = end
            if values:
                written += len(values)
                append(b"")  # so that join terminates the last value as well
                pieces.append(delimiter.join(values))
                values.clear()
    except (IndexError, StructError, CorruptRecordsError):
        at = -1
    if at != size:
        _refuse(bytes(payload), count)
    return b"".join(pieces), written


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
    """Where the key or value begins whose length is at ``at`` (−1: null), and the position after it."""
    length, position = read_varint(data, at)
    if length == -1:
        return -1, position
    if length < 0 or position + length > end:
        corrupt(at, f"the {name} length is {length}, {end - position} bytes are left in the record")
    return position, position + length


def _check_count(size: int, count: int) -> None:
    if count < 0 or count > size // SMALLEST_RECORD:
        corrupt(0, f"{count} records do not fit into {size} bytes")


def _refuse(payload: bytes, count: int) -> NoReturn:
    """Raises the error of the first invalid record, or of the end of the payload."""
    at, size = 0, len(payload)
    try:
        for _ in range(count):
            at = _parse(payload, at, size)[7]
    except IndexError:
        corrupt(at, _CUT)
    corrupt(at, f"{size - at} bytes are left behind the last record")


def find_in_records(payload: Buffer, count: int, in_key: bool, needle: bytes, at: int) -> tuple[bytes, bytes]:
    """A byte for each record, 1 if its key or value contains ``needle``; and the start and end of these fields.

    The second are pairs of native int64, only for records with a 1, counted from ``at`` bytes before ``payload``. A
    null contains nothing, not even the empty needle. All ``count`` records are validated as in :func:`decode_columns`.
    """
    return find_in_columns(bytes(payload), decode_columns(payload, count), in_key, needle, at)
