# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Records of share coordinators in ``__share_group_state`` (KIP-932). Pure."""

from typing import ClassVar

from kcli.core.protocol.schema import INT8, INT16, INT32, INT64, STRING, UUID, Array, Struct, field


class ShareSnapshotKey(Struct):
    group_id: str = field(STRING)
    topic_id: bytes = field(UUID)
    partition: int = field(INT32)


class StateBatch(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    delivery_state: int = field(INT8)
    delivery_count: int = field(INT16)


class ShareSnapshotValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    snapshot_epoch: int = field(INT32)
    state_epoch: int = field(INT32)
    leader_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    create_timestamp: int = field(INT64)
    write_timestamp: int = field(INT64)
    state_batches: list[StateBatch] = field(Array(StateBatch))


class ShareUpdateKey(Struct):
    group_id: str = field(STRING)
    topic_id: bytes = field(UUID)
    partition: int = field(INT32)


class ShareUpdateValue(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    snapshot_epoch: int = field(INT32)
    leader_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    state_batches: list[StateBatch] = field(Array(StateBatch))


KINDS: dict[int, tuple[type[Struct], type[Struct]]] = {
    0: (ShareSnapshotKey, ShareSnapshotValue),
    1: (ShareUpdateKey, ShareUpdateValue),
}
"""The classes by the number of the kind of records."""
