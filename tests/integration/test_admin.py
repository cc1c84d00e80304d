"""The admin client against a real broker, with librdkafka's and kafka-python's admin clients as judges."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from confluent_kafka import Consumer as JudgeConsumer
from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.admin import ConfigResource as JudgeResource

from kcli.core import (
    Admin,
    ConfigChange,
    ConfigKind,
    ConfigOp,
    ConfigResource,
    GroupMember,
    GroupMetadata,
    OffsetAndMetadata,
    OffsetInfo,
    Producer,
    TopicPartition,
)
from kcli.core.cluster.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from kcli.core.errors import BrokerError, KcliError, NotFoundError, TimedOutError, UnsupportedError
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from tests.kafka import Kafka
from tests.kafka_versions import lacking

pytestmark = pytest.mark.integration

T = TypeVar("T")


@pytest.fixture(scope="module")
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=30) as made:
        yield made


@pytest.fixture(scope="module")
def judge(kafka: Kafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap})


# --- offsets of groups ---------------------------------------------------------------------------------------------


@pytest.mark.case("S1-1", "S1-5")
def test_commits_are_exchanged_with_the_judge_both_ways(
    kafka: Kafka, admin: Admin, judge: AdminClient
) -> None:
    topic = kafka.topic("offsets", partitions=3)
    names = [kafka.unused_name("group") for _ in range(4)]
    wanted = {
        name: {TopicPartition(topic, p): at(number * 10 + p, f"note {p}") for p in range(number)}
        for number, name in enumerate(names, 1)
        if number < 4
    }
    outcome = admin.commit_offsets({**wanted, names[3]: {TopicPartition(topic, 0): at(5)}})
    assert all(error is None for rows in outcome.values() for error in rows.values())
    found = admin.fetch_offsets(dict.fromkeys(names))
    assert found == {**wanted, names[3]: {TopicPartition(topic, 0): at(5)}}
    for name in names:
        assert judged_offsets(kafka, name) == {w: (o.offset, o.metadata) for w, o in found[name].items()}  # type: ignore[union-attr]
    new = ConsumerGroupTopicPartitions(names[0], [JudgePartition(topic, 2, 77)])
    judge.alter_consumer_group_offsets([new])[names[0]].result(120)
    asked = [TopicPartition(topic, p) for p in range(3)]
    assert admin.fetch_offsets({names[0]: asked}) == {
        names[0]: {asked[0]: at(10, "note 0"), asked[1]: None, asked[2]: at(77)}
    }


@pytest.mark.case("S1-4")
def test_errors_are_reported_partition_by_partition(kafka: Kafka, admin: Admin) -> None:
    topic, group = kafka.topic("errors"), kafka.unused_name("group")
    good, far, none = TopicPartition(topic, 0), TopicPartition(topic, 9), TopicPartition("no-such-topic", 0)
    outcome = admin.commit_offsets({group: {good: at(1), far: at(1), none: at(1)}})[group]
    assert {tp: code_of(error) for tp, error in outcome.items()} == {good: 0, far: 3, none: 3}
    outcome = admin.commit_offsets({group: {good: at(1, "x" * 4097)}})[group]
    assert code_of(outcome[good]) == 12
    assert admin.fetch_offsets({group: [good, far, none]}) == {group: {good: at(1), far: None, none: None}}
    outcome = admin.delete_offsets({group: [good, far, none]})[group]
    assert {tp: code_of(error) for tp, error in outcome.items()} == {good: 0, far: 3, none: 3}
    assert admin.fetch_offsets({group: None}) == {group: {}}


@pytest.mark.case("S0-44")
def test_a_group_is_deleted_also_after_its_last_offset(kafka: Kafka, admin: Admin) -> None:
    """Coordinators before 4.0 drop the group with the offset, and then say that it does not exist."""
    topic, first, second = kafka.topic("deleted"), kafka.unused_name("group"), kafka.unused_name("group")
    tp = TopicPartition(topic, 0)
    committed = admin.commit_offsets({first: {tp: at(1)}, second: {tp: at(1)}})
    assert committed == {first: {tp: None}, second: {tp: None}}
    assert admin.delete_offsets({first: [tp]}) == {first: {tp: None}}
    outcome = admin.delete_groups([first, "no-such-group", second])
    assert (outcome[first], outcome[second]) == (None, None)
    assert isinstance(outcome["no-such-group"], NotFoundError)
    told = admin.delete_offsets({"no-such-group": [tp]})["no-such-group"][tp]
    assert isinstance(told, NotFoundError)
    assert first not in {row.group_id for row in admin.list_groups().groups}


@pytest.mark.case("S3-1")
def test_a_thousand_groups_are_found_and_read(kafka: Kafka, admin: Admin) -> None:
    topic = kafka.topic("many")
    tp = TopicPartition(topic, 0)
    names = [kafka.unused_name("many") for _ in range(1000)]
    outcome = admin.commit_offsets({name: {tp: at(n)} for n, name in enumerate(names)})
    assert {error for rows in outcome.values() for error in rows.values()} == {None}
    with Admin(bootstrap_servers=kafka.bootstrap, timeout=30) as other:
        assert other.fetch_offsets(dict.fromkeys(names)) == {n: {tp: at(i)} for i, n in enumerate(names)}
        described = other.describe_groups(names)
        assert {getattr(told, "state", told) for told in described.values()} == {"Empty"}
        assert set(other.delete_groups(names).values()) == {None}


@pytest.mark.case("S1-12")
def test_unstable_offsets_are_waited_for_and_then_an_error(kafka: Kafka, admin: Admin) -> None:
    topic, group = kafka.topic("unstable"), kafka.unused_name("group")
    tp = TopicPartition(topic, 0)
    admin.commit_offsets({group: {tp: at(1)}})
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as writer:
        writer.init_transactions(30)
        writer.begin_transaction()
        writer.send_offsets_to_transaction({tp: at(9)}, GroupMetadata(group), 30)
        with Admin(bootstrap_servers=kafka.bootstrap, timeout=1) as hasty:
            assert hasty.fetch_offsets({group: [tp]}) == {group: {tp: at(1)}}
            told = hasty.fetch_offsets({group: [tp]}, require_stable=True)[group]
            assert isinstance(told, Mapping)
            assert isinstance(told[tp], TimedOutError)
            assert "UNSTABLE_OFFSET_COMMIT" in str(told[tp])
        writer.commit_transaction(30)
        assert admin.fetch_offsets({group: [tp]}, require_stable=True) == {group: {tp: at(9)}}


# --- groups with members -------------------------------------------------------------------------------------------


@pytest.mark.case("S0-41", "S3-7")
def test_a_running_group_is_described_as_the_judge_describes_it(
    kafka: Kafka, admin: Admin, judge: AdminClient
) -> None:
    topic, group = kafka.topic("live", partitions=3), kafka.unused_name("group")
    with member(kafka, topic, group, **{"client.id": "someone"}):
        found = admin.describe_groups([group, "no-such-group"])
        assert isinstance(found["no-such-group"], NotFoundError)
        ours = found[group]
        assert not isinstance(ours, KcliError)
        theirs = judge.describe_consumer_groups([group])[group].result(120)
        assert (ours.type, ours.state, ours.assignor) == ("classic", "Stable", theirs.partition_assignor)
        assert ours.coordinator == theirs.coordinator.id
        (one,), (two,) = ours.members, theirs.members
        assert (one.member_id, one.client_id, one.client_host) == (two.member_id, "someone", two.host)
        assert one.subscription == (topic,)
        assert one.assignment is not None
        assert sorted(one.assignment) == sorted(
            (t.topic, t.partition) for t in two.assignment.topic_partitions
        )
        listed = {row.group_id: row for row in admin.list_groups().groups}[group]
        assert listed.protocol_type == "consumer"
        if not is_old(kafka):
            assert listed.state == "Stable"
            assert group in {row.group_id for row in admin.list_groups(states=["stable"]).groups}
        if not lacking("groups list --type", kafka.version):
            assert listed.type == "classic"
            assert group not in {row.group_id for row in admin.list_groups(types=["consumer"]).groups}
        assert group not in {row.group_id for row in admin.list_groups(states=["empty"]).groups}


@pytest.mark.case("S0-44")
def test_a_running_group_is_guarded_from_strangers_but_not_from_its_members_name(
    kafka: Kafka, admin: Admin
) -> None:
    topic, group = kafka.topic("guarded"), kafka.unused_name("group")
    tp, other = TopicPartition(topic, 0), TopicPartition(kafka.topic("other"), 0)
    admin.commit_offsets({group: {other: at(1)}})
    with member(kafka, topic, group):
        assert code_of(admin.commit_offsets({group: {tp: at(1)}})[group][tp]) == 25
        assert code_of(admin.delete_groups([group])[group]) == 68
        outcome = admin.delete_offsets({group: [tp, other]})[group]
        assert (code_of(outcome[tp]), outcome[other]) == (86, None)
        described = admin.describe_groups([group])[group]
        assert not isinstance(described, KcliError)
        name = described.members[0].member_id
        codes = {
            generation: code_of(
                admin.commit_offsets({GroupMetadata(group, generation, name): {tp: at(3)}})[group][tp]
            )
            for generation in range(1, 6)
        }
        assert sorted(codes.values()) == [0, 22, 22, 22, 22]
        assert admin.fetch_offsets({group: [tp]}) == {group: {tp: at(3)}}


def test_members_are_removed_by_id(kafka: Kafka, admin: Admin) -> None:
    topic, group = kafka.topic("removed"), kafka.unused_name("group")
    with member(kafka, topic, group):
        described = admin.describe_groups([group])[group]
        assert not isinstance(described, KcliError)
        one, none = GroupMember(described.members[0].member_id), GroupMember("nobody")
        outcome = admin.remove_members({group: [one, none]}, reason="a test")[group]
        assert outcome[one] is None
        assert isinstance(outcome[none], NotFoundError)
        assert state_of(admin, group) == "Empty"
    unknown = admin.remove_members({"no-such-group": [none]})["no-such-group"][none]
    assert isinstance(unknown, NotFoundError)


def test_static_members_are_removed_by_instance_id(kafka: Kafka, admin: Admin) -> None:
    topic, group = kafka.topic("static"), kafka.unused_name("group")
    with member(kafka, topic, group, **{"group.instance.id": "first"}):
        first, second = GroupMember(instance_id="first"), GroupMember(instance_id="second")
        fenced = GroupMember("wrong", "first")
        assert code_of(admin.remove_members({group: [fenced]})[group][fenced]) == 82
        outcome = admin.remove_members({group: [first, second]})[group]
        assert outcome[first] is None
        assert isinstance(outcome[second], NotFoundError)


def test_a_kip_848_group_is_reported_as_one(kafka: Kafka, admin: Admin) -> None:
    if is_old(kafka):
        with pytest.raises(UnsupportedError, match="by type"):
            admin.list_groups(types=["consumer"])
    if not is_new(kafka):  # 3.9 knows the word, but such groups are switched off
        return
    topic, group = kafka.topic("modern", partitions=2), kafka.unused_name("group")
    tp = TopicPartition(topic, 0)
    with member(kafka, topic, group, **{"group.protocol": "consumer"}):
        found = until(
            lambda: admin.describe_groups([group])[group],
            lambda told: getattr(told, "state", "") == "Stable" and bool(told.members[0].assignment),  # type: ignore[union-attr]
        )
        assert not isinstance(found, KcliError)
        (one,) = found.members
        assert (found.type, found.protocol_type, found.assignor) == ("consumer", "consumer", "uniform")
        assert one.subscription == (topic,)
        assert set(one.assignment or ()) == set(one.target or ()) == {tp, TopicPartition(topic, 1)}
        assert found.epoch > 0
        assert one.epoch > 0
        assert group in {row.group_id for row in admin.list_groups(types=["consumer"]).groups}
        assert group not in {row.group_id for row in admin.list_groups(types=["classic"]).groups}
        assert code_of(admin.commit_offsets({group: {tp: at(1)}})[group][tp]) == 25
        as_member = GroupMetadata(group, one.epoch, one.member_id)
        assert admin.commit_offsets({as_member: {tp: at(1)}}) == {group: {tp: None}}
        stale = GroupMetadata(group, one.epoch + 1, one.member_id)
        assert code_of(admin.commit_offsets({stale: {tp: at(2)}})[group][tp]) == 113
        gone = GroupMember(one.member_id)
        assert admin.remove_members({group: [gone]}) == {group: {gone: None}}


# --- places in partitions ------------------------------------------------------------------------------------------

NEEDS = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


def test_every_position_is_reported_or_refused_by_name(
    kafka: Kafka, admin: Admin, judge: AdminClient
) -> None:
    topic = filled(kafka)
    tp = TopicPartition(topic, 0)
    offered = admin.cluster.brokers.offer(next(iter(admin.connect().nodes.values())), "control")
    version = min(offered.apis[ListOffsetsRequest.api_key][1], ListOffsetsRequest.versions[1])
    found = {place: admin.list_offsets({tp: place})[tp] for place in NEEDS}
    for place, needed in NEEDS.items():
        assert isinstance(found[place], OffsetInfo if version >= needed else UnsupportedError), found[place]
    wishes = {LATEST: OffsetSpec.latest(), EARLIEST: OffsetSpec.earliest()}
    if version >= 7:
        wishes[MAX_TIMESTAMP] = OffsetSpec.max_timestamp()
        assert found[MAX_TIMESTAMP] == OffsetInfo(10, 99_000, 0)
    for place, spec in wishes.items():
        asked = judge.list_offsets(
            {JudgePartition(topic, 0): spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED
        )
        ((_, answer),) = asked.items()
        ours = found[place]
        assert isinstance(ours, OffsetInfo)
        assert ours.offset == answer.result(120).offset
    stamps = {T: admin.list_offsets({tp: T})[tp] for T in (6001, 99_001)}
    assert stamps == {6001: OffsetInfo(6, 7000, 0), 99_001: OffsetInfo(-1, -1, -1)}


def test_records_are_deleted_up_to_an_offset(kafka: Kafka, admin: Admin) -> None:
    topic = filled(kafka)
    tp, none = TopicPartition(topic, 0), TopicPartition(topic, 7)
    assert admin.delete_records({tp: 15}) == {tp: 15}
    assert judged_watermarks(kafka, tp) == (15, 20)
    assert admin.delete_records({tp: 3}) == {tp: 15}
    outcome = admin.delete_records({tp: 21, none: 1})
    assert code_of(outcome[tp]) == 1
    assert isinstance(outcome[none], NotFoundError)
    newest = admin.list_offsets({tp: MAX_TIMESTAMP})[tp]
    assert isinstance(
        newest, KcliError
    )  # the broker names offset 10, which is gone; or is too old to be asked
    assert admin.delete_records({tp: -1}) == {tp: 20}
    assert judged_watermarks(kafka, tp) == (20, 20)
    newest = admin.list_offsets({tp: MAX_TIMESTAMP})[tp]
    assert isinstance(newest, UnsupportedError) or newest == OffsetInfo(-1, -1)


def test_partitions_are_added(kafka: Kafka, admin: Admin) -> None:
    topic = kafka.topic("grown", partitions=2)
    assert admin.create_partitions({topic: 5}, validate_only=True) == {topic: None}
    assert admin.create_partitions({topic: 3, "no-such-topic": 3})[topic] is None
    until(
        lambda: admin.describe_topics([topic])[topic], lambda told: len(getattr(told, "partitions", ())) == 3
    )
    outcome = admin.create_partitions({topic: 3, "no-such-topic": 3})
    assert code_of(outcome[topic]) == 37
    assert isinstance(outcome["no-such-topic"], NotFoundError)
    assert code_of(admin.create_partitions({topic: 1})[topic]) == 37


# --- configurations ------------------------------------------------------------------------------------------------


def test_configurations_are_changed_key_by_key(kafka: Kafka, admin: Admin, judge: AdminClient) -> None:
    topic = kafka.topic("configured", config={"retention.ms": "60000"})
    resource, none = (
        ConfigResource(ConfigKind.TOPIC, topic),
        ConfigResource(ConfigKind.TOPIC, "no-such-topic"),
    )
    changes = [
        ConfigChange("segment.bytes", "1048576"),
        ConfigChange("retention.ms", None, ConfigOp.DELETE),
        ConfigChange("cleanup.policy", "compact", ConfigOp.APPEND),
    ]
    assert admin.alter_configs({resource: changes}, validate_only=True) == {resource: None}
    outcome = admin.alter_configs({resource: changes, none: [ConfigChange("retention.ms", "1")]})
    assert outcome[resource] is None
    assert isinstance(outcome[none], NotFoundError)
    entries = until(
        lambda: admin.describe_configs([resource, none], documentation=True, synonyms=True),
        lambda found: len([e for e in found[resource] if not e.is_default]) == 2,  # type: ignore[union-attr]
    )
    assert isinstance(entries[none], NotFoundError)
    found = entries[resource]
    assert not isinstance(found, KcliError)
    ours = {e.name: e for e in found}
    assert {n: e.value for n, e in ours.items() if not e.is_default} == {
        "segment.bytes": "1048576",
        "cleanup.policy": "delete,compact",
    }
    theirs = judge.describe_configs([JudgeResource("topic", topic)])
    ((_, future),) = theirs.items()
    assert {n: e.value for n, e in ours.items()} == {n: e.value for n, e in future.result(120).items()}
    assert ours["segment.bytes"].type == "int"
    assert "segment" in ours["segment.bytes"].documentation
    assert ours["segment.bytes"].synonyms[0] == ("segment.bytes", "1048576", "topic")
    few = admin.describe_configs([resource], keys=["retention.ms"])[resource]
    assert not isinstance(few, KcliError)
    assert [e.name for e in few] == ["retention.ms"]
    assert code_of(admin.alter_configs({resource: [ConfigChange("no.such.key", "1")]})[resource]) in (40, 42)


def test_brokers_answer_for_themselves(kafka: Kafka, admin: Admin) -> None:
    number = str(admin.describe_cluster().brokers[0].node.id)
    own, every, none, wrong = (ConfigResource(ConfigKind.BROKER, n) for n in (number, "", "77", "no number"))
    found = admin.describe_configs([own, every, none])
    assert isinstance(found[none], NotFoundError)
    entries = found[own]
    assert not isinstance(entries, KcliError)
    log_dirs = {e.name: e for e in entries}["log.dirs"]
    assert log_dirs.source == "static broker"
    assert log_dirs.read_only
    change = ConfigChange("log.cleaner.threads", "1")
    assert admin.alter_configs({own: [change], every: [change]}, validate_only=True) == {
        own: None,
        every: None,
    }
    with pytest.raises(KcliError, match="is no broker id"):
        admin.describe_configs([wrong])


def test_groups_have_configurations(kafka: Kafka, admin: Admin) -> None:
    resource = ConfigResource(ConfigKind.GROUP, kafka.unused_name("group"))
    change = ConfigChange("consumer.heartbeat.interval.ms", "6000")
    (error,) = admin.alter_configs({resource: [change]}).values()
    if not is_new(kafka):
        assert isinstance(error, BrokerError)
        return
    assert error is None
    found = until(
        lambda: admin.describe_configs([resource])[resource],
        lambda told: any(not e.is_default for e in told),  # type: ignore[union-attr]
    )
    assert not isinstance(found, KcliError)
    assert [(e.name, e.value, e.source) for e in found if not e.is_default] == [
        ("consumer.heartbeat.interval.ms", "6000", "group")
    ]


# --- brokers, transactions -----------------------------------------------------------------------------------------


def test_the_cluster_is_described(kafka: Kafka, admin: Admin, judge: AdminClient) -> None:
    ours = admin.describe_cluster(include_operations=True)
    theirs = judge.describe_cluster().result(120)
    assert ours.cluster_id == theirs.cluster_id == admin.cluster_id()
    told = [(b.node.id, b.node.host, b.node.port) for b in ours.brokers]
    assert told == sorted((n.id, n.host, n.port) for n in theirs.nodes)
    assert ours.controller in {b.node.id for b in ours.brokers}
    assert ours.operations is not None
    if is_new(kafka):
        assert not any(b.is_fenced for b in admin.describe_cluster(include_fenced=True).brokers)
    else:
        with pytest.raises(UnsupportedError, match="fenced"):
            admin.describe_cluster(include_fenced=True)


def test_log_directories_report_the_size_of_each_replica(kafka: Kafka, admin: Admin) -> None:
    from kafka import KafkaAdminClient

    topic = filled(kafka)
    tp = TopicPartition(topic, 0)
    (number,) = (broker.node.id for broker in admin.describe_cluster().brokers)
    for found in (
        admin.describe_log_dirs(),
        admin.describe_log_dirs(broker_ids=[number], partitions=[tp]),
    ):
        (rows,) = found.values()
        assert not isinstance(rows, KcliError)
        (size,) = (row.replicas[tp] for row in rows if tp in row.replicas)
        assert size.size > 20 * 60
        assert (size.offset_lag, size.is_future) == (0, False)
    assert [len(row.replicas) for row in rows] == [1]
    assert isinstance(admin.describe_log_dirs(broker_ids=[77])[77], NotFoundError)
    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    try:
        assert rows[0].path in str(client.describe_log_dirs())
    finally:
        client.close()


def test_transactions_and_producers_are_reported(kafka: Kafka, admin: Admin) -> None:
    topic = kafka.topic("open", partitions=2)
    tp, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    writer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.produce(topic, b"x", partition=0)
    writer.flush(30)
    told = admin.describe_producers([tp, other, TopicPartition(topic, 9)])
    (one,) = told[tp]  # type: ignore[misc]
    assert (one.open_since, one.last_sequence) == (0, 0)
    assert told[other] == []
    assert isinstance(told[TopicPartition(topic, 9)], NotFoundError)
    if is_old(kafka):
        with pytest.raises(UnsupportedError, match="ListTransactions"):
            admin.list_transactions()
        assert isinstance(admin.describe_transactions([topic])[topic], UnsupportedError)
    else:
        listing = admin.list_transactions(states=["Ongoing"])
        assert not listing.is_partial
        assert (topic, one.producer_id) in {(t.transactional_id, t.producer_id) for t in listing.transactions}
        assert topic not in {
            t.transactional_id for t in admin.list_transactions(states=["Empty"]).transactions
        }
        with pytest.raises(KcliError, match="no transaction state 'Bogus'"):
            admin.list_transactions(states=["Bogus"])
        found = admin.describe_transactions([topic, "no-such-id"])
        assert isinstance(found["no-such-id"], NotFoundError)
        txn = found[topic]
        assert not isinstance(txn, KcliError)
        assert (txn.state, txn.producer_id, txn.partitions) == ("Ongoing", one.producer_id, (tp,))
        assert 0 <= time.time() * 1000 - txn.start_ms < 60_000
        if is_new(kafka):
            assert admin.list_transactions(pattern=topic, longer_than_ms=0).transactions
            assert not admin.list_transactions(pattern=topic, longer_than_ms=600_000).transactions
        else:
            with pytest.raises(UnsupportedError, match="by name"):
                admin.list_transactions(pattern=topic)
    writer.commit_transaction(30)


# --- inside --------------------------------------------------------------------------------------------------------


def at(offset: int, metadata: str = "") -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, metadata)


def code_of(error: object) -> int:
    """0 for None; fails for what is no broker's error."""
    if error is None:
        return 0
    assert isinstance(error, BrokerError), repr(error)
    return error.code


