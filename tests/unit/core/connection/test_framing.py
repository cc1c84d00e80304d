"""Frames out of a byte stream: split, merged, large, foreign, and sizes that cannot be."""

import struct
import tracemalloc

import pytest

from kcli.core.connection.framing import SCRATCH_BYTES, BufferPool, Frame, FrameReader
from kcli.core.errors import ConnectError, ProtocolError

LIMIT = 10_000_000


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def feed(reader: FrameReader, data: bytes, step: int = 1 << 30) -> list[Frame]:
    frames: list[Frame] = []
    pos = 0
    while pos < len(data):
        room = reader.writable()
        assert len(room) > 0
        count = min(step, len(room), len(data) - pos)
        room[:count] = data[pos : pos + count]
        pos += count
        frames += reader.received(count)
    return frames


def bodies(frames: list[Frame]) -> list[bytes]:
    return [bytes(frame.data) for frame in frames]


def reader(limit: int = LIMIT) -> FrameReader:
    return FrameReader("broker:9092", limit)


BODIES = [b"abcd", bytes(range(256)), b"x" * 4, b"y" * 5000]


@pytest.mark.case("N8")
@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 4096, 1 << 20])
def test_frames_are_put_together_from_pieces_of_any_size(step: int) -> None:
    assert bodies(feed(reader(), b"".join(map(framed, BODIES)), step)) == BODIES


@pytest.mark.case("N8")
def test_merged_frames_come_out_together() -> None:
    assert len(feed(reader(), framed(b"first") + framed(b"second") + framed(b"third"))) == 3


def test_half_a_frame_behind_a_whole_one_waits() -> None:
    frames = reader()
    assert bodies(feed(frames, framed(b"whole") + framed(b"half of it")[:7])) == [b"whole"]
    assert bodies(feed(frames, framed(b"half of it")[7:])) == [b"half of it"]


