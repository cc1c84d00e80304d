"""The quick way for records that all have one shape: same size, no key, no headers, dense offsets.

Values of fixed size are common (sensors, identifiers, benchmarks). Their equal fields stand a fixed stride apart, so
one strided slice compares one byte of the shape in all records. What differs anywhere is left to the general loop.
"""

from itertools import chain
from struct import Struct

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.varint import read_varint, read_varlong, varint_range

_WORTH_IT = 16
_BORDERS = (64, 8192, 1 << 20, 1 << 27)  # first offset delta of a longer varint
_HIGH = bytes(range(0x80, 0x100))


def take_equal_records(
    data: bytes, end: int, count: int, first_delta: int, last_delta: int, values: list[bytes]
) -> tuple[int, int]:
    """Append the wanted values of the leading equal records; the position behind them and how many they were."""
    position = index = 0
    while count - index >= _WORTH_IT:
        try:
            run, size = _take_run(
                data, end, position, count - index, first_delta, last_delta, values
            )
        except (IndexError, CorruptRecordsError):
            break  # the general loop tells what is wrong, and where
        if not run:
            break
        position += run * size
        index += run
    return position, index


def _take_run(
    data: bytes, end: int, position: int, limit: int, first_delta: int, last_delta: int, values: list[bytes]
) -> tuple[int, int]:
    """As above, for records whose offset deltas have one width: how many, of what size; (0, 0) if they differ."""
    length, body = read_varint(data, position)
    offset_at = read_varlong(data, body + 1)[1]
    delta, key_at = read_varint(data, offset_at)
    value_length, value_at = read_varint(data, key_at + 1)
    size = body + length - position
    regular = data[key_at] == 1 and value_length >= 0 and delta >= 0
    if not regular or value_at + value_length + 1 != position + size:
        return 0, 0
    width = key_at - offset_at
    timestamp_width = offset_at - body - 1
    border = next((border for border in _BORDERS if delta < border), 0)
    run = min(limit, (end - position) // size, border - delta)
    if run <= 0 or timestamp_width == 10:  # ten bytes can hold more than an int64
        return 0, 0
    stop = position + run * size

    def column(at: int) -> bytes:
        return data[at:stop:size]

    constant = [*range(position, body), *range(key_at, value_at), position + size - 1]
    if any(column(at) != data[at : at + 1] * run for at in constant) or data[position + size - 1]:
        return 0, 0
    offsets = b"".join(varint_range(delta, run))
    if any(column(offset_at + byte) != offsets[byte::width] for byte in range(width)):
        return 0, 0
    if not column(offset_at - 1).isascii():  # the last byte of a varint, and none before it, is below 0x80
        return 0, 0
    if any(column(at).translate(None, _HIGH) for at in range(body + 1, offset_at - 1)):
        return 0, 0
    low = min(run, max(0, first_delta - delta))
    high = max(low, min(run, last_delta - delta + 1))
    layout = Struct(f"{value_at - position}x{value_length}sx")
    wanted = memoryview(data)[position + low * size : position + high * size]
    values.extend(chain.from_iterable(layout.iter_unpack(wanted)))
    return run, size
