"""Reading from real brokers where only they prove it: sessions, compaction, deleted records, topics created anew, and a
log that an unclean election cuts (cases F8, F11, F13, O5, B7, B8, B11).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kcli.core import Admin, Consumer, Producer
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError, NotFoundError
from kcli.core.hooks import Hooks
from kcli.core.types import ProducerRecord, Record, TopicPartition, TopicSpec
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

PATIENCE = 120.0


def send(kafka: Kafka, tp: TopicPartition, *values: bytes, key: bytes | None = None) -> None:
    """One batch."""
    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=20) as producer:
        for value in values:
            producer.send(ProducerRecord(tp.topic, value, key=key, partition=tp.partition))
        assert producer.flush(PATIENCE)


def read_until(consumer: Consumer, done: Callable[[list[Record]], object]) -> list[Record]:
    found: list[Record] = []
    end = time.monotonic() + PATIENCE
    while not done(found):
        assert time.monotonic() < end, f"only {len(found)} records"
        found += consumer.records(0.5)
    return found


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def offset(kafka: Kafka, tp: TopicPartition, place: int) -> int:
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        found = admin.list_offsets({tp: place})[tp]
    assert isinstance(found, OffsetInfo)
    return found.offset


@pytest.mark.case("F13")
def test_a_real_broker_accepts_our_fetch_sessions(kafka: Kafka) -> None:
    """Many partitions are named once; then pausing, seeking and reading on are changes of a few bytes."""
    topic = kafka.topic("session", partitions=200)
    sizes: list[int] = []
    said: list[str] = []

    def wire(way: str, _node: object, _number: int, api: str, _version: int, size: int) -> None:
        if (way, api) == ("→", "Fetch"):
            sizes.append(size)

    hooks = Hooks(log=lambda level, area, text: said.append(text), wire=wire)
    partitions = [TopicPartition(topic, number) for number in range(200)]
    with Consumer(bootstrap_servers=kafka.bootstrap, hooks=hooks, fetch_max_wait_ms=100) as consumer:
        consumer.assign({tp: Span(0) for tp in partitions})
        end = time.monotonic() + PATIENCE
        while not sizes or max(sizes[-5:]) > 100:  # a broker may not lead new partitions for a while
            assert time.monotonic() < end, sizes
            consumer.poll(0.5)
        assert max(sizes) > 5_000
        sizes.clear()
        for step in range(5):
            send(kafka, partitions[7], b"7-%d" % step)
            send(kafka, partitions[150], b"150-%d" % step)
            found = read_until(consumer, lambda found: len(found) == 2)
            assert sorted(values(found)) == [b"150-%d" % step, b"7-%d" % step]  # type: ignore[type-var]
        consumer.pause(partitions[7])
        send(kafka, partitions[7], b"paused")
        send(kafka, partitions[150], b"read")
        assert values(read_until(consumer, len)) == [b"read"]
        assert list(consumer.records(0.5)) == []
        consumer.resume(partitions[7])
        assert values(read_until(consumer, len)) == [b"paused"]
        consumer.seek(partitions[150], 2)
        assert values(read_until(consumer, lambda found: len(found) == 4)) == [
            *[b"150-%d" % step for step in range(2, 5)],
            b"read",
        ]
        consumer.assign({partitions[3]: Span(0)})
        send(kafka, partitions[150], b"not mine")
        send(kafka, partitions[3], b"mine")
        assert values(read_until(consumer, len)) == [b"mine"]
    # one request has 199 forgotten partitions, all others name one or two
    assert sorted(sizes)[-2] < 250, sizes
    assert not [text for text in said if "SESSION" in text]


@pytest.mark.case("F8")
def test_what_compaction_left_is_read_as_others_read_it(kafka: Kafka) -> None:
    """Gaps in and between batches, and a start inside of one; the judge is confluent-kafka."""
    from confluent_kafka import Consumer as Judge
    from confluent_kafka import TopicPartition as Place

    quick = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
    tp = TopicPartition(kafka.topic("gaps", config={"cleanup.policy": "compact", **quick}), 0)
    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=20) as producer:
        for number in range(400):
            producer.send(
                ProducerRecord(tp.topic, b"%d" % number, key=b"%d" % (number * 7 % (number % 40 + 1)))
            )
            if number % 50 == 49:
                assert producer.flush(PATIENCE)
                time.sleep(0.15)

    def judged() -> list[tuple[int, bytes | None]]:
        judge = Judge(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "judge", "enable.partition.eof": True}
        )
        judge.assign([Place(tp.topic, 0, 0)])
        found: list[tuple[int, bytes | None]] = []
        try:
            while (message := judge.poll(10)) is not None and not message.error():
                found.append((message.offset() or 0, message.value()))
        finally:
            judge.close()
        return found

    def read(start: int) -> list[tuple[int, bytes | None]]:
        with Consumer(bootstrap_servers=kafka.bootstrap, max_partition_fetch_bytes=300) as consumer:
            consumer.assign({tp: Span(start, 400)})
            found = read_until(consumer, lambda _found: consumer.done)
            assert consumer.position(tp) == 400
        return [(record.offset, record.value) for record in found]

    end = time.monotonic() + PATIENCE
    while len(expected := judged()) > 300:
        assert time.monotonic() < end, "nothing was compacted"
        time.sleep(1)
    while (ours := read(0)) != expected:  # a cleaner may run in between
        assert time.monotonic() < end
        expected = judged()
    assert ours[-1][0] == 399
    assert {number for number, _ in ours} < set(range(400))
    gap = next(number for number in range(400) if number not in dict(ours))
    assert set(read(gap)) <= {row for row in ours if row[0] >= gap}


@pytest.mark.case("O5")
def test_records_that_are_deleted_under_a_reader(kafka: Kafka) -> None:
    """The error names what is there and how much is gone; nothing is skipped silently."""
    tp = TopicPartition(kafka.topic("deleted"), 0)
    for number in range(20):
        send(kafka, tp, b"%d" % number)
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.assign({tp: Span(0)})
        read_until(consumer, lambda found: len(found) == 20)
        consumer.pause(tp)
        consumer.seek(tp, 5)
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            assert admin.delete_records({tp: 12}) == {tp: 12}
        consumer.resume(tp)
        with pytest.raises(DataLossError, match="the log goes from 12 to 20; 7 offsets are gone") as raised:
            read_until(consumer, len)
        assert raised.value.exit_code == 5
        consumer.seek(tp, EARLIEST)
        assert values(read_until(consumer, lambda found: len(found) == 8)) == [
            b"%d" % n for n in range(12, 20)
        ]


@pytest.mark.case("F11")
def test_committed_records_end_before_an_open_transaction(kafka: Kafka) -> None:
    """ "the end" is the last stable offset; behind it nothing is shown before the transaction ends."""
    tp = TopicPartition(kafka.topic("stable"), 0)
    send(kafka, tp, b"plain")
    with (
        Producer(bootstrap_servers=kafka.bootstrap, transactional_id=tp.topic) as producer,
        Consumer(bootstrap_servers=kafka.bootstrap) as consumer,
    ):
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(ProducerRecord(tp.topic, b"open", partition=0))
        assert producer.flush(PATIENCE)
        send(kafka, tp, b"behind")
        found = consumer.list_offsets({tp: LATEST}, PATIENCE)[tp]
        assert isinstance(found, OffsetInfo)
        assert found.offset == 1
        consumer.assign({tp: Span(0)})
        assert values(read_until(consumer, len)) == [b"plain"]
        assert list(consumer.records(1)) == []
        assert (consumer.state(tp).last_stable, consumer.state(tp).high_watermark) == (1, 3)
        producer.abort_transaction()
        assert values(read_until(consumer, len)) == [b"behind"]


def made_anew(kafka: Kafka, topic: str, partitions: int) -> None:
    """Deletes and creates; the name is free again after a moment."""
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        assert admin.delete_topics([topic]) == {topic: None}
        end = time.monotonic() + PATIENCE
        while admin.create_topics([TopicSpec(topic, partitions, 1)])[topic] is not None:
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.case("B8")
@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_a_topic_that_is_created_anew_is_not_read_on(kafka: Kafka, partitions: int) -> None:
    """With as many, fewer and more partitions.

    Brokers before 3.1 fetch by name: the new topic has records at the old position too, and returns them until the
    client's metadata shows the new topic id. So on 2.8.2 some of these runs read on (2 of 3 when it was last tried);
    tests/fault/test_fetching.py holds what is certain there, with Fetch version 12.
    """
    if kafka.version.startswith(("2.", "3.0.")):
        pytest.skip(f"Kafka {kafka.version} has no topic ids in Fetch (KIP-516)")
    topic = kafka.topic("anew", partitions=2)
    old = TopicPartition(topic, 0)
    send(kafka, old, b"old")
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.assign({TopicPartition(topic, number): Span(0) for number in range(2)})
        read_until(consumer, len)
        made_anew(kafka, topic, partitions)
        send(kafka, old, *[b"new"] * 5)
        with pytest.raises(DataLossError, match="deleted and recreated"):
            read_until(consumer, len)
        assert list(consumer.records(1)) == []
        consumer.seek(old, 0)
        assert values(read_until(consumer, lambda found: len(found) >= 5)) == [b"new"] * 5


@pytest.mark.case("B7")
def test_a_topic_that_is_deleted_is_reported_and_others_continue(kafka: Kafka) -> None:
    """Once; it is not created again by asking for it."""
    gone, kept = (TopicPartition(kafka.topic(name), 0) for name in ("gone", "kept"))
    send(kafka, gone, b"x")
    with (
        Consumer(bootstrap_servers=kafka.bootstrap) as consumer,
        Admin(bootstrap_servers=kafka.bootstrap) as admin,
    ):
        consumer.assign({gone: Span(0), kept: Span(0)})
        read_until(consumer, len)
        admin.delete_topics([gone.topic])
        with pytest.raises(NotFoundError, match=f"topic {gone.topic} does not exist"):
            read_until(consumer, len)
        send(kafka, kept, b"y")
        assert values(read_until(consumer, len)) == [b"y"]
        assert isinstance(admin.describe_topics([gone.topic])[gone.topic], NotFoundError)


def described(kafka: Kafka, topic: str, *in_sync: int, leader: int | None = None) -> TopicInfo:
    """Waits until the first partition has a leader (this one) and exactly these replicas in sync (or any)."""
    end = time.monotonic() + PATIENCE
    while True:
        found: Any = None
        with suppress(KcliError), Admin(bootstrap_servers=kafka.bootstrap) as admin:
            found = admin.describe_topics([topic])[topic]
        if isinstance(found, TopicInfo):
            first = found.partitions[0]
            led = first.leader == leader if leader is not None else first.leader >= 0
            if led and (not in_sync or set(first.isr) == set(in_sync)):
                return found
        assert time.monotonic() < end, found
        time.sleep(0.2)


@pytest.mark.long
@pytest.mark.case("B11")
@pytest.mark.timeout(300)
def test_an_unclean_election_is_reported(kafka3: Kafka) -> None:
    """A replica that lacks the last records becomes leader: which offsets are lost, exit 5; a seek continues."""
    config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    tp = TopicPartition(kafka3.topic("unclean", replicas=2, config=config), 0)
    info = described(kafka3, tp.topic)
    first = info.partitions[0].leader
    second = next(number for number in info.partitions[0].replicas if number != first)
    nodes = {node.node_id: node for node in kafka3.nodes}
    try:
        with Consumer(bootstrap_servers=kafka3.bootstrap) as consumer:
            consumer.assign({tp: Span(0)})
            for number in range(5):
                send(kafka3, tp, b"%d" % number)
            nodes[second].kill()
            described(kafka3, tp.topic, first, leader=first)
            for number in range(5, 9):
                send(kafka3, tp, b"%d" % number)
            read_until(consumer, lambda found: len(found) == 9)
            nodes[first].kill()
            nodes[second].start(timeout=None)
            described(kafka3, tp.topic, second, leader=second)
            for _ in range(9):  # the new log is longer: only leader epochs tell
                send(kafka3, tp, b"other")
            with pytest.raises(DataLossError, match="truncated: offsets 5 to 8 are lost") as raised:
                read_until(consumer, len)
            assert raised.value.exit_code == 5
            consumer.seek(tp, 5)
            assert values(read_until(consumer, lambda found: len(found) == 9)) == [b"other"] * 9
    finally:
        for number in (first, second):
            with suppress(Exception):
                nodes[number].start(timeout=None)
        described(kafka3, tp.topic, first, second)
