"""Accumulators and batches on a clock of the test's. Not a test."""

from collections.abc import Callable
from typing import Any

from kcli.core.producer.accumulator import Accumulator
from kcli.core.producer.batch import BatchEvent, ProducerBatch
from kcli.core.producer.parked import Parked
from kcli.core.records.builder import BatchBuilder
from kcli.core.types import TopicPartition
from tests.unit.core.net.fakes import Clock

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def accumulator(clock: Clock, **values: Any) -> Accumulator:
    wishes: dict[str, Any] = {
        "batch_size": 1000,
        "linger": 0.5,
        "memory": 1_000_000,
        "max_block": 0.0,
        "delivery_timeout": 120.0,
        "new_builder": lambda room: BatchBuilder(room=room),
        "now": clock,
    }
    return Accumulator(**{**wishes, **values})


def record(value: bytes) -> Callable[[ProducerBatch], int]:
    return lambda batch: int(batch.builder.append(None, value, (), 1))


def lines(*values: bytes) -> Callable[[ProducerBatch], int]:
    return lambda batch: batch.builder.append_lines(values, 0, 1)


def put(where: Accumulator, partition: TopicPartition, *values: bytes) -> None:
    for value in values:
        assert where.append(partition, record(value)) == 1


def values_of(batch: ProducerBatch) -> list[bytes]:
    return [bytes(row[1] or b"") for row in batch.builder.rows()]


def sent(batch: ProducerBatch | None, sequence: int | None = None) -> ProducerBatch:
    """A batch that was taken, numbered and sent."""
    assert batch is not None
    if sequence is not None:
        batch.number(7, 0, sequence)
    batch.cell.apply(BatchEvent.SEND)
    batch.attempts += 1
    return batch


def retried(batch: ProducerBatch) -> ProducerBatch:
    batch.cell.apply(BatchEvent.RETRY)
    return batch


def open_batch(
    clock: Clock, tp: TopicPartition = P0, *values: bytes, timeout: float = 120.0
) -> ProducerBatch:
    batch = ProducerBatch(tp, BatchBuilder(room=1000), clock(), clock() + timeout)
    for value in values or (b"v",):
        batch.builder.append(None, value, (), 1)
    return batch


def parked(log: list[str], name: str, *, size: int = 10, deadline: float = 1e9, place: Any = None) -> Parked:
    return Parked(
        1,
        size,
        deadline,
        place or (lambda: log.append(f"place {name}")),
        lambda error: log.append(f"fail {name}: {error}"),
    )


def take_batch(acc: Accumulator, tp: TopicPartition, now: float) -> ProducerBatch | None:
    """The partition's first batch, closed; None while it must still wait."""
    taken, *_ = acc.take_batches([tp], now, lambda _: True, 1)
    return taken[0] if taken else None
