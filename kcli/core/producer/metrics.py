"""Metrics of a producer, counted by the sender's thread and returned as a snapshot. No logging library here."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True, eq=False, repr=False)
class Counters:
    """Counters of the sender. Bytes are those on the wire, latencies are in seconds."""

    requests: int = 0
    batches: int = 0
    retries: int = 0
    splits: int = 0
    bytes_sent: int = 0
    answers: int = 0
    latency_sum: float = 0.0
    latency_max: float = 0.0
    throttle_max: float = 0.0

    def answered(self, latency: float, throttle: float) -> None:
        """Counts a response, its latency and its throttle time."""
        self.answers += 1
        self.latency_sum += latency
        if latency > self.latency_max:
            self.latency_max = latency
        if throttle > self.throttle_max:
            self.throttle_max = throttle


class ProducerMetrics(NamedTuple):
    """A snapshot since the producer was created. Times are in seconds, sizes in bytes.

    ``bytes_sent`` counts encoded batches, retries included; ``bytes_confirmed`` records before compression.
    ``buffer_used`` of ``buffer_total`` (``buffer.memory``) is in use, ``threads_waiting`` wait for more.
    """

    records_confirmed: int
    records_failed: int
    records_outstanding: int
    bytes_confirmed: int
    bytes_sent: int
    batches_sent: int
    batches_retried: int
    batches_split: int
    requests_sent: int
    requests_in_flight: int
    request_latency_average: float
    request_latency_max: float
    throttle_time_max: float
    buffer_used: int
    buffer_total: int
    threads_waiting: int
    producer_epochs: int
    transactions_committed: int
    transactions_aborted: int
