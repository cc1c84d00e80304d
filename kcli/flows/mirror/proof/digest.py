"""Digests of the records of a partition, the same however its batches are cut, compressed or numbered. Pure.

A digest covers, for each record in order: timestamp, key, value and headers, each with its length, so that null and
empty differ. It does not cover offsets, which differ by the markers and holes of either side. Each chunk of records has
a digest of its own; the digest of a partition is that of its chunks' digests. So two partitions can be compared while
both are still being read, and a difference can be narrowed down to one chunk.

A chunk is a fixed number of records (``PartitionDigest``), or, where it is known which offsets correspond, the records of
a fixed number of source offsets (``AlignedDigest``): then a record that one side lacks changes no chunk but its own.

Digests detect accidents, not records that were made to have the same digest (``core/kernels/pure/digest.py``).
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.kernels.active import decode_headers, encode_headers
from kcli.core.kernels.shapes import DIGEST_SIZE, NO_HEADERS, NO_RECORDS, DigestPiece, Row
from kcli.core.records.passing import offsets_taken, rows_taken
from kcli.core.records.view import BatchView
from kcli.flows.mirror.copy.offset_map import Piece

CHUNK_RECORDS = 65_536
_ALL = 1 << 62
_ROW = Struct(">qqq")

Digester = Callable[[BatchView, int, int, bytes, int, int], list[DigestPiece]]
"""The digests of the records of a batch from an offset up to, not including, another one; what follows is as in
``digest_records``: the digest of the chunk so far, how many records it takes more, and how many a chunk has.
"""


class Chunk(NamedTuple):
    """``records`` records from offset ``first`` up to and including offset ``last``.

    ``number``: of its source offsets, counted in sizes of a chunk; of no meaning where offsets do not correspond.
    """

    first: int
    last: int
    records: int
    digest: bytes
    number: int = -1


class Surplus(NamedTuple):
    """``records`` records from offset ``first`` up to and including offset ``last`` that belong to no chunk."""

    first: int
    last: int
    records: int
    digest: bytes


def folded(digest: str, surplus: Iterable[Surplus]) -> str:
    """The digest of a partition (hexadecimal) with that of records that are in none of its chunks."""
    found = blake2b(bytes.fromhex(digest), digest_size=DIGEST_SIZE)
    for one in surplus:
        found.update(one.digest)
    return found.hexdigest()


def plain_digester(*, timestamps: bool = True) -> Digester:
    """Digests of records as they are stored. ``timestamps`` False leaves timestamps out."""

    def digest(
        batch: BatchView, first: int, stop: int, before: bytes, room: int, chunk: int
    ) -> list[DigestPiece]:
        return batch.digest(first, stop, before, room=room, chunk=chunk, timestamps=timestamps)

    return digest


def row_digester(change: Callable[[Row], Row | None], *, timestamps: bool = True) -> Digester:
    """Digests of records as ``change`` returns them, without those for which it returns None. They are decoded one by
    one, and their digests are comparable with each other only.
    """

    def digest(
        batch: BatchView, first: int, stop: int, before: bytes, room: int, chunk: int
    ) -> list[DigestPiece]:
        pieces: list[DigestPiece] = []
        count, begin, last = 0, -1, -1
        for offset, row in zip(
            offsets_taken(batch, first, stop), rows_taken(batch, first, stop), strict=True
        ):
            changed = change(row)
            if changed is None:
                continue
            before = blake2b(
                before + _encoded(changed, timestamps=timestamps), digest_size=DIGEST_SIZE
            ).digest()
            count, begin, last = count + 1, begin if count else offset, offset
            if count == room:
                pieces.append(DigestPiece(before, count, begin, last))
                count, before, room = 0, NO_RECORDS, chunk
        if count:
            pieces.append(DigestPiece(before, count, begin, last))
        return pieces

    return digest


def _encoded(row: Row, *, timestamps: bool) -> bytes:
    key, value, headers, timestamp = row
    if headers != NO_HEADERS:
        headers = encode_headers(decode_headers(headers, 0, len(headers)))
    lengths = _ROW.pack(
        timestamp if timestamps else 0,
        -1 if key is None else len(key),
        -1 if value is None else len(value),
    )
    return b"".join((lengths, key or b"", value or b"", headers))


class PartitionDigest:
    """Receives the batches of a partition in order.

    ``chunks`` are the complete chunks since they were last removed; the caller removes them. ``surplus``: records that
    belong to none.
    """

    def __init__(self, digester: Digester | None = None) -> None:
        self._digester = digester or plain_digester()
        self._total = blake2b(digest_size=DIGEST_SIZE)
        self._chunk = NO_RECORDS
        self._in_chunk = 0
        self._first = self._last = -1
        self.records = 0
        self.chunks: list[Chunk] = []
        self.surplus: list[Surplus] = []

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """Adds the records of ``batch`` with offsets from ``first`` up to, not including, ``stop``."""
        room = CHUNK_RECORDS - self._in_chunk
        for piece in self._digester(batch, first, stop, self._chunk, room, CHUNK_RECORDS):
            self._add(piece)
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

    def _add(self, piece: DigestPiece) -> None:
        self._chunk, count, first, self._last = piece
        if not self._in_chunk:
            self._first = first
        self._in_chunk += count
        self.records += count

    def _end_chunk(self, number: int = -1) -> None:
        self.chunks.append(Chunk(self._first, self._last, self._in_chunk, self._chunk, number))
        self._total.update(self._chunk)
        self._chunk = NO_RECORDS
        self._in_chunk = 0


class AlignedDigest(PartitionDigest):
    """A digest whose chunks are those of the source offsets. ``cut`` returns the pieces of a range of offsets, in order:
    of the source's own, or of the target's by the offset map (``OffsetMap.pieces``).
    """

    def __init__(self, cut: Callable[[int, int], Iterable[Piece]], digester: Digester | None = None) -> None:
        super().__init__(digester)
        self._cut = cut
        self._number = -1

    def update(self, batch: BatchView, first: int, stop: int) -> None:
        """See ``PartitionDigest``."""
        for begin, end, number in self._cut(first, stop):
            if number is None:
                self.surplus += (
                    Surplus(at, last, count, piece)
                    for piece, count, at, last in self._digester(batch, begin, end, NO_RECORDS, _ALL, _ALL)
                )
                continue
            if number != self._number:
                self.finish()
                self._number = number
            for piece in self._digester(batch, begin, end, self._chunk, _ALL, _ALL):
                self._add(piece)

    def finish(self) -> None:
        """See ``PartitionDigest``."""
        if self._in_chunk:
            self._end_chunk(self._number)


def source_pieces(position: int) -> Callable[[int, int], Iterator[Piece]]:
    """Cuts the source's offsets into chunks; those from ``position`` on, which are not copied yet, are in none."""

    def cut(first: int, stop: int) -> Iterator[Piece]:
        at, copied = first, min(stop, position)
        while at < copied:
            end = min(copied, at - at % CHUNK_RECORDS + CHUNK_RECORDS)
            yield Piece(at, end, at // CHUNK_RECORDS)
            at = end
        if at < stop:
            yield Piece(at, stop, None)

    return cut
