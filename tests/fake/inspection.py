"""What is in the logs, as values that the test's thread may keep."""

from collections.abc import Iterator
from dataclasses import dataclass

from kcli.core.records.batch import RecordBatch
from kcli.core.types import Header
from tests.fake.log import PartitionLog, is_commit


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """``committed``: True, False (its transaction was aborted), or None while that is open."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp: int
    producer_id: int
    producer_epoch: int
    sequence: int
    committed: bool | None


@dataclass(frozen=True, slots=True)
class LogView:
    """A partition's log at one moment."""

    batches: list[RecordBatch]
    start_offset: int
    end_offset: int
    high_watermark: int
    last_stable_offset: int
    leader: int
    leader_epoch: int
    open_transactions: dict[int, int]
    """First offset by producer id."""

    def records(self, *, committed: bool = False) -> list[StoredRecord]:
        """All records but markers; ``committed=True`` only what read_committed readers see."""
        found = [r for r in _records(self) if r.offset >= self.start_offset]
        return [r for r in found if r.committed] if committed else found

    def values(self, *, committed: bool = False) -> list[bytes | None]:
        return [r.value for r in self.records(committed=committed)]

    def markers(self) -> list[tuple[int, int, int, bool]]:
        """(offset, producer id, epoch, committed) of the control batches."""
        return [
            (b.base_offset, b.producer_id, b.producer_epoch, is_commit(b))
            for b in self.batches
            if b.is_control
        ]


def view(log: PartitionLog, leader: int, leader_epoch: int) -> LogView:
    """A copy of what the log says now; the batches themselves never change."""
    return LogView(
        list(log.batches),
        log.start_offset,
        log.end_offset,
        log.high_watermark,
        log.last_stable_offset,
        leader,
        leader_epoch,
        dict(log.open_transactions),
    )


def _records(log: LogView) -> Iterator[StoredRecord]:
    outcome = _outcomes(log)
    for batch in log.batches:
        if batch.is_control:
            continue
        committed = outcome.get((batch.producer_id, batch.base_offset)) if batch.is_transactional else True
        for index, record in enumerate(batch.records()):
            yield StoredRecord(
                record.offset,
                record.key,
                record.value,
                record.headers,
                record.timestamp,
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence + index if batch.base_sequence >= 0 else -1,
                committed,
            )


def _outcomes(log: LogView) -> dict[tuple[int, int], bool]:
    """What the marker behind a transactional batch says, by producer id and base offset."""
    found: dict[tuple[int, int], bool] = {}
    waiting: dict[int, list[int]] = {}
    for batch in log.batches:
        if not batch.is_transactional:
            continue
        if not batch.is_control:
            waiting.setdefault(batch.producer_id, []).append(batch.base_offset)
            continue
        for offset in waiting.pop(batch.producer_id, ()):
            found[batch.producer_id, offset] = is_commit(batch)
    return found
