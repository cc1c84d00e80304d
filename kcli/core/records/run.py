"""Neighbouring plain batches of a fetch as one view: what is asked of a batch can be asked of all of them in one go.

Small batches (16 KB is Java's default) are many, and their records are few: what a reader does for each batch would
cost more than the records themselves.
"""

from collections.abc import Iterator

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.batch import RecordBatch, split_batches
from kcli.core.records.kernels import decode_run, walk_batches
from kcli.core.types import Record

_MOST = 1 << 20  # bytes: as much as a large batch, so that no output grows larger than its


class BatchRun:
    """Batches of magic 2, not compressed, without markers, whose checksums were compared if that was asked for.

    ``raw`` are their bytes, in a buffer that must live as long as the view does; ``count`` their records.
    """

    __slots__ = ("base_offset", "count", "leader_epoch", "next_offset", "raw", "size")

    def __init__(
        self, raw: memoryview, count: int, base_offset: int, next_offset: int, leader_epoch: int
    ) -> None:
        self.raw = raw
        self.size = len(raw)
        self.count = count
        self.base_offset = base_offset
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch

    def __repr__(self) -> str:
        return f"BatchRun(base_offset={self.base_offset}, count={self.count}, size={self.size})"

    def batches(self) -> Iterator[RecordBatch]:
        """The batches one by one."""
        for batch in split_batches(self.raw):
            assert isinstance(batch, RecordBatch)
            yield batch

    def values(self, first_offset: int, last_offset: int, delimiter: bytes, null: bytes) -> tuple[bytes, int]:
        """Values of the records at ``first_offset`` to ``last_offset``, each followed by ``delimiter``, and how many."""
        try:
            return decode_run(self.raw, first_offset, last_offset, delimiter, null)
        except CorruptRecordsError:
            for batch in self.batches():  # one of them says better what is wrong, and where
                batch.values(first_offset, last_offset, delimiter, null)
            raise

    def records(self, topic: str = "", partition: int = -1, limit: int | None = None) -> Iterator[Record]:
        """One value object per record."""
        for batch in self.batches():
            yield from batch.records(topic, partition, limit)

    def forget_payload(self) -> None:
        """Nothing was decompressed: there is nothing to let go of."""


def plain_run(data: memoryview, start: int, *, transactional: bool, verify: bool) -> BatchRun | None:
    """The run of plain batches at ``start``, of about 1 MB at most or of one batch; None when there is none."""
    end, batches, records, first, then, epoch = walk_batches(data, start, _MOST, transactional, verify)
    return BatchRun(data[start:end], records, first, then, epoch) if batches else None
