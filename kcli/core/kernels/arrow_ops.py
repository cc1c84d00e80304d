"""Arguments and result of ``arrow_columns``: records of batches as columns of Apache Arrow.

Buffers have Arrow's layouts: numbers in the byte order of the machine, 32-bit offsets, validity bitmaps with the least
significant bit first and only where something is null. Tested in ``tests/parity/test_arrow.py``.
"""

from collections.abc import Sequence

from kcli.core.classes import NamedTuple
from kcli.core.kernels.varint import Buffer

OFFSET = 0
"""int64."""
TIMESTAMP = 1
"""int64, ms since the epoch; null for −1."""
TIMESTAMP_TYPE = 2
"""utf8: CreateTime or LogAppendTime; null for records of magic 0, which have no timestamp."""
KEY = 3
VALUE = 4
"""binary."""
KEY_TEXT = 5
VALUE_TEXT = 6
"""utf8; null also where the bytes are not UTF-8."""
HEADERS = 7
"""list<struct<key: utf8, value: binary>>; an empty list where there are none."""
HEADERS_PACKED = 8
"""binary: the header block of the record as it is, count included (``decode_headers``)."""
LEADER_EPOCH = 9
"""int32; null for −1."""
TOPIC = 10
"""utf8, the same in all rows."""
PARTITION = 11
"""int32, the same in all rows."""

FRAMED = -1
"""In place of the number of records: the part is a run of whole batches (``walk_batches``), each with its header."""
TIMESTAMP_TYPES = (b"CreateTime", b"LogAppendTime")
INT32_MAX = (1 << 31) - 1


class ArrowPart(NamedTuple):
    """The records of a batch or a run, for ``arrow_columns`` and ``digest_records``. Its offsets from ``first`` to
    ``last``, both included, are wanted.

    In a run, batches have facts of their own: those here are ignored. ``timestamp_type``: 0 CreateTime, 1
    LogAppendTime, −1 none.
    """

    data: Buffer
    records: int
    base_offset: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    timestamp_type: int
    leader_epoch: int
    first: int
    last: int


Array = tuple[int, int, tuple[Buffer | None, ...], tuple["Array", ...]]
"""Length, nulls, buffers (None: no validity bitmap, as nothing is null), children."""

Converted = tuple[int, int, int, int, tuple[Array, ...]]
"""Rows; records at wanted offsets, whether they passed the predicates or not; first and last offset of the rows (−1 for
none); the columns."""

Parts = Sequence[ArrowPart]
