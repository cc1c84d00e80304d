"""The metadata image: what each kind of record does to it."""

import pytest

from kcli.core.errors import ProtocolError
from kcli.core.offline.image import _APPLY, MetadataImage
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import metadata_records as stored
from kcli.core.records.batch import RecordBatch
from tests.unit.core.offline.stored import CONTROL, batch, control, metadata_batch

A, B = b"a" * 16, b"b" * 16


def image_of(*records: Struct) -> MetadataImage:
    image = MetadataImage()
    image.replay([metadata_batch(0, *records)])
    return image


def partition(number: int, topic_id: bytes = A, **fields: object) -> stored.PartitionRecord:
    given = {
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        **fields,
    }
    return stored.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        removing_replicas=[],
        adding_replicas=[],
        **given,  # type: ignore[arg-type]
    )


def topic(name: str, topic_id: bytes = A) -> stored.TopicRecord:
    return stored.TopicRecord(name=name, topic_id=topic_id)


def config(name: str, key: str, value: str | None, kind: int = 2) -> stored.ConfigRecord:
    return stored.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)


def test_every_kind_of_record_is_applied_or_says_nothing() -> None:
    silent = {
        stored.NoOpRecord,
        stored.ZkMigrationStateRecord,
        stored.BeginTransactionRecord,
        stored.EndTransactionRecord,
        stored.AbortTransactionRecord,
    }
    assert set(stored.KINDS.values()) == _APPLY.keys() | silent
    assert not _APPLY.keys() & silent


def test_a_topic_that_is_removed_takes_its_configuration_along() -> None:
    image = image_of(
        topic("orders"), partition(0), config("orders", "retention.ms", "1"), stored.RemoveTopicRecord(topic_id=A),
        topic("orders", B), partition(0, B),
    )  # fmt: skip
    assert image.topics["orders"].topic_id == B
    assert image.topic_name(A) is None
    assert image.topic_name(B) == "orders"
    assert image.configs == {}


def test_a_change_of_leader_begins_an_epoch_and_other_fields_stay() -> None:
    image = image_of(
        topic("orders"),
        partition(0),
        stored.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[2]),
        stored.PartitionChangeRecord(partition_id=0, topic_id=A, leader=2),
        stored.PartitionChangeRecord(partition_id=0, topic_id=A, leader=-1, eligible_leader_replicas=[2]),
    )
    found = image.topics["orders"].partitions[0]
    assert (found.leader, found.leader_epoch, found.partition_epoch) == (-1, 2, 3)
    assert (found.isr, found.replicas, found.eligible_leader_replicas) == ([2], [1, 2], [2])


def test_eligible_leaders_are_forgotten_of_one_topic_or_of_all() -> None:
    records = [
        topic("a"),
        partition(0, eligible_leader_replicas=[1]),
        topic("b", B),
        partition(0, B, last_known_elr=[2]),
    ]
    one = image_of(*records, stored.ClearElrRecord(topic_name="a"))
    assert one.topics["a"].partitions[0].eligible_leader_replicas == []
    assert one.topics["b"].partitions[0].last_known_elr == [2]
    every = image_of(*records, stored.ClearElrRecord(topic_name=""))
    assert every.topics["b"].partitions[0].last_known_elr == []


def test_configurations_are_set_and_unset_key_by_key() -> None:
    image = image_of(
        config("", "a", "1", 4), config("", "b", "2", 4), config("", "a", None, 4), config("1", "a", "3", 4),
        config("g", "x", "4", 32), config("g", "x", None, 32),
    )  # fmt: skip
    assert image.configs == {(4, ""): {"b": "2"}, (4, "1"): {"a": "3"}}


def test_a_transaction_of_the_controller_applies_when_it_ends() -> None:
    begin, end = stored.BeginTransactionRecord(name="t"), stored.EndTransactionRecord()
    image = image_of(begin, topic("a"), end, begin, topic("b", B), stored.AbortTransactionRecord())
    assert image.topics.keys() == {"a"}
    assert image.open_transaction is None
    still = image_of(begin, topic("a"))
    assert not still.topics
    assert still.open_transaction == "t"


def test_brokers_are_fenced_changed_and_unregistered() -> None:
    def broker(number: int) -> stored.RegisterBrokerRecord:
        return stored.RegisterBrokerRecord(
            broker_id=number, broker_epoch=1, end_points=[], features=[], rack="r"
        )

    change = stored.BrokerRegistrationChangeRecord
    image = image_of(
        broker(1), broker(2), broker(3), stored.UnfenceBrokerRecord(id=1), stored.UnfenceBrokerRecord(id=2),
        stored.FenceBrokerRecord(id=2), change(broker_id=3, fenced=-1, log_dirs=[A]),
        change(broker_id=1, in_controlled_shutdown=1),
        broker(4), stored.UnregisterBrokerRecord(broker_id=4, broker_epoch=1),
    )  # fmt: skip
    assert {number: one.fenced for number, one in image.brokers.items()} == {1: False, 2: True, 3: False}
    assert image.brokers[1].in_controlled_shutdown
    assert image.brokers[3].log_dirs == [A]


