"""Batches taken over for another partition: as bytes where that is accepted, encoded anew where not."""

import struct

import pytest

from kcli.core.errors import ConfigError
from kcli.core.kernels.active import crc32c, encode_headers
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.records.batch import HEADER_SIZE, RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.records.passing import offsets_taken, passes, take_over
from kcli.core.types import Codec

ROWS = [
    (b"k1", b"v1", NO_HEADERS, 1_000),
    (None, b"v2", encode_headers([("h", b"1")]), 1_005),
    (b"k3", None, NO_HEADERS, 990),
]
ATTRIBUTES, LAST_DELTA, COUNT = 21, 23, 57


def read(
    codec: int = 0, *, attributes: int = 0, last_delta: int | None = None, offset: int = 77
) -> RecordBatch:
    """A batch as it comes from a broker, changed as asked, with a right checksum."""
    builder = BatchBuilder(room=1 << 20, codec=codec)
    builder.append_rows(ROWS)
    raw = bytearray(b"".join(builder.wire(producer_id=5, producer_epoch=1, base_sequence=9)))
    raw[:8] = struct.pack(">q", offset)
    raw[12:16] = struct.pack(">i", 3)
    raw[ATTRIBUTES : ATTRIBUTES + 2] = struct.pack(">h", codec | attributes)
    if last_delta is not None:
        raw[LAST_DELTA : LAST_DELTA + 4] = struct.pack(">i", last_delta)
    raw[17:21] = struct.pack(">I", crc32c(memoryview(raw)[ATTRIBUTES:]))
    return RecordBatch(memoryview(bytes(raw)))


def written(builder: BatchBuilder) -> RecordBatch:
    batch = RecordBatch(memoryview(b"".join(builder.wire())))
    batch.verify_crc()
    return batch


def content(batch: RecordBatch) -> list[tuple[bytes | None, bytes | None, int]]:
    return [(r.key, r.value, r.timestamp) for r in batch.records()]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("attributes", [0, 0x10, 0x40], ids=["plain", "transactional", "delete horizon"])
def test_bytes_pass_and_the_header_is_a_producers(codec: int, attributes: int) -> None:
    source = read(codec, attributes=attributes)
    assert passes(source)
    copy = written(take_over(source))
    assert bytes(copy.raw[HEADER_SIZE:]) == bytes(source.raw[HEADER_SIZE:])
    assert (copy.base_offset, copy.leader_epoch, copy.attributes) == (0, -1, codec)
    assert (copy.producer_id, copy.producer_epoch, copy.base_sequence) == (-1, -1, -1)
    assert content(copy) == content(source)


@pytest.mark.parametrize("codec", Codec)
def test_gaps_between_offsets_are_closed(codec: int) -> None:
    source = read(codec, last_delta=9)
    assert not passes(source)
    copy = written(take_over(source))
    assert (copy.count, copy.last_offset_delta, copy.codec) == (3, 2, codec)
    assert content(copy) == content(source)
    assert [r.headers for r in copy.records()] == [r.headers for r in source.records()]


def test_times_that_the_broker_set_are_what_the_copy_shows() -> None:
    source = read(attributes=0x08)
    assert not passes(source)
    copy = written(take_over(source))
    assert copy.timestamp_type == 0
    assert [r.timestamp for r in copy.records()] == [source.max_timestamp] * 3


@pytest.mark.parametrize(("change", "kind"), [({"attributes": 0x20}, "marker"), ({}, "empty")])
def test_what_holds_no_records_is_refused(change: dict[str, int], kind: str) -> None:
    source = read(**change)
    if kind == "empty":
        source.count = 0
    with pytest.raises(ConfigError, match="offset 77 cannot be sent") as caught:
        take_over(source)
    assert kind in caught.value.why


def test_the_copy_lives_on_when_the_buffer_is_used_again() -> None:
    buffer = bytearray(read().raw)
    builder = take_over(RecordBatch(memoryview(buffer)))
    buffer[:] = bytes(len(buffer))
    assert content(written(builder)) == content(read())


@pytest.mark.parametrize("size", [100, 300_000])
def test_of_lent_bytes_there_is_no_copy_where_they_are_many(size: int) -> None:
    made = BatchBuilder(room=1 << 20)
    made.append_rows([(None, b"x" * size, NO_HEADERS, 1_000)])
    source = RecordBatch(memoryview(bytearray(b"".join(made.wire()))))
    _, payload = take_over(source, lent=True).wire()
    assert (isinstance(payload, memoryview) and payload.obj is source.raw.obj) is (size == 300_000)
    assert content(written(take_over(source, lent=True))) == content(source)


@pytest.mark.parametrize("codec", Codec)
def test_a_copy_can_be_split(codec: int) -> None:
    parts = take_over(read(codec)).split(70)
    assert [part.count for part in parts] == [1, 1, 1]
    assert [row for part in parts for row in content(written(part))] == content(read())


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize(
    ("first", "stop", "records"),
    [(77, 80, [0, 1, 2]), (78, 80, [1, 2]), (0, 79, [0, 1]), (78, 79, [1]), (0, 1000, [0, 1, 2])],
)
def test_a_range_of_offsets_is_taken(codec: int, first: int, stop: int, records: list[int]) -> None:
    source = read(codec)
    copy = written(take_over(source, first, stop))
    assert content(copy) == [content(source)[index] for index in records]
    assert list(offsets_taken(source, first, stop)) == [77 + index for index in records]


def test_the_offsets_of_a_batch_with_gaps_are_those_of_its_records() -> None:
    assert list(offsets_taken(read(last_delta=9), 78, 87)) == [78, 79]


def test_a_range_without_records_is_refused() -> None:
    with pytest.raises(ConfigError, match="no record at offsets 80 to 86"):
        take_over(read(last_delta=9), 80, 87)
