"""Encoding kernels in Python: records of a magic-2 batch from values, keys and header blocks.

They build one list of pieces with ``map`` and slice assignment and join it once: no Python statement runs per record
on the common paths. The results are the specification for the C twin.

A record is: length, attributes (0), timestamp delta, offset delta, key length, key, value length, value, headers.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import Generic, TypeVar

from kcli.core.kernels.shapes import Row
from kcli.core.kernels.varint import (
    INT64_MAX,
    INT64_MIN,
    cached_varint,
    encode_varint,
    varint_range,
    varint_size,
)

_T = TypeVar("_T")

_CHUNK = 8192  # records measured in one step: bounds the wasted work when a batch is full
_FEW = 8  # up to this many lines are encoded one by one: the tables only pay off for more
_CACHED_LENGTH = 2048  # longer values are not cached: the lookup is negligible compared to their copy
_BORDERS = tuple(1 << bits for bits in (6, 13, 20, 27, 34))  # first delta of a longer varint


def encode_record(
    key: bytes | None,
    value: bytes | None,
    headers: bytes,
    offset_delta: int,
    timestamp_delta: int,
) -> bytes:
    """One record; ``headers`` is a block from ``encode_headers``."""
    return _record(key, value, headers, cached_varint(offset_delta), cached_varint(timestamp_delta))


def encode_lines(
    lines: Sequence[bytes],
    start: int,
    first_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    headers: bytes,
    room: int,
) -> tuple[bytes, int, int]:
    """Encodes ``lines[start:]`` with one key and one header block, as many as fit ``room`` bytes.

    ``first_delta`` is the offset delta of the first of them; the others follow consecutively. Returns the encoded
    records, how many lines were encoded and the size in bytes.
    """
    total = len(lines) - start
    if total <= _FEW:
        rows = [(key, line, headers, timestamp_delta) for line in lines[start:]]
        return encode_rows(rows, 0, first_delta, 0, room)
    timestamp = cached_varint(timestamp_delta)
    key_part = b"\x01" if key is None else cached_varint(len(key)) + key
    pieces: list[bytes] = []
    taken = size = 0
    while taken < total:
        delta = first_delta + taken
        width = varint_size(delta)
        at = start + taken
        mean = size // taken if taken else len(lines[at]) + 8
        values = lines[at : min(at + _step(room - size, mean, delta, width), start + total)]
        count, used = _line_shape(timestamp, width, key_part, headers).add(pieces, values, delta, room - size)
        taken += count
        size += used
        if count < len(values):
            break
    return b"".join(pieces), taken, size


def encode_keyed(
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    start: int,
    first_delta: int,
    timestamp_delta: int,
    headers: bytes,
    room: int,
) -> tuple[bytes, int, int]:
    """Like :func:`encode_lines`, with a key for each value; both may hold nulls (``None``)."""
    timestamp = cached_varint(timestamp_delta)
    pieces: list[bytes] = []
    taken = size = 0
    total = min(len(keys), len(values)) - start
    while taken < total:
        delta = first_delta + taken
        width = varint_size(delta)
        at = start + taken
        mean = size // taken if taken else len(keys[at] or b"") + len(values[at] or b"") + 8
        end = min(at + _step(room - size, mean, delta, width), start + total)
        count, used = _keyed_shape(timestamp, width, headers).add(
            pieces, keys[at:end], values[at:end], delta, room - size
        )
        taken += count
        size += used
        if count < end - at:
            break
    return b"".join(pieces), taken, size


def encode_rows(
    rows: Sequence[Row], start: int, first_delta: int, base_timestamp: int, room: int
) -> tuple[bytes, int, int]:
    """The general case: ``rows[start:]`` are ``(key, value, header block, timestamp)`` of each record."""
    pieces: list[bytes] = []
    size = 0
    for chunk in range(start, len(rows), _CHUNK):
        some = rows[chunk : chunk + _CHUNK]
        offsets = varint_range(first_delta + len(pieces), len(some))
        for offset, (key, value, headers, timestamp) in zip(offsets, some, strict=True):
            time = timestamp - base_timestamp
            if not INT64_MIN <= time <= INT64_MAX:  # such a record must start the next batch
                return b"".join(pieces), len(pieces), size
            record = _record(key, value, headers, offset, _varints[time])
            end = size + len(record)
            if end > room:
                return b"".join(pieces), len(pieces), size
            size = end
            pieces.append(record)
    return b"".join(pieces), len(pieces), size


def _record(key: bytes | None, value: bytes | None, headers: bytes, offset: bytes, time: bytes) -> bytes:
    if key is None:
        key_part = b"\x00%b%b\x01" % (time, offset)
    else:
        key_part = b"\x00%b%b%b%b" % (time, offset, _varints[len(key)], key)
    if value is None:
        body = b"%b\x01%b" % (key_part, headers)
    else:
        body = b"%b%b%b%b" % (key_part, _varints[len(value)], value, headers)
    return _varints[len(body)] + body


def _step(room: int, mean: int, delta: int, width: int) -> int:
    """How many records to measure next: about what fits, all with offset deltas of the same ``width``."""
    return min(_CHUNK, max(0, room) // max(1, mean) + 16, _BORDERS[width - 1] - delta)


class _LineShape:
    """What the records share except value and offset: tables by the value's length, filled on use."""

    __slots__ = ("headers", "heads", "sizes", "tails")

    def __init__(self, timestamp: bytes, width: int, key_part: bytes, headers: bytes) -> None:
        fixed = 1 + len(timestamp) + width + len(key_part) + len(headers)
        constant = b"\x00" + timestamp
        varints = _record_lengths(fixed)
        self.sizes = _record_sizes(fixed)
        self.heads = _Table(lambda length: headers + varints[length] + constant)
        self.tails = _line_tails(key_part)
        self.headers = headers

    def add(self, pieces: list[bytes], values: Sequence[bytes], delta: int, room: int) -> tuple[int, int]:
        """Appends the pieces of as many ``values`` as fit ``room``; returns how many, and how many bytes."""
        lengths = list(map(len, values))
        if lengths.count(lengths[0]) == len(lengths):
            return self._add_equal(pieces, values, delta, room)
        count, used = _fitting(list(map(self.sizes.__getitem__, lengths)), room)
        if not count:
            return 0, 0
        del lengths[count:]  # the batch is full: these remain for the next one
        block = [b""] * (4 * count)
        block[0::4] = map(self.heads.__getitem__, lengths)
        block[1::4] = varint_range(delta, count)
        block[2::4] = map(self.tails.__getitem__, lengths)
        block[3::4] = values[:count]
        self._attach(pieces, block)
        return count, used

    def _add_equal(
        self, pieces: list[bytes], values: Sequence[bytes], delta: int, room: int
    ) -> tuple[int, int]:
        length = len(values[0])
        size = self.sizes[length]
        count = min(len(values), max(0, room // size))
        if not count:
            return 0, 0
        block = [self.heads[length]] * (4 * count)
        block[1::4] = varint_range(delta, count)
        block[2::4] = [self.tails[length]] * count
        block[3::4] = values[:count]
        self._attach(pieces, block)
        return count, size * count

    def _attach(self, pieces: list[bytes], block: list[bytes]) -> None:
        # A head begins with the previous record's header block, which saves a piece per record.
        block[0] = block[0][len(self.headers) :]
        pieces += block
        pieces.append(self.headers)


class _KeyedShape:
    """Like :class:`_LineShape`, for records with individual keys; a length of −1 means null."""

    __slots__ = ("headers", "heads", "parts", "sizes", "varints")

    def __init__(self, timestamp: bytes, width: int, headers: bytes) -> None:
        fixed = 1 + len(timestamp) + width + len(headers)
        constant = b"\x00" + timestamp
        self.parts = _Table(_part)
        self.sizes = _Table(lambda parts: _whole(fixed + parts))
        self.heads = _Table(lambda parts: encode_varint(fixed + parts) + constant)
        self.headers = headers

    def add(
        self,
        pieces: list[bytes],
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        delta: int,
        room: int,
    ) -> tuple[int, int]:
        """Appends the pieces of as many records as fit ``room``; returns how many, and how many bytes."""
        key_lengths = [-1 if key is None else len(key) for key in keys]
        value_lengths = [-1 if value is None else len(value) for value in values]
        part = self.parts.__getitem__
        bodies = list(map(add, map(part, key_lengths), map(part, value_lengths)))
        count, used = _fitting(list(map(self.sizes.__getitem__, bodies)), room)
        block = [self.headers] * (7 * count)
        block[0::7] = map(self.heads.__getitem__, bodies[:count])
        block[1::7] = varint_range(delta, count)
        block[2::7] = map(_varints.__getitem__, key_lengths[:count])
        block[3::7] = [key or b"" for key in keys[:count]]
        block[4::7] = map(_varints.__getitem__, value_lengths[:count])
        block[5::7] = [value or b"" for value in values[:count]]
        pieces += block
        return count, used


_line_shape = lru_cache(maxsize=16)(_LineShape)
_keyed_shape = lru_cache(maxsize=16)(_KeyedShape)


@lru_cache(maxsize=16)
def _record_sizes(fixed: int) -> "_Table[int]":
    """Length of a value -> size of its record. Shared by all timestamps, which change with every chunk of input."""
    return _Table(lambda length: _whole(fixed + _part(length)))


@lru_cache(maxsize=16)
def _record_lengths(fixed: int) -> "_Table[bytes]":
    """Length of a value -> the length prefix of its record, as a varint."""
    return _Table(lambda length: encode_varint(fixed + _part(length)))


@lru_cache(maxsize=16)
def _line_tails(key_part: bytes) -> "_Table[bytes]":
    """Length of a value -> the key followed by that length."""
    return _Table(lambda length: key_part + encode_varint(length))


def _part(length: int) -> int:
    """The size of a key or value including its length prefix."""
    return varint_size(length) + max(0, length)


def _whole(body: int) -> int:
    return varint_size(body) + body


def _fitting(sizes: list[int], room: int) -> tuple[int, int]:
    """How many of the first records fit, and their total size."""
    used = sum(sizes)
    if used <= room:
        return len(sizes), used
    ends = list(accumulate(sizes))
    count = bisect_right(ends, room)
    return count, ends[count - 1] if count else 0


class _Table(dict[int, _T], Generic[_T]):
    """A function of a length, cached for the usual lengths."""

    def __init__(self, make: Callable[[int], _T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, length: int) -> _T:
        found = self._make(length)
        if abs(length) <= _CACHED_LENGTH:
            self[length] = found
        return found


_varints = _Table(encode_varint)
