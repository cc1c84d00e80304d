"""Digests of the records of a partition, the same however its batches are cut, compressed or numbered. Pure.

A digest covers, for each record in order: timestamp, key, value and headers, each with its length, so that null and
empty differ. It does not cover offsets, which differ by the markers and holes of either side. Each chunk of a fixed
number of records has a digest of its own; the digest of a partition is that of its chunks' digests. So two partitions can
be compared while both are still being read, and a difference can be narrowed down to one chunk.

Digests detect accidents, not records that were made to have the same digest (``core/kernels/pure/digest.py``).
"""

from hashlib import blake2b
from typing import NamedTuple

from kcli.core.kernels.shapes import DIGEST_SIZE, NO_RECORDS
from kcli.core.records.view import BatchView

CHUNK_RECORDS = 65_536


class Chunk(NamedTuple):
    """``records`` records from offset ``first`` up to and including offset ``last``."""

    first: int
    last: int
    records: int
    digest: bytes


class PartitionDigest:
    """Receives the batches of a partition in order. ``timestamps`` False leaves timestamps out.

    ``chunks`` are the complete chunks since they were last removed; the caller removes them.
    """

    def __init__(self, *, timestamps: bool = True) -> None:
        self._timestamps = timestamps
        self._total = blake2b(digest_size=DIGEST_SIZE)
        self._chunk = NO_RECORDS
        self._in_chunk = 0
        self._first = self._last = -1
        self.records = 0
        self.chunks: list[Chunk] = []

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """Adds the records of ``batch`` with offsets from ``first`` up to, not including, ``stop``."""
        found = batch.digest(
            first,
            stop,
            self._chunk,
            room=CHUNK_RECORDS - self._in_chunk,
            chunk=CHUNK_RECORDS,
            timestamps=self._timestamps,
        )
        for digest, count, first_offset, last_offset in found:
            if not self._in_chunk:
                self._first = first_offset
            self._chunk, self._last = digest, last_offset
            self._in_chunk += count
            self.records += count
            if self._in_chunk == CHUNK_RECORDS:
                self._end_chunk()

    def finish(self) -> None:
        """Ends the last chunk."""
        if self._in_chunk:
            self._end_chunk()

    @property
    def hexdigest(self) -> str:
        """The digest of all chunks so far."""
        return self._total.hexdigest()

    def _end_chunk(self) -> None:
        self.chunks.append(Chunk(self._first, self._last, self._in_chunk, self._chunk))
        self._total.update(self._chunk)
        self._chunk = NO_RECORDS
        self._in_chunk = 0
