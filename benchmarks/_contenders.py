"""How each tool produces a file of lines, and reads a topic to /dev/null: the command lines of kcli and its rivals.

Slow rivals get a tenth of the records, so that a round ends; what is compared is records per second.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks import _kafka_tools as kafka
from benchmarks._measure import Run

_CONFLUENT_PRODUCE = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "compression.type": sys.argv[3], "batch.size": 1_000_000,
    "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000, "linger.ms": 5})
topic = sys.argv[2]
for index, line in enumerate(sys.stdin.buffer):
    while True:
        try:
            producer.produce(topic, line[:-1])
            break
        except BufferError:
            producer.poll(0.1)
    if not index % 1000:
        producer.poll(0)
producer.flush()
"""

_CONFLUENT_CONSUME = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "bench", "enable.auto.commit": False,
    "auto.offset.reset": "earliest"})
consumer.subscribe([sys.argv[2]])
left, write = int(sys.argv[3]), sys.stdout.buffer.write
while left > 0:
    for message in consumer.consume(10_000, 1.0):
        write(message.value() + b"\\n")
        left -= 1
"""

_KAFKA_PYTHON_PRODUCE = """
import sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1], batch_size=1_000_000, linger_ms=5, max_request_size=2_000_000,
    compression_type=None if sys.argv[3] == "none" else sys.argv[3])
for line, _ in zip(sys.stdin.buffer, range(int(sys.argv[4]))):
    producer.send(sys.argv[2], line[:-1])
producer.flush()
"""

_KAFKA_PYTHON_CONSUME = """
import sys
from kafka import KafkaConsumer
consumer = KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], auto_offset_reset="earliest")
write = sys.stdout.buffer.write
for message, _ in zip(consumer, range(int(sys.argv[3]))):
    write(message.value + b"\\n")
"""

_AIOKAFKA_PRODUCE = """
import asyncio, sys
from aiokafka import AIOKafkaProducer
async def main():
    producer = AIOKafkaProducer(bootstrap_servers=sys.argv[1], max_batch_size=1_000_000, linger_ms=5,
        max_request_size=2_000_000, enable_idempotence=True,
        compression_type=None if sys.argv[3] == "none" else sys.argv[3])
    await producer.start()
    for line, _ in zip(sys.stdin.buffer, range(int(sys.argv[4]))):
        await producer.send(sys.argv[2], line[:-1])
    await producer.stop()
asyncio.run(main())
"""

_AIOKAFKA_CONSUME = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer
async def main():
    consumer = AIOKafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], auto_offset_reset="earliest")
    await consumer.start()
    left, write = int(sys.argv[3]), sys.stdout.buffer.write
    while left > 0:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            for record in records:
                write(record.value + b"\\n")
            left -= len(records)
    await consumer.stop()
asyncio.run(main())
"""

_PREBUILT_PRODUCE = """
import sys, time
from kcli.core import Producer
from kcli.core.records.batch import RecordBatch
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import TopicPartition
bootstrap, topic, records = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Producer(bootstrap_servers=bootstrap) as producer:
    producer.connect([topic], 30, 10)
    built = BatchBuilder(room=1_000_000)
    lines = open(sys.argv[4], "rb").read(1_200_000).split(b"\\n")
    count = built.append_lines(lines, 0, 1_700_000_000_000)
    batch = RecordBatch(memoryview(b"".join(built.wire())))
    wall, cpu = time.monotonic(), time.process_time()
    for index in range(records // count + 1):
        producer.send_batch(TopicPartition(topic, index % producer.partitions_of(topic)), batch)
    producer.flush()
    print((records // count + 1) * count, time.monotonic() - wall, time.process_time() - cpu)
"""

_SLOW = 10  # what is slow gets this share of the records


def _installed(module: str) -> bool:
    return find_spec(module) is not None


def kcli_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str, *flags: str) -> Run:
    """``kcli produce`` as it is by default: idempotent, acks=all."""
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "produce", topic, "-q", "-z", codec, *flags]
    return Run(argv, count, lines)


def kcat_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str, *flags: str) -> Run | None:
    """kcat with its defaults (acks=all)."""
    kcat = shutil.which("kcat")
    return (
        Run([kcat, "-P", "-b", bootstrap, "-t", topic, "-z", codec, *flags], count, lines) if kcat else None
    )


def confluent_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str) -> Run | None:
    """confluent-kafka's ``produce`` in a loop over stdin."""
    if not _installed("confluent_kafka"):
        return None
    return Run([sys.executable, "-c", _CONFLUENT_PRODUCE, bootstrap, topic, codec], count, lines)


def kafka_python_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str) -> Run | None:
    """kafka-python in a loop over stdin."""
    if not _installed("kafka"):
        return None
    some = count // _SLOW
    return Run([sys.executable, "-c", _KAFKA_PYTHON_PRODUCE, bootstrap, topic, codec, str(some)], some, lines)


