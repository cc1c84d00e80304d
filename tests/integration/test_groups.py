"""Groups on a real broker: kcli alone, and beside other clients in any order of joining, in both protocols."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition
from confluent_kafka.admin import AdminClient, NewPartitions

from kcli.core import Admin, Consumer, Producer
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from kcli.core.consumer import missing_topics
from kcli.core.errors import CommitFailedError, ConfigError, KcliError, MembershipError, UnsupportedError
from kcli.core.types import OffsetAndMetadata, ProducerRecord, Record, TopicPartition, TopicSpec
from tests.fault.watching import Heard
from tests.integration.members import CLIENTS, Kcli, Member, Place, wait_until
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.case("R21")]

PARTITIONS = 6
ALL = frozenset(range(PARTITIONS))
SESSION = 1.2  # seconds, where a test waits for it
PATIENCE = 120.0

both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


def has_848(kafka: Kafka) -> bool:
    return kafka.version == "unknown" or int(kafka.version.split(".")[0]) >= 4


def needs(kafka: Kafka, protocol: str) -> None:
    if protocol == "consumer" and not has_848(kafka):
        pytest.skip(f"Kafka {kafka.version} has no KIP-848 groups")


class Records:
    """What a topic has: ``write`` some more to every partition; ``places`` are all so far."""

    def __init__(self, kafka: Kafka, topic: str, partitions: int = PARTITIONS) -> None:
        self._producer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
        self._topic, self._partitions = topic, partitions
        self._each = 0

    def write(self, each: int = 10) -> None:
        for partition in range(self._partitions):
            for number in range(each):
                self._producer.produce(self._topic, b"%d" % (self._each + number), partition=partition)
        assert self._producer.flush(PATIENCE) == 0
        self._each += each

    @property
    def places(self) -> Counter[Place]:
        return Counter((p, offset) for p in range(self._partitions) for offset in range(self._each))


def read_by(members: Sequence[Member]) -> Counter[Place]:
    return Counter(place for member in members for place in tuple(member.read))


def committed(
    kafka: Kafka, group: str, topic: str, partitions: int = PARTITIONS
) -> list[tuple[int, int | None]]:
    """Offset and leader epoch of each partition, as librdkafka is told of them."""
    judge = Judge({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    places = judge.committed([JudgePartition(topic, p) for p in range(partitions)], timeout=PATIENCE)
    judge.close()
    return [(place.offset, place.leader_epoch) for place in places]


def share_evenly(members: Sequence[Member], partitions: frozenset[int] = ALL) -> bool:
    owned = [member.owned for member in members]
    each = len(partitions) // len(members)
    return frozenset().union(*owned) == partitions and all(len(one) == each for one in owned)


@contextmanager
def leaving(members: list[Member]) -> Iterator[None]:
    """Whoever is still a member leaves when a test fails."""
    try:
        yield
    finally:
        for member in members:
            try:
                member.leave()
            except Exception as error:  # noqa: BLE001 - the test has failed already
                print(member, error)


def prove_that_they_share(
    kafka: Kafka, makers: Sequence[type[Member]], protocol: str, assignor: str, partitions: int = PARTITIONS
) -> None:
    """One after another joins, then one after another leaves. All the time every record is read, once."""
    topic = kafka.topic("shared", partitions=partitions)
    everything = frozenset(range(partitions))
    group = f"{topic}-group"
    records = Records(kafka, topic, partitions)
    everybody: list[Member] = []
    present: list[Member] = []
    with leaving(present):

        def settle(what: str) -> None:
            wait_until(lambda: share_evenly(present, everything), present, what)
            records.write()
            wait_until(lambda: records.places <= read_by(everybody), present, f"reading, {what}")

        for make in makers:
            member = make(kafka, group, topic, protocol, assignor)
            everybody.append(member)
            present.append(member)
            settle(f"{member.name} joined")
        while present:
            member = present.pop(0)
            member.leave()
            if present:
                settle(f"{member.name} left")
    assert read_by(everybody) == records.places
    assert [offset for offset, _ in committed(kafka, group, topic, partitions)] == [
        records.places.total() // partitions
    ] * partitions


# --- kcli and others in one group ------------------------------------------------------------------------


@pytest.mark.case("S0-4", "S0-45", "S4-12", "R21")
@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_three_members_join_and_leave(kafka: Kafka, assignor: str) -> None:
    prove_that_they_share(kafka, [Kcli, Kcli, Kcli], "classic", assignor)


@pytest.mark.case("S2-15", "R21")
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("client", ["confluent", "kafka-python", "java"])
def test_kcli_shares_a_classic_group(kafka: Kafka, client: str, assignor: str, order: str) -> None:
    """The first to join leads the group: it assigns for both."""
    makers: list[type[Member]] = [Kcli, CLIENTS[client]]
    if order == "last":
        makers.reverse()
    prove_that_they_share(kafka, makers, "classic", assignor)


@pytest.mark.case("R21")
def test_three_members_that_the_coordinator_assigns_to(kafka: Kafka) -> None:
    """KIP-848."""
    needs(kafka, "consumer")
    prove_that_they_share(kafka, [Kcli, Kcli, Kcli], "consumer", "")


@pytest.mark.case("R21")
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("client", ["confluent", "java"])
def test_kcli_shares_a_group_that_the_coordinator_assigns(kafka: Kafka, client: str, order: str) -> None:
    """KIP-848."""
    needs(kafka, "consumer")
    makers: list[type[Member]] = [Kcli, CLIENTS[client]]
    if order == "last":
        makers.reverse()
    prove_that_they_share(kafka, makers, "consumer", "")


@pytest.mark.case("R21")
def test_clients_of_different_kinds_share_a_group(kafka: Kafka) -> None:
    """Whoever joined first leaves first, so the group has a leader of each client."""
    prove_that_they_share(
        kafka,
        [CLIENTS["java"], CLIENTS["confluent"], Kcli, CLIENTS["kafka-python"]],
        "classic",
        "roundrobin",
        12,
    )


@pytest.mark.case("R21")
def test_a_broker_without_the_new_protocol_is_named(kafka: Kafka) -> None:
    consumer = member_of(kafka, kafka.topic("old"), "consumer")
    if has_848(kafka):
        with consumer:
            poll_until(consumer, lambda: len(consumer.assignment) == 1)
        return
    with consumer, pytest.raises(UnsupportedError, match=r"ConsumerGroupHeartbeat|KIP-848"):
        consumer.poll(PATIENCE)


# --- membership ------------------------------------------------------------------------------------------


@contextmanager
def beside(kafka: Kafka, topic: str, protocol: str) -> Iterator[Kcli]:
    """Another member of the group, which reads all the time."""
    other = Kcli(kafka, f"{topic}-group", topic, protocol, "range")
    try:
        wait_until(lambda: other.owned == ALL, [other], "joining")
        yield other
    finally:
        other.leave()


def member_of(kafka: Kafka, topic: str, protocol: str, **wishes: Any) -> Consumer:
    """A member with a short session, subscribed to the topic; it has not polled yet."""
    group = f"{topic}-group"
    if protocol == "classic":
        wishes = {"session_timeout_ms": int(SESSION * 1000), "heartbeat_interval_ms": 300, **wishes}
    elif has_848(kafka):
        session = ConfigChange("consumer.session.timeout.ms", str(int(SESSION * 1000)))
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            outcome = admin.alter_configs({ConfigResource(ConfigKind.GROUP, group): [session]})
        assert set(outcome.values()) == {None}
    callbacks = {
        name: wishes.pop(name) for name in ("on_assigned", "on_revoked", "on_lost") if name in wishes
    }
    wishes = {"auto_offset_reset": "earliest", "partition_assignment_strategy": "range", **wishes}
    consumer = Consumer(bootstrap_servers=kafka.bootstrap, group_id=group, group_protocol=protocol, **wishes)
    consumer.subscribe(topic, **callbacks)
    return consumer


def poll_until(consumer: Consumer, true: Callable[[], bool]) -> list[Record]:
    """What was read meanwhile."""
    end = time.monotonic() + PATIENCE
    found: list[Record] = []
    while not true():
        assert time.monotonic() < end, sorted(consumer.assignment)
        found += consumer.records(0.1)
    return found


def numbers(consumer: Consumer) -> frozenset[int]:
    return frozenset(tp.partition for tp in consumer.assignment)


def both_have_half(consumer: Consumer, other: Member) -> Callable[[], bool]:
    half = PARTITIONS // 2
    return lambda: len(other.owned) == len(numbers(consumer)) == half and not other.owned & numbers(consumer)


@pytest.mark.case("S2-1")
@both_protocols
def test_heartbeats_continue_while_the_caller_sleeps(kafka: Kafka, protocol: str) -> None:
    needs(kafka, protocol)
    topic = kafka.topic("asleep", partitions=PARTITIONS)
    with beside(kafka, topic, protocol) as other, member_of(kafka, topic, protocol) as consumer:
        poll_until(consumer, both_have_half(consumer, other))
        who, changes = consumer.group_metadata, list(other.changes)
        time.sleep(3 * SESSION)
        assert consumer.group_metadata == who
        consumer.commit({TopicPartition(topic, min(numbers(consumer))): 0})
        assert other.changes == changes


@pytest.mark.case("S0-53", "G2")
@both_protocols
def test_a_member_that_polls_too_late_leaves_reports_it_and_rejoins(kafka: Kafka, protocol: str) -> None:
    """Heartbeats alone do not keep partitions from those who would read them."""
    needs(kafka, protocol)
    topic = kafka.topic("late", partitions=PARTITIONS)
    heard, lost = Heard(), list[TopicPartition]()
    consumer = member_of(
        kafka, topic, protocol, max_poll_interval_ms=1_500, hooks=heard.hooks, on_lost=lost.extend
    )
    with beside(kafka, topic, protocol) as other, consumer:
        poll_until(consumer, both_have_half(consumer, other))
        mine = sorted(consumer.assignment)
        wait_until(lambda: other.owned == ALL, [other], "the late one leaves")
        with pytest.raises(CommitFailedError):
            consumer.commit({mine[0]: 0})
        assert lost == []
        poll_until(consumer, both_have_half(consumer, other))
    assert lost == mine
    assert any(
        "poll was not called for 1.5 s (max.poll.interval.ms)" in text for text in heard.said("warning")
    )


@both_protocols
@pytest.mark.parametrize("first", ["static", "other"])
def test_a_static_member_comes_back_to_its_partitions(kafka: Kafka, protocol: str, first: str) -> None:
    """KIP-345: nobody else notices, whichever broker leads the group."""
    needs(kafka, protocol)
    topic = kafka.topic("static", partitions=PARTITIONS)
    consumer = member_of(kafka, topic, protocol, group_instance_id="one")
    if first == "static":
        poll_until(consumer, lambda: numbers(consumer) == ALL)
        other = Kcli(kafka, f"{topic}-group", topic, protocol, "range")
    with nullcontext(other) if first == "static" else beside(kafka, topic, protocol) as other:
        poll_until(consumer, both_have_half(consumer, other))
        partitions, changes = consumer.assignment, list(other.changes)
        consumer.close()
        with member_of(kafka, topic, protocol, group_instance_id="one") as again:
            poll_until(again, lambda: bool(again.assignment))
            assert again.assignment == partitions
            assert other.changes == changes
    if first == "static":
        other.leave()


@both_protocols
def test_of_two_members_with_one_instance_id_one_is_fenced(kafka: Kafka, protocol: str) -> None:
    """In a classic group the younger takes over, by KIP-848 the elder stays."""
    needs(kafka, protocol)
    topic = kafka.topic("twice", partitions=PARTITIONS)
    with (
        member_of(kafka, topic, protocol, group_instance_id="one") as elder,
        member_of(kafka, topic, protocol, group_instance_id="one") as younger,
    ):
        poll_until(elder, lambda: numbers(elder) == ALL)
        loser, winner = (elder, younger) if protocol == "classic" else (younger, elder)
        if protocol == "classic":
            poll_until(younger, lambda: numbers(younger) == ALL)
        with pytest.raises(MembershipError, match=r"instance id|group\.instance\.id"):
            poll_until(loser, lambda: False)
        poll_until(winner, lambda: numbers(winner) == ALL)
        winner.commit({TopicPartition(topic, 0): 0})


@pytest.mark.case("S0-50")
@both_protocols
def test_new_topics_and_partitions_reach_the_members(kafka: Kafka, protocol: str) -> None:
    needs(kafka, protocol)
    family = kafka.unused_name("family")
    first = kafka.topic(f"{family}.a", partitions=2)
    group_of = member_of(kafka, family, protocol, metadata_max_age_ms=500, client_id=family)
    with group_of as consumer:
        consumer.subscribe(re.compile(rf"{family}\."))
        poll_until(consumer, lambda: len(consumer.assignment) == 2)
        second = kafka.topic(f"{family}.b", partitions=1)
        poll_until(consumer, lambda: len(consumer.assignment) == 3)
        judge = AdminClient({"bootstrap.servers": kafka.bootstrap})
        judge.create_partitions([NewPartitions(first, 4)])[first].result(PATIENCE)
        poll_until(consumer, lambda: len(consumer.assignment) == 5)
        assert {tp.topic for tp in consumer.assignment} == {first, second}


# --- commits and what is read ----------------------------------------------------------------------------


@pytest.mark.case("S0-33")
@both_protocols
def test_commits_of_everything_of_a_topic_of_a_partition_and_by_hand(kafka: Kafka, protocol: str) -> None:
    """Leader epochs are committed with the offsets: others find out whether the log was cut (KIP-320)."""
    needs(kafka, protocol)
    topic = kafka.topic("commits", partitions=3)
    group = f"{topic}-group"
    Records(kafka, topic, 3).write()
    partitions = [TopicPartition(topic, p) for p in range(3)]
    nothing, all_ten = (-1001, None), (10, 0)
    with member_of(kafka, topic, protocol, enable_auto_commit=False) as consumer:
        poll_until(
            consumer,
            lambda: (
                consumer.assignment == set(partitions) and all(consumer.position(w) == 10 for w in partitions)
            ),
        )
        assert committed(kafka, group, topic, 3) == [nothing] * 3
        consumer.commit(partitions[1])
        assert committed(kafka, group, topic, 3) == [nothing, all_ten, nothing]
        consumer.commit({partitions[0]: OffsetAndMetadata(4, "half way")})
        assert consumer.committed(partitions[:1]) == {partitions[0]: OffsetAndMetadata(4, "half way", -1)}
        with pytest.raises(ConfigError, match="none of its partitions is assigned"):
            consumer.commit("another topic")
        assert committed(kafka, group, topic, 3) == [(4, None), all_ten, nothing]
        consumer.commit(topic)
        assert committed(kafka, group, topic, 3) == [all_ten] * 3
        assert set(consumer.committed(partitions).values()) == {OffsetAndMetadata(10, "", 0)}
        consumer.commit({partitions[2]: 3})
    with member_of(kafka, topic, protocol) as heir:
        found = poll_until(
            heir, lambda: heir.assignment == set(partitions) and heir.position(partitions[2]) == 10
        )
    assert [(record.partition, record.offset) for record in found] == [(2, offset) for offset in range(3, 10)]


@both_protocols
def test_a_member_sees_committed_records_only_and_reaches_the_end(kafka: Kafka, protocol: str) -> None:
    needs(kafka, protocol)
    topic = kafka.topic("visible")
    writer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    writer.init_transactions(PATIENCE)
    for number, commit in enumerate((True, False, True, False)):
        writer.begin_transaction()
        writer.produce(topic, b"%d" % number)
        writer.flush(PATIENCE)  # else an abort takes back what was not sent yet
        writer.commit_transaction(PATIENCE) if commit else writer.abort_transaction(PATIENCE)
    tp = TopicPartition(topic, 0)
    with member_of(kafka, topic, protocol) as consumer:
        found = poll_until(consumer, lambda: tp in consumer.assignment and consumer.position(tp) == 8)
    assert [record.value for record in found] == [b"0", b"2"]
    assert committed(kafka, f"{topic}-group", topic, 1)[0][0] == 8, "four records and their markers"


@pytest.mark.case("G12")
def test_no_record_of_a_revoked_partition_is_returned(kafka: Kafka) -> None:
    """Cooperative-sticky, small polls, so that much waits in the buffer when half of it is revoked.

    The session is long: a member that a loaded machine delays past a short one is evicted and gets partitions back,
    whose records it may then return.
    """
    topic = kafka.topic("buffered", partitions=PARTITIONS)
    Records(kafka, topic).write(200)
    revoked: set[TopicPartition] = set()
    wishes = {"partition_assignment_strategy": "cooperative-sticky", "on_revoked": revoked.update}
    session = {"session_timeout_ms": 30_000, "max_poll_records": 5}
    with member_of(kafka, topic, "classic", **wishes, **session) as consumer:
        early = poll_until(consumer, lambda: numbers(consumer) == ALL)
        mine, late = [(record.partition, record.offset) for record in early], list[Record]()
        other = Kcli(kafka, f"{topic}-group", topic, "classic", "cooperative-sticky")
        end = time.monotonic() + PATIENCE
        while len(other.owned) < 3 or len(mine) + len(other.read) < 200 * PARTITIONS:
            assert time.monotonic() < end
            for record in consumer.records(0.1):
                mine.append((record.partition, record.offset))
                if TopicPartition(topic, record.partition) in revoked:
                    late.append(record)
        assert len(revoked) == 3
        assert late == []
        other.leave()
    assert Counter([*mine, *other.read]) == Counter((p, o) for p in range(PARTITIONS) for o in range(200))


# --- transactions ----------------------------------------------------------------------------------------


def at(records: Sequence[Record]) -> dict[TopicPartition, OffsetAndMetadata | int]:
    """The positions behind these records."""
    return {TopicPartition(one.topic, one.partition): one.offset + 1 for one in records}


@both_protocols
def test_consume_transform_produce(kafka: Kafka, protocol: str) -> None:
    """KIP-447: positions are committed as the member, with the records, or not at all."""
    needs(kafka, protocol)
    source = kafka.topic("source", partitions=PARTITIONS)
    target = kafka.topic("target")
    written = Records(kafka, source)
    written.write(20)
    done, transactions = 0, 0
    with (
        member_of(kafka, source, protocol, enable_auto_commit=False, max_poll_records=25) as consumer,
        Producer(bootstrap_servers=kafka.bootstrap, transactional_id=source) as producer,
    ):
        producer.init_transactions()
        while done < 20 * PARTITIONS:
            records = list(consumer.records(1))
            if not records:
                continue
            transactions += 1
            producer.begin_transaction()
            for one in records:
                producer.send(ProducerRecord(target, b"%d/%d" % (one.partition, one.offset)))
            producer.send_offsets_to_transaction(at(records), consumer.group_metadata)
            if transactions % 2:
                producer.commit_transaction()
                done += len(records)
            else:
                producer.abort_transaction()
                for one in reversed(records):
                    consumer.seek(TopicPartition(one.topic, one.partition), one.offset)
    with Consumer(bootstrap_servers=kafka.bootstrap, group_id=target, auto_offset_reset="earliest") as reader:
        reader.subscribe(target)
        found = [one.value for one in poll_until(reader, lambda: reader.metrics().records == done)]
    assert Counter(found) == Counter(b"%d/%d" % place for place in written.places)
    assert [offset for offset, _ in committed(kafka, f"{source}-group", source)] == [20] * PARTITIONS


@both_protocols
def test_positions_of_a_member_of_the_past_are_not_committed(kafka: Kafka, protocol: str) -> None:
    needs(kafka, protocol)
    topic = kafka.topic("zombie", partitions=PARTITIONS)
    Records(kafka, topic).write()
    with (
        member_of(kafka, topic, protocol, enable_auto_commit=False) as consumer,
        Producer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as producer,
    ):
        producer.init_transactions()
        poll_until(consumer, lambda: numbers(consumer) == ALL)
        past = consumer.group_metadata
        other = Kcli(kafka, f"{topic}-group", topic, protocol, "range")
        poll_until(consumer, both_have_half(consumer, other))
        assert consumer.group_metadata != past
        mine, theirs = min(consumer.assignment), TopicPartition(topic, min(other.owned))
        producer.begin_transaction()
        with pytest.raises(KcliError, match=r"ILLEGAL_GENERATION|STALE_MEMBER_EPOCH"):
            producer.send_offsets_to_transaction({theirs: 7}, past)
        producer.abort_transaction()
        with producer.transaction():
            producer.send_offsets_to_transaction({mine: 5}, consumer.group_metadata)
        assert consumer.committed([mine]) == {mine: OffsetAndMetadata(5)}
        other.leave()


@both_protocols
def test_a_topic_that_does_not_exist_is_reported_and_read_when_it_is_created(
    kafka: Kafka, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the nearest name there is; no error, and nobody creates it by asking."""
    needs(kafka, protocol)
    monkeypatch.setattr(missing_topics, "REPORT_AFTER", 1.0)
    there, heard = kafka.topic("misspelt"), Heard()
    missing = there + "x"
    with Consumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=kafka.unused_name("misspelt"),
        group_protocol=protocol,
        auto_offset_reset="earliest",
        hooks=heard.hooks,
    ) as consumer:
        consumer.subscribe(missing)

        def told() -> list[str]:
            return [text for text in heard.said("warning") if f"topic {missing} does not exist" in text]

        found: list[Record] = []

        def poll_until(done: Callable[[], object]) -> None:
            end = time.monotonic() + PATIENCE
            while not done():
                assert time.monotonic() < end
                found.extend(consumer.records(0.2))

        poll_until(told)
        assert there in told()[0]
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            assert admin.create_topics([TopicSpec(missing, 1)]) == {missing: None}
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:
            producer.send(ProducerRecord(missing, b"here"))
        poll_until(lambda: found)
        assert [record.value for record in found] == [b"here"]
    assert len([text for text in heard.said("warning") if "does not exist" in text]) == 1
    assert f"topic {missing} exists now" in heard.said("info")
