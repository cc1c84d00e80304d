"""Delivery results: per completed batch, and in total; and the producer's metrics, counted by the sender's thread and
returned as a snapshot.
"""

from collections.abc import Sequence

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import KcliError
from kcli.core.producer.origins import OriginRows
from kcli.core.types import TopicPartition


@dataclass(slots=True, eq=False, repr=False)
class Report:
    """A completed batch, or records that were never in one (partition −1). ``base_offset`` −1: not known. ``size``: of
    its records before compression. ``log_append_time``: the broker's timestamp for all its records, −1 if it kept theirs.

    ``origins`` are those passed to the calls, for the records that had one. ``sent_at``: when its first request was
    sent, on the loop's clock; None if none was.
    """

    tp: TopicPartition
    count: int
    size: int
    base_offset: int
    error: KcliError | None
    origins: Sequence[OriginRows] = ()
    log_append_time: int = -1
    sent_at: float | None = None


@dataclass(slots=True, eq=False, repr=False)
class Totals:
    """All records so far; ``bytes`` are those of confirmed records before compression."""

    confirmed: int = 0
    failed: int = 0
    bytes: int = 0
    first_error: KcliError | None = None

    def add_report(self, report: Report) -> None:
        """Counts one report."""
        if report.error is None:
            self.confirmed += report.count
            self.bytes += report.size
        else:
            self.failed += report.count
            self.first_error = self.first_error or report.error


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
