"""What the kernels take and give besides plain bytes and numbers, the same for both implementations."""

from typing import NamedTuple

SMALLEST_RECORD = 7  # seven fields of at least one byte each
NO_HEADERS = b"\x00"

Row = tuple[bytes | None, bytes | None, bytes, int]
"""Key, value, header block, timestamp in ms."""


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
