"""The records that columns would be sent as. Not a test."""

from kcli.core.arrow.record_columns import ArrowRecords
from kcli.core.kernels.active import decode_headers
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import Header

NOW = 1_700_000_000_000

Sent = tuple[bytes | None, bytes | None, tuple[Header, ...], int]


def rows_of(records: ArrowRecords) -> list[Sent]:
    """Key, value, headers and timestamp of each row, encoded in a batch and read from it."""
    builder = BatchBuilder(room=1 << 30)
    taken = builder.append_columns(records.columns, None, 0, records.columns.length, NOW)
    assert taken == records.columns.length
    if not taken:
        return []
    return [
        (key, value, decode_headers(block, 0, len(block)), time) for key, value, block, time in builder.rows()
    ]
