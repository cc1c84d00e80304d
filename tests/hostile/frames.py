"""Targets: a broker's whole byte stream into a Connection, from the handshake on or after it. Not a test.

Half of the inputs are streams whose responses were mutated inside correct frames, the others are mutated as a whole.
The first byte of an input says whether the handshake is over and in which steps the bytes arrive.
"""

import struct
from functools import cache
from random import Random

from kcli.core.connection.connection import Connection
from kcli.core.connection.state import State
from kcli.core.errors import BrokerError, KcliError, NotKafkaError, ProtocolError, UnsupportedError
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.hostile.mutator import Mark, Sample, mutate
from tests.hostile.responses import response_samples
from tests.hostile.target import Family, Target
from tests.unit.core.connection.wire import Peer, offers

_MOST = 100_000
_STEPS = (1, 7, 64, 1 << 20)
_ASKED = 3
_VERSION = 12  # of Metadata, as the Peer's broker offers it
_FOREIGN = (
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\x15\x03\x01\x00\x02\x02\x28",
    b"SSH-2.0-x\r\n",
    b"\x00" * 40,
)


@cache
def _handshakes() -> tuple[Sample, ...]:
    frames = [offers(), offers(version=0, error=35, offer={18: (0, 2)}), offers(error=42), *_FOREIGN]
    marks = (Mark(0, "i"), Mark(4, "i"), Mark(8, "h"), Mark(10, "u"), Mark(11, "h"))
    return tuple(Sample(frame, marks) for frame in frames)


def _frame(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", len(body) + 4, correlation_id) + body


def _make_handshake(rng: Random) -> bytes:
    samples = _handshakes()
    return bytes((rng.randrange(8) << 1,)) + mutate(rng.choice(samples), rng, samples)


def _make_session(rng: Random) -> bytes:
    samples = response_samples(MetadataRequest, _VERSION)
    inside = rng.random() < 0.5
    stream, marks = bytearray(), []
    for correlation_id in range(1, _ASKED + 1):
        marks += [Mark(len(stream), "i"), Mark(len(stream) + 4, "i")]
        sample = rng.choice(samples)
        body = mutate(sample, rng, samples) if inside and rng.random() < 0.5 else sample.data
        stream += _frame(correlation_id, body[4:])
    data = bytes(stream) if inside else mutate(Sample(bytes(stream), tuple(marks)), rng)
    return bytes((rng.randrange(8) << 1 | 1,)) + data


def _run(data: bytes) -> None:
    """Each request is completed once, whatever arrives; an error ends the connection as the channel would end it."""
    if not data:
        return
    peer = Peer(max_frame=_MOST)
    connection = peer.connection
    if data[0] & 1:
        peer.ready()
    else:
        connection.connected(0.0, 10.0)
    asked = [peer.ask() for _ in range(_ASKED)]
    peer.take()
    error: KcliError | None = None
    try:
        peer.feed(data[1:], step=_STEPS[data[0] >> 1 & 3])
    except KcliError as caught:
        error = caught
    _close(connection, error)
    assert [future.done for future in asked] == [True] * _ASKED
    assert sum(future in asked for future, _, _ in peer.completed) == _ASKED
    if error is not None:
        raise error


def _close(connection: Connection, error: KcliError | None) -> None:
    connection.close(error)
    assert connection.state is State.CLOSED
    assert not connection.outgoing


def family() -> Family:
    """Both phases."""
    allowed = (ProtocolError, NotKafkaError, UnsupportedError, BrokerError)
    return Family(
        "frames",
        0.05,
        (
            Target("frames-handshake", "frames", _make_handshake, _run, allowed),
            Target("frames-session", "frames", _make_session, _run, allowed),
        ),
        spare=1 << 20,
    )
