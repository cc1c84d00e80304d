"""Digests of the records of a partition, the same however its batches are cut, compressed or numbered. Pure.

A digest covers, for each record in order: timestamp, key, value and headers, each with its length, so that null and
empty differ. It does not cover offsets, which differ by the markers and holes of either side. Records are hashed in
chunks of a fixed number; the digest of a partition is that of its chunks' digests. So two partitions can be compared
while both are still being read, and a difference can be narrowed down to one chunk.
"""

import hashlib
from typing import NamedTuple

from kcli.core.kernels import render_ops as op
from kcli.core.kernels.render_ops import Program
from kcli.core.records.view import BatchView
from kcli.core.types import Record

CHUNK_RECORDS = 65_536

_HEADER: Program = (
    (op.LENGTH, op.KEY),
    (op.BYTES, op.KEY, op.RAW, b"", b""),
    (op.LENGTH, op.VALUE),
    (op.BYTES, op.VALUE, op.RAW, b"", b""),
)
_CONTENT: Program = (
    *_HEADER,
    (op.NUMBER, op.HEADER_COUNT),
    (op.LITERAL, b" "),
    (op.HEADERS, op.HEADERS_EACH, _HEADER),
)
_WITH_TIMESTAMP: Program = ((op.NUMBER, op.TIMESTAMP), (op.LITERAL, b" "), *_CONTENT)


class Chunk(NamedTuple):
    """``records`` records from ``first`` on, up to and including offset ``last``."""

    first: int
    last: int
    records: int
    digest: bytes


class PartitionDigest:
    """Receives the batches of a partition in order. ``timestamps`` False leaves timestamps out.

    ``chunks`` are the complete chunks since they were last removed; the caller removes them.
    """

    def __init__(self, *, timestamps: bool = True) -> None:
        self._program = _WITH_TIMESTAMP if timestamps else _CONTENT
        self._total = hashlib.sha256()
        self._chunk = hashlib.sha256()
        self._in_chunk = 0
        self._first = self._last = -1
        self.records = 0
        self.chunks: list[Chunk] = []

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """Adds the records of ``batch`` with offsets from ``first`` up to, not including, ``stop``."""
        while first < stop:
            limit = CHUNK_RECORDS - self._in_chunk
            data, count, last = batch.render(self._program, first, stop - 1, limit=limit)
            if not count:
                return
            if not self._in_chunk:
                self._first = first
            self._chunk.update(data)
            self._in_chunk += count
            self.records += count
            self._last, first = last, last + 1
            if count < limit:
                return
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
        digest = self._chunk.digest()
        self.chunks.append(Chunk(self._first, self._last, self._in_chunk, digest))
        self._total.update(digest)
        self._chunk = hashlib.sha256()
        self._in_chunk = 0


class TopicDigest:
    """A digest of records in any order and of any partition: for copies that choose partitions by key."""

    def __init__(self, *, timestamps: bool = True) -> None:
        self._timestamps = timestamps
        self._sum = 0
        self.records = 0

    def update(self, record: Record) -> None:
        """Adds a record."""
        content = (record.timestamp if self._timestamps else None, record.key, record.value, record.headers)
        self._sum += int.from_bytes(hashlib.sha256(repr(content).encode()).digest())
        self.records += 1

    @property
    def hexdigest(self) -> str:
        """The digest of all records so far."""
        return f"{self._sum % (1 << 256):064x}"
