"""Searching kernel in Python: which records have some bytes in their key or value. The specification of the C twin."""

from kcli.core.records._pure_decode import decode_columns
from kcli.core.records.column_search import find_in_columns
from kcli.core.records.varint import Buffer


def find_in_records(payload: Buffer, count: int, in_key: bool, needle: bytes, at: int) -> tuple[bytes, bytes]:
    """A byte for each record, 1 where ``needle`` stands in its key or value; and where each of these starts and ends.

    The second are pairs of native int64, for those with a 1 only, and count from ``at`` bytes in front of ``payload``.
    A null holds nothing, not even the empty needle. All ``count`` records are checked as in :func:`decode_columns`.
    """
    return find_in_columns(bytes(payload), decode_columns(payload, count), in_key, needle, at)