def aiokafka_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str) -> Run | None:
    """aiokafka in a loop over stdin."""
    if not _installed("aiokafka"):
        return None
    some = count // _SLOW
    return Run([sys.executable, "-c", _AIOKAFKA_PRODUCE, bootstrap, topic, codec, str(some)], some, lines)


def console_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str) -> Run | None:
    """Kafka's console producer."""
    java = kafka.tool(kafka.CONSOLE_PRODUCER)
    if java is None:
        return None
    flags = ["--bootstrap-server", bootstrap, "--topic", topic, "--compression-codec", codec]
    return Run([*java, *flags], count, lines)


def perf_produce(bootstrap: str, topic: str, lines: Path, count: int, codec: str) -> Run | None:
    """Kafka's producer perf test with records of the same size."""
    java = kafka.tool(kafka.PRODUCER_PERF)
    if java is None:
        return None
    with lines.open("rb") as file:
        width = len(file.readline()) - 1
    flags = ["--topic", topic, "--num-records", str(count), "--record-size", str(width), "--throughput", "-1"]
    properties = [f"bootstrap.servers={bootstrap}", f"compression.type={codec}"]
    return Run([*java, *flags, "--producer-props", *properties], count)


def prebuilt_produce(bootstrap: str, topic: str, lines: Path, count: int) -> Run:
    """A producer of kcli that encodes nothing: one pre-built batch of about 1 MB, again and again.

    It prints records, seconds and CPU seconds, without its start.
    """
    return Run([sys.executable, "-c", _PREBUILT_PRODUCE, bootstrap, topic, str(count), str(lines)], count)


def raw_sender(bootstrap: str, topic: str, partitions: int, lines: Path, count: int, codec: str) -> Run:
    """The least that a sender can do: see its module."""
    argv = [
        sys.executable,
        "-m",
        "benchmarks._raw_sender",
        bootstrap,
        topic,
        str(partitions),
        str(lines),
        codec,
    ]
    return Run(argv, count)


def raw_reader(bootstrap: str, topic: str, partitions: int, count: int) -> Run:
    """The least that a reader can do: see its module."""
    return Run([sys.executable, "-m", "benchmarks._raw_reader", bootstrap, topic, str(partitions)], count)


def kcli_consume(bootstrap: str, topic: str, count: int, *flags: str) -> Run:
    """``kcli consume`` to the end of the topic."""
    return Run([sys.executable, "-m", "kcli", "-b", bootstrap, "consume", topic, "-e", "-q", *flags], count)


def kcat_consume(bootstrap: str, topic: str, count: int, *flags: str) -> Run | None:
    """``kcat -C`` to the end of the topic."""
    kcat = shutil.which("kcat")
    argv = [kcat or "", "-C", "-b", bootstrap, "-t", topic, "-e", "-q", "-o", "beginning", *flags]
    return Run(argv, count) if kcat else None


_OPEN_STDIN = 'fifo=$(mktemp -u) && mkfifo "$fifo" && exec 0<>"$fifo" && rm "$fifo" && exec "$@"'


def kcl_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """kcl with large fetches. It ends where its stdin does."""
    kcl = shutil.which("kcl")
    if kcl is None:
        return None
    flags = ["--fetch-max-bytes", "52428800", "-f", "%v\\n", "-n", str(count), "--offset", "start"]
    argv = [kcl, "-X", f"seed_brokers={bootstrap}", "consume", topic, *flags]
    return Run(["sh", "-c", _OPEN_STDIN, "sh", *argv], count)


def kaf_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """kaf to the end of the topic. Producing, it waits for each record: that is another job."""
    kaf = shutil.which("kaf")
    return Run([kaf, "-b", bootstrap, "consume", topic, "--output", "raw"], count) if kaf else None


def confluent_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """confluent-kafka's ``consume`` of 10,000 at once."""
    if not _installed("confluent_kafka"):
        return None
    return Run([sys.executable, "-c", _CONFLUENT_CONSUME, bootstrap, topic, str(count)], count)


def kafka_python_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """kafka-python's iterator."""
    if not _installed("kafka"):
        return None
    some = count // _SLOW
    return Run([sys.executable, "-c", _KAFKA_PYTHON_CONSUME, bootstrap, topic, str(some)], some)


def aiokafka_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """aiokafka's ``getmany``."""
    if not _installed("aiokafka"):
        return None
    some = count // _SLOW
    return Run([sys.executable, "-c", _AIOKAFKA_CONSUME, bootstrap, topic, str(some)], some)


def console_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """Kafka's console consumer."""
    java = kafka.tool(kafka.CONSOLE_CONSUMER)
    if java is None:
        return None
    flags = [
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--from-beginning",
        "--max-messages",
        str(count),
    ]
    return Run([*java, *flags], count)


def perf_consume(bootstrap: str, topic: str, count: int) -> Run | None:
    """Kafka's consumer perf test."""
    java = kafka.tool(kafka.CONSUMER_PERF)
    if java is None:
        return None
    return Run([*java, "--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(count)], count)
