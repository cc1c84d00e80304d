"""A snapshot of a consumer's metrics."""

from collections.abc import Mapping
from typing import NamedTuple

from kcli.core.types import TopicPartition


class ConsumerMetrics(NamedTuple):
    """Counts since the consumer was created. ``lag``: offsets between the position and the log end, as of the last
    fetch.

    ``batches_skipped`` counts damaged batches that were skipped (``on.corrupt=skip``).
    """

    records: int
    fetches: int
    bytes_fetched: int
    commits: int
    commits_failed: int
    rebalances: int
    partitions: int
    lag: Mapping[TopicPartition, int]
    batches_skipped: int = 0
