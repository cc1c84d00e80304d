"""Views of magic-2 batches: fetched bytes are split, verified, and refused for the right reason."""

import struct
import time
from collections.abc import Callable

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import HEADER_SIZE, RecordBatch, split_batches
from kcli.core.records.builder import BatchBuilder
from tests.unit.records.samples import own_batch

ONE = bytes(own_batch([b"one", b"two", b"three"]))
TWO = bytes(own_batch([b"four"]))


def signed(batch: bytearray) -> memoryview:
    """``batch`` with a checksum that is right again, as a hostile producer would send it."""
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return memoryview(batch)


def changed(at: int, layout: str, value: int, *, codec: int = 0) -> RecordBatch:
    batch = own_batch([b"one", b"two", b"three"], codec)
    struct.pack_into(layout, batch, at, value)
    return RecordBatch(signed(batch))


def refused(batch: RecordBatch, *words: str) -> None:
    """Every way to the content refuses the batch, quickly, with these words."""
    started = time.process_time()
    looks: list[Callable[[], object]] = [
        batch.columns,
        lambda: list(batch.records()),
        lambda: batch.values(0, 1 << 40, b"", b""),
    ]
    for look in looks:
        with pytest.raises(CorruptRecordsError) as caught:
            look()
        for word in words:
            assert word in str(caught.value)
    assert time.process_time() - started < 1


def test_whole_batches_one_after_the_other() -> None:
    splitter = split_batches(ONE + TWO)
    batches = list(splitter)

    assert [batch.count for batch in batches] == [3, 1]
    assert [batch.size for batch in batches] == [len(ONE), len(TWO)]
    assert (splitter.position, splitter.needed) == (len(ONE + TWO), 0)


@pytest.mark.case("F1")
@pytest.mark.parametrize("keep", range(1, len(TWO)))
def test_a_batch_that_is_cut_off_is_left_out_and_its_size_is_known(keep: int) -> None:
    """Brokers cut the last batch at the byte limit."""
    splitter = split_batches(ONE + TWO[:keep])

    assert len(list(splitter)) == 1
    assert splitter.position == len(ONE)
    assert splitter.needed == (len(TWO) if keep >= 12 else HEADER_SIZE)


def test_a_partial_batch_is_distinguished_from_an_empty_response() -> None:
    part, nothing = split_batches(ONE[:50]), split_batches(b"")

    assert list(part) == list(nothing) == []
    assert (part.needed, nothing.needed) == (len(ONE), 0)


@pytest.mark.case("F3")
@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [(8, ">i", -1), (8, ">i", 0), (8, ">i", 48), (8, ">i", -(1 << 31)), (16, "b", 3), (16, "b", -1)],
)
def test_garbage_is_refused_with_its_position(at: int, layout: str, value: int) -> None:
    garbage = bytearray(TWO)
    struct.pack_into(layout, garbage, at, value)
    splitter = split_batches(ONE + garbage)
    next(splitter)

    with pytest.raises(CorruptRecordsError, match=f"at {len(ONE)} of {len(ONE + TWO)}"):
        next(splitter)


def test_garbage_is_refused_even_when_cut_off() -> None:
    with pytest.raises(CorruptRecordsError, match="magic 32"):
        next(split_batches(b"HTTP/1.1 400 Bad Request\r\n"))


@pytest.mark.case("F2", "X5")
@pytest.mark.parametrize("at", [21, 22, 30, 45, 60, 61, len(ONE) - 1])
def test_a_flipped_bit_is_reported_with_offsets_and_both_checksums(at: int) -> None:
    """"""
    batch = bytearray(ONE)
    batch[:8] = struct.pack(">q", 500)
    batch[at] ^= 0x10
    with pytest.raises(CorruptRecordsError) as caught:
        RecordBatch(memoryview(batch)).verify_crc()

    assert "offsets 500 to" in str(caught.value)
    assert f"{crc32c(bytes(batch[21:])):08x}" in str(caught.value)
    assert f"{crc32c(ONE[21:]):08x}" in str(caught.value)


def test_base_offset_and_leader_epoch_are_not_covered_by_the_checksum() -> None:
    batch = bytearray(ONE)
    batch[:8] = struct.pack(">q", 500)
    batch[12:16] = struct.pack(">i", 9)
    view = RecordBatch(memoryview(batch))
    view.verify_crc()

    assert (view.base_offset, view.last_offset, view.next_offset, view.leader_epoch) == (500, 502, 503, 9)


