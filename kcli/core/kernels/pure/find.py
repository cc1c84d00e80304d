"""Searching kernel in Python: which records have some bytes in their key or value. The specification of the C twin."""

from array import array

from kcli.core.kernels.pure.decode import decode_columns
from kcli.core.kernels.shapes import Columns
from kcli.core.kernels.varint import Buffer


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


def find_in_records(payload: Buffer, count: int, in_key: bool, needle: bytes, at: int) -> tuple[bytes, bytes]:
    """A byte for each record, 1 where ``needle`` stands in its key or value; and where each of these starts and ends.

    The second are pairs of native int64, for those with a 1 only, and count from ``at`` bytes in front of ``payload``.
    A null holds nothing, not even the empty needle. All ``count`` records are checked as in :func:`decode_columns`.
    """
    return find_in_columns(bytes(payload), decode_columns(payload, count), in_key, needle, at)
