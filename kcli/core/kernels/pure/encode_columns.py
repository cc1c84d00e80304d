"""Kernels over Arrow columns in Python: the records of a Kafka batch from columns, without an object per record.

Columns are described in ``kernels/shapes.py``. *Rows* selects some of them: packed native int32, or None for all in
order; ``start`` and ``stop`` count in the selection. Buffers come from elsewhere: a position outside of its data, a
header without a name, a header block that is none and a timestamp that Kafka cannot store are a ValueError that names
the row, and nothing outside of a buffer is read.

The results are the specification for the C twins, which release the GIL.
"""

from array import array
from collections.abc import Callable
from struct import unpack_from

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.pure.encode import encode_rows
from kcli.core.kernels.pure.headers import skip_headers
from kcli.core.kernels.pure.partition import murmur2
from kcli.core.kernels.shapes import (
    NO_HEADERS,
    BytesColumn,
    HeadersColumn,
    NumberColumn,
    RecordColumns,
    Row,
)
from kcli.core.kernels.varint import INT64_MAX, Buffer, encode_varint, varint_size

ANYWHERE = -1
_INT32_MAX = (1 << 31) - 1
_INLINE = 12  # bytes of a value that is in its view
_OVERHEAD = 32  # what a record has besides key, value and headers, at most
_SOME = 4096  # rows decoded in one step

_KEY_OUTSIDE = "its key is not within the data of its column"
_VALUE_OUTSIDE = "its value is not within the data of its column"
_HEADERS_OUTSIDE = "its headers are not within the data of their columns"
_NO_NAME = "one of its headers has no name"
_NO_BLOCK = "its packed headers are no header block"
_HEADERS_TOO_LARGE = "its headers have more than 2147483647 bytes"
_NO_TIMESTAMP = "its timestamp is before 1970, or more milliseconds than an int64 holds"


def encode_columns(
    columns: RecordColumns,
    rows: Buffer | None,
    start: int,
    stop: int,
    first_delta: int,
    base_timestamp: int | None,
    now: int,
    room: int,
) -> tuple[bytes, int, int, int, int]:
    """Encodes the selected rows from ``start`` up to ``stop``, as many as fit ``room`` bytes.

    ``base_timestamp`` None is that of the first record; ``now`` is the timestamp of a row that has none. Returns the
    encoded records, how many rows were encoded, the size in bytes, and the timestamps of the first record and of the
    latest one (−1 if there is none).
    """
    select = _selection(columns, rows, start, stop)
    fields = _fields(columns)
    pieces: list[bytes] = []
    taken = size = 0
    first = latest = -1
    fault: ValueError | None = None
    while fault is None and start + taken < stop:
        some: list[Row] = []
        for index in range(start + taken, min(stop, start + taken + _SOME)):
            try:
                key, value, block, stamp = fields(select(index))
            except ValueError as error:
                fault = error
                break
            some.append((key, value, block, now if stamp is None else stamp))
        if some and not taken:
            base_timestamp = some[0][3] if base_timestamp is None else base_timestamp
        records, count, used = encode_rows(some, 0, first_delta + taken, base_timestamp or 0, room - size)
        if count:
            first = first if taken else some[0][3]
            latest = max(latest if taken else some[0][3], *(row[3] for row in some[:count]))
        pieces.append(records)
        taken += count
        size += used
        if count < len(some):
            return b"".join(pieces), taken, size, first, latest
    if fault is not None:
        raise fault
    return b"".join(pieces), taken, size, first, latest


def measure_columns(
    columns: RecordColumns, rows: Buffer | None, start: int, stop: int, room: int, longest: int
) -> tuple[int, int]:
    """Checks the selected rows from ``start`` on, as many as have ``room`` bytes, but at least one.

    Stops before a row of more than ``longest`` bytes. Returns where it stopped, and the size of the rows before; where it
    stopped at once, that of the row that is too long. The size of a row is that of its key, value and header block, and
    32 bytes.
    """
    select = _selection(columns, rows, start, stop)
    fields = _fields(columns)
    size = 0
    for index in range(start, stop):
        key, value, block, _ = fields(select(index))
        own = len(key or b"") + len(value or b"") + len(block) + _OVERHEAD
        if own > longest:
            return index, size if index > start else own
        if own > room - size and index > start:
            return index, size
        size += own
    return stop, size


