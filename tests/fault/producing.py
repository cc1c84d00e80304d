"""What the fault tests of the producer share: a producer that gives up soon, and a look at what it sent. Not a test."""

from typing import Any

from kcli.core import Producer
from kcli.core.producer.batch import RecordFuture
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.journal import ProducedBatch, Seen

PATIENCE = 120.0
"""Seconds after which a test gives up; far above what any client here waits for."""
DEADLINE = 1.5
"""Timeout of a request that is to fail with the rest answered: enough for the rest on a busy machine."""


def quick(cluster: FakeCluster, **options: Any) -> Producer:
    """One record per batch, short waits: ``request_timeout_ms`` 400."""
    wishes: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap,
        "batch_size": 1,
        "linger_ms": 0,
        "request_timeout_ms": 400,
        "retry_backoff_ms": 20,
        "reconnect_backoff_ms": 10,
        "max_block_ms": 10_000,
    }
    return Producer(**{**wishes, **options})


def send(
    producer: Producer, topic: str, partition: int | None, *values: bytes, key: bytes | None = None
) -> list[RecordFuture]:
    """One record for each value."""
    return [producer.send(ProducerRecord(topic, v, key=key, partition=partition)) for v in values]


def values(
    cluster: FakeCluster, topic: str, partition: int = 0, *, committed: bool = False
) -> list[bytes | None]:
    return cluster.log(topic, partition).values(committed=committed)


def numbers(count: int, prefix: str = "") -> list[bytes]:
    """``b"0"``, ``b"1"``, … with a prefix."""
    return [f"{prefix}{i}".encode() for i in range(count)]


def sent_batches(cluster: FakeCluster, tp: TopicPartition | None = None) -> list[ProducedBatch]:
    """All batches that arrived, those of retries too, in order."""
    found = [batch for seen in cluster.seen(ProduceRequest) for batch in seen.batches()]
    return [batch for batch in found if tp in (None, batch.tp)]


def ids_asked_for(cluster: FakeCluster) -> int:
    """How often a producer id or a new epoch was asked for and given."""
    return sum(1 for seen in cluster.seen(InitProducerIdRequest) if seen.answer and not seen.codes)


def in_flight_when(cluster: FakeCluster, moment: Seen) -> list[Seen]:
    """The produce requests that were neither answered nor had lost their connection when ``moment`` arrived."""
    closed = {c.number: c.closed for c in cluster.connections}
    return [
        seen
        for seen in cluster.seen(ProduceRequest)
        if seen.at <= moment.at
        and (seen.answered_at is None or seen.answered_at > moment.at)
        and (closed[seen.connection] or float("inf")) > moment.at
    ]
