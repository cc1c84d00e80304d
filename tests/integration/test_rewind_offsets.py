"""A member rewinds its group on a real broker, among members of other clients that commit all the time."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest

from kcli.core import Consumer, Producer
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.kafka import Kafka
from tests.rewinding import Others, others

pytestmark = pytest.mark.integration

PARTITIONS = 6
RECORDS = 100
PATIENCE = 120.0
OPTIONS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "heartbeat_interval_ms": 300,
    "auto_commit_interval_ms": 200,
}


@contextmanager
def librdkafka(kafka: Kafka, topic: str, group: str, noted: Others, protocol: str) -> Iterator[None]:
    """A member of confluent-kafka's, which commits by itself."""
    wishes: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 200,
        "group.protocol": protocol,
    }
    if protocol == "classic":
        wishes |= {"heartbeat.interval.ms": 300, "partition.assignment.strategy": "range"}
    member = confluent_kafka.Consumer(wishes)
    member.subscribe([topic])
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            message = member.poll(0.1)
            if message is not None and message.error() is None:
                noted.note(message.partition() or 0, message.offset() or 0)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(120)
        member.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_two_clients_continue_where_the_rewind_says(kafka: Kafka, protocol: str) -> None:
    if protocol == "consumer" and int(kafka.version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {kafka.version} has no KIP-848 groups")
    topic, group = kafka.topic("rewind", partitions=PARTITIONS), kafka.unused_name("g")
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(RECORDS * PARTITIONS):
            record = ProducerRecord(topic, b"%d" % number, partition=number % PARTITIONS)
            producer.send(record)
    options = {**OPTIONS, "group_protocol": protocol}
    with (
        others(kafka.bootstrap, topic, group, 1, **options) as noted,
        librdkafka(kafka, topic, group, noted, protocol),
        Consumer(bootstrap_servers=kafka.bootstrap, group_id=group, **options) as consumer,
    ):
        consumer.subscribe(topic)
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            list(consumer.records(0.1))
            at_the_end = all(
                found is not None and found.offset == RECORDS
                for found in consumer.committed(partitions).values()
            )
            if at_the_end and len(consumer.assignment) == PARTITIONS // 3:
                break
        noted.watch()
        targets = {tp: 10 * tp.partition for tp in partitions}
        found = consumer.rewind_offsets(targets, PATIENCE)
        assert found == {tp: OffsetAndMetadata(offset) for tp, offset in targets.items()}
        while len(noted.first) < PARTITIONS and time.monotonic() < give_up + PATIENCE:
            for record in consumer.records(0.1):
                noted.note(record.partition, record.offset)
    assert noted.first == {tp.partition: offset for tp, offset in targets.items()}


@pytest.mark.case("S0-56")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_of_two_rewinds_at_once_each_is_whole_and_the_last_one_stays(kafka: Kafka, protocol: str) -> None:
    """Neither gives up, and none of them is told that it was done while the other one's offsets stand there."""
    if protocol == "consumer" and int(kafka.version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {kafka.version} has no KIP-848 groups")
    topic, group = kafka.topic("rewind", partitions=PARTITIONS), kafka.unused_name("g")
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for partition in range(PARTITIONS):
            producer.send(ProducerRecord(topic, b"x", partition=partition))
    options = {**OPTIONS, "group_protocol": protocol, "enable_auto_commit": False}
    wanted = [{tp: OffsetAndMetadata(number) for tp in partitions} for number in (0, 1)]
    found: dict[int, Any] = {}
    share, stop = threading.Barrier(2), threading.Event()

    def rewinds(number: int) -> None:
        with Consumer(bootstrap_servers=kafka.bootstrap, group_id=group, **options) as consumer:
            consumer.subscribe(topic)
            while len(consumer.assignment) != PARTITIONS // 2 and not stop.is_set():
                consumer.poll(0.05)
            share.wait(PATIENCE)
            found[number] = consumer.rewind_offsets(wanted[number], PATIENCE)
            while not stop.is_set():
                consumer.poll(0.05)

    threads = [threading.Thread(target=rewinds, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        give_up = time.monotonic() + 2 * PATIENCE
        while len(found) < len(threads) and time.monotonic() < give_up:
            time.sleep(0.05)
        assert found == dict(enumerate(wanted))
        with Consumer(bootstrap_servers=kafka.bootstrap, group_id=group) as consumer:
            assert consumer.committed(partitions) in wanted
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
