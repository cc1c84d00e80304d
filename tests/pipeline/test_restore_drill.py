"""The restore drill of docs/backups.md: a cluster is exported to an object store, night after night, and thrown away; a
new one is made of the store. Topics, configuration, records and positions of groups are equal, as clients that are not
kcli's read them: confluent-kafka and kafka-python.
"""

import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import kafka as kp
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed
from tests.pipeline.exporting import export, import_
from tests.pipeline.object_stores import BUCKET, environment, s3_server

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]

TOPICS = {
    "orders": (3, {"retention.ms": "-1", "max.message.bytes": "2000000", "min.insync.replicas": "1"}),
    "accounts": (
        2,
        {
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "compression.type": "zstd",
            "delete.retention.ms": "86400000",
        },
    ),
    "payments": (2, {"retention.ms": "-1", "unclean.leader.election.enable": "true"}),
    "audit": (1, {"message.timestamp.type": "LogAppendTime", "retention.ms": "604800000"}),
}
CLEANER = {**TEST_PROPERTIES, "log.cleaner.backoff.ms": "200"}
BOTH = ("--with-groups", "--with-config")
Record = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server() as server:
        for name, text in environment(server.port).items():
            monkeypatch.setenv(name, text)
        yield f"s3://{BUCKET}/backup"


def create(kafka: Kafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    made = admin.create_topics(
        [NewTopic(name, count, 1, config=config) for name, (count, config) in TOPICS.items()]
    )
    for one in made.values():
        one.result(30)


def produce(kafka: Kafka, night: int) -> None:
    """Records of all kinds, in the codecs of librdkafka."""
    base = 1_700_000_000_000 + night * 86_400_000
    for codec in ("lz4", "zstd"):
        producer = ck.Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec})
        for n in range(600):
            headers = [("trace", b"%d" % n), ("trace", None), ("e", b"")][: n % 4]
            key = None if n % 11 == 0 else f"c{n % 40}".encode()
            value = None if n % 13 == 0 else b"" if n % 17 == 0 else f"{codec} {night} {n} \u00e9".encode()
            producer.produce("orders", value, key, partition=n % 3, timestamp=base + n, headers=headers)
            producer.produce("audit", value, key, partition=0, headers=headers)
        for n in range(200):
            value = None if n % 9 == 0 else f"{night} {n}".encode()
            producer.produce("accounts", value, f"a{n % 20}", partition=n % 2, timestamp=base + n)
        assert producer.flush(60) == 0
    producer = ck.Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": "payer", "compression.type": "lz4"}
    )
    producer.init_transactions(30)
    for n in range(12):
        producer.begin_transaction()
        for m in range(5):
            producer.produce("payments", f"{night} {n} {m}", f"p{m}", partition=m % 2, timestamp=base + n)
        producer.flush(30)
        producer.abort_transaction(30) if n % 3 == 2 else producer.commit_transaction(30)


def compact(kafka: Kafka) -> None:
    """Waits until the cleaner has left the last record of each key, but for the active segment."""
    time.sleep(0.2)
    producer = ck.Producer({"bootstrap.servers": kafka.bootstrap})
    until = time.monotonic() + 90
    while True:
        for number in range(2):  # rolls the segment
            producer.produce("accounts", b"roll", b"roll", partition=number)
        producer.flush(30)
        counts = [len(found) for tp, found in records(kafka).items() if tp[0] == "accounts"]
        if max(counts) < 60:
            return
        assert time.monotonic() < until, counts
        time.sleep(0.5)


def records(kafka: Kafka) -> dict[tuple[str, int], list[tuple[int, Record]]]:
    """All that a read_committed reader gets, by partition, with offsets: what librdkafka says."""
    consumer = ck.Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "judge", "enable.auto.commit": False,
         "enable.partition.eof": True, "isolation.level": "read_committed"}
    )  # fmt: skip
    places = [ck.TopicPartition(name, n, 0) for name, (count, _) in TOPICS.items() for n in range(count)]
    found: dict[tuple[str, int], list[tuple[int, Record]]] = {(tp.topic, tp.partition): [] for tp in places}
    consumer.assign(places)
    ended, until = set(), time.monotonic() + 60
    while len(ended) < len(places):
        assert time.monotonic() < until
        message = consumer.poll(1)
        if message is None:
            continue
        place = (message.topic(), message.partition())
        if message.error():
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
            ended.add(place)
            continue
        kind, when = message.timestamp()
        assert kind == ck.TIMESTAMP_CREATE_TIME or message.topic() == "audit"
        record = (message.key(), message.value(), tuple(message.headers() or ()), when)
        found[place].append((message.offset(), record))
    consumer.close()
    return found


