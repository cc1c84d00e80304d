"""The kernel ``arrow_columns`` in Python: records of batches and runs as the buffers of Arrow columns.

It first reads all records of all parts, and then makes one column after the other, so an error of the records precedes
one of the columns.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.kernels.arrow_ops import (
    FRAMED,
    HEADERS,
    HEADERS_PACKED,
    INT32_MAX,
    KEY,
    KEY_TEXT,
    LEADER_EPOCH,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    TIMESTAMP_TYPE,
    TIMESTAMP_TYPES,
    TOPIC,
    VALUE,
    VALUE_TEXT,
    Array,
    ArrowPart,
    Converted,
    Parts,
)
from kcli.core.kernels.pure.decode import decode_columns
from kcli.core.kernels.pure.headers import walk_headers
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN, corrupt

_HEADER = Struct(">qiibIhiqqqhii")  # as in pure/run.py
_LENGTH_END = 12
_APPEND_TIME = 0x08
_APPENDED = 1
_NONE = -1  # as a timestamp, its type, or a leader epoch


class Row(NamedTuple):
    """A record that is wanted."""

    offset: int
    timestamp: int
    timestamp_type: int
    leader_epoch: int
    key: bytes | None
    value: bytes | None
    headers: bytes


def arrow_columns(
    parts: Parts,
    columns: Sequence[int],
    since: int | None,
    until: int | None,
    keys: Sequence[bytes | None] | None,
    not_null: bool,
    topic: bytes,
    partition: int,
) -> Converted:
    """The chosen ``columns`` (see ``arrow_ops``) of the records of all parts that pass the predicates.

    ``since`` and ``until``: timestamps in ms, the second exclusive; a record without a timestamp passes neither.
    ``keys``: the key is one of these, where None stands for a null. ``not_null``: the key is not null. All records are
    validated as in ``decode_columns``, wanted or not, and their offsets must increase up to the batch's last.

    CorruptRecordsError with the position in the payload of a batch; UnicodeError for a header name that is not UTF-8;
    OverflowError for a column that does not fit 32-bit offsets; ValueError for arguments that cannot be.
    """
    unknown = next((code for code in columns if code not in _FILLERS), None)
    if unknown is not None:
        raise ValueError(f"there is no column {unknown}")
    if not -INT32_MAX - 1 <= partition <= INT32_MAX:
        raise ValueError(f"there is no partition {partition}")
    wanted = _filter(since, until, keys, not_null)
    rows: list[Row] = []
    seen = 0
    for part in [check_part(ArrowPart._make(part)) for part in parts]:
        for batch in batches_of(part) if part.records == FRAMED else (part,):
            found = list(rows_of(batch))
            seen += len(found)
            rows += filter(wanted, found)
    ends = (rows[0].offset, rows[-1].offset) if rows else (-1, -1)
    return len(rows), seen, *ends, tuple(_FILLERS[code](rows, topic, partition) for code in columns)


# --- records ------------------------------------------------------------------------------------------


def check_part(part: ArrowPart) -> ArrowPart:
    if (
        part.timestamp_type not in (_NONE, 0, _APPENDED)
        or not -INT32_MAX - 1 <= part.leader_epoch <= INT32_MAX
    ):
        raise ValueError(
            f"a part has timestamp type {part.timestamp_type} and leader epoch {part.leader_epoch}"
        )
    return part


def _filter(
    since: int | None, until: int | None, keys: Sequence[bytes | None] | None, not_null: bool
) -> Callable[[Row], bool]:
    by_time = since is not None or until is not None
    low = INT64_MIN if since is None else since
    high = INT64_MAX if until is None else min(until, INT64_MAX)
    chosen = None if keys is None else set(keys)

    def wanted(row: Row) -> bool:
        if by_time and (row.timestamp == _NONE or not low <= row.timestamp < high):
            return False
        if not_null and row.key is None:
            return False
        return chosen is None or row.key in chosen

    return wanted


def batches_of(run: ArrowPart) -> Iterator[ArrowPart]:
    """The batches of a run as parts; ValueError where its bytes are none."""
    view = memoryview(run.data)
    at = 0
    while at < len(view):
        size = 0
        if len(view) - at >= _HEADER.size:
            base, length, epoch, _, _, attributes, last, first_time, max_time, *_, count = (
                _HEADER.unpack_from(view, at)
            )
            size = _LENGTH_END + length
        if not _HEADER.size <= size <= len(view) - at:
            raise ValueError("the data is no run of batches")
        yield ArrowPart(
            data=view[at + _HEADER.size : at + size],
            records=count,
            base_offset=base,
            last_offset_delta=last,
            base_timestamp=first_time,
            max_timestamp=max_time,
            timestamp_type=_APPENDED if attributes & _APPEND_TIME else 0,
            leader_epoch=epoch,
            first=run.first,
            last=run.last,
        )
        at += size


def rows_of(part: ArrowPart) -> Iterator[Row]:
    """The records at the wanted offsets of a batch, all of which are checked before the first is returned."""
    base, last = part.base_offset, part.last_offset_delta
    if base < 0 or not 0 <= last <= INT32_MAX or base > INT64_MAX - last:
        raise ValueError("the offsets of a batch cannot be")
    found = decode_columns(part.data, part.records)
    appended = part.timestamp_type == _APPENDED
    before, start = -1, 0
    for delta, time, end in zip(found.offset_deltas, found.timestamp_deltas, found.header_ends, strict=True):
        if delta <= before:
            corrupt(start, f"the offset delta {delta} follows {before}")
        if delta > last:
            corrupt(start, f"the offset delta is {delta}, the last should be {last}")
        if not appended and not INT64_MIN <= part.base_timestamp + time <= INT64_MAX:
            corrupt(start, "the timestamp is no int64")
        before, start = delta, end
    data = bytes(part.data)
    for delta, time, key, key_end, value, value_end, headers, end, _ in zip(*found, strict=True):
        if part.first <= base + delta <= part.last:
            yield Row(
                base + delta,
                part.max_timestamp if appended else part.base_timestamp + time,
                part.timestamp_type,
                part.leader_epoch,
                None if key < 0 else data[key:key_end],
                None if value < 0 else data[value:value_end],
                data[headers:end],
            )


# --- columns ------------------------------------------------------------------------------------------


def _validity(nulls: Sequence[bool]) -> bytes | None:
    """A bit of 0 for each null; None where there are none."""
    if not any(nulls):
        return None
    bits = bytearray((len(nulls) + 7) // 8)
    for index, null in enumerate(nulls):
        bits[index // 8] |= (not null) << index % 8
    return bytes(bits)


def _packed(kind: str, numbers: Iterable[int]) -> bytes:
    return array(kind, numbers).tobytes()


def _numbers(kind: str, numbers: Sequence[int], *, null: int | None = None) -> Array:
    nulls = [number == null for number in numbers]
    data = _packed(kind, [0 if missing else number for number, missing in zip(numbers, nulls, strict=True)])
    return len(numbers), sum(nulls), (_validity(nulls), data), ()


def bytes_array(items: Sequence[bytes | None]) -> Array:
    """A column of binary or utf8."""
    sizes = [len(item or b"") for item in items]
    _check_size(sum(sizes))
    nulls = [item is None for item in items]
    buffers = (_validity(nulls), _ends(sizes), b"".join([item or b"" for item in items]))
    return len(items), sum(nulls), buffers, ()


def _ends(sizes: Iterable[int]) -> bytes:
    """Arrow's offsets of entries of these sizes: 0, then where each entry ends."""
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    return _packed("i", ends)


