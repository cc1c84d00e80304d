"""Joins adjacent plain batches of a fetch into one view, so that they are processed in one call.

Small batches (16 KB is Java's default) are numerous and hold few records: the overhead per batch would exceed the work
on the records themselves.
"""

from collections.abc import Iterator, Sequence

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import decode_run, digest_records, mark_runs, walk_batches
from kcli.core.kernels.arrow_ops import FRAMED, ArrowPart
from kcli.core.kernels.render_ops import Program
from kcli.core.kernels.shapes import Columns, DigestPiece, MarkedRecords
from kcli.core.records.batch import HEADER_SIZE, MAGIC, RecordBatch, split_batches
from kcli.core.records.view import BatchView
from kcli.core.types import Record

RUN_BYTES = 1 << 20
"""The size of a large batch, so that output grows no larger than a large batch's."""

_APPENDED = 1  # the timestamp type LogAppendTime


class BatchRun(BatchView):
    """Batches of magic 2, uncompressed, without markers, with their checksums verified if requested.

    Offsets and timestamps in columns are relative to those of the first batch; positions are in ``raw``, which
    includes the batch headers. Fields in which the batches differ (producer, checksum, sequence) are −1 or 0; see
    ``batches``.
    """

    __slots__ = ()

    def __init__(self, raw: memoryview, count: int, next_offset: int) -> None:
        first = RecordBatch(raw)
        self.raw = raw
        self.size = len(raw)
        self.count = count
        self.base_offset = first.base_offset
        self.base_timestamp = first.base_timestamp
        self.leader_epoch = first.leader_epoch
        self.last_offset_delta = next_offset - 1 - first.base_offset
        self.magic = MAGIC
        self.attributes = self.crc = 0
        self.max_timestamp = self.producer_id = self.producer_epoch = self.base_sequence = -1
        self.limit = 0

    def __repr__(self) -> str:
        return f"BatchRun(base_offset={self.base_offset}, count={self.count}, size={self.size})"

    def batches(self) -> Iterator[RecordBatch]:
        """The batches one by one."""
        for batch in split_batches(self.raw):
            assert isinstance(batch, RecordBatch)
            yield batch

    def verify_crc(self) -> None:
        """See BatchView."""
        for batch in self.batches():
            batch.verify_crc()

    def check(self) -> None:
        """See BatchView."""
        for batch in self.batches():
            batch.check()

    def payload(self, limit: int | None = None) -> memoryview:  # noqa: ARG002 - nothing is compressed
        """See BatchView."""
        return self.raw

    def forget_payload(self) -> None:
        """Nothing was decompressed, so there is nothing to release."""

    def values(
        self,
        first_offset: int,
        last_offset: int,
        delimiter: bytes,
        null: bytes,
        limit: int | None = None,  # noqa: ARG002 - nothing is compressed
    ) -> tuple[bytes, int]:
        """See BatchView."""
        try:
            return decode_run(self.raw, first_offset, last_offset, delimiter, null)
        except CorruptRecordsError:
            for batch in self.batches():  # a batch by itself reports more precisely what is wrong, and where
                batch.values(first_offset, last_offset, delimiter, null)
            raise

    def render(
        self,
        program: Program,
        first_offset: int,
        last_offset: int,
        *,
        limit: int = -1,
        selected: bytes | bytearray = b"",
        extras: Sequence[Sequence[bytes | None]] = (),
    ) -> tuple[bytes, int, int]:
        """See BatchView; ``selected`` and ``extras`` have an entry for each record of the run."""
        pieces: list[bytes] = []
        written, last, index = 0, -1, 0
        for batch in self.batches():
            if limit >= 0 and written >= limit:
                break
            own = slice(index, index + batch.count)
            output, some, reached = batch.render(
                program,
                first_offset,
                last_offset,
                limit=-1 if limit < 0 else limit - written,
                selected=selected[own],
                extras=[extra[own] for extra in extras],
            )
            pieces.append(output)
            written += some
            last = max(last, reached)
            index += batch.count
        return b"".join(pieces), written, last

    def arrow_part(self, first: int, stop: int) -> ArrowPart:
        """See BatchView; the kernel reads the headers of the batches."""
        return ArrowPart(self.raw, FRAMED, 0, 0, 0, 0, 0, 0, first, stop - 1)

    def digest(
        self, first: int, stop: int, digest: bytes, *, room: int, chunk: int, timestamps: bool
    ) -> list[DigestPiece]:
        """See BatchView."""
        try:
            return digest_records(self.arrow_part(first, stop), timestamps, digest, room, chunk)
        except CorruptRecordsError:
            for batch in self.batches():  # a batch by itself reports more precisely what is wrong, and where
                batch.digest(first, stop, digest, room=room, chunk=chunk, timestamps=timestamps)
            raise

    def marks(self, first: int, stop: int, magic: bytes, head: int) -> MarkedRecords:
        """See BatchView."""
        try:
            return mark_runs(self.arrow_part(first, stop), magic, head)
        except CorruptRecordsError:
            for batch in self.batches():  # a batch by itself reports more precisely what is wrong, and where
                batch.marks(first, stop, magic, head)
            raise

    def holding(self, needle: bytes, *, in_key: bool, at: int = 0) -> tuple[bytes, bytes]:
        """See BatchView."""
        found: list[tuple[bytes, bytes]] = []
        for batch in self.batches():
            found.append(batch.holding(needle, in_key=in_key, at=at + HEADER_SIZE))
            at += batch.size
        masks, ranges = zip(*found, strict=True)
        return b"".join(masks), b"".join(ranges)

    def records(self, topic: str = "", partition: int = -1, limit: int | None = None) -> Iterator[Record]:
        """See BatchView."""
        for batch in self.batches():
            yield from batch.records(topic, partition, limit)

    def _decode(self, limit: int | None) -> Columns:
        joined = Columns([], [], [], [], [], [], [], [], [])
        at = 0
        for batch in self.batches():
            columns = batch.columns(limit)
            offset, time = batch.base_offset - self.base_offset, batch.base_timestamp - self.base_timestamp
            joined.offset_deltas.extend([delta + offset for delta in columns.offset_deltas])
            if batch.timestamp_type == _APPENDED:
                joined.timestamp_deltas.extend([batch.max_timestamp - self.base_timestamp] * batch.count)
            else:
                joined.timestamp_deltas.extend([delta + time for delta in columns.timestamp_deltas])
            for whole, part in zip(joined[2:8], columns[2:8], strict=True):
                whole.extend([-1 if place < 0 else place + at + HEADER_SIZE for place in part])
            joined.header_counts.extend(columns.header_counts)
            at += batch.size
        return joined


def plain_run(
    data: memoryview, start: int, *, transactional: bool, verify: bool, enough: int = RUN_BYTES
) -> BatchView | None:
    """The run of plain batches at ``start``, ending once it has ``enough`` bytes; None if there is none.

    All are of one leader epoch. A single batch is returned as itself. With ``verify``, its checksums have been compared.
    """
    end, batches, records, then = walk_batches(data, start, enough, transactional, verify)
    if not batches:
        return None
    raw = data[start:end]
    return RecordBatch(raw) if batches == 1 else BatchRun(raw, records, then)
