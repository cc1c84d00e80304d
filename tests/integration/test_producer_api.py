"""The producer's Python API on a real broker: callbacks, serializers, partitioners, rows, whole batches, figures."""

import json
import threading
from typing import Any

import pytest

from kcli.core import Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.kernels.active import encode_headers
from kcli.core.kernels.shapes import NO_HEADERS
from kcli.core.names import java_hash
from kcli.core.producer.batch import RecordFuture
from kcli.core.producer.serialization import RecordTooLargeError, SerializationError
from kcli.core.records.batch import RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import ProducerRecord, Record, TopicPartition
from tests.kafka import Kafka

pytestmark = pytest.mark.integration

PATIENCE = 120.0


def records(kafka: Kafka, topic: str, partitions: int = 1) -> list[Record]:
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        partitions = [TopicPartition(topic, p) for p in range(partitions)]
        ends = consumer.list_offsets(dict.fromkeys(partitions, -1), PATIENCE)
        consumer.assign({tp: Span(0, info.offset) for tp, info in ends.items()})
        found: list[Record] = []
        while not consumer.done:
            found += consumer.records(5)
    return sorted(found, key=lambda r: (r.partition, r.offset))


# --- callbacks --------------------------------------------------------------------------------------------


@pytest.mark.case("S0-10")
def test_on_completion_is_called_once_in_the_senders_thread(kafka: Kafka) -> None:
    topic = kafka.topic("callback")
    called: list[tuple[int, str]] = []

    def completed(future: RecordFuture) -> None:
        called.append((future.result(0).offset, threading.current_thread().name))

    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for value in range(100):
            producer.send(ProducerRecord(topic, b"%d" % value), completed)
    assert called == [(offset, "kcli-sender") for offset in range(100)]


@pytest.mark.case("S0-10")
def test_a_callback_may_be_added_at_any_time(kafka: Kafka) -> None:
    topic = kafka.topic("callback")
    order: list[str] = []
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        future = producer.send(ProducerRecord(topic, b"v"), lambda _f: order.append("with the send"))
        future.on_completion(lambda _f: order.append("after it"))
        assert producer.flush(PATIENCE)
        future.on_completion(lambda _f: order.append("when it is done"))
    assert order == ["with the send", "after it", "when it is done"]


@pytest.mark.case("S0-10")
def test_a_callback_may_send_but_not_wait_and_its_errors_end_nothing(kafka: Kafka) -> None:
    topic = kafka.topic("callback")
    refused: list[KcliError] = []
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:

        def answer(_future: RecordFuture) -> None:
            producer.send(ProducerRecord(topic, b"answer"))
            try:
                producer.flush()
            except KcliError as error:
                refused.append(error)
            raise RuntimeError("of the application")

        producer.send(ProducerRecord(topic, b"question"), answer)
        assert producer.flush(PATIENCE)
        producer.send(ProducerRecord(topic, b"more"))
    assert [r.value for r in records(kafka, topic)] == [b"question", b"answer", b"more"]
    assert "would wait for itself" in refused[0].why


def test_a_failure_reaches_the_callback_and_so_does_a_part_of_a_batch_that_was_split(kafka: Kafka) -> None:
    topic = kafka.topic("callback", config={"max.message.bytes": "3000"})
    told: list[int | str] = []

    def completed(future: RecordFuture) -> None:
        told.append(type(future.error).__name__ if future.error else future.result(0).offset)

    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=200) as producer:
        for size in (*[1_000] * 9, 5_000):
            producer.send(ProducerRecord(topic, b"x" * size), completed)
        assert producer.flush(PATIENCE)
        assert producer.metrics().batches_split >= 1
    assert sorted(map(str, told)) == sorted([*map(str, range(9)), "BrokerError"])


# --- serializers, partitioners ------------------------------------------------------------------------------


