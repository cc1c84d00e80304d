"""Values that every layer shares: topics, partitions and brokers, records as the API shows them, and codecs."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kcli.core.classes import IntEnum, NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic; prints as ``orders-3``, Kafka's spelling in logs."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Node(NamedTuple):
    """A broker as metadata names it. ``id`` is negative for a bootstrap address whose id is unknown."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return self.address if self.id < 0 else f"{self.address} (node {self.id})"

    @property
    def address(self) -> str:
        """``HOST:PORT``; an IPv6 address must be in brackets. Without a port it is no address but a name."""
        if not self.port:
            return self.host
        return f"{self.host}:{self.port}" if ":" not in self.host else f"[{self.host}]:{self.port}"


Header = tuple[str | bytes, bytes | None]
"""Name and value of a record header. Names are UTF-8 text; bytes where they are not. Repeats keep order."""


class Record(NamedTuple):
    """A record, as it is read.

    ``timestamp`` is in ms since the epoch (−1: none); ``timestamp_type`` is 0 for CreateTime, 1 for LogAppendTime, −1
    where the format has none (magic 0). ``None`` and ``b""`` differ.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    leader_epoch: int = -1


class ProducerRecord(NamedTuple):
    """A record to be sent; ``partition`` None lets the partitioner choose, ``timestamp`` None is now.

    ``key`` and ``value`` are bytes or None, or any value that the producer's serializers convert to bytes.
    """

    topic: str
    value: Any
    key: Any = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp: int | None = None


class RecordMetadata(NamedTuple):
    """The location of an acknowledged record. ``offset`` is −1 if the broker did not return it (acks=0)."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class TopicSpec(NamedTuple):
    """A topic to be created; −1 leaves a count to the broker's default.

    ``assignment``: the node ids of each partition's replicas, the preferred leader first; empty: the broker chooses.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = MappingProxyType({})
    assignment: tuple[tuple[int, ...], ...] = ()


class OffsetAndMetadata(NamedTuple):
    """A position to be committed: the offset of the next record to read, and the committer's metadata.

    ``topic_id`` is the id of the topic that the offset belongs to: it is never committed for another topic of that
    name. All zeros: not known, as in offsets that were read from a coordinator.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    topic_id: bytes = bytes(16)


class GroupMetadata(NamedTuple):
    """The identity under which a group's offsets are committed; the defaults mean no member in particular (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class GroupPartition(NamedTuple):
    """A partition as seen by one group."""

    group: str
    tp: TopicPartition

    def __str__(self) -> str:
        return f"{self.tp} of group {self.group}"


class Codec(IntEnum):
    """A codec of batches, as numbered in the low three bits of their attributes. Options, flags and tests have all."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_NAMES = tuple(codec.name.lower() for codec in Codec)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic, as used in requests."""
    numbers: dict[str, list[int]] = {}
    for tp in partitions:
        numbers.setdefault(tp.topic, []).append(tp.partition)
    return numbers
