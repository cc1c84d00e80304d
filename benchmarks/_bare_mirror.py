"""The least that a mirror can do: fetch from one socket, send to another. Run as a process of its own.

    python -m benchmarks._bare_mirror SOURCE TARGET TOPIC COPY PARTITIONS

No check of checksums, no producer id, no position, no memory limit: it bounds what any mirror in Python can reach. The
batches must have been written without a producer id. Five requests are in flight, each with a batch of each partition.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Any

from kcli.core.protocol.api import Request, decode_response, encode_request
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kcli.core.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kcli.core.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_FETCH, _PRODUCE, _LIST_OFFSETS = 11, 8, 5  # versions with names of topics
_IN_FLIGHT = 5
_ROOM = 16 << 20
_BATCH_LENGTH = struct.Struct(">qii")  # base offset, length, leader epoch
_LAST_DELTA_AT = 23


class Wire:
    """A connection to one broker."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._numbers = count()
        self._buffer = bytearray(_ROOM)

    def send(self, request: Request, version: int) -> None:
        buffers = encode_request(request, version, next(self._numbers), "bare")
        sent = self._socket.sendmsg(buffers)
        left = sum(map(len, buffers)) - sent
        if left:
            self._socket.sendall(b"".join(buffers)[-left:])

    def receive(self, kind: type[Request], version: int) -> Any:
        size = int.from_bytes(self._read(4))
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        return decode_response(kind, version, self._read(size))

    def _read(self, size: int) -> memoryview:
        view = memoryview(self._buffer)[:size]
        got = 0
        while got < size:
            some = self._socket.recv_into(view[got:])
            if not some:
                raise EOFError("the broker closed the connection")
            got += some
        return view


def main(source_address: str, target_address: str, topic: str, copy: str, partitions: int) -> None:
    source, target = Wire(source_address), Wire(target_address)
    ends = ends_of(source, topic, partitions)
    positions = dict.fromkeys(range(partitions), 0)
    outstanding: deque[None] = deque()
    while any(positions[number] < end for number, end in ends.items()):
        source.send(fetch_request(topic, positions), _FETCH)
        answer = source.receive(FetchRequest, _FETCH)
        rows = [
            (part.partition_index, deque(_batches(memoryview(part.records or b""))))
            for one in answer.responses
            for part in one.partitions
        ]
        while any(batches for _, batches in rows):
            data = []
            for number, batches in rows:
                if batches:
                    batch, positions[number] = batches.popleft()
                    data.append(PartitionProduceData(index=number, records=[batch]))
            request = ProduceRequest(
                acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=copy, partition_data=data)]
            )
            target.send(request, _PRODUCE)
            outstanding.append(None)
            if len(outstanding) == _IN_FLIGHT:
                _confirm(target, outstanding)
    while outstanding:
        _confirm(target, outstanding)


def _confirm(target: Wire, outstanding: deque[None]) -> None:
    outstanding.popleft()
    answer = target.receive(ProduceRequest, _PRODUCE)
    codes = {part.error_code for one in answer.responses for part in one.partition_responses}
    if codes != {0}:
        raise RuntimeError(f"the target returned errors {codes}")


def _batches(data: memoryview) -> Iterator[tuple[memoryview, int]]:
    """Whole batches as they may be sent, and the offset after each."""
    at = 0
    while len(data) - at > _LAST_DELTA_AT + 4:
        base, length, _ = _BATCH_LENGTH.unpack_from(data, at)
        batch = data[at : at + 12 + length]
        if len(batch) < 12 + length:
            return
        then = base + int.from_bytes(batch[_LAST_DELTA_AT : _LAST_DELTA_AT + 4]) + 1
        _BATCH_LENGTH.pack_into(batch, 0, 0, length, -1)
        yield batch, then
        at += 12 + length


def fetch_request(topic: str, positions: dict[int, int]) -> FetchRequest:
    """A fetch of all partitions, of 16 MB at most."""
    wanted = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=_ROOM // len(positions))
        for number, offset in positions.items()
    ]
    topics = [FetchTopic(topic=topic, partitions=wanted)]
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=_ROOM, topics=topics)


def ends_of(source: Wire, topic: str, partitions: int) -> dict[int, int]:
    """The end of each partition."""
    wanted = [ListOffsetsPartition(partition_index=number, timestamp=-1) for number in range(partitions)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=wanted)])
    source.send(request, _LIST_OFFSETS)
    answer = source.receive(ListOffsetsRequest, _LIST_OFFSETS)
    return {part.partition_index: part.offset for one in answer.topics for part in one.partitions}


if __name__ == "__main__":
    main(*sys.argv[1:5], int(sys.argv[5]))
