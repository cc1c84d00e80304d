"""Messages of magic 0 and 1 that contradict themselves are refused; a wrapper is opened one level deep."""

import gzip
import struct
import zlib

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.records.batch import split_batches
from kcli.core.records.legacy import LegacyBatch
from kcli.core.types import Codec
from tests.unit.records.samples import JAVA


def message(
    offset: int,
    value: bytes | None,
    *,
    key: bytes | None = None,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = 5,
) -> bytes:
    """A message with a right checksum."""
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", timestamp)
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(
    offset: int, inside: bytes, *, magic: int = 1, attributes: int = 1, timestamp: int = 5
) -> LegacyBatch:
    packed = gzip.compress(inside)
    data = message(offset, packed, magic=magic, attributes=attributes, timestamp=timestamp)
    [batch] = split_batches(data)
    assert isinstance(batch, LegacyBatch)
    return batch


def test_offsets_inside_magic_1_are_relative_to_the_last() -> None:
    batch = wrapper(102, message(0, b"a") + message(2, b"b"))
    batch.verify_crc()

    assert [record.offset for record in batch.records()] == [100, 102]
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.count) == (100, 102, 103, 2)
    assert batch.values(101, 102, b"\n", b"") == (b"b\n", 1)


def test_offsets_inside_magic_0_are_absolute() -> None:
    batch = wrapper(102, message(100, b"a", magic=0) + message(102, None, magic=0), magic=0)
    batch.verify_crc()

    assert [(record.offset, record.timestamp) for record in batch.records()] == [(100, -1), (102, -1)]
    assert batch.timestamp_type == -1


def test_append_time_of_the_wrapper_is_that_of_all() -> None:
    batch = wrapper(1, message(0, b"a") + message(1, b"b"), attributes=1 | 8, timestamp=777)

    assert [(record.timestamp, record.timestamp_type) for record in batch.records()] == [(777, 1), (777, 1)]


def test_fields_that_legacy_formats_lack() -> None:
    [batch] = split_batches(message(7, b"v"))

    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.leader_epoch) == (-1,) * 4
    assert (batch.is_control, batch.is_transactional) == (False, False)
    assert (batch.base_offset, batch.count, batch.max_timestamp) == (7, 1, 5)


def test_a_message_set_that_is_cut_off() -> None:
    data = message(0, b"a") + message(1, b"b")
    splitter = split_batches(data[:-1])

    assert [batch.last_offset for batch in splitter] == [0]
    assert splitter.needed == len(data) // 2


def test_formats_can_follow_one_another() -> None:
    batches = list(split_batches(message(0, b"a", magic=0) + message(1, b"b") + JAVA["magic2-none"]))

    assert [batch.magic for batch in batches] == [0, 1, 2]


@pytest.mark.case("F2")
@pytest.mark.parametrize("name", ["magic0-none", "magic1-none", "magic0-gzip", "magic1-lz4"])
def test_a_flipped_bit(name: str) -> None:
    data = bytearray(JAVA[name])
    data[-1] ^= 1

    *_, last = split_batches(data)
    with pytest.raises(CorruptRecordsError, match="checksum"):
        last.verify_crc()


def test_a_flipped_bit_inside_a_wrapper() -> None:
    inner = bytearray(message(0, b"abc"))
    inner[-1] ^= 1
    batch = wrapper(0, bytes(inner))
    batch.verify_crc()

    with pytest.raises(CorruptRecordsError, match="checksum"):
        batch.columns()


@pytest.mark.case("F7", "X3")
def test_a_wrapper_inside_a_wrapper_is_refused() -> None:
    """No recursion, whatever the depth."""
    inside = message(0, b"a")
    for _ in range(50):
        inside = message(0, gzip.compress(inside), attributes=1)

    with pytest.raises(CorruptRecordsError, match="gzip inside"):
        wrapper(0, inside).columns()


INSIDE = {
    "nothing": b"",
    "too short for a message": bytes(10),
    "another magic": message(0, b"a", magic=0) + bytes(8),
    "magic 2": JAVA["magic2-none"],
    "length beyond the end": message(0, b"a")[:-1],
    "negative length": struct.pack(">qi", 0, -5) + bytes(40),
    "length shorter than a message": struct.pack(">qi", 0, 21) + bytes(40),
    "key length -2": message(0, b"a")[:26] + struct.pack(">i", -2) + bytes(20),
    "tail": message(0, b"a") + b"tail",
    "last offset negative": message(-5, b"a"),
    "offsets that decrease": message(5, b"a") + message(3, b"b"),
    "offsets that repeat": message(3, b"a") + message(3, b"b"),
}


@pytest.mark.parametrize("inside", INSIDE.values(), ids=INSIDE.keys())
@pytest.mark.parametrize("magic", [0, 1])
def test_content_that_contradicts_its_wrapper(inside: bytes, magic: int) -> None:
    with pytest.raises(CorruptRecordsError):
        wrapper(3, inside, magic=magic).columns()


UNKNOWN = max(set(range(8)).difference(Codec))


@pytest.mark.parametrize(("codec", "magic"), [(4, 0), (4, 1), (UNKNOWN, 1)])
def test_codecs_that_the_format_does_not_have(codec: int, magic: int) -> None:
    [batch] = split_batches(message(0, b"packed", magic=magic, attributes=codec))

    with pytest.raises(CorruptRecordsError, match=rf"zstd|unknown codec {UNKNOWN}"):
        batch.verify_crc()
    with pytest.raises(CorruptRecordsError, match=rf"zstd|unknown codec {UNKNOWN}"):
        batch.columns()


def test_a_compressed_message_without_value() -> None:
    [batch] = split_batches(message(0, None, attributes=1))

    with pytest.raises(CorruptRecordsError, match="without value"):
        batch.columns()


@pytest.mark.parametrize("length", [-2, 1 << 30, 3])
def test_lengths_of_a_message_are_compared_with_its_end(length: int) -> None:
    data = bytearray(message(0, b"ab"))
    struct.pack_into(">i", data, len(data) - 6, length)

    with pytest.raises(CorruptRecordsError):
        list(split_batches(data))


def test_a_bomb_in_a_wrapper_is_refused() -> None:
    batch = wrapper(0, message(0, bytes(1 << 20)))

    with pytest.raises(CorruptRecordsError, match="more than 1000 bytes"):
        batch.payload(1000)
    assert batch.count == 1


def test_a_wrapper_asked_for_its_offsets_does_not_keep_its_content() -> None:
    """A response of fifty wrappers would otherwise take fifty times the limit, before the first one is read."""
    inside = b"".join(message(number, b"v" * 1000) for number in range(100))
    batch = wrapper(99, inside)

    assert batch.extent == "the messages of a compressed set up to offset 99"
    assert (batch.base_offset, batch.count) == (0, 100)
    assert batch._payload is None
    assert batch.values(0, 1, b"\n", b"")[1] == 2
