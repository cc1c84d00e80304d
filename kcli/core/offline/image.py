"""The state of a KRaft cluster, replayed from its metadata log as brokers replay it (Kafka calls it the metadata image).

Pure: batches of a snapshot and of the log in, tables of what is there out. The tables are the stored records themselves,
changed in place by later ones. A record of a type or version that is not known is from a newer controller: it is counted
by name in ``unknown``, since what it says is not in the image.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ProtocolError
from kcli.core.offline.stored_values import keys_and_values
from kcli.core.offline.voters import quorum_records
from kcli.core.protocol.messages.control_records import VotersRecord, VotersVoter
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import metadata_records as stored
from kcli.core.protocol.stored.reading import metadata_head, struct_of
from kcli.core.records.view import BatchView

TOPIC = "__cluster_metadata"
_FRAME = 1
_SAME_LEADER = -2
_KRAFT_VERSION = "kraft.version"
_METADATA_VERSION = "metadata.version"
Entity = tuple[tuple[str, str | None], ...]


class ImageTopic(NamedTuple):
    """A topic with its partitions by number."""

    name: str
    topic_id: bytes
    partitions: dict[int, stored.PartitionRecord]


class MetadataImage:
    """What the records say that have been replayed. ``end_offset`` is the offset behind the last of them.

    ``configs`` are by type (with the numbers of Kafka's ConfigResource) and name of the resource, ``""`` for the default
    of all brokers; ``scram`` by user and mechanism; ``quotas`` by entity, sorted, None for the default of its type.
    ``voters`` are those of a dynamic quorum, by id: none where they are static.
    ``open_transaction`` is the name of one of the controller's that has begun and not ended: it is not in the image.
    """

    def __init__(self) -> None:
        self.end_offset = 0
        self.leader_epoch = 0
        self.timestamp = -1
        self.topics: dict[str, ImageTopic] = {}
        self.brokers: dict[int, stored.RegisterBrokerRecord] = {}
        self.controllers: dict[int, stored.RegisterControllerRecord] = {}
        self.voters: dict[int, VotersVoter] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.acls: dict[bytes, stored.AccessControlEntryRecord] = {}
        self.scram: dict[tuple[str, int], stored.UserScramCredentialRecord] = {}
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.features: dict[str, int] = {}
        self.tokens: dict[str, stored.DelegationTokenRecord] = {}
        self.next_producer_id = -1
        self.unknown: Counter[str] = Counter()
        self.open_transaction: str | None = None
        self._names: dict[bytes, str] = {}
        self._waiting: list[Struct] | None = None

    @property
    def metadata_version(self) -> int | None:
        """The level of ``metadata.version``; None if no record says it."""
        return self.features.get(_METADATA_VERSION)

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id, if there is one."""
        return self._names.get(topic_id)

    def replay(self, batches: Iterable[BatchView]) -> None:
        """Adds what these batches say. Control batches are of KRaft itself: elections, snapshots, voters."""
        for batch in batches:
            if not batch.is_control:
                for offset, _key, value in keys_and_values(batch):
                    record = self._decoded(offset, value)
                    if record is not None:
                        self._replay_one(offset, record)
                self.timestamp = max(self.timestamp, batch.max_timestamp)
            else:
                for found in quorum_records(batch):
                    if isinstance(found, VotersRecord):
                        self.voters = {one.voter_id: one for one in found.voters}
                    elif found.kraft_version:
                        self.features[_KRAFT_VERSION] = found.kraft_version
            self.end_offset = batch.next_offset
            self.leader_epoch = batch.leader_epoch

    def _decoded(self, offset: int, value: memoryview | None) -> Struct | None:
        if value is None:
            self.unknown["a record without a value"] += 1
            return None
        try:
            frame, number, version, start = metadata_head(value)
            cls: Any = stored.KINDS.get(number)
            if frame != _FRAME or cls is None or not cls.versions[0] <= version <= cls.versions[1]:
                name = f"type {number}" if cls is None else cls.__name__
                self.unknown[f"{name} version {version}" + (f" frame {frame}" * (frame != _FRAME))] += 1
                return None
            found: Struct = struct_of(cls, value, start, version, cls.flexible)
            return found
        except ProtocolError as error:
            raise ProtocolError(
                f"the record of {TOPIC} at offset {offset} cannot be read", why=str(error)
            ) from None

    def _replay_one(self, offset: int, record: Struct) -> None:
        try:
            self._in_transaction(record)
        except KeyError as error:
            raise ProtocolError(
                f"the record of {TOPIC} at offset {offset} does not fit those before it",
                why=f"{type(record).__name__} is about {error}, which does not exist",
            ) from None

    def _in_transaction(self, record: Struct) -> None:
        """Records of a transaction of the controller (KIP-868) apply when it ends, or never."""
        waiting = self._waiting
        if isinstance(record, stored.BeginTransactionRecord):
            self._waiting, self.open_transaction = [], record.name or ""
        elif isinstance(record, stored.AbortTransactionRecord):
            self._waiting = self.open_transaction = None
        elif isinstance(record, stored.EndTransactionRecord):
            self._waiting = self.open_transaction = None
            for one in waiting or ():
                self._apply(one)
        elif waiting is not None:
            waiting.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Any) -> None:
        apply = _APPLY.get(type(record))
        if apply is not None:
            apply(self, record)

    def _topic(self, record: stored.TopicRecord) -> None:
        self.topics[record.name] = ImageTopic(record.name, record.topic_id, {})
        self._names[record.topic_id] = record.name

    def _remove_topic(self, record: stored.RemoveTopicRecord) -> None:
        name = self._names.pop(record.topic_id)
        del self.topics[name]
        self.configs.pop((_TOPIC_CONFIG, name), None)

    def _partitions(self, topic_id: bytes) -> dict[int, stored.PartitionRecord]:
        return self.topics[self._names[topic_id]].partitions

    def _partition(self, record: stored.PartitionRecord) -> None:
        self._partitions(record.topic_id)[record.partition_id] = record

    def _partition_change(self, change: stored.PartitionChangeRecord) -> None:
        partition = self._partitions(change.topic_id)[change.partition_id]
        for name in _CHANGED:
            value = getattr(change, name)
            if value is not None:
                setattr(partition, name, value)
        if change.leader != _SAME_LEADER:
            partition.leader = change.leader
            partition.leader_epoch += 1
        if change.leader_recovery_state >= 0:
            partition.leader_recovery_state = change.leader_recovery_state
        partition.partition_epoch += 1

    def _clear_elr(self, record: stored.ClearElrRecord) -> None:
        topics = [self.topics[record.topic_name]] if record.topic_name else self.topics.values()
        for topic in topics:
            for partition in topic.partitions.values():
                partition.eligible_leader_replicas = partition.last_known_elr = []

    def _config(self, record: stored.ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        values = self.configs.setdefault(resource, {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if not values:
            del self.configs[resource]

    def _broker(self, record: stored.RegisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = record

    def _remove_broker(self, record: stored.UnregisterBrokerRecord) -> None:
        self.brokers.pop(record.broker_id, None)

    def _fence(self, record: stored.FenceBrokerRecord) -> None:
        self.brokers[record.id].fenced = True

    def _unfence(self, record: stored.UnfenceBrokerRecord) -> None:
        self.brokers[record.id].fenced = False

    def _broker_change(self, change: stored.BrokerRegistrationChangeRecord) -> None:
        broker = self.brokers[change.broker_id]
        if change.fenced:
            broker.fenced = change.fenced > 0
        if change.in_controlled_shutdown:
            broker.in_controlled_shutdown = True
        if change.log_dirs:
            broker.log_dirs = change.log_dirs
        if change.cordoned_log_dirs is not None:
            broker.cordoned_log_dirs = change.cordoned_log_dirs

    def _controller(self, record: stored.RegisterControllerRecord) -> None:
        self.controllers[record.controller_id] = record

    def _remove_controller(self, record: stored.UnregisterControllerRecord) -> None:
        self.controllers.pop(record.controller_id, None)

    def _acl(self, record: stored.AccessControlEntryRecord) -> None:
        self.acls[record.id] = record

    def _remove_acl(self, record: stored.RemoveAccessControlEntryRecord) -> None:
        self.acls.pop(record.id, None)

    def _scram(self, record: stored.UserScramCredentialRecord) -> None:
        self.scram[record.name, record.mechanism] = record

    def _remove_scram(self, record: stored.RemoveUserScramCredentialRecord) -> None:
        self.scram.pop((record.name, record.mechanism), None)

    def _quota(self, record: stored.ClientQuotaRecord) -> None:
        # As in Kafka's own image, a type that is there twice has its last name.
        entity = tuple(sorted({part.entity_type: part.entity_name for part in record.entity}.items()))
        values = self.quotas.setdefault(entity, {})
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if not values:
            del self.quotas[entity]

    def _feature(self, record: stored.FeatureLevelRecord) -> None:
        if record.feature_level:
            self.features[record.name] = record.feature_level
        else:
            self.features.pop(record.name, None)

    def _producer_ids(self, record: stored.ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def _token(self, record: stored.DelegationTokenRecord) -> None:
        self.tokens[record.token_id] = record

    def _remove_token(self, record: stored.RemoveDelegationTokenRecord) -> None:
        self.tokens.pop(record.token_id, None)


_TOPIC_CONFIG = 2
_CHANGED = (
    "isr",
    "replicas",
    "removing_replicas",
    "adding_replicas",
    "directories",
    "eligible_leader_replicas",
    "last_known_elr",
)
_APPLY: dict[type[Struct], Callable[[MetadataImage, Any], None]] = {
    stored.RegisterBrokerRecord: MetadataImage._broker,
    stored.UnregisterBrokerRecord: MetadataImage._remove_broker,
    stored.TopicRecord: MetadataImage._topic,
    stored.PartitionRecord: MetadataImage._partition,
    stored.ConfigRecord: MetadataImage._config,
    stored.PartitionChangeRecord: MetadataImage._partition_change,
    stored.FenceBrokerRecord: MetadataImage._fence,
    stored.UnfenceBrokerRecord: MetadataImage._unfence,
    stored.RemoveTopicRecord: MetadataImage._remove_topic,
    stored.DelegationTokenRecord: MetadataImage._token,
    stored.UserScramCredentialRecord: MetadataImage._scram,
    stored.FeatureLevelRecord: MetadataImage._feature,
    stored.ClientQuotaRecord: MetadataImage._quota,
    stored.ProducerIdsRecord: MetadataImage._producer_ids,
    stored.BrokerRegistrationChangeRecord: MetadataImage._broker_change,
    stored.AccessControlEntryRecord: MetadataImage._acl,
    stored.RemoveAccessControlEntryRecord: MetadataImage._remove_acl,
    stored.RemoveUserScramCredentialRecord: MetadataImage._remove_scram,
    stored.RemoveDelegationTokenRecord: MetadataImage._remove_token,
    stored.RegisterControllerRecord: MetadataImage._controller,
    stored.ClearElrRecord: MetadataImage._clear_elr,
    stored.UnregisterControllerRecord: MetadataImage._remove_controller,
}
"""What a record does to the image. NoOp and the states of a migration from ZooKeeper do nothing."""
