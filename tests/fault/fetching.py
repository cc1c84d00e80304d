"""What the fault tests of reading share: a quick consumer, records put straight into logs, what was asked. Not a test."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcli.core import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.journal import Seen
from tests.fake.raw_client import batch
from tests.fault.producing import PATIENCE, numbers
from tests.fault.watching import Heard

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
Values = list[bytes | None]


def quick_reader(cluster: FakeCluster, heard: Heard | None = None, **options: Any) -> Consumer:
    """Short waits; all nodes are known to it."""
    wishes: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap,
        "fetch_max_wait_ms": 40,
        "retry_backoff_ms": 5,
        "retry_backoff_max_ms": 20,
        "reconnect_backoff_ms": 5,
        "request_timeout_ms": 2_000,
    }
    return Consumer(hooks=(heard or Heard()).hooks, **{**wishes, **options})


def put(cluster: FakeCluster, tp: TopicPartition, *values: bytes) -> None:
    """A batch of its own for each value, straight into the log."""
    for value in values:
        cluster.append(*tp, batch(value))


def filled(cluster: FakeCluster, count: int, *partitions: TopicPartition) -> None:
    """``count`` records in each of ``partitions``: the partition's number, a dash, 0, 1, 2, …"""
    for tp in partitions:
        put(cluster, tp, *expected(tp, count))


def expected(tp: TopicPartition, count: int, first: int = 0) -> list[bytes]:
    return numbers(count, f"{tp.partition}-")[first:]


def to_the_end(cluster: FakeCluster, *partitions: TopicPartition) -> dict[TopicPartition, Span]:
    """All that is in the logs now."""
    return {tp: Span(0, cluster.log(*tp).end_offset) for tp in partitions}


def read_until(
    consumer: Consumer, done: Callable[[dict[TopicPartition, Values]], object]
) -> dict[TopicPartition, Values]:
    """Values by partition, in the order in which they came."""
    found: dict[TopicPartition, Values] = {}
    end = time.monotonic() + PATIENCE
    while not done(found):
        assert time.monotonic() < end, f"only {found}"
        for record in consumer.records(0.5):
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record.value)
    return found


def read_all(consumer: Consumer) -> dict[TopicPartition, Values]:
    """Up to the stop of every partition."""
    return read_until(consumer, lambda _found: consumer.done)


def read(consumer: Consumer, count: int) -> Values:
    """So many records, of all partitions together."""
    found = read_until(consumer, lambda found: sum(map(len, found.values())) >= count)
    return [value for values in found.values() for value in values]


def watch(consumer: Consumer, seconds: float) -> Values:
    """What comes in so many seconds."""
    found: Values = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        found += [record.value for record in consumer.records(left)]
    return found


def fetches(cluster: FakeCluster, node: int | None = None) -> list[Seen]:
    return cluster.seen(FetchRequest, node=node)


def places(seen: Seen) -> list[int]:
    """The partitions that a fetch names."""
    request: Any = seen.request
    return [p.partition for topic in request.topics for p in topic.partitions]


def forgotten(seen: Iterable[Seen]) -> list[int]:
    """The partitions that fetches have forgotten."""
    requests: list[Any] = [one.request for one in seen]
    return [number for r in requests for topic in r.forgotten_topics_data for number in topic.partitions]


def answer_with(
    cluster: FakeCluster, edit: Callable[[FetchRequest, PartitionData], object], **which: Any
) -> Any:
    """``edit`` changes every partition of fetch answers in place; the rule."""

    def edit_all(request: FetchRequest, answer: FetchResponse) -> None:
        for topic in answer.responses:
            for row in topic.partitions:
                edit(request, row)

    return cluster.replace(FetchRequest, edit_all, **which)


def refuse(row: PartitionData, code: int) -> None:
    """As brokers refuse a partition: without bounds and records."""
    row.error_code = code
    row.high_watermark = row.last_stable_offset = row.log_start_offset = -1
    row.aborted_transactions, row.records = None, [b""]


def with_rows(answer: FetchResponse, rows: Mapping[bytes, list[PartitionData]]) -> None:
    """More rows for an answer, by topic id."""
    for topic_id, found in rows.items():
        answer.responses.append(FetchableTopicResponse(topic_id=topic_id, partitions=found))