def group_columns(
    columns: RecordColumns,
    own: NumberColumn | None,
    rows: Buffer | None,
    start: int,
    stop: int,
    partitions: int,
    sticky: int,
) -> list[tuple[int, bytes]]:
    """The selected rows of each partition, in order: (partition, packed int32), in ascending order of partition.

    The partition is the number in ``own`` if it is neither null nor −1, whether it exists or not; else that of the key by
    murmur2 as in Java; ``sticky`` for a null key.
    """
    if partitions < 1:
        raise ValueError(f"the number of partitions must be positive, got {partitions}")
    select = _selection(columns, rows, start, stop)
    key_of = _bytes(columns.keys, columns.length, "keys")
    number_of = _numbers(own, columns.length, "partitions")
    groups: dict[int, list[int]] = {}
    for index in range(start, stop):
        row = select(index)
        number = number_of(row)
        if number is None or number == ANYWHERE:
            key = _found(key_of, row, row, _KEY_OUTSIDE)
            number = sticky if key is None else (murmur2(key) & 0x7FFFFFFF) % partitions
        groups.setdefault(number, []).append(row)
    return [(number, _packed(found)) for number, found in sorted(groups.items())]


def group_values(
    column: BytesColumn, count: int, rows: Buffer | None, start: int, stop: int
) -> list[tuple[bytes | None, bytes]]:
    """The selected rows of each value of ``column``: (value, packed int32), in the order of their first appearance."""
    columns = RecordColumns(count, None, column)
    select = _selection(columns, rows, start, stop)
    value_of = _bytes(column, count, "values")
    groups: dict[bytes | None, list[int]] = {}
    for index in range(start, stop):
        row = select(index)
        groups.setdefault(_found(value_of, row, row, _VALUE_OUTSIDE), []).append(row)
    return [(value, _packed(found)) for value, found in groups.items()]


_Find = Callable[[int], bytes | None]


class _OutsideError(Exception):
    """A position that is not within its data."""


def _packed(rows: list[int]) -> bytes:
    return array("i", rows).tobytes()


def _found(find: _Find, index: int, row: int, why: str) -> bytes | None:
    try:
        return find(index)
    except _OutsideError:
        raise _fault(row, why) from None


def _fault(row: int, why: str) -> ValueError:
    return ValueError(f"row {row}: {why}")


def _selection(columns: RecordColumns, rows: Buffer | None, start: int, stop: int) -> Callable[[int], int]:
    """The row at an index of the selection."""
    if not 0 <= columns.length <= _INT32_MAX:
        raise ValueError(f"the number of rows is {columns.length}")
    count = columns.length if rows is None else len(rows) // 4
    if not 0 <= start <= stop <= count:
        raise ValueError(f"rows {start} to {stop} of {count}")
    if rows is None:
        return lambda index: index
    chosen = memoryview(rows).cast("B")[: 4 * count].cast("i")

    def select(index: int) -> int:
        row = chosen[index]
        if not 0 <= row < columns.length:
            raise _fault(row, "there is no such row")
        return row

    return select


def _bits(valid: Buffer | None, start: int, count: int, name: str) -> Callable[[int], bool]:
    """Whether a row is not null."""
    if valid is None:
        return lambda _: True
    _check_length(len(valid) * 8 - start, count, start, name)
    return lambda row: bool(valid[(start + row) >> 3] >> ((start + row) & 7) & 1)


def _check_length(there: int, needed: int, start: int, name: str) -> None:
    if start < 0 or there < needed:
        raise ValueError(f"a buffer of the column of {name} is too short")


