"""The kernel ``mark_runs`` in Python: counts records, and reads the marks at the beginning of their values."""

import re

from kcli.core.kernels.arrow_ops import FRAMED, ArrowPart
from kcli.core.kernels.pure.arrow import batches_of, check_part, rows_of
from kcli.core.kernels.shapes import MARK_DIGITS, MarkedRecords, MarkRun

_NUMBER = re.compile(b"[0-9a-f]{%d} " % MARK_DIGITS)


def mark_runs(part: ArrowPart, magic: bytes, head: int) -> MarkedRecords:
    """The records at the wanted offsets of a batch or run, see ``shapes``.

    A marked value begins with ``magic``; its first ``head`` bytes are the head of the mark, and the sequence number
    follows. A run is continued by the next marked record, if it has the same head and the next number.

    All records are validated as in ``arrow_columns``: CorruptRecordsError with the position in the payload of a batch.
    """
    if len(magic) > head:
        raise ValueError(f"a head of {head} bytes that begins with {len(magic)}")
    part = check_part(ArrowPart._make(part))
    records = size = 0
    runs: list[MarkRun] = []
    for batch in batches_of(part) if part.records == FRAMED else (part,):
        for row in rows_of(batch):
            records += 1
            size += len(row.key or b"") + len(row.value or b"")
            if row.value is not None and row.value.startswith(magic) and _NUMBER.match(row.value, head):
                _add(runs, row.value[:head], int(row.value[head : head + MARK_DIGITS], 16))
    return records, size, runs


def _add(runs: list[MarkRun], head: bytes, number: int) -> None:
    """Adds a marked record to the last run, or begins another."""
    if runs:
        last, first, count = runs[-1]
        if last == head and first + count == number:
            runs[-1] = (head, first, count + 1)
            return
    runs.append((head, number, 1))
