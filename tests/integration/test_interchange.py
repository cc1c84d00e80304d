"""What kcli writes others read, what others write kcli reads: confluent-kafka and kafka-python are the judges."""

import shutil
import subprocess
import time
from typing import Any

import pytest
from confluent_kafka import Consumer as Judge
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.types import ProducerRecord, Record, TopicPartition
from tests.kafka import Kafka

pytestmark = [pytest.mark.integration, pytest.mark.case("S0-70")]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
STAMP = 1_700_000_000_123

Row = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]

ROWS: list[Row] = [
    (b"k", b"v", (), STAMP),
    (None, b"no key", (), STAMP + 1),
    (b"tombstone", None, (), STAMP + 2),
    (b"", b"", (), STAMP + 3),
    (b"h", b"headers", (("a", b"1"), ("a", b"2"), ("empty", b""), ("null", None)), STAMP + 4),
    (b"\x00\xff", bytes(range(256)), (("bin", b"\xff\x00"),), STAMP - 5_000),
    (b"big", b"x" * 300_000, (), STAMP + 6),
    *[(b"%d" % i, b"value %d " % i * (i % 40), (), STAMP + i) for i in range(500)],
]


def judge_reads(bootstrap: str, topic: str, count: int) -> list[Row]:
    """The first ``count`` records of partition 0, read by librdkafka with checksums on."""
    judge = Judge({"bootstrap.servers": bootstrap, "group.id": "judge", "check.crcs": True})
    judge.assign([JudgePartition(topic, 0, 0)])
    rows: list[Row] = []
    end = time.monotonic() + 30
    while len(rows) < count and time.monotonic() < end:
        for message in judge.consume(count - len(rows), 1.0):
            assert message.error() is None, message.error()
            headers = tuple((n, v) for n, v in message.headers() or ())
            rows.append((message.key(), message.value(), headers, message.timestamp()[1]))
    judge.close()
    return rows


def kcli_reads(bootstrap: str, topic: str, count: int) -> list[Record]:
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.connect(10)
        consumer.assign({TopicPartition(topic, 0): Span(0, count)})
        records: list[Record] = []
        while not consumer.done:
            records.extend(consumer.records(10))
        return records


def as_row(record: Record) -> Row:
    headers: Any = record.headers
    return record.key, record.value, headers, record.timestamp


@pytest.mark.case("F18")
@pytest.mark.parametrize("codec", CODECS)
def test_confluent_reads_what_kcli_wrote(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic(f"to-judge-{codec}")
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as producer:
        futures = [
            producer.send(ProducerRecord(topic, value, key, headers, timestamp=stamp))
            for key, value, headers, stamp in ROWS
        ]
        assert [future.result(120).offset for future in futures] == list(range(len(ROWS)))
    assert judge_reads(kafka.bootstrap, topic, len(ROWS)) == ROWS


@pytest.mark.case("F18")
@pytest.mark.parametrize("codec", CODECS)
def test_kcli_reads_what_confluent_wrote(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic(f"from-judge-{codec}")
    writer = JudgeProducer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 20})
    for key, value, headers, stamp in ROWS:
        writer.produce(topic, value, key, headers=list(headers) or None, timestamp=stamp)
    assert writer.flush(30) == 0
    records = kcli_reads(kafka.bootstrap, topic, len(ROWS))
    assert [as_row(r) for r in records] == ROWS
    assert [r.offset for r in records] == list(range(len(ROWS)))
    assert {r.timestamp_type for r in records} == {0}


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_kafka_python_and_kcli_understand_each_other(kafka: Kafka, codec: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka import TopicPartition as KpPartition

    topic = kafka.topic(f"kp-{codec}")
    rows = ROWS[:6]
    writer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap, compression_type=None if codec == "none" else codec
    )
    for key, value, headers, stamp in rows:
        kept = [(n, v if v is not None else b"") for n, v in headers]
        writer.send(topic, value, key, headers=kept, timestamp_ms=stamp)
    writer.close()
    found = [as_row(r) for r in kcli_reads(kafka.bootstrap, topic, len(rows))]
    assert [(k, v, s) for k, v, _, s in found] == [(k, v, s) for k, v, _, s in rows]
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as producer:
        for key, value, headers, stamp in rows:
            producer.send(ProducerRecord(topic, value, key, headers, timestamp=stamp))
    reader = KafkaConsumer(bootstrap_servers=kafka.bootstrap, consumer_timeout_ms=10_000)
    reader.assign([KpPartition(topic, 0)])
    reader.seek(KpPartition(topic, 0), len(rows))
    back = [next(reader) for _ in rows]
    reader.close()
    assert [(m.key, m.value, tuple(m.headers), m.timestamp) for m in back] == rows


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
@pytest.mark.parametrize("codec", CODECS)
def test_kcat_and_kcli_understand_each_other(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic(f"kcat-{codec}")
    lines = b"".join(b"k%d:value %d\n" % (i, i) for i in range(1_000))
    kcat = ["kcat", "-b", kafka.bootstrap, "-q"]
    subprocess.run(
        [*kcat, "-P", "-t", topic, "-K", ":", "-z", codec, "-H", "a=1"], input=lines, check=True, timeout=60
    )
    records = kcli_reads(kafka.bootstrap, topic, 1_000)
    assert [(r.key, r.value) for r in records] == [(b"k%d" % i, b"value %d" % i) for i in range(1_000)]
    assert {r.headers for r in records} == {(("a", b"1"),)}
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type=codec) as producer:
        producer.send_rows(topic, [(r.key, r.value, NO_HEADERS, r.timestamp) for r in records])
    out = subprocess.run(
        [*kcat, "-C", "-t", topic, "-o", "1000", "-e", "-f", "%k:%s\n"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert out.stdout == lines


@pytest.mark.case("S0-24")
@pytest.mark.parametrize("name", ["murmur2", "consistent"])
def test_keys_land_where_the_other_clients_put_them(kafka: Kafka, name: str) -> None:
    """murmur2 is Java's choice (librdkafka calls it murmur2_random), consistent librdkafka's own."""
    topic = kafka.topic("keys", partitions=7)
    keys = [b"key-%d" % i for i in range(300)]
    theirs: dict[bytes, int] = {}
    writer = JudgeProducer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "partitioner": {"murmur2": "murmur2_random", "consistent": "consistent_random"}[name],
        }
    )
    for key in keys:
        writer.produce(topic, b"", key, on_delivery=lambda _e, m: theirs.__setitem__(m.key(), m.partition()))
    writer.flush(30)
    with Producer(bootstrap_servers=kafka.bootstrap, partitioner=name) as producer:
        futures = {key: producer.send(ProducerRecord(topic, b"", key)) for key in keys}
        ours = {key: future.result(120).partition for key, future in futures.items()}
    assert ours == theirs
