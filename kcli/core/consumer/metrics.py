"""A consumer's figures, as a snapshot."""

from collections.abc import Mapping

from kcli.core.dataclass import dataclass
from kcli.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class ConsumerMetrics:
    """Counts since it was made. ``lag``: offsets between the position and the end, as of the last fetch.

    ``batches_skipped`` are damaged ones that were passed over (``on.corrupt=skip``).
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
