"""Each tool as one end of a pipe: sends every line of stdin at once, or prints every record as it arrives.

``consuming`` reads partition 0 from its end, ``member`` joins a group and reads all there is. A command line is None
where its tool is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from shutil import which

from benchmarks import _kafka_tools as kafka

Command = Sequence[str] | None

_CONFLUENT_PRODUCE = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "linger.ms": 0})
for line in sys.stdin.buffer:
    producer.produce(sys.argv[2], line[:-1])
    producer.poll(0)
producer.flush()
"""

_CONFLUENT_CONSUME = """
import sys
from confluent_kafka import OFFSET_END, Consumer, TopicPartition
topic, group = sys.argv[2:]
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": group or "pipes", "auto.offset.reset": "earliest",
    "enable.auto.commit": bool(group)})
consumer.subscribe([topic]) if group else consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
while True:
    message = consumer.poll(1.0)
    if message is not None and message.error() is None:
        sys.stdout.buffer.write(message.value() + b"\\n")
        sys.stdout.buffer.flush()
"""

_KAFKA_PYTHON_PRODUCE = """
import sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1])
for line in sys.stdin.buffer:
    producer.send(sys.argv[2], line[:-1])
producer.flush()
"""

_KAFKA_PYTHON_CONSUME = """
import sys
from kafka import KafkaConsumer
topic, group = sys.argv[2:]
consumer = KafkaConsumer(topic, bootstrap_servers=sys.argv[1], group_id=group or None,
    auto_offset_reset="earliest" if group else "latest")
for message in consumer:
    sys.stdout.buffer.write(message.value + b"\\n")
    sys.stdout.buffer.flush()
"""

_AIOKAFKA_PRODUCE = """
import asyncio, sys
from aiokafka import AIOKafkaProducer
async def main():
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AIOKafkaProducer(bootstrap_servers=sys.argv[1]) as producer:
        while line := await lines.readline():
            await producer.send(sys.argv[2], line[:-1])
asyncio.run(main())
"""

_AIOKAFKA_CONSUME = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer
async def main():
    topic, group = sys.argv[2:]
    async with AIOKafkaConsumer(topic, bootstrap_servers=sys.argv[1], group_id=group or None,
            auto_offset_reset="earliest" if group else "latest") as consumer:
        async for message in consumer:
            sys.stdout.buffer.write(message.value + b"\\n")
            sys.stdout.buffer.flush()
asyncio.run(main())
"""


class Tool:
    """The command lines of one tool, each from the bootstrap servers, a topic and (``member``) a group."""

    def __init__(
        self,
        producing: Callable[[str, str], Command],
        consuming: Callable[[str, str], Command],
        member: Callable[[str, str, str], Command],
    ) -> None:
        self.producing, self.consuming, self.member = producing, consuming, member


def _script(module: str, produce: str, consume: str) -> Tool:
    """A client of Python."""

    def run(program: str, *words: str) -> Command:
        return [sys.executable, "-c", program, *words] if find_spec(module) is not None else None

    return Tool(
        lambda bootstrap, topic: run(produce, bootstrap, topic),
        lambda bootstrap, topic: run(consume, bootstrap, topic, ""),
        lambda bootstrap, topic, group: run(consume, bootstrap, topic, group),
    )


def _kcli(bootstrap: str, *words: str) -> Command:
    return [sys.executable, "-m", "kcli", "-b", bootstrap, *words, "-q"]


def _kcat(bootstrap: str, *words: str) -> Command:
    kcat = which("kcat")
    return [kcat, "-b", bootstrap, *words] if kcat else None


def _java(main: str, bootstrap: str, *words: str) -> Command:
    java = kafka.tool(main)
    return [*java, "--bootstrap-server", bootstrap, *words] if java else None


TOOLS = {
    "kcli": Tool(
        lambda bootstrap, topic: _kcli(bootstrap, "produce", topic),
        lambda bootstrap, topic: _kcli(bootstrap, "consume", topic),
        lambda bootstrap, topic, group: _kcli(
            bootstrap, "consume", topic, "-g", group, "-X", "auto.offset.reset=earliest"
        ),
    ),
    "kcat": Tool(
        lambda bootstrap, topic: _kcat(bootstrap, "-t", topic, "-P"),
        lambda bootstrap, topic: _kcat(bootstrap, "-t", topic, "-C", "-q", "-u"),
        lambda bootstrap, topic, group: _kcat(
            bootstrap, "-q", "-u", "-X", "auto.offset.reset=earliest", "-G", group, topic
        ),
    ),
    "confluent-kafka": _script("confluent_kafka", _CONFLUENT_PRODUCE, _CONFLUENT_CONSUME),
    "kafka-python": _script("kafka", _KAFKA_PYTHON_PRODUCE, _KAFKA_PYTHON_CONSUME),
    "aiokafka": _script("aiokafka", _AIOKAFKA_PRODUCE, _AIOKAFKA_CONSUME),
    "Kafka's console tools": Tool(
        lambda bootstrap, topic: _java(kafka.CONSOLE_PRODUCER, bootstrap, "--topic", topic),
        lambda bootstrap, topic: _java(kafka.CONSOLE_CONSUMER, bootstrap, "--topic", topic),
        lambda bootstrap, topic, group: _java(
            kafka.CONSOLE_CONSUMER, bootstrap, "--topic", topic, "--group", group, "--from-beginning"
        ),
    ),
}
