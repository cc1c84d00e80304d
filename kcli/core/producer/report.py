"""Delivery results: per completed batch, and in total."""

from collections.abc import Sequence
from dataclasses import dataclass

from kcli.core.errors import KcliError
from kcli.core.producer.origins import Origin
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
    origins: Sequence[Origin] = ()
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
