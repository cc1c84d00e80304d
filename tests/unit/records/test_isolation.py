"""Which batches a read_committed reader must not see."""

import struct
from typing import Any

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.batch import RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.isolation import is_abort_marker, visible_batches
from kcli.core.types import Codec


def batch(offset: int, producer: int = -1, *, count: int = 1, key: bytes | None = None) -> RecordBatch:
    """A batch at ``offset``: transactional when it has a producer, control when it has a marker's key."""
    builder = BatchBuilder(room=10_000)
    for _ in range(count):
        builder.append(key, b"v", (), 0)
    raw = bytearray(b"".join(builder.wire(producer, 0, 0, transactional=producer >= 0)))
    raw[:8] = struct.pack(">q", offset)
    if key is not None:
        raw[22] |= 0x20
    return RecordBatch(memoryview(bytes(raw)))


def marker(offset: int, producer: int, *, abort: bool, version: int = 0) -> RecordBatch:
    return batch(offset, producer, key=struct.pack(">hh", version, 0 if abort else 1))


def visible(batches: list[RecordBatch], aborted: Any = (), *, committed_only: bool = True) -> list[int]:
    found = visible_batches(batches, aborted, committed_only=committed_only)
    return [b.base_offset for b, shown in found if shown]


def test_without_transactions_everything_is_shown() -> None:
    assert visible([batch(0), batch(5), batch(9)]) == [0, 5, 9]


def test_a_committed_transaction_is_shown_and_its_marker_is_not() -> None:
    assert visible([batch(0, 7), batch(1, 7), marker(2, 7, abort=False), batch(3)]) == [0, 1, 3]


def test_an_aborted_transaction_is_hidden_to_its_marker() -> None:
    log = [batch(0, 7), batch(1, 7), marker(2, 7, abort=True), batch(3, 7), marker(4, 7, abort=False)]
    assert visible(log, [(7, 0)]) == [3]


def test_an_earlier_transaction_of_the_same_producer_is_shown() -> None:
    log = [batch(0, 7), marker(1, 7, abort=False), batch(2, 7), marker(3, 7, abort=True)]
    assert visible(log, [(7, 2)]) == [0]


def test_others_in_between_are_shown() -> None:
    log = [batch(0, 7), batch(1), batch(2, 8), marker(3, 7, abort=True), marker(4, 8, abort=False)]
    assert visible(log, [(7, 0)]) == [1, 2]


def test_records_without_a_transaction_of_the_same_producer_are_shown() -> None:
    plain = batch(1)
    plain.producer_id = 7  # idempotent, not transactional
    assert visible([batch(0, 7), plain, marker(2, 7, abort=True)], [(7, 0)]) == [1]


@pytest.mark.case("F10")
def test_several_aborted_transactions_in_any_order() -> None:
    log = [
        batch(0, 7),
        batch(1, 8),
        marker(2, 7, abort=True),
        batch(3, 7),
        marker(4, 8, abort=True),
        marker(5, 7, abort=True),
        batch(6, 8),
    ]
    for aborted in ([(7, 0), (8, 1), (7, 3)], [(7, 3), (8, 1), (7, 0)]):
        assert visible(log, aborted) == [6]


def test_a_transaction_that_began_before_the_answer_is_hidden_from_its_first_batch_on() -> None:
    assert visible([batch(100, 7), marker(101, 7, abort=True), batch(102, 7)], [(7, 3)]) == [102]


def test_an_uncommitted_reader_sees_all_but_the_markers() -> None:
    log = [batch(0, 7), marker(1, 7, abort=True), batch(2, 7)]
    assert visible(log, [(7, 0)], committed_only=False) == [0, 2]


def test_every_batch_is_given_so_that_positions_move() -> None:
    log = [batch(0, 7, count=3), marker(3, 7, abort=True)]
    assert [b.next_offset for b, _ in visible_batches(log, [(7, 0)], committed_only=True)] == [3, 4]


@pytest.mark.case("F9")
@pytest.mark.parametrize(
    ("key", "abort"),
    [(b"\0\0\0\0", True), (b"\0\0\0\1", False), (b"\0\0\0\2", False), (b"\0\0", False), (b"", False)],
)
def test_abort_markers(key: bytes, *, abort: bool) -> None:
    assert is_abort_marker(batch(0, 7, key=key)) is abort


@pytest.mark.case("F6", "F9")
def test_a_marker_that_decompresses_to_far_more_than_a_marker_is_damage() -> None:
    """A response may hold thousands of control batches, and all are opened before one record is returned."""
    builder = BatchBuilder(room=2 << 20, codec=Codec.ZSTD)
    builder.append(b"\0\0\0\0", bytes(1 << 20), (), 0)
    raw = bytearray(b"".join(builder.wire(7, 0, 0, transactional=True)))
    raw[22] |= 0x20
    bomb = RecordBatch(memoryview(raw))
    with pytest.raises(CorruptRecordsError, match="more than 65536 bytes") as caught:
        list(visible_batches([bomb], [], committed_only=True))
    assert caught.value.do == ""  # a higher limit for batches would not help


def test_a_marker_that_was_read_keeps_nothing() -> None:
    one = marker(0, 7, abort=True)
    assert is_abort_marker(one)
    assert one._payload is None
