"""Bytes of the ``consumer`` protocol inside JoinGroup and SyncGroup: which topics, which partitions.

A parser of the tests' own, so that the fake does not believe what the client under test believes. Only the
fields of version 0 are read; all later versions begin with them.
"""

import struct

from kcli.core.types import TopicPartition

Bytes = bytes | memoryview


def subscribed_topics(subscription: Bytes) -> frozenset[str]:
    """The topics of a ConsumerProtocolSubscription; ValueError when it is none."""
    reader = _Reader(subscription)
    reader.int16()
    return frozenset(reader.string() for _ in range(reader.count()))


def assigned_partitions(assignment: Bytes) -> frozenset[TopicPartition]:
    """The partitions of a ConsumerProtocolAssignment, none for no bytes; ValueError when it is none."""
    if not len(assignment):
        return frozenset()
    reader = _Reader(assignment)
    reader.int16()
    partitions = []
    for _ in range(reader.count()):
        topic = reader.string()
        partitions += [TopicPartition(topic, reader.int32()) for _ in range(reader.count())]
    return frozenset(partitions)


class _Reader:
    def __init__(self, data: Bytes) -> None:
        self._data = bytes(data)
        self._pos = 0

    def int16(self) -> int:
        return self._fixed(">h")

    def int32(self) -> int:
        return self._fixed(">i")

    def count(self) -> int:
        """The length of an array; each element takes at least two bytes."""
        count = self.int32()
        if not 0 <= count <= len(self._data) // 2:
            raise ValueError(f"an array of {count}")
        return count

    def string(self) -> str:
        size = self.int16()
        if not 0 <= size <= len(self._data) - self._pos:
            raise ValueError(f"a string of {size}")
        self._pos += size
        return self._data[self._pos - size : self._pos].decode()

    def _fixed(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from(form, self._data, self._pos)
        except struct.error as error:
            raise ValueError("it ends too early") from error
        self._pos += struct.calcsize(form)
        return int(value)
