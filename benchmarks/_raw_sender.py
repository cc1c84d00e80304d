"""The least that a sender of lines can do: file → kernel → ``sendmsg``, in one thread. Run as a process of its own.

    python -m benchmarks._raw_sender BROKER TOPIC PARTITIONS FILE CODEC

The kernels and codecs of kcli and blocking socket calls, with five requests in flight: no producer id, no partitioner,
no retry, no limit of memory or of a line's length. It bounds what ``kcli produce`` can reach.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from benchmarks._bare_mirror import Wire
from kcli.core.codecs.compression import compress
from kcli.core.kernels.active import crc32c, encode_text
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.kernels.varint import Buffer
from kcli.core.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kcli.core.records.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END, MAGIC
from kcli.core.types import CODEC_NAMES

_PRODUCE = 12  # the last version with names of topics
_IN_FLIGHT = 5
_READ_BYTES = 1 << 20
_BATCH_BYTES = 1_000_000
_LONGEST = 1 << 30


def main(address: str, topic: str, partitions: int, path: Path, codec: str) -> None:
    """Sends each batch to the next partition, and confirms all."""
    wire, in_flight = Wire(address), 0
    for partition, batch in zip(
        cycle(range(partitions)), _batches(path, CODEC_NAMES.index(codec)), strict=False
    ):
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
        )
        wire.send(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), _PRODUCE)
        in_flight += 1
        if in_flight == _IN_FLIGHT:
            in_flight = _confirm(wire, in_flight)
    while in_flight:
        in_flight = _confirm(wire, in_flight)


def _confirm(wire: Wire, in_flight: int) -> int:
    answer = wire.receive(ProduceRequest, _PRODUCE)
    [code] = [part.error_code for one in answer.responses for part in one.partition_responses]
    if code:
        raise RuntimeError(f"the broker returned error {code}")
    return in_flight - 1


def _batches(path: Path, codec: int) -> Iterator[list[Buffer]]:
    """The lines as batches, each a header and pieces of records; lines of one megabyte at a time."""
    pieces: list[Buffer] = []
    count, room, now = 0, _BATCH_BYTES - HEADER_SIZE, time.time_ns() // 1_000_000
    for text, end in _regions(path):
        at = 0
        while at < end:
            records, taken, at = encode_text(
                text, at, end, b"\n", None, None, NO_HEADERS, None, False, count, 0, room, _LONGEST
            )
            if taken:
                pieces.append(records)
                count += taken
                room -= len(records)
            if at < end:
                yield _sealed(pieces, count, now, codec)
                pieces = []
                count, room, now = 0, _BATCH_BYTES - HEADER_SIZE, time.time_ns() // 1_000_000
    if count:
        yield _sealed(pieces, count, now, codec)


def _regions(path: Path) -> Iterator[tuple[bytearray, int]]:
    """A buffer that begins with whole lines, and where they end. The file ends with a line end."""
    buffer, rest = bytearray(2 * _READ_BYTES), 0
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        while got := file.readinto(view[rest : rest + _READ_BYTES]):
            end = buffer.rfind(b"\n", 0, rest + got) + 1
            yield buffer, end
            left = rest + got - end
            view[:left] = bytes(view[end : rest + got])
            rest = left


def _sealed(pieces: list[Buffer], count: int, now: int, codec: int) -> list[Buffer]:
    if codec:
        pieces = [compress(codec, b"".join(pieces))]
    header = bytearray(HEADER_SIZE)
    length = HEADER_SIZE - LENGTH_END + sum(map(len, pieces))
    HEADER.pack_into(header, 0, 0, length, -1, MAGIC, 0, codec, count - 1, now, now, -1, -1, -1, count)
    crc = crc32c(memoryview(header)[CRC_START:])
    for piece in pieces:
        crc = crc32c(piece, crc)
    header[CRC_START - 4 : CRC_START] = crc.to_bytes(4)
    return [header, *pieces]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5])
