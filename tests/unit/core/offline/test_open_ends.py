"""Transactions that are open where a log ends: they hold back what follows, or their coordinator has ended them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcli.core.logdir.aborted_index import Aborted
from kcli.core.logdir.folders import find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.coordinator_log import CoordinatorLog
from kcli.core.offline.transaction_state import StoredTransactions
from kcli.core.protocol.stored.transaction_records import PartitionsSchema, TransactionLogValue
from kcli.core.records.batch import RecordBatch
from kcli.core.types import TopicPartition
from tests.unit.core.offline import stored as written
from tests.unit.core.offline.stored import TRANSACTIONAL, marker, write_log


def batch(offset: int, producer: int = -1, key: bytes = b"k", value: bytes = b"v") -> RecordBatch:
    """A batch of one record, in a transaction if it has a producer."""
    flags = TRANSACTIONAL if producer >= 0 else 0
    return written.batch(offset, [(key, value)], producer=producer, flags=flags)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """Producer 7 has committed, 8 aborted; 7 and 9 are open, and others have written behind them."""
    batches = [
        batch(0, 7), marker(1, 7, committed=True), batch(2, 8), marker(3, 8, committed=False), batch(4, 7), batch(5),
        batch(6, 9), batch(7),
    ]  # fmt: skip
    write_log(tmp_path / "t-0", batches)
    return PartitionLog(find([str(tmp_path / "t-0")]).partitions[0])


def test_what_is_open_holds_back_what_follows(log: PartitionLog) -> None:
    assert (log.last_stable_offset, log.end_offset) == (4, 8)
    assert [one[:3] for one in log.aborted(0, 8)] == [(8, 2, 3)]


def test_taken_as_ended_it_is_aborted_unless_its_coordinator_had_decided_otherwise(log: PartitionLog) -> None:
    log.end_transactions({9})
    assert log.last_stable_offset == log.end_offset == 8
    assert log.aborted(0, 8)[1:] == [Aborted(7, 4, 8, 8)]
    assert log.aborted(6, 7) == [Aborted(7, 4, 8, 8)]
    assert log.aborted(0, 2) == []


def test_offsets_in_an_open_transaction_count_if_it_commits() -> None:
    found = CoordinatorLog()
    found.replay([batch(0, key=b"a", value=b"0"), batch(1, 7, b"a", b"1"), batch(2, 8, b"b", b"2")])
    assert {key: one.value for key, one in found.values.items()} == {b"a": b"0"}
    found.end_transactions({7})
    assert ({key: one.value for key, one in found.values.items()}, found.pending) == ({b"a": b"1"}, {})


@pytest.mark.parametrize(("status", "commits"), [(1, False), (2, True), (3, False), (4, False)])
def test_a_coordinator_has_decided_when_it_has_prepared_the_commit(status: int, commits: bool) -> None:
    stored = StoredTransactions()
    partitions: Sequence[PartitionsSchema] = [PartitionsSchema(topic="t", partition_ids=[0, 2])]
    stored.transactions["id"] = TransactionLogValue(
        producer_id=7,
        producer_epoch=0,
        transaction_timeout_ms=1,
        transaction_status=status,
        transaction_partitions=list(partitions),
        transaction_last_update_timestamp_ms=1,
        transaction_start_timestamp_ms=1,
    )
    assert [stored.committing(TopicPartition("t", at)) == {7} for at in range(3)] == [commits, False, commits]
