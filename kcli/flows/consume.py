"""From partitions to output: whole batches are formatted and written before the next ones are asked for.

Ends when every partition has reached its stop, the limit is reached, nothing came for the idle timeout, or a
stop was asked for. What was counted was written and flushed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.fetched import FetchedBatch
from kcli.flows.stop import Stop


class Sink(Protocol):
    """What becomes of the batches."""

    def batch(self, fetched: FetchedBatch, limit: int | None) -> int:
        """Writes at most ``limit`` records of the batch and returns how many."""

    def flush(self) -> None:
        """What was written is with the reader."""


@dataclass(frozen=True, slots=True)
class ConsumeResult:
    """``records`` were written; ``bytes`` came over the network for them, in batches as they were stored."""

    records: int
    bytes: int
    seconds: float


Progress = Callable[[int, int], None]
"""Called with records and bytes so far."""


def consume(
    consumer: Consumer,
    sink: Sink,
    *,
    stop: Stop,
    limit: int | None = None,
    idle_timeout: float | None = None,
    progress: Progress = lambda _records, _size: None,
) -> ConsumeResult:
    """Reads what the consumer is assigned to."""
    started = time.monotonic()
    records = size = 0
    stop.wake(consumer.wakeup)
    while not stop and not consumer.done and (limit is None or records < limit):
        batches = consumer.poll(idle_timeout if idle_timeout is not None else 1.0)
        if not batches and idle_timeout is not None and not consumer.done and not stop:
            break
        for fetched in batches:
            left = None if limit is None else limit - records
            if left == 0:
                break
            records += sink.batch(fetched, left)
            fetched.batch.forget_payload()
            size += fetched.batch.size
        if batches:
            sink.flush()
            progress(records, size)
    return ConsumeResult(records, size, time.monotonic() - started)
