"""Record values that can be judged alone: who sent it, where to, which one in order, and a checksum.

A reader that has only the bytes can tell a record that is in the wrong partition, was altered, or was never
sent by this run.
"""

import random
import struct
import zlib
from dataclasses import dataclass

_HEAD = struct.Struct(">4s8sHiQQBB")
_CRC = struct.Struct(">I")
_MAGIC = b"KLG1"

NO_TRANSACTION, WILL_COMMIT, WILL_ABORT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class RecordId:
    """A record of one run: its sender, its destination, its number there (from 0 on)."""

    producer: int
    topic: str
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Payload:
    """What a value says of itself. ``created_ms`` is the sender's clock; ``intent`` the fate of its transaction."""

    run: bytes
    id: RecordId
    created_ms: int
    intent: int = NO_TRANSACTION

    def encode(self, padding: int = 0, rng: random.Random | None = None) -> bytes:
        """The value, with ``padding`` random bytes behind what it says."""
        topic = self.id.topic.encode()
        head = _HEAD.pack(
            _MAGIC,
            self.run,
            self.id.producer,
            self.id.partition,
            self.id.sequence,
            self.created_ms,
            self.intent,
            len(topic),
        )
        body = head + topic + (rng or random).randbytes(padding)
        return body + _CRC.pack(zlib.crc32(body))


def decode(value: bytes) -> Payload | None:
    """The payload, or None where the bytes are not what any sender made."""
    if len(value) < _HEAD.size + _CRC.size:
        return None
    body, (crc,) = value[: -_CRC.size], _CRC.unpack(value[-_CRC.size :])
    if zlib.crc32(body) != crc:
        return None
    magic, run, producer, partition, sequence, created, intent, size = _HEAD.unpack_from(body)
    if magic != _MAGIC:
        return None
    topic = body[_HEAD.size : _HEAD.size + size].decode()
    return Payload(run, RecordId(producer, topic, partition, sequence), created, intent)
