"""What the proxy's tests do with clients: send a few records, and look past the proxy at what the broker has."""

from typing import Any

from confluent_kafka import Consumer as Judge
from confluent_kafka import TopicPartition as JudgePartition

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from tests.kafka import Kafka
from tests.proxy.proxy import Proxy

QUICK = {"request_timeout_ms": 700, "reconnect_backoff_ms": 20, "retry_backoff_ms": 20, "linger_ms": 0}
"""Options of a producer that notices soon."""


def producer(proxy: Proxy, **options: Any) -> Producer:
    """kcli's, through the proxy."""
    return Producer(bootstrap_servers=proxy.bootstrap, **{**QUICK, **options})


def send(client: Producer, topic: str, *values: bytes, timeout: float = 20.0) -> list[int]:
    """Sends and waits; the offsets."""
    futures = [client.send(ProducerRecord(topic, value, partition=0)) for value in values]
    return [future.result(timeout).offset for future in futures]


WARM = (b"first", b"second")


def warm_up(client: Producer, topic: str) -> None:
    """The first record goes on the connection at hand, the second on the producer's own, which is there afterwards."""
    for value in WARM:
        send(client, topic, value)


def stored(kafka: Kafka, topic: str) -> list[bytes]:
    """Every value of partition 0, read straight from the broker by another client."""
    wishes = {"group.id": topic, "enable.partition.eof": True, "fetch.wait.max.ms": 10}
    reader = Judge({"bootstrap.servers": kafka.bootstrap, **wishes})
    reader.assign([JudgePartition(topic, 0, 0)])
    values: list[bytes] = []
    while True:
        message = reader.poll(10)
        assert message is not None, "the broker does not answer"
        if message.error() is not None:
            reader.close()
            return values
        values.append(message.value() or b"")
