"""Searching keys or values whose places are known: for the formats before magic 2, and for the Python kernel."""

from array import array

from kcli.core.records.shapes import Columns


def find_in_columns(
    data: bytes, columns: Columns, in_key: bool, needle: bytes, at: int
) -> tuple[bytes, bytes]:
    """What ``find_in_records`` gives, of the records that have these ``columns`` in ``data``."""
    starts, ends = (
        (columns.key_starts, columns.key_ends) if in_key else (columns.value_starts, columns.value_ends)
    )
    found, ranges = bytearray(len(starts)), array("q")
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start >= 0 and data.find(needle, start, end) >= 0:
            found[index] = 1
            ranges.extend((at + start, at + end))
    return bytes(found), ranges.tobytes()