@pytest.mark.case("S0-11")
def test_serializers_run_in_the_senders_thread_and_their_errors_are_in_the_future(kafka: Kafka) -> None:
    topic = kafka.topic("objects")
    threads: set[str] = set()

    def as_json(_topic: str, value: Any) -> bytes | None:
        threads.add(threading.current_thread().name)
        return None if value is None else json.dumps(value).encode()

    with Producer(
        bootstrap_servers=kafka.bootstrap,
        value_serializer=as_json,
        key_serializer=lambda _topic, key: str(key).encode(),
    ) as producer:
        good = [producer.send(ProducerRecord(topic, value, key=7)) for value in ({"a": 1}, [2], None)]
        bad = producer.send(ProducerRecord(topic, {1, 2}))
        huge = producer.send(ProducerRecord(topic, "x" * 2_000_000))
        assert [future.result(PATIENCE).offset for future in good] == [0, 1, 2]
        with pytest.raises(SerializationError, match="not JSON serializable"):
            bad.result(PATIENCE)
        with pytest.raises(RecordTooLargeError):
            huge.result(PATIENCE)
    assert [(r.key, r.value) for r in records(kafka, topic)] == [
        (b"7", b'{"a": 1}'),
        (b"7", b"[2]"),
        (b"7", None),
    ]
    assert threads == {"kcli-sender"}


@pytest.mark.case("S4-7")
def test_a_partitioner_of_ones_own_sees_topic_key_and_partitions(kafka: Kafka) -> None:
    topic = kafka.topic("own", partitions=4)
    asked: list[tuple[str, bytes | None, int]] = []

    def last_byte(name: str, key: bytes | None, partitions: int) -> int:
        asked.append((name, key, partitions))
        return key[-1] % partitions if key else partitions - 1

    with Producer(bootstrap_servers=kafka.bootstrap, partitioner=last_byte) as producer:
        producer.connect([topic], PATIENCE, 5)
        futures = [producer.send(ProducerRecord(topic, b"v", key=key)) for key in (b"\x01", b"\x06", None)]
        producer.send_rows(topic, [(b"\x02", b"w", NO_HEADERS, 1), (None, b"w", NO_HEADERS, 2)])
        producer.send_text(topic, b"x\ny")
        assert [future.result(PATIENCE).partition for future in futures] == [1, 2, 3]
    assert [r.partition for r in records(kafka, topic, 4)] == [1, 2, 2, 3, 3, 3, 3]
    assert (topic, None, 4) in asked


def test_a_partitioner_that_names_no_partition_of_the_topic_is_reported(kafka: Kafka) -> None:
    topic = kafka.topic("own", partitions=2)
    with Producer(bootstrap_servers=kafka.bootstrap, partitioner=lambda *_: 5) as producer:
        future = producer.send(ProducerRecord(topic, b"v"))
        with pytest.raises(NotFoundError, match="no partition 5"):
            future.result(PATIENCE)


def test_hashcode_is_the_partitioner_of_the_first_kafka(kafka: Kafka) -> None:
    topic = kafka.topic("hashcode", partitions=7)
    keys = [b"user-%d" % i for i in range(50)]
    with Producer(bootstrap_servers=kafka.bootstrap, partitioner="hashcode") as producer:
        futures = [producer.send(ProducerRecord(topic, b"v", key=key)) for key in keys]
        assert [f.result(PATIENCE).partition for f in futures] == [java_hash(key) % 7 for key in keys]


# --- rows and whole batches ---------------------------------------------------------------------------------


@pytest.mark.case("S0-13")
@pytest.mark.parametrize("spread", [0, 1], ids=["one time", "times of their own"])
def test_rows_keep_key_value_headers_and_time(kafka: Kafka, spread: int) -> None:
    topic = kafka.topic("rows", partitions=3)
    headers = encode_headers([("h", b"1"), ("h", None)])
    rows = [(b"k%d" % (i % 10), b"v%d" % i, headers, 1_700_000_000_000 + i * spread) for i in range(2_000)]
    rows[7] = (b"k7", None, headers, rows[7][3])
    with Producer(bootstrap_servers=kafka.bootstrap, batch_size=5_000) as producer:
        producer.send_rows(topic, rows)
        producer.send_rows(topic, [(None, b"named", NO_HEADERS, 5)], partition=2)
        producer.send_rows(topic, [])
    found = records(kafka, topic, 3)
    assert found.pop().value == b"named"
    got = [(r.key, r.value, r.headers, r.timestamp) for r in found]
    assert sorted(got, key=lambda r: (r[3], r[1] or b"")) == sorted(
        ((key, value, (("h", b"1"), ("h", None)), time) for key, value, _, time in rows),
        key=lambda r: (r[3], r[1] or b""),
    )
    for key in {row[0] for row in rows}:
        assert [r.value for r in found if r.key == key] == [row[1] for row in rows if row[0] == key]


