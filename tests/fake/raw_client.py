"""A blocking client of one connection that sends any request in any version: for what a real client never does.

with RawClient(cluster.address(1)) as client:
    answer = client.ask(MetadataRequest(topics=None), 12)
"""

import itertools
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any, Self

from kcli.core.protocol.api import Request, decode_response, encode_request
from kcli.core.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kcli.core.records.builder import BatchBuilder

_SIZE = struct.Struct(">i")


class RawClient:
    """Answers come in the order of the requests; EOFError when the broker has closed the connection."""

    def __init__(self, address: str, *, client_id: str = "raw", timeout: float = 60.0) -> None:
        self.address = address
        host, port = address.rsplit(":", 1)
        self._sock = socket.create_connection((host, int(port)), timeout)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client_id = client_id
        self._numbers = itertools.count(1)
        self._waiting: list[tuple[type[Request], int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """This side's port, to find the connection in ``cluster.connections``."""
        return int(self._sock.getsockname()[1])

    def ask(self, request: Request, version: int) -> Any:
        """Sends and waits for the answer."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Request, version: int) -> int:
        """Sends only; the correlation id."""
        number = next(self._numbers)
        if request.expects_response:
            self._waiting.append((type(request), version, number))
        self.write(b"".join(encode_request(request, version, number, self._client_id)))
        return number

    def receive(self) -> Any:
        """The answer to the oldest request that has none yet."""
        kind, version, number = self._waiting.pop(0)
        frame = memoryview(self.read_frame())
        (found,) = _SIZE.unpack_from(frame)
        assert found == number, f"correlation id {found}, expected {number}"
        return decode_response(kind, version, frame)

    def read_frame(self) -> bytes:
        """The next frame without its length."""
        return self.read(_SIZE.unpack(self.read(_SIZE.size))[0])

    def read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._sock.recv(size - len(data))
            if not piece:
                raise EOFError(f"the broker closed the connection after {len(data)} of {size} bytes")
            data += piece
        return bytes(data)

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing comes, not even the end, for so long."""
        before = self._sock.gettimeout()
        self._sock.settimeout(seconds)
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        finally:
            self._sock.settimeout(before)
        return False

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)

    def close(self) -> None:
        self._sock.close()


def batch(
    *values: bytes | None,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional: bool = False,
    codec: int = 0,
    key: bytes | None = None,
    timestamp: int | None = None,
) -> bytes:
    """One record batch as a producer would send it; ``timestamp`` None is now."""
    stamp = int(time.time() * 1000) if timestamp is None else timestamp
    builder = BatchBuilder(room=1 << 24, codec=codec)
    for value in values:
        builder.append(key, value, [], stamp)
    return b"".join(builder.wire(producer_id, epoch, sequence, transactional))


def produce_request(
    topic: str | bytes,
    batches: dict[int, bytes | None] | bytes,
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """A Produce of one batch per partition; ``topic`` as bytes is an id (v13)."""
    by_partition = {0: batches} if isinstance(batches, bytes) else batches
    named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(**named, partition_data=_parts(by_partition.items()))],  # type: ignore[arg-type]
    )


def _parts(batches: Any) -> Sequence[PartitionProduceData]:
    return [PartitionProduceData(index=i, records=None if raw is None else [raw]) for i, raw in batches]