def test_what_is_removed_by_key_is_gone() -> None:
    def acl(number: bytes) -> stored.AccessControlEntryRecord:
        return stored.AccessControlEntryRecord(
            id=number, resource_type=2, resource_name="t", pattern_type=3, principal="User:a", host="*", operation=3,
            permission_type=3,
        )  # fmt: skip

    def quota(name: str | None, key: str, *, remove: bool = False) -> stored.ClientQuotaRecord:
        entity = [stored.EntityData(entity_type="user", entity_name=name)]
        return stored.ClientQuotaRecord(entity=entity, key=key, value=1.5, remove=remove)

    credential = stored.UserScramCredentialRecord(
        name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096
    )
    token = stored.DelegationTokenRecord(
        owner="User:a", requester="User:a", renewers=[], issue_timestamp=1, max_timestamp=2, expiration_timestamp=2,
        token_id="x",
    )  # fmt: skip
    controller = stored.RegisterControllerRecord(controller_id=1, end_points=[], features=[])
    image = image_of(
        acl(A), acl(B), stored.RemoveAccessControlEntryRecord(id=A),
        quota(None, "k"), quota("a", "k"), quota("a", "k", remove=True),
        credential, stored.RemoveUserScramCredentialRecord(name="u", mechanism=1),
        token, stored.RemoveDelegationTokenRecord(token_id="x"),
        controller, stored.UnregisterControllerRecord(controller_id=1),
        stored.FeatureLevelRecord(name="metadata.version", feature_level=7),
        stored.FeatureLevelRecord(name="f", feature_level=1), stored.FeatureLevelRecord(name="f", feature_level=0),
        stored.ProducerIdsRecord(broker_id=1, next_producer_id=2000),
    )  # fmt: skip
    assert image.acls.keys() == {B}
    assert image.quotas == {(("user", None),): {"k": 1.5}}
    assert not image.scram
    assert not image.tokens
    assert not image.controllers
    assert (image.features, image.metadata_version, image.next_producer_id) == (
        {"metadata.version": 7},
        7,
        2000,
    )


def test_what_is_from_a_newer_controller_is_named_and_counted() -> None:
    image = MetadataImage()
    rows = [
        (None, bytes([1, 2, 99])),
        (None, bytes([1, 120, 0, 5])),
        (None, bytes([1, 120, 0])),
        (None, None),
    ]
    image.replay([batch(0, rows), metadata_batch(4, topic("a"))])
    assert image.unknown == {
        "TopicRecord version 99": 1,
        "type 120 version 0": 2,
        "a record without a value": 1,
    }
    assert image.topics.keys() == {"a"}


def test_control_batches_say_only_where_the_log_is() -> None:
    image = MetadataImage()
    image.replay([control(0, 2, epoch=3), metadata_batch(1, topic("a"), epoch=3), control(2, 4, epoch=4)])
    assert (image.end_offset, image.leader_epoch, len(image.topics)) == (3, 4, 1)


def quorum_record(offset: int, kind: int, value: str) -> RecordBatch:
    return batch(offset, [(bytes(2) + kind.to_bytes(2, "big"), bytes.fromhex(value))], flags=CONTROL)


def test_control_records_have_the_voters() -> None:
    image = MetadataImage()
    # As Kafka 4.4.0 wrote them.
    first = (
        "0000020000000186b5f83b5b9547378097ed11978d7d55020b434f4e54524f4c4c4552"
        "0a3132372e302e302e31518b0000000001000000"
    )
    image.replay([quorum_record(0, 5, "0000000100"), quorum_record(1, 6, first)])
    (voter,) = image.voters.values()
    assert (voter.voter_id, voter.voter_directory_id.hex()) == (1, "86b5f83b5b9547378097ed11978d7d55")
    assert [(one.name, one.host, one.port) for one in voter.endpoints] == [("CONTROLLER", "127.0.0.1", 20875)]
    assert image.features == {"kraft.version": 1}
    image.replay([quorum_record(2, 6, first.replace("0000020000000186", "0000020000000786"))])
    assert image.voters.keys() == {7}
    with pytest.raises(ProtocolError, match="control record at offset 3"):
        image.replay([quorum_record(3, 6, first[:-4])])


def test_a_record_about_what_does_not_exist_is_an_error_with_its_offset() -> None:
    with pytest.raises(ProtocolError, match=r"offset 1 does not fit .*PartitionRecord"):
        image_of(topic("a"), partition(0, B))