def _check_size(size: int) -> None:
    if size > INT32_MAX:
        raise OverflowError(f"a column of {size} bytes or entries")


def _text(data: bytes | None) -> bytes | None:
    """The bytes if they are UTF-8."""
    try:
        if data is not None:
            data.decode()
    except UnicodeDecodeError:
        return None
    return data


def _headers(rows: Sequence[Row]) -> Array:
    names: list[bytes] = []
    values: list[bytes | None] = []
    counts: list[int] = []
    for row in rows:
        bounds: list[tuple[int, int, int, int]] = []
        walk_headers(row.headers, 0, len(row.headers), bounds)
        counts.append(len(bounds))
        for name, name_end, value, value_end in bounds:
            names.append(row.headers[name:name_end])
            values.append(row.headers[value:value_end] if value >= 0 else None)
            if _text(names[-1]) is None:
                raise UnicodeError(f"a header name of the record at offset {row.offset} is not UTF-8")
    _check_size(len(names))
    pairs: Array = (len(names), 0, (None,), (bytes_array(names), bytes_array(values)))
    return len(rows), 0, (None, _ends(counts)), (pairs,)


def _timestamp_type(row: Row) -> bytes | None:
    return None if row.timestamp_type == _NONE else TIMESTAMP_TYPES[row.timestamp_type]


_Filler = Callable[[list[Row], bytes, int], Array]
_FILLERS: dict[int, _Filler] = {
    OFFSET: lambda rows, _topic, _partition: _numbers("q", [row.offset for row in rows]),
    TIMESTAMP: lambda rows, _topic, _partition: _numbers("q", [row.timestamp for row in rows], null=_NONE),
    TIMESTAMP_TYPE: lambda rows, _topic, _partition: bytes_array([_timestamp_type(row) for row in rows]),
    KEY: lambda rows, _topic, _partition: bytes_array([row.key for row in rows]),
    VALUE: lambda rows, _topic, _partition: bytes_array([row.value for row in rows]),
    KEY_TEXT: lambda rows, _topic, _partition: bytes_array([_text(row.key) for row in rows]),
    VALUE_TEXT: lambda rows, _topic, _partition: bytes_array([_text(row.value) for row in rows]),
    HEADERS: lambda rows, _topic, _partition: _headers(rows),
    HEADERS_PACKED: lambda rows, _topic, _partition: bytes_array([row.headers for row in rows]),
    LEADER_EPOCH: lambda rows, _topic, _partition: _numbers(
        "i", [row.leader_epoch for row in rows], null=_NONE
    ),
    TOPIC: lambda rows, topic, _partition: bytes_array([topic] * len(rows)),
    PARTITION: lambda rows, _topic, partition: _numbers("i", [partition] * len(rows)),
}
