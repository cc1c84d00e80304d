"""Timestamps that are no milliseconds: brokers before 3.6 stored any time that a producer gave (KIP-937). Pure."""

from collections.abc import Iterable

from kcli.core.kernels.shapes import Row
from kcli.core.records.run import BatchRun
from kcli.core.records.view import BatchView

MICROSECONDS, NANOSECONDS = 10**14, 10**17
"""From here on a time is in µs, or in ns: as ms they would be after the year 5138, as µs and ns they are after 1973."""


def in_ms(timestamp: int) -> int:
    """A time in µs or ns in ms; another one as it is."""
    if timestamp < MICROSECONDS:
        return timestamp
    return timestamp // (1000 if timestamp < NANOSECONDS else 1_000_000)


def has_finer_times(batch: BatchView) -> bool:
    """Whether a record of the batch has a time in µs or ns."""
    parts: Iterable[BatchView] = batch.batches() if isinstance(batch, BatchRun) else (batch,)
    return any(part.max_timestamp >= MICROSECONDS for part in parts)


def rows_in_ms(rows: Iterable[Row]) -> list[Row]:
    """The records, with times in ms."""
    return [(key, value, headers, in_ms(timestamp)) for key, value, headers, timestamp in rows]
