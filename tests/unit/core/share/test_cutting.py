"""What a response has of a partition: only the acquired ranges, each part with one delivery count."""

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.options import ConsumerOptions
from kcli.core.records.run import RUN_BYTES
from kcli.core.share.acquired import Acknowledge, Acquired
from kcli.core.share.cutting import Delivery, cut_delivery
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of

TP = TopicPartition("t", 0)


def batches(*sizes: int) -> bytes:
    """Batches of so many records, one after another from offset 0 on."""
    data, base = b"", 0
    for size in sizes:
        data += batch(base, size)
        base += size
    return data


def batch(base: int, size: int) -> bytes:
    records = [Record("t", 0, base + n, 1, 0, None, b"v%d" % (base + n), leader_epoch=0) for n in range(size)]
    return bytes(batch_of(records).raw)


def cut(data: bytes, *ranges: tuple[int, int, int], joins: int = 0, on_corrupt: str = "fail") -> Delivery:
    acquired = [Acquired(TP, b"i" * 16, 1, first, last, count, 30.0) for first, last, count in ranges]
    return cut_delivery(TP, acquired, memoryview(data), ConsumerOptions(on_corrupt=on_corrupt), joins=joins)


def parts(found: Delivery) -> list[tuple[int, int, int]]:
    return [(batch.first, batch.stop, batch.deliveries) for batch in found.batches]


def test_a_range_over_several_batches_is_a_part_of_each() -> None:
    found = cut(batches(3, 3, 3), (1, 7, 1))
    assert parts(found) == [(1, 3, 1), (3, 6, 1), (6, 8, 1)]
    assert found.acquired[0].undecided == [(1, 7)]


def test_joined_batches_are_one_part() -> None:
    assert parts(cut(batches(3, 3, 3), (0, 8, 1), joins=RUN_BYTES)) == [(0, 9, 1)]


def test_a_batch_with_several_ranges_has_a_part_for_each_delivery_count() -> None:
    found = cut(batches(10), (2, 3, 4), (5, 5, 2), (8, 9, 1), joins=RUN_BYTES)
    assert parts(found) == [(2, 4, 4), (5, 6, 2), (8, 10, 1)]


def test_records_of_others_are_left_out() -> None:
    found = cut(batches(2, 2, 2), (2, 3, 1))
    assert parts(found) == [(2, 4, 1)]


def test_what_compaction_left_has_gaps() -> None:
    found = cut(batch(0, 2) + batch(7, 1), (0, 9, 1))
    (one,) = found.acquired
    assert one.undecided == [(0, 1), (7, 7)]
    one.acknowledge(0, 9, Acknowledge.ACCEPT)
    assert [(run.first, run.last) for run in one.decide().runs if run.kind is Acknowledge.GAP] == [
        (2, 6),
        (8, 9),
    ]


def test_a_damaged_batch_ends_the_delivery_and_the_rest_is_released() -> None:
    data = bytearray(batches(2, 2, 2))
    size = len(batches(2))
    data[size + 40] ^= 0xFF
    found = cut(bytes(data), (0, 5, 1))
    assert parts(found) == [(0, 2, 1)]
    assert isinstance(found.damage, CorruptRecordsError)
    (one,) = found.acquired
    one.acknowledge(0, 5, Acknowledge.ACCEPT)
    assert [tuple(run) for run in one.decide().runs] == [
        (0, 1, Acknowledge.ACCEPT),
        (2, 5, Acknowledge.RELEASE),
    ]


def test_a_damaged_batch_that_is_skipped_is_rejected() -> None:
    data = bytearray(batches(2, 2, 2))
    data[len(batches(2)) + 40] ^= 0xFF
    found = cut(bytes(data), (0, 5, 1), on_corrupt="skip")
    assert parts(found) == [(0, 2, 1), (4, 6, 1)]
    (one,) = found.acquired
    one.acknowledge(0, 5, Acknowledge.ACCEPT)
    assert [tuple(run) for run in one.decide().runs] == [
        (0, 1, Acknowledge.ACCEPT),
        (2, 3, Acknowledge.REJECT),
        (4, 5, Acknowledge.ACCEPT),
    ]


@pytest.mark.parametrize("joins", [0, RUN_BYTES])
def test_every_acquired_record_is_in_one_part(joins: int) -> None:
    found = cut(batches(5, 1, 7, 4), (0, 3, 1), (4, 4, 3), (6, 11, 2), (13, 16, 1), joins=joins)
    offsets = [offset for batch in found.batches for offset in range(batch.first, batch.stop)]
    assert offsets == [*range(5), *range(6, 12), *range(13, 17)]
