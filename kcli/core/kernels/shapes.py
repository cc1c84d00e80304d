"""Arguments and results of the kernels besides plain bytes and numbers, the same for both implementations.

*Slices* locate keys and values in a text: packed native int32, four per record: key position, key length, value
position, value length; a length of −1 is a null (its position is 0). Positions count from the beginning of ``text``.
"""

from array import array
from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.core.kernels.varint import Buffer

SMALLEST_RECORD = 7  # seven fields of at least one byte each
NO_HEADERS = b"\x00"
PER_SLICE = 4
SLICE_BYTES = 16

Text = bytes | bytearray

Row = tuple[bytes | None, bytes | None, bytes, int]
"""Key, value, header block, timestamp in ms."""


class LogState(NamedTuple):
    """How far a segment was checked, see ``check_log``; the C twin returns a plain tuple of the same numbers."""

    at: int
    """Position in the file of the next batch."""
    then: int
    """The offset behind the last batch; −1: any may come first."""
    epoch: int
    """Of the leader, of the batches that are expected."""
    batches: int
    records: int
    missing: int
    """Offsets without a record."""
    entry: int
    """The next entry of the offset index."""
    indexed_at: int
    """The position that the entry before it has; 0 without one."""
    time_entry: int
    """The next entry of the time index."""
    max_timestamp: int
    """Of all batches with records; −1 without any."""


class BytesColumn(NamedTuple):
    """Byte strings in a layout of Arrow. ``width``: 4 or 8 bytes of an offset into ``data[0]``, or 16 of a view.

    A view is a length, then up to 12 bytes themselves, or 4 of them, the number of a buffer of ``data`` and where they
    begin there. Row 0 is at index ``start`` of ``positions`` (offsets or views) and bit ``start`` of ``valid``.
    """

    width: int
    start: int
    valid: Buffer | None
    positions: Buffer
    data: tuple[Buffer, ...]


class NumberColumn(NamedTuple):
    """Integers of ``width`` 4 or 8 bytes, each meaning ``number * times // per``; row 0 is at index ``start``."""

    width: int
    start: int
    valid: Buffer | None
    numbers: Buffer
    times: int = 1
    per: int = 1


class HeadersColumn(NamedTuple):
    """Lists of headers: those of a row are at its offsets (of ``width`` 4 or 8 bytes) in ``names`` and ``values``.

    ``entries`` is how many headers there are in all; header 0 is bit ``entries_start`` of ``entries_valid``.
    """

    width: int
    start: int
    valid: Buffer | None
    offsets: Buffer
    entries: int
    entries_start: int
    entries_valid: Buffer | None
    names: BytesColumn | None
    values: BytesColumn | None


class RecordColumns(NamedTuple):
    """``length`` records by column; a column that is None is null in all rows. ``packed`` are header blocks.

    A null in ``headers`` or ``packed`` (there is at most one of them) is no headers; ``timestamps`` are in ms.
    """

    length: int
    keys: BytesColumn | None
    values: BytesColumn | None
    headers: HeadersColumn | None = None
    packed: BytesColumn | None = None
    timestamps: NumberColumn | None = None


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


def gather_slices(slices: bytes, numbers: Sequence[int]) -> list[tuple[int, bytes, bytes]]:
    """Like :func:`group_slices`, for partitions already chosen: one for each slice."""
    rows: dict[int, array[int]] = {}
    for row, number in enumerate(numbers):
        group = rows.get(number)
        if group is None:
            group = rows[number] = array("i")
        group.append(row)
    size = SLICE_BYTES
    return [
        (number, b"".join([slices[row * size : row * size + size] for row in group]), group.tobytes())
        for number, group in sorted(rows.items())
    ]


def slice_columns(
    text: Text, slices: bytes, start: int, count: int
) -> tuple[list[bytes | None], list[bytes | None]]:
    """The keys and the values of at most ``count`` slices from index ``start`` on."""
    some = array("i", slices[start * SLICE_BYTES : (start + count) * SLICE_BYTES])
    columns = []
    for first in (0, 2):
        pairs = zip(some[first::PER_SLICE], some[first + 1 :: PER_SLICE], strict=True)
        columns.append([None if length < 0 else bytes(text[at : at + length]) for at, length in pairs])
    return columns[0], columns[1]


def find_in_columns(
    data: bytes, columns: Columns, in_key: bool, needle: bytes, at: int
) -> tuple[bytes, bytes]:
    """As ``find_in_records``, for records with these ``columns`` in ``data``."""
    starts, ends = (
        (columns.key_starts, columns.key_ends) if in_key else (columns.value_starts, columns.value_ends)
    )
    found, ranges = bytearray(len(starts)), array("q")
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start >= 0 and data.find(needle, start, end) >= 0:
            found[index] = 1
            ranges.extend((at + start, at + end))
    return bytes(found), ranges.tobytes()


# --- digest_records (tests/parity/test_digest.py) and mark_runs (tests/parity/test_mark_runs.py) ---

DIGEST_SIZE = 16
"""Bytes of a digest."""
NO_RECORDS = (1).to_bytes(DIGEST_SIZE, "little")
"""The digest of a chunk before its first record."""


class DigestPiece(NamedTuple):
    """``records`` records of one chunk, from offset ``first`` to ``last``; ``digest`` is that of the chunk after them."""

    digest: bytes
    records: int
    first: int
    last: int


MARK_DIGITS = 12
"""Hexadecimal digits (lower case) of a sequence number in a mark; a blank follows them."""

MarkRun = tuple[bytes, int, int]
"""The head of the marks, the first sequence number, and how many records follow each other with numbers one apart."""

MarkedRecords = tuple[int, int, list[MarkRun]]
"""Records, marked or not; bytes of their keys and values; the runs of the marked ones, in the order of the records."""


# --- scan_batches (tests/parity/test_scan.py) ---

MOST_EVENTS = 4096
"""Events after which a scan ends."""

Headers = tuple[int, int, int, int, int, int, int, int, int, int, tuple[int, ...], tuple[int, ...], bytes]
"""The fields of ``Scanned``, as the kernels give them."""


class Scanned(NamedTuple):
    """What the headers of adjacent batches say. ``end`` is where the next batch would begin.

    ``records`` are those of data batches, ``markers`` the control batches. ``first_offset`` is the base offset of the
    first batch (−1 without one), ``next_offset`` the offset after the last one, and ``epoch`` the leader epoch of all.
    ``lowest`` is the lowest base timestamp and ``highest`` the highest of the highest timestamps, of the batch at
    ``highest_at``. ``codecs`` counts batches by codec; ``sizes`` by the number of bits of their size, less one: entry 10
    has those of 1,024 to 2,047 bytes.

    ``events`` are three native int64 each, in the order of the log: base offset, producer id, and the position of a
    control batch, or −1 for data of a transaction. Data is reported at least for a producer's first batch in the scan
    and behind its control batches; not for all that follow.
    """

    end: int
    batches: int
    records: int
    markers: int
    first_offset: int
    next_offset: int
    epoch: int
    lowest: int
    highest: int
    highest_at: int
    codecs: tuple[int, ...]
    sizes: tuple[int, ...]
    events: bytes
