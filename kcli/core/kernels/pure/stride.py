"""The fast path for records of identical shape: same size, no key, no headers, consecutive offsets.

Fixed-size values are common (sensors, identifiers, benchmarks). Their corresponding fields are a fixed stride apart,
so one strided slice compares one byte of the shape in all records. Any difference is left to the general loop.
"""

from itertools import chain
from struct import Struct

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.varint import read_varint, read_varlong, varint_range

_WORTH_IT = 16
_BORDERS = (64, 8192, 1 << 20, 1 << 27)  # first offset delta of a longer varint
_HIGH = bytes(range(0x80, 0x100))
_BLOCK = 256
_END = (b"",)  # so that join terminates the last value as well
_DIFFERENT = (0, 0, 0, Struct(""))


def take_equal_records(
    data: bytes, end: int, count: int, first_delta: int, last_delta: int, delimiter: bytes
) -> tuple[int, int, list[bytes], int]:
    """The leading equal records of ``data[:end]``.

    Returns the position after them, their number, their requested values as pieces of output (each value followed by
    ``delimiter``), and the number of these values.
    """
    position = index = written = 0
    pieces: list[bytes] = []
    while count - index >= _WORTH_IT:
        try:
            run, size, first, layout = _find_run(data, end, position, count - index)
        except (IndexError, CorruptRecordsError):
            break  # the general loop reports what is wrong, and where
        if not run:
            break
        low = min(run, max(0, first_delta - first))
        high = max(low, min(run, last_delta - first + 1))
        for block in range(low, high, _BLOCK):
            stop = min(high, block + _BLOCK)
            wanted = memoryview(data)[position + block * size : position + stop * size]
            # Block by block: the memory of one block's values is reused for the next.
            pieces.append(delimiter.join(chain(chain.from_iterable(layout.iter_unpack(wanted)), _END)))
        written += high - low
        position += run * size
        index += run
    return position, index, pieces, written


def _find_run(data: bytes, end: int, position: int, limit: int) -> tuple[int, int, int, Struct]:
    """Equal records with offset deltas of one width, from ``position`` on.

    Returns how many (0: they differ), their size, the first offset delta, and the layout that extracts the value.
    """
    length, body = read_varint(data, position)
    offset_at = read_varlong(data, body + 1)[1]
    delta, key_at = read_varint(data, offset_at)
    value_length, value_at = read_varint(data, key_at + 1)
    size = body + length - position
    last = position + size - 1  # the header count
    regular = data[key_at] == 1 and value_length >= 0 and delta >= 0
    if not regular or value_at + value_length != last or data[last]:
        return _DIFFERENT
    width = key_at - offset_at
    border = next((border for border in _BORDERS if delta < border), 0)
    run = min(limit, (end - position) // size, border - delta)
    if run <= 0 or offset_at - body > 10:  # a timestamp delta of ten bytes may exceed an int64
        return _DIFFERENT
    stop = position + run * size

    def column(at: int) -> bytes:
        return data[at:stop:size]

    constant = [*range(position, body), *range(key_at, value_at), last]
    if any(column(at) != data[at : at + 1] * run for at in constant):
        return _DIFFERENT
    offsets = b"".join(varint_range(delta, run))
    if any(column(offset_at + byte) != offsets[byte::width] for byte in range(width)):
        return _DIFFERENT
    # Only the width of the timestamp delta must be equal: its last byte, and no earlier one, is below 0x80.
    if not column(offset_at - 1).isascii():
        return _DIFFERENT
    if any(column(at).translate(None, _HIGH) for at in range(body + 1, offset_at - 1)):
        return _DIFFERENT
    return run, size, delta, Struct(f"{value_at - position}x{value_length}sx")
