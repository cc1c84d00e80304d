# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""What members of a ``consumer`` group say to each other inside JoinGroup and SyncGroup; no API of its own.

Brokers pass these bytes on unread. Each stands behind an INT16 with its version. Later versions only add fields
at the end, so that a version from the future is read as the newest one known here.
"""

from typing import ClassVar

from kcli.core.protocol.schema import BYTES, INT32, STRING, Array, Struct, field


class TopicPartitions(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(Array(INT32))


class ConsumerProtocolSubscription(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 3)

    topics: list[str] = field(Array(STRING))
    user_data: bytes | memoryview | None = field(BYTES, default=None, nullable="0+")
    owned_partitions: list[TopicPartitions] = field(Array(TopicPartitions), "1+", default_factory=list)
    generation_id: int = field(INT32, "2+", default=-1)
    rack_id: str | None = field(STRING, "3+", default=None, nullable="3+")


class ConsumerProtocolAssignment(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 3)

    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions))
    user_data: bytes | memoryview | None = field(BYTES, default=None, nullable="0+")