def commit(kafka: Kafka, night: int) -> None:
    """Groups of both clients, at records, in gaps and at ends."""
    logs = records(kafka)
    for group, share in (("billing", 0.5), ("search", 0.1), ("mail", 1.0)):
        places = []
        for (topic, number), found in logs.items():
            low, high = found[0][0], found[-1][0] + 1
            at = high if share == 1.0 else low + int((high - low) * share) + night
            places.append((topic, number, at))
        if group == "search":
            consumer = kp.KafkaConsumer(
                bootstrap_servers=kafka.bootstrap, group_id=group, enable_auto_commit=False
            )
            consumer.assign([kp.TopicPartition(topic, number) for topic, number, _ in places])
            offsets = {
                kp.TopicPartition(topic, number): kp.OffsetAndMetadata(at, f"{group} {at}", -1)
                for topic, number, at in places
            }
            consumer.commit(offsets)
            consumer.close()
        else:
            client = ck.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
            client.commit(
                offsets=[
                    ck.TopicPartition(topic, number, at, f"{group} {at}") for topic, number, at in places
                ],
                asynchronous=False,
            )
            client.close()


def contents(topic: str, found: list[tuple[int, Record]]) -> Any:
    """The records; of a compacted topic the last one of each key: cleaners of both clusters remove others at any time."""
    if topic == "accounts":
        return {record[0]: record for _offset, record in found if record[0] != b"roll"}
    return [record for _offset, record in found]


def positions(kafka: Kafka) -> dict[tuple[str, str, int], tuple[Any, str]]:
    """What each group has yet to read, and the metadata: what kafka-python says is committed."""
    logs = records(kafka)
    admin = kp.KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    found = {}
    for group in ("billing", "search", "mail"):
        committed = admin.list_group_offsets({group: None})[group]
        for tp, one in committed.items():
            left = [
                (offset, record) for offset, record in logs[tp.topic, tp.partition] if offset >= one.offset
            ]
            found[group, tp.topic, tp.partition] = (contents(tp.topic, left), one.metadata)
    admin.close()
    return found


def configured(kafka: Kafka) -> dict[str, Any]:
    """What is in force for each topic, how many partitions and replicas there are; and what is set on it."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    listed = admin.list_topics(timeout=30).topics
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in TOPICS]
    return {
        resource.name: (
            {name: entry.value for name, entry in future.result(30).items()},
            {number: len(part.replicas) for number, part in listed[resource.name].partitions.items()},
            {name for name in TOPICS[resource.name][1] if future.result(30)[name].source == 1},
        )
        for resource, future in admin.describe_configs(asked).items()
    }


def test_a_cluster_is_made_of_its_backup(url: str) -> None:
    with sandboxed(extra=CLEANER, jvm_options=QUICK_JVM) as kafka:
        create(kafka)
        for night in range(2):
            produce(kafka, night)
            compact(kafka)
            commit(kafka, night)
            done, report = export(kafka, url, *TOPICS, "--append", "--compact", *BOTH)
            assert done.code == 0, done.err
            assert len(report["groups"]) == 3 * 8
        was = records(kafka), positions(kafka), configured(kafka)
        identity = report["cluster"]
    assert {bool(left) for left, _metadata in was[1].values()} == {True, False}
    with sandboxed(extra=TEST_PROPERTIES, jvm_options=QUICK_JVM) as kafka:
        done, report = import_(kafka, url, *BOTH)
        assert done.code == 0, done.err
        assert report["cluster"] != identity
        restored = records(kafka)
        for place, found in was[0].items():
            assert contents(place[0], restored[place]) == contents(place[0], found), place
        assert positions(kafka) == was[1]
        assert configured(kafka) == was[2]
        assert {row["status"] for row in report["groups"]} == {"done"}
        done, report = import_(kafka, url, *BOTH)
        assert done.code == 0, done.err
        assert report["totals"]["records"] == 0
        assert {row["status"] for row in (*report["groups"], *report["settings"])} == {"unchanged"}