@pytest.mark.parametrize(
    "size",
    [SCRATCH_BYTES - 5, SCRATCH_BYTES - 4, SCRATCH_BYTES - 3, SCRATCH_BYTES, SCRATCH_BYTES + 1, 3_000_000],
)
@pytest.mark.parametrize("step", [1000, 1 << 30])
def test_large_frames_around_the_size_of_the_scratch_buffer(size: int, step: int) -> None:
    body = bytes(i % 251 for i in range(4096)) * (size // 4096) + b"z" * (size % 4096)
    data = framed(b"before") + framed(body) + framed(b"after")
    assert bodies(feed(reader(), data, step)) == [b"before", body, b"after"]


def test_a_small_frame_survives_what_comes_after_it() -> None:
    frames = reader()
    [first] = feed(frames, framed(b"first"))
    feed(frames, framed(b"other") * 1000)
    assert bytes(first.data) == b"first"


def test_a_large_buffer_is_used_again_once_it_was_released() -> None:
    frames = reader()
    [first] = feed(frames, framed(b"1" * 100_000))
    first_buffer = first.data.obj
    [second] = feed(frames, framed(b"2" * 100_000))
    assert second.data.obj is not first_buffer
    assert bytes(first.data[:3]) == b"111"
    first.release()
    [third] = feed(frames, framed(b"3" * 90_000))
    assert third.data.obj is first_buffer
    assert bytes(third.data) == b"3" * 90_000


def test_releasing_twice_gives_the_buffer_back_once() -> None:
    frames = reader()
    [first] = feed(frames, framed(b"1" * 100_000))
    first.release()
    first.release()
    second, third = feed(frames, framed(b"2" * 100_000) + framed(b"3" * 100_000))
    assert second.data.obj is not third.data.obj


def test_the_pool_keeps_few_buffers_and_drops_those_that_are_too_small() -> None:
    pool = BufferPool(keep=2)
    small, large = pool.take(10), pool.take(2_000_000)
    for buffer in (small, large, bytearray(5)):
        pool.give(buffer)
    assert pool.take(1_500_000) is large
    assert pool.take(5_000_000) is not small
    assert pool.take(10) is not small


def test_a_lent_buffer_is_used_again_when_no_view_of_it_is_left() -> None:
    pool = BufferPool()
    frames = FrameReader("broker", 10_000_000, pool)
    [first] = feed(frames, framed(b"1" * 100_000))
    buffer = first.data.obj
    passed_on = first.data[10:20]
    assert first.lend(10_000_000)
    first.release()
    [second] = feed(frames, framed(b"2" * 100_000))
    assert second.data.obj is not buffer
    assert bytes(passed_on) == b"1" * 10
    del passed_on
    [third] = feed(frames, framed(b"3" * 100_000))
    assert third.data.obj is buffer
    assert bytes(third.data) == b"3" * 100_000


def test_no_more_is_lent_than_allowed() -> None:
    frames = reader()
    first, second = feed(frames, framed(b"1" * 100_000) + framed(b"2" * 100_000))
    most = len(first.data.obj)
    assert first.lend(most)
    assert first.lend(most)  # it is lent already
    assert not second.lend(most)
    first.release()
    second.release()
    assert not second.lend(10 * most)  # somebody else may have it
    [third] = feed(frames, framed(b"3" * 100_000))
    assert third.lend(most)  # nobody has the first one any more


def test_a_small_response_is_nobody_elses() -> None:
    [small] = feed(reader(), framed(b"1" * 10))
    assert small.lend(0)


@pytest.mark.case("N4")
@pytest.mark.parametrize(
    ("first_bytes", "name"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS"),
        (b"\x16\x03\x03\x00\x7a", "TLS"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "SSH"),
        (b"220 mail ready\r\n", "SMTP"),
        (b"-ERR unknown command\r\n", "Redis"),
        (b"AMQP\x00\x00\x09\x01", "message queue"),
    ],
)
@pytest.mark.parametrize("limit", [104_857_600, 0x7FFFFFFF])
def test_other_protocols_are_recognised_by_their_first_bytes(
    first_bytes: bytes, name: str, limit: int
) -> None:
    with pytest.raises(ConnectError) as error:
        feed(reader(limit), first_bytes)
    assert "does not speak Kafka" in error.value.what
    assert name in error.value.why
    assert "security.protocol" in error.value.do


@pytest.mark.case("N10", "X1")
@pytest.mark.parametrize("size", [0, -1, -(2**31), 1, 3, LIMIT + 1, 2**31 - 1])
def test_sizes_that_cannot_be_are_refused_before_anything_is_allocated(size: int) -> None:
    frames = reader()
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError) as error:
            feed(frames, struct.pack(">i", size))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert str(size) in str(error.value)
    assert str(LIMIT) in str(error.value)
    assert "receive.message.max.bytes" in str(error.value)


@pytest.mark.case("N10")
@pytest.mark.parametrize("size", [4, LIMIT])
def test_sizes_at_the_limits_are_fine(size: int) -> None:
    assert feed(reader(), struct.pack(">i", size)) == []


@pytest.mark.case("N10", "X1")
@pytest.mark.parametrize("size", [-5, 0, 2**31 - 1, LIMIT + 1])
def test_the_refusal_of_a_size_names_the_limit_and_its_option(size: int) -> None:
    """The first answer has a limit of its own, which no option moves."""
    frames = reader()
    with pytest.raises(ProtocolError) as error:
        feed(frames, struct.pack(">i", size))
    assert (f"{size} bytes" in error.value.what, f"4 to {LIMIT} bytes" in error.value.why) == (True, True)
    assert "receive.message.max.bytes" in error.value.why
    with pytest.raises(ProtocolError) as error:
        feed(reader(100 << 20), struct.pack(">i", 50 << 20))
    assert error.value.why == f"a first response has 4 to {16 << 20} bytes"


def test_bytes_of_another_protocol_after_a_response_are_wrong_data_and_no_reason_to_connect_again() -> None:
    """NotKafkaError would be retried, as any failure to connect: a reading consumer would never end."""
    frames = FrameReader("broker:9092", 1 << 20)
    feed = b"\0\0\0\4\0\0\0\1" + b"HTTP/1.1 400"
    frames.writable()[: len(feed)] = feed
    assert len(frames.received(len(feed))) == 1  # what came before it counts
    assert isinstance(frames.failure, ProtocolError)
    assert "it looks like HTTP" in frames.failure.why
    assert frames.failure.exit_code == 5