@pytest.mark.case("F3")
@pytest.mark.parametrize("codec", [0, 1, 4])
@pytest.mark.parametrize("count", [-1, -(1 << 31), 4, (1 << 31) - 1])
def test_a_count_that_contradicts_the_last_offset(codec: int, count: int) -> None:
    """"""
    batch = changed(57, ">i", count, codec=codec)

    refused(batch, str(count))
    with pytest.raises(CorruptRecordsError):
        batch.verify_crc()


@pytest.mark.case("F3")
@pytest.mark.parametrize("codec", [0, 1, 4])
def test_a_count_that_contradicts_the_bytes(codec: int) -> None:
    """Nothing of its size is allocated before it is compared with the bytes there are."""
    batch = own_batch([b"one", b"two", b"three"], codec)
    struct.pack_into(">i", batch, 57, (1 << 31) - 1)
    struct.pack_into(">i", batch, 23, (1 << 31) - 2)

    refused(RecordBatch(signed(batch)), "do not fit into")


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_records_than_there_are(count: int) -> None:
    refused(changed(57, ">i", count), "left behind")


@pytest.mark.case("F3")
@pytest.mark.parametrize("last", [-1, -(1 << 31), 1])
def test_a_last_offset_that_contradicts_the_count(last: int) -> None:
    refused(changed(23, ">i", last), str(last))


@pytest.mark.case("F8")
def test_an_empty_batch_moves_the_position() -> None:
    """A batch without records and last offset delta −1 would be read indefinitely."""
    batch = own_batch([b"x"])
    struct.pack_into(">i", batch, 57, 0)
    struct.pack_into(">i", batch, 23, -1)

    with pytest.raises(CorruptRecordsError):
        RecordBatch(signed(batch[:HEADER_SIZE])).verify_crc()


def test_offsets_beyond_an_int64() -> None:
    refused(changed(0, ">q", (1 << 63) - 2), "cannot be")
    refused(changed(0, ">q", -1), "cannot be")


@pytest.mark.case("F7")
@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_named(codec: int) -> None:
    """"""
    refused(changed(21, ">h", codec), f"unknown codec {codec}")


@pytest.mark.case("F7")
def test_attribute_bits_that_are_not_defined_are_ignored() -> None:
    batch = changed(21, ">h", 0x7F80)
    batch.verify_crc()

    assert [record.value for record in batch.records()] == [b"one", b"two", b"three"]


def test_a_wrong_codec_is_an_error_of_the_batch() -> None:
    for codec in (1, 2, 3, 4):
        refused(changed(21, ">h", codec), "offsets 0 to 2")


@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (-1, 1), (0, 9)])
def test_offsets_inside_must_increase_up_to_the_last(deltas: tuple[int, int]) -> None:
    batch = own_batch([b"a", b"b"])
    for index, delta in enumerate(deltas):
        batch[HEADER_SIZE + 3 + 8 * index] = 2 * delta if delta >= 0 else -2 * delta - 1

    with pytest.raises(CorruptRecordsError, match="offset"):
        RecordBatch(signed(batch)).columns()


@pytest.mark.case("F17")
@pytest.mark.parametrize("stamp", [-1, 0, (1 << 63) - 1, -(1 << 63)])
def test_any_timestamp_is_a_number(stamp: int) -> None:
    """No exception for what no calendar has."""
    builder = BatchBuilder(room=1000)
    assert builder.append(None, b"v", (), stamp)
    [batch] = split_batches(b"".join(builder.wire()))

    assert [record.timestamp for record in batch.records()] == [stamp]
    assert batch.max_timestamp == stamp


def test_a_timestamp_that_overflows_is_refused() -> None:
    batch = own_batch([b"a", b"b"])
    batch[HEADER_SIZE + 2] = 2
    struct.pack_into(">q", batch, 27, (1 << 63) - 1)

    with pytest.raises(CorruptRecordsError, match="timestamp"):
        RecordBatch(signed(batch)).columns()


def test_the_cap_is_named_with_the_offsets() -> None:
    batch = RecordBatch(memoryview(own_batch([bytes(10_000)], codec=1)))

    with pytest.raises(CorruptRecordsError, match=r"offsets 0 to 0.*more than 5000 bytes") as caught:
        batch.payload(5000)
    assert "max.decompressed.batch.bytes" in caught.value.do


def test_a_batch_is_decompressed_once() -> None:
    batch = RecordBatch(memoryview(own_batch([b"a" * 100], codec=4)))

    assert batch.payload() is batch.payload()


def test_a_batch_in_the_middle_of_a_larger_buffer() -> None:
    """Receive buffers are reused and larger than what they hold."""
    buffer = memoryview(b"frame" + ONE + b"rest of the buffer")
    [batch] = split_batches(buffer[5 : 5 + len(ONE)])
    batch.verify_crc()

    assert batch.values(1, 1, b"\n", b"") == (b"two\n", 1)
