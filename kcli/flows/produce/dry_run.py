"""A substitute for a producer: accepts records and reports what would fail before any request. Sends nothing."""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.core.cluster.metadata import no_partition
from kcli.core.errors import KcliError
from kcli.core.kernels.shapes import Row, Text
from kcli.core.producer.origins import OriginRows, Rows, listed_rows
from kcli.core.producer.partitioner import ANYWHERE, no_partition_named
from kcli.core.producer.report import Report, Totals
from kcli.core.producer.serialization import line_too_long
from kcli.core.records.text_cut import line_count, line_length
from kcli.core.types import TopicPartition


class DryProducer:
    """The producer interface that ``ProduceRun`` uses. ``partitions`` is the partition count of the topic."""

    def __init__(self, partitions: int, on_delivery: Callable[[Report], object]) -> None:
        self.totals = Totals()
        self.outstanding = 0
        self._partitions = partitions
        self._on_delivery = on_delivery

    def send_text(
        self,
        topic: str,
        text: Text,
        *,
        start: int,
        end: int,
        delimiter: bytes,
        longest: int,
        origin: Any,
        **_how: Any,
    ) -> int:
        """See ``Producer.send_text``: a line that is too long fails."""
        count = line_count(text, start, end, delimiter)
        if end - start <= longest:
            self._settle(topic, origin, range(count))
            return count
        for row in range(count):
            size = line_length(text, start, end, delimiter)
            error = line_too_long(topic, size, longest) if size > longest else None
            self._settle(topic, origin, range(row, row + 1), error)
            start += size + len(delimiter)
        return count

    def send_rows(
        self,
        topic: str,
        rows: Sequence[Row],
        *,
        partition: int | None = None,
        partitions: Sequence[int] | None = None,
        origin: Any = None,
        first_row: int = 0,
    ) -> None:
        """See ``Producer.send_rows``: a row fails that names no partition, or one that does not exist."""
        named = partitions if partition is None else None
        wrong = {row for row, number in enumerate(named or ()) if not 0 <= number < self._partitions}
        for row in sorted(wrong):
            number = named[row] if named else ANYWHERE
            missing = no_partition(TopicPartition(topic, number), self._partitions)
            error = no_partition_named() if number == ANYWHERE else missing
            self._settle(topic, origin, range(first_row + row, first_row + row + 1), error)
        good = [first_row + row for row in range(len(rows)) if row not in wrong]
        if good:
            self._settle(topic, origin, listed_rows(good))

    def _settle(self, topic: str, origin: Any, rows: Rows, error: KcliError | None = None) -> None:
        report = Report(TopicPartition(topic, -1), len(rows), 0, -1, error, [OriginRows(0, origin, rows)])
        self.totals.add_report(report)
        self._on_delivery(report)

    def push(self) -> None:
        """Does nothing: no records are queued."""

    def flush(self, _timeout: float | None = None) -> bool:
        """Returns True: every record completes at once."""
        return True

    def interrupt(self) -> None:
        """Does nothing: no call ever waits."""

    def close(self, timeout: float | None = None) -> None:
        """Does nothing: nothing is open."""