def is_old(kafka: Kafka) -> bool:
    return kafka.version.startswith("2.")


def is_new(kafka: Kafka) -> bool:
    return kafka.version.startswith("4.")


def until(ask: Callable[[], T], good: Callable[[T], bool], timeout: float = 120) -> T:
    """Brokers tell each other what was ordered; a moment later all know it."""
    end = time.monotonic() + timeout
    while not good(found := ask()):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def state_of(admin: Admin, group: str) -> str:
    return str(getattr(admin.describe_groups([group])[group], "state", ""))


def filled(kafka: Kafka) -> str:
    """A topic with 20 records of 1000, 2000, … ms, but for the 10th and 11th, which are of 99,000."""
    topic = kafka.topic("filled")
    writer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    for number in range(20):
        stamp = 99_000 if number in (10, 11) else (number + 1) * 1000
        writer.produce(topic, b"x" * 60, partition=0, timestamp=stamp)
        writer.flush(30)
    return topic


def judged_offsets(kafka: Kafka, group: str) -> dict[TopicPartition, tuple[int, str]]:
    """Offset and metadata of each partition, as kafka-python reads them.

    librdkafka's admin client copies the metadata without its terminating NUL, and confluent-kafka returns
    whatever memory follows it.
    """
    from kafka import KafkaAdminClient

    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    try:
        found = client.list_group_offsets({group: None})[group]
    finally:
        client.close()
    return {TopicPartition(tp.topic, tp.partition): (at.offset, at.metadata) for tp, at in found.items()}


def judged_watermarks(kafka: Kafka, tp: TopicPartition) -> tuple[int, int]:
    consumer = JudgeConsumer({"bootstrap.servers": kafka.bootstrap, "group.id": "judge"})
    try:
        low, high = consumer.get_watermark_offsets(JudgePartition(*tp), timeout=30)
        return low, high
    finally:
        consumer.close()


@contextmanager
def member(kafka: Kafka, topic: str, group: str, **options: Any) -> Iterator[JudgeConsumer]:
    """A librdkafka consumer that has its partitions; it says nothing but heartbeats while the block runs."""
    wishes: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if options.get("group.protocol") != "consumer":
        wishes |= {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 9_000}
    consumer = JudgeConsumer({**wishes, **options})
    try:
        consumer.subscribe([topic])
        end = time.monotonic() + 30
        while not consumer.assignment():
            consumer.poll(0.1)
            assert time.monotonic() < end, "the group gave it no partition"
        yield consumer
    finally:
        consumer.close()
