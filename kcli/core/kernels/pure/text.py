r"""Text kernels in Python: encode records directly from a region of lines, without an object per record for the caller.

A *region* is ``text[start:end]``: lines that each end with ``delimiter``; text after the last delimiter is a line too,
unless it is empty. ``text`` is bytes or a bytearray, and no reference to it is kept. A line becomes a key and a value:

- with ``key_delimiter`` the key is before its first occurrence, the value after it; a line without it is a value with a
  null key. Without ``key_delimiter`` the line is the value, and ``key`` (or null) is the key of all;
- then a key or value that equals ``null_marker`` becomes null, with ``empty_is_null`` an empty one too. Both apply to
  the content of the line, never to ``key``.

Slices are described in ``kernels/shapes.py``. An empty delimiter, a region outside the text, and malformed slices are a
ValueError.

The results are the specification for the C twins, which release the GIL.
"""

from array import array
from itertools import accumulate, repeat
from operator import add

from kcli.core.kernels.pure.encode import encode_keyed, encode_lines
from kcli.core.kernels.pure.partition import murmur2
from kcli.core.kernels.shapes import PER_SLICE, SLICE_BYTES, Text, gather_slices, slice_columns

_WINDOW = 1 << 16  # the minimum that is split in one step
_SOME = 4096  # slices converted to keys and values in one step


def encode_text(
    text: Text,
    start: int,
    end: int,
    delimiter: bytes,
    key_delimiter: bytes | None,
    key: bytes | None,
    headers: bytes,
    null_marker: bytes | None,
    empty_is_null: bool,
    first_delta: int,
    timestamp_delta: int,
    room: int,
    longest: int,
) -> tuple[bytearray, int, int]:
    """Encodes the region's lines for one partition, in order, as many as fit ``room`` bytes.

    Stops before a line of more than ``longest`` bytes. Returns the encoded records, how many lines were encoded, and
    the position of the first line that was not (``end`` if there is none).
    """
    _check_region(text, start, end, delimiter, key_delimiter)
    plain = key_delimiter is None and null_marker is None and not empty_is_null
    pieces: list[bytes] = []
    taken = size = 0
    position = start
    while position < end and size < room:
        lines, stop = _lines(text, position, end, delimiter, room - size, longest)
        if not lines:
            break
        if plain:
            records, count, used = encode_lines(
                lines, 0, first_delta + taken, timestamp_delta, key, headers, room - size
            )
        else:
            keys, values = _keys_and_values(lines, key_delimiter, key, null_marker, empty_is_null)
            records, count, used = encode_keyed(
                keys, values, 0, first_delta + taken, timestamp_delta, headers, room - size
            )
        pieces.append(records)
        taken += count
        size += used
        if count < len(lines):
            position += sum(map(len, lines[:count])) + count * len(delimiter)
            break
        position = stop
    return bytearray().join(pieces), taken, position


def index_text(
    text: Text,
    start: int,
    end: int,
    delimiter: bytes,
    key_delimiter: bytes | None,
    null_marker: bytes | None,
    empty_is_null: bool,
    longest: int,
) -> tuple[bytes, int, int]:
    """Slices of the region's lines, in order. Stops before a line of more than ``longest`` bytes.

    Without ``key_delimiter`` all keys are null. Returns the slices, the number of their lines, and the position of the
    first line not included.
    """
    _check_region(text, start, end, delimiter, key_delimiter)
    found = array("i")
    position = start
    while position < end:
        lines, stop = _lines(text, position, end, delimiter, end - position, longest)
        if not lines:
            break
        found += _slices(lines, position, delimiter, key_delimiter, null_marker, empty_is_null)
        position = stop
    return found.tobytes(), len(found) // PER_SLICE, position


def group_slices(text: Text, slices: bytes, partitions: int, sticky: int) -> list[tuple[int, bytes, bytes]]:
    """The slices of each partition, in order: by murmur2 of the key as in Java, ``sticky`` for a null key.

    Returns (partition, slices, rows) in ascending order of partition, without empty ones. ``rows`` are packed native
    int32: the indices of these slices among all.
    """
    if partitions < 1:
        raise ValueError(f"the number of partitions must be positive, got {partitions}")
    whole = array("i", slices)
    at, lengths = whole[0::PER_SLICE], whole[1::PER_SLICE]
    numbers = [
        sticky if length < 0 else (murmur2(bytes(text[first : first + length])) & 0x7FFFFFFF) % partitions
        for first, length in zip(at, lengths, strict=True)
    ]
    return gather_slices(slices, numbers)


