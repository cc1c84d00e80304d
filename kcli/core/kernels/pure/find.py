"""The search kernel in Python: which records contain some bytes in key or value. Specifies the C twin."""

from kcli.core.kernels.pure.decode import decode_columns
from kcli.core.kernels.shapes import find_in_columns
from kcli.core.kernels.varint import Buffer


def find_in_records(payload: Buffer, count: int, in_key: bool, needle: bytes, at: int) -> tuple[bytes, bytes]:
    """A byte for each record, 1 if its key or value contains ``needle``; and the start and end of these fields.

    The second are pairs of native int64, only for records with a 1, counted from ``at`` bytes before ``payload``. A
    null contains nothing, not even the empty needle. All ``count`` records are validated as in :func:`decode_columns`.
    """
    return find_in_columns(bytes(payload), decode_columns(payload, count), in_key, needle, at)
