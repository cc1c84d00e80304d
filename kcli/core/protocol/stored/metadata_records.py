# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""Records of the controllers in ``__cluster_metadata`` (KIP-631). Pure."""

from typing import ClassVar

from kcli.core.protocol.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Array,
    Struct,
    field,
)


class BrokerEndpoint(Struct):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)


class BrokerFeature(Struct):
    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class RegisterBrokerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 4)
    flexible: ClassVar[int] = 0

    broker_id: int = field(INT32)
    is_migrating_zk_broker: bool = field(BOOL, "2+", default=False)
    incarnation_id: bytes = field(UUID)
    broker_epoch: int = field(INT64)
    end_points: list[BrokerEndpoint] = field(Array(BrokerEndpoint))
    features: list[BrokerFeature] = field(Array(BrokerFeature))
    rack: str | None = field(STRING, nullable="0+")
    fenced: bool = field(BOOL, default=True)
    in_controlled_shutdown: bool = field(BOOL, "1+", default=False)
    log_dirs: list[bytes] = field(Array(UUID), "3+", default_factory=list, tag=0)
    cordoned_log_dirs: list[bytes] | None = field(Array(UUID), "4+", default=None, nullable="4+", tag=1)


class UnregisterBrokerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)


class TopicRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    name: str = field(STRING)
    topic_id: bytes = field(UUID)


class PartitionRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 2)
    flexible: ClassVar[int] = 0

    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    replicas: list[int] = field(Array(INT32))
    isr: list[int] = field(Array(INT32))
    removing_replicas: list[int] = field(Array(INT32))
    adding_replicas: list[int] = field(Array(INT32))
    leader: int = field(INT32, default=-1)
    leader_recovery_state: int = field(INT8, default=0, tag=0)
    leader_epoch: int = field(INT32, default=-1)
    partition_epoch: int = field(INT32, default=-1)
    directories: list[bytes] = field(Array(UUID), "1+", default_factory=list)
    eligible_leader_replicas: list[int] | None = field(Array(INT32), "2+", default=None, nullable="2+", tag=1)
    last_known_elr: list[int] | None = field(Array(INT32), "2+", default=None, nullable="2+", tag=2)


class ConfigRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+", secret=True)


class PartitionChangeRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 2)
    flexible: ClassVar[int] = 0

    partition_id: int = field(INT32, default=-1)
    topic_id: bytes = field(UUID)
    isr: list[int] | None = field(Array(INT32), default=None, nullable="0+", tag=0)
    leader: int = field(INT32, default=-2, tag=1)
    replicas: list[int] | None = field(Array(INT32), default=None, nullable="0+", tag=2)
    removing_replicas: list[int] | None = field(Array(INT32), default=None, nullable="0+", tag=3)
    adding_replicas: list[int] | None = field(Array(INT32), default=None, nullable="0+", tag=4)
    leader_recovery_state: int = field(INT8, default=-1, tag=5)
    directories: list[bytes] | None = field(Array(UUID), "1+", default=None, nullable="1+", tag=8)
    eligible_leader_replicas: list[int] | None = field(Array(INT32), "2+", default=None, nullable="2+", tag=6)
    last_known_elr: list[int] | None = field(Array(INT32), "2+", default=None, nullable="2+", tag=7)


class FenceBrokerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    id: int = field(INT32)
    epoch: int = field(INT64)


class UnfenceBrokerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    id: int = field(INT32)
    epoch: int = field(INT64)


class RemoveTopicRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topic_id: bytes = field(UUID)


class DelegationTokenRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    owner: str = field(STRING)
    requester: str = field(STRING)
    renewers: list[str] = field(Array(STRING))
    issue_timestamp: int = field(INT64)
    max_timestamp: int = field(INT64)
    expiration_timestamp: int = field(INT64)
    token_id: str = field(STRING)


class UserScramCredentialRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    name: str = field(STRING)
    mechanism: int = field(INT8)
    salt: bytes = field(BYTES)
    stored_key: bytes = field(BYTES, secret=True)
    server_key: bytes = field(BYTES, secret=True)
    iterations: int = field(INT32)


class FeatureLevelRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    name: str = field(STRING)
    feature_level: int = field(INT16)


class EntityData(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


class ClientQuotaRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    entity: list[EntityData] = field(Array(EntityData))
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


class ProducerIdsRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, default=-1)
    next_producer_id: int = field(INT64)


class BrokerRegistrationChangeRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 3)
    flexible: ClassVar[int] = 0

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)
    fenced: int = field(INT8, default=0, tag=0)
    in_controlled_shutdown: int = field(INT8, "1+", default=0, tag=1)
    log_dirs: list[bytes] = field(Array(UUID), "2+", default_factory=list, tag=2)
    cordoned_log_dirs: list[bytes] | None = field(Array(UUID), "3+", default=None, nullable="3+", tag=3)


class AccessControlEntryRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    id: bytes = field(UUID)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class RemoveAccessControlEntryRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    id: bytes = field(UUID)


class NoOpRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0


class ZkMigrationStateRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    zk_migration_state: int = field(INT8)


class RemoveUserScramCredentialRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    name: str = field(STRING)
    mechanism: int = field(INT8)


class BeginTransactionRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    name: str | None = field(STRING, default=None, nullable="0+", tag=0)


class EndTransactionRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0


class AbortTransactionRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    reason: str | None = field(STRING, default=None, nullable="0+", tag=0)


class RemoveDelegationTokenRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    token_id: str = field(STRING)


class ControllerEndpoint(Struct):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)


class ControllerFeature(Struct):
    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class RegisterControllerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    controller_id: int = field(INT32)
    incarnation_id: bytes = field(UUID)
    zk_migration_ready: bool = field(BOOL)
    end_points: list[ControllerEndpoint] = field(Array(ControllerEndpoint))
    features: list[ControllerFeature] = field(Array(ControllerFeature))


class ClearElrRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    topic_name: str = field(STRING)


class UnregisterControllerRecord(Struct):
    versions: ClassVar[tuple[int, int]] = (0, 0)
    flexible: ClassVar[int] = 0

    controller_id: int = field(INT32)


KINDS: dict[int, type[Struct]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
    29: UnregisterControllerRecord,
}
"""The classes by the number of the kind of records."""