def encode_slices(
    text: Text,
    slices: bytes,
    start: int,
    headers: bytes,
    first_delta: int,
    timestamp_delta: int,
    room: int,
) -> tuple[bytes, int, int]:
    """Encodes the slices from index ``start`` on, as many as fit ``room`` bytes.

    Returns the encoded records, how many slices were encoded and the size in bytes.
    """
    pieces: list[bytes] = []
    taken = size = 0
    while True:
        keys, values = slice_columns(text, slices, start + taken, _SOME)
        if not values:
            break
        records, count, used = encode_keyed(
            keys, values, 0, first_delta + taken, timestamp_delta, headers, room - size
        )
        pieces.append(records)
        taken += count
        size += used
        if count < len(values):
            break
    return b"".join(pieces), taken, size


def _check_region(text: Text, start: int, end: int, delimiter: bytes, key_delimiter: bytes | None) -> None:
    if start < 0:
        raise ValueError(f"the start is {start}")
    if not delimiter or key_delimiter == b"":
        raise ValueError("a delimiter is empty")
    if end > len(text):
        raise ValueError(f"the region ends at byte {end}, the text at {len(text)}")


def _lines(
    text: Text, start: int, end: int, delimiter: bytes, room: int, longest: int
) -> tuple[list[bytes], int]:
    """About ``room`` bytes of whole lines, at least one if it is not too long; and where the next one begins."""
    stop = min(end, start + max(room, _WINDOW))
    lines = bytes(memoryview(text)[start:stop]).split(delimiter)
    if stop < end and len(lines) == 1:  # not even one whole line
        cut = text.find(delimiter, start, end)
        stop = end if cut < 0 else cut + len(delimiter)
        lines = bytes(memoryview(text)[start:stop]).split(delimiter)
    if stop < end:  # from left to right: an apparent delimiter at the cut may begin before it
        stop -= len(lines.pop())
    elif not lines[-1]:
        lines.pop()
    if stop - start > longest:
        for index, line in enumerate(lines):
            if len(line) > longest:
                del lines[index:]
                return lines, start + sum(map(len, lines)) + index * len(delimiter)
    return lines, stop


def _keys_and_values(
    lines: list[bytes],
    key_delimiter: bytes | None,
    key: bytes | None,
    null_marker: bytes | None,
    empty_is_null: bool,
) -> tuple[list[bytes | None], list[bytes | None]]:
    keys: list[bytes | None] = [key] * len(lines)
    values: list[bytes | None] = list(lines)
    if key_delimiter is not None:
        pairs = [line.partition(key_delimiter) for line in lines]
        keys = [before if found else None for before, found, _ in pairs]
        values = [after if found else before for before, found, after in pairs]
        keys = _nulls(keys, null_marker, empty_is_null)
    return keys, _nulls(values, null_marker, empty_is_null)


def _nulls(values: list[bytes | None], null_marker: bytes | None, empty_is_null: bool) -> list[bytes | None]:
    if empty_is_null:
        values = [value or None for value in values]
    if null_marker is not None:
        values = [None if value == null_marker else value for value in values]
    return values


def _slices(
    lines: list[bytes],
    position: int,
    delimiter: bytes,
    key_delimiter: bytes | None,
    null_marker: bytes | None,
    empty_is_null: bool,
) -> "array[int]":
    count, nothing = len(lines), [0] * len(lines)
    sizes = list(map(len, lines))
    starts = list(accumulate(map(add, sizes, repeat(len(delimiter))), initial=position))[:count]
    key_sizes, key_starts, value_sizes, value_starts = [-1] * count, nothing, sizes, starts
    if key_delimiter is not None:
        reach = len(key_delimiter)
        key_sizes = [line.find(key_delimiter) for line in lines]
        key_starts = [at if size >= 0 else 0 for at, size in zip(starts, key_sizes, strict=True)]
        value_sizes = [
            size - cut - reach if cut >= 0 else size for size, cut in zip(sizes, key_sizes, strict=True)
        ]
        value_starts = [at + whole - size for at, whole, size in zip(starts, sizes, value_sizes, strict=True)]
    if empty_is_null or null_marker is not None:
        keys, values = _keys_and_values(lines, key_delimiter, None, null_marker, empty_is_null)
        for row, (key, value) in enumerate(zip(keys, values, strict=True)):
            if key is None:
                key_starts[row], key_sizes[row] = 0, -1
            if value is None:
                value_starts[row], value_sizes[row] = 0, -1
    found = array("i", bytes(SLICE_BYTES * count))
    for place, column in enumerate((key_starts, key_sizes, value_starts, value_sizes)):
        found[place::PER_SLICE] = array("i", column)
    return found
