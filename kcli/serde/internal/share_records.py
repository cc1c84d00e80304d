"""Records of share coordinators in ``__share_group_state`` (KIP-932): tables, compared with Kafka's by a test. Pure."""

from kcli.core.protocol.schema import INT8, INT16, INT32, INT64, STRING, UUID, Array, Struct, field
from kcli.serde.internal.group_records import RecordValue


class SharePartitionKey(Struct):
    group_id: str = field(STRING)
    topic_id: bytes = field(UUID)
    partition: int = field(INT32)


class StateBatch(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    delivery_state: int = field(INT8)
    delivery_count: int = field(INT16)


class ShareSnapshotValue(RecordValue):
    snapshot_epoch: int = field(INT32)
    state_epoch: int = field(INT32)
    leader_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    create_timestamp: int = field(INT64)
    write_timestamp: int = field(INT64)
    state_batches: list[StateBatch] = field(Array(StateBatch))


class ShareUpdateValue(RecordValue):
    snapshot_epoch: int = field(INT32)
    leader_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    delivery_complete_count: int = field(INT32, default=-1, tag=0)
    state_batches: list[StateBatch] = field(Array(StateBatch))