def _bytes(column: BytesColumn | None, count: int, name: str) -> _Find:
    """The value of a row; raises _OutsideError for one that is not within its data."""
    if column is None or not count:
        return lambda _: None
    width, start, valid, positions, data = column
    if width not in (4, 8, 16):
        raise ValueError(f"the column of {name} has positions of {width} bytes")
    is_valid = _bits(valid, start, count, name)
    _check_length(len(positions) // width - start, count + (width < 16), start, name)
    if width == 16:
        return lambda row: _viewed(positions, 16 * (start + row), data) if is_valid(row) else None
    offsets = (
        memoryview(positions).cast("B")[: len(positions) // width * width].cast("i" if width == 4 else "q")
    )
    whole = data[0] if data else b""

    def find(row: int) -> bytes | None:
        if not is_valid(row):
            return None
        at, end = offsets[start + row], offsets[start + row + 1]
        if not 0 <= at <= end <= len(whole):
            raise _OutsideError
        return bytes(whole[at:end])

    return find


def _viewed(views: Buffer, at: int, data: tuple[Buffer, ...]) -> bytes:
    size, _, buffer, position = unpack_from("=iiii", views, at)
    if 0 <= size <= _INLINE:
        return bytes(views[at + 4 : at + 4 + size])
    if size < 0 or not 0 <= buffer < len(data) or not 0 <= position <= len(data[buffer]) - size:
        raise _OutsideError
    return bytes(data[buffer][position : position + size])


def _numbers(column: NumberColumn | None, count: int, name: str) -> Callable[[int], int | None]:
    """The number of a row as it is stored."""
    if column is None or not count:
        return lambda _: None
    width, start, valid, numbers, _, _ = column
    if width not in (4, 8):
        raise ValueError(f"the column of {name} has numbers of {width} bytes")
    is_valid = _bits(valid, start, count, name)
    _check_length(len(numbers) // width - start, count, start, name)
    all_numbers = (
        memoryview(numbers).cast("B")[: len(numbers) // width * width].cast("i" if width == 4 else "q")
    )
    return lambda row: all_numbers[start + row] if is_valid(row) else None


def _timestamps(column: NumberColumn | None, count: int) -> Callable[[int], int | None]:
    """The timestamp of a row in ms, or None. Only among milliseconds, −1 is Kafka's "no timestamp"."""
    stored = _numbers(column, count, "timestamps")
    if column is None or not count:
        return stored
    if column.times < 1 or column.per < 1:
        raise ValueError(f"the factor of timestamps is {column.times}/{column.per}")
    lowest = -1 if column.times == column.per else 0

    def find(row: int) -> int | None:
        number = stored(row)
        if number is None:
            return None
        if number < lowest or number * column.times > INT64_MAX:
            raise _fault(row, _NO_TIMESTAMP)
        return number * column.times // column.per

    return find


def _blocks(columns: RecordColumns) -> Callable[[int], bytes]:
    """The header block of a row."""
    if columns.headers is not None:
        return _listed(columns.headers, columns.length)
    packed = _bytes(columns.packed, columns.length, "packed headers")

    def find(row: int) -> bytes:
        block = _found(packed, row, row, _HEADERS_OUTSIDE)
        if not block or block == NO_HEADERS:
            return NO_HEADERS
        try:
            if skip_headers(block, 0, len(block))[1] == len(block):
                return block
        except CorruptRecordsError:
            pass
        raise _fault(row, _NO_BLOCK)

    return find


def _listed(column: HeadersColumn, count: int) -> Callable[[int], bytes]:
    width, start, valid, offsets, entries, entries_start, entries_valid, names, values = column
    if not count:
        return lambda _: NO_HEADERS
    if width not in (4, 8) or entries < 0:
        raise ValueError(f"the column of headers has positions of {width} bytes and {entries} entries")
    is_valid = _bits(valid, start, count, "headers")
    _check_length(len(offsets) // width - start, count + 1, start, "headers")
    positions = (
        memoryview(offsets).cast("B")[: len(offsets) // width * width].cast("i" if width == 4 else "q")
    )
    is_entry = _bits(entries_valid, entries_start, entries, "headers")
    name_of = _bytes(names, entries, "header names")
    value_of = _bytes(values, entries, "header values")

    def find(row: int) -> bytes:
        if not is_valid(row):
            return NO_HEADERS
        at, end = positions[start + row], positions[start + row + 1]
        if not 0 <= at <= end <= entries:
            raise _fault(row, _HEADERS_OUTSIDE)
        if at == end:
            return NO_HEADERS
        pieces = [encode_varint(end - at)]
        size = len(pieces[0])
        for index in range(at, end):
            name = _found(name_of, index, row, _HEADERS_OUTSIDE) if is_entry(index) else None
            if name is None:
                raise _fault(row, _NO_NAME)
            value = _found(value_of, index, row, _HEADERS_OUTSIDE)
            pieces += (encode_varint(len(name)), name)
            pieces += (b"\x01",) if value is None else (encode_varint(len(value)), value)
            size += (
                varint_size(len(name))
                + len(name)
                + (1 if value is None else varint_size(len(value)) + len(value))
            )
            if size > _INT32_MAX:
                raise _fault(row, _HEADERS_TOO_LARGE)
        return b"".join(pieces)

    return find


def _fields(
    columns: RecordColumns,
) -> Callable[[int], tuple[bytes | None, bytes | None, bytes, int | None]]:
    """Key, value, header block and timestamp of a row, in this order: the first that is wrong is reported."""
    count = columns.length
    key_of = _bytes(columns.keys, count, "keys")
    value_of = _bytes(columns.values, count, "values")
    block_of = _blocks(columns)
    time_of = _timestamps(columns.timestamps, count)
    return lambda row: (
        _found(key_of, row, row, _KEY_OUTSIDE),
        _found(value_of, row, row, _VALUE_OUTSIDE),
        block_of(row),
        time_of(row),
    )