@pytest.mark.case("S0-13")
@pytest.mark.parametrize("codec", range(5))
def test_a_batch_is_sent_on_as_it_was_read(kafka: Kafka, codec: int) -> None:
    topic = kafka.topic("batch")
    builder = BatchBuilder(room=1 << 20, codec=codec)
    rows = [(b"k", b"v%d" % i, encode_headers([("h", b"x")]), 1_700_000_000_000 + i) for i in range(500)]
    builder.append_rows(rows)
    raw = b"".join(builder.wire())
    tp = TopicPartition(topic, 0)
    reports = []
    with Producer(bootstrap_servers=kafka.bootstrap, on_delivery=reports.append) as producer:
        futures = [producer.send_batch(tp, RecordBatch(memoryview(raw))) for _ in range(3)]
        assert [future.result(PATIENCE).offset for future in futures] == [0, 500, 1_000]
    assert [report.count for report in reports] == [500] * 3
    with Consumer(bootstrap_servers=kafka.bootstrap) as consumer:
        consumer.assign({tp: Span(0, 1_500)})
        payloads = []
        while not consumer.done:
            payloads += [bytes(fetched.batch.raw[61:]) for fetched in consumer.poll(5)]
    assert payloads == [raw[61:]] * 3
    assert [(r.key, r.value, r.timestamp) for r in records(kafka, topic)[:500]] == [
        (key, value, time) for key, value, _, time in rows
    ]


def test_a_batch_that_is_too_large_for_the_target_is_split(kafka: Kafka) -> None:
    topic = kafka.topic("batch", config={"max.message.bytes": "4000"})
    builder = BatchBuilder(room=1 << 20, codec=3)
    lines = [bytes([i % 251, i % 241]) * 200 for i in range(100)]
    builder.append_lines(lines, 0, 5)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        future = producer.send_batch(
            TopicPartition(topic, 0), RecordBatch(memoryview(b"".join(builder.wire())))
        )
        assert producer.flush(PATIENCE)
        assert future.error is None
    assert [r.value for r in records(kafka, topic)] == lines


def test_markers_of_transactions_are_not_sent_on(kafka: Kafka) -> None:
    builder = BatchBuilder(room=1_000)
    builder.append_lines([b"x"], 0, 5)
    raw = bytearray(b"".join(builder.wire()))
    raw[22] |= 0x20
    with (
        Producer(bootstrap_servers=kafka.bootstrap) as producer,
        pytest.raises(ConfigError, match="cannot be sent"),
    ):
        producer.send_batch(TopicPartition("any", 0), RecordBatch(memoryview(bytes(raw))))


# --- figures ------------------------------------------------------------------------------------------------


@pytest.mark.case("S0-68")
def test_metrics_report_what_was_sent(kafka: Kafka) -> None:
    topic = kafka.topic("metrics")
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type="lz4") as producer:
        assert producer.metrics().records_confirmed == 0
        producer.send_text(topic, (b"x" * 1_000 + b"\n") * 500)
        assert producer.flush(PATIENCE)
        figures = producer.metrics()
    assert (figures.records_confirmed, figures.records_failed, figures.records_outstanding) == (500, 0, 0)
    assert figures.bytes_confirmed > 500_000 > figures.bytes_sent > 0
    assert figures.batches_sent >= figures.requests_sent >= 1
    assert 0 < figures.request_latency_average <= figures.request_latency_max < PATIENCE
    assert (figures.buffer_used, figures.requests_in_flight, figures.producer_epochs) == (0, 0, 1)
