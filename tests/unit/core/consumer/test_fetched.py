"""What is cut out of an answer: damaged batches, markers, ends; without a broker."""

import gzip
import struct
import zlib
from typing import Any

import pytest

from kcli.core.consumer.fetched import Cut, cut
from kcli.core.consumer.subscription import Span, Subscription
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import PartitionData
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of

WHERE = TopicPartition("t", 0)


def batch(first: int, count: int = 5, **how: Any) -> bytearray:
    rows = [Record("t", 0, first + n, 1, 0, None, b"v%d" % (first + n)) for n in range(count)]
    return bytearray(batch_of(rows, **how).raw)


def marker(offset: int, kind: int) -> bytearray:
    row = Record("t", 0, offset, 1, 0, b"\0\0" + kind.to_bytes(2, "big"), bytes(6))
    return bytearray(batch_of([row], producer=9, epoch=0, flags=0x30).raw)


def damaged(first: int) -> bytearray:
    raw = batch(first)
    raw[-3] ^= 1
    return raw


def cut_out(*batches: bytearray, start: int = 0, stop: int | None = None, **options: Any) -> Cut:
    subscription = Subscription()
    subscription.assign({WHERE: Span(start, stop)})
    state = subscription.get(WHERE)
    assert state is not None
    data = PartitionData(partition_index=0, high_watermark=99, records=memoryview(b"".join(batches)))
    return cut(state, data, ConsumerOptions(**options))


def offsets(found: Cut) -> list[tuple[int, int]]:
    return [(fetched.first, fetched.stop) for fetched in found.batches]


@pytest.mark.case("F2")
def test_a_damaged_batch_ends_it_with_an_error() -> None:
    found = cut_out(batch(0), damaged(5), batch(10))
    assert (offsets(found), found.position, found.skipped) == ([(0, 5)], 5, None)
    assert found.damage is not None


def test_a_damaged_batch_may_be_skipped_and_the_next_one_is_fetched_again() -> None:
    """It may have held the marker of an abort: only the broker knows what is aborted behind it."""
    found = cut_out(batch(0), damaged(5), batch(10), on_corrupt="skip")
    assert (offsets(found), found.position, found.damage) == ([(0, 5)], 10, None)
    assert found.skipped is not None
    assert found.skipped[0].base_offset == 5
    assert found.batches[-1].then == 10


def test_an_answer_of_one_damaged_batch_moves_on() -> None:
    found = cut_out(damaged(5), start=5, on_corrupt="skip")
    assert (offsets(found), found.position) == ([], 10)


def test_a_damaged_batch_before_the_position_is_ignored() -> None:
    found = cut_out(damaged(0), batch(5), start=5, on_corrupt="skip")
    assert (offsets(found), found.skipped) == ([(5, 10)], None)


def test_a_header_that_makes_no_sense_is_not_passed_over() -> None:
    raw = damaged(5)
    raw[23:27] = (-1).to_bytes(4, "big", signed=True)  # the last offset delta
    found = cut_out(batch(0), raw, on_corrupt="skip")
    assert (found.position, found.skipped) == (5, None)
    assert found.damage is not None


@pytest.mark.parametrize("stop", [None, 3, 7])
def test_the_stop_is_kept_when_a_batch_is_passed_over(stop: int | None) -> None:
    found = cut_out(batch(0), damaged(5), stop=stop, on_corrupt="skip")
    assert found.batches[-1].then == (10 if stop is None else stop)


@pytest.mark.parametrize(
    ("shown", "expected"), [(False, [(0, 5), (6, 11)]), (True, [(0, 5), (5, 6), (6, 11), (11, 12)])]
)
def test_markers_are_handed_out_when_they_are_wanted(*, shown: bool, expected: list[tuple[int, int]]) -> None:
    found = cut_out(batch(0), marker(5, 1), batch(6), marker(11, 0), show_control_batches=shown)
    assert offsets(found) == expected
    assert found.position == 12


def old_set(last: int, content: bytes) -> bytes:
    """A compressed message set of magic 1, with a right checksum around any content."""
    body = struct.pack(">bbqi", 1, 1, 5, -1)
    packed = gzip.compress(content)
    body += struct.pack(">i", len(packed)) + packed
    return struct.pack(">qiI", last, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.case("F6", "F7")
@pytest.mark.parametrize("content", [b"no message", bytes(3000)], ids=["damaged", "bomb"])
def test_an_old_set_that_cannot_be_opened_is_an_error_or_skipped(content: bytes) -> None:
    """Only the content of a compressed set says where it begins; what is reported of it needs no content."""
    raw = bytearray(old_set(4, content))
    limit: Any = {"max_decompressed_batch_bytes": 2000}

    found = cut_out(raw, batch(5), **limit)
    assert found.damage is not None
    assert (found.position, found.damage.next_offset) == (0, 5)

    found = cut_out(raw, batch(5), on_corrupt="skip", **limit)
    assert found.skipped is not None
    assert (found.damage, found.position) == (None, 5)
    assert found.skipped[0].extent == "the messages of a compressed set up to offset 4"
