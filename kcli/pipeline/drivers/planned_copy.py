"""The tasks of a mirror: what is left to copy of each partition, and what becomes of those that need no task."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import id_text
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import truncated_source
from kcli.flows.mirror.job.group_position import AGAIN, Position, read_positions
from kcli.pipeline.job import TaskResult
from kcli.pipeline.kernels.copy import CopySettings, CopyTask
from kcli.pipeline.plan import Slice
from kcli.pipeline.report import Report

_REFRESH_MS = 24 * 3_600_000
"""A position that is older is committed again: brokers forget it after offsets.retention.minutes, a week by default."""


class PlannedCopy(NamedTuple):
    """A partition to be copied. ``partitions``: how many its topic has. ``position`` is that of an earlier run, and
    ``log_end`` the end of the log, whether transactions are open there or not.
    """

    source: Slice
    target: TopicPartition
    partitions: int
    position: Position | None
    log_end: int

    @property
    def place(self) -> dict[str, Any]:
        """What its item of the report has at least."""
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "target_topic": self.target.topic,
            "target_partition": self.target.partition,
            "start": self.source.start,
            "end": max(self.source.start, self.source.end),
        }

    @property
    def continues(self) -> bool:
        """Whether the position is one of this partition, as far as the driver can see; else its task says why not."""
        bookmark = None if self.position is None else self.position.bookmark
        return (
            bookmark is not None
            and bookmark.source == self.source.tp
            and bookmark.topic_id == id_text(self.source.topic_id)
        )

    @property
    def truncated(self) -> KcliError | None:
        """The error of a source whose log ends before the position."""
        if self.position is None or not self.continues or self.position.offset <= self.log_end:
            return None
        found = truncated_source(self.source.tp, self.log_end, self.position.offset)
        return type(found)(found.what, why=found.why, do=AGAIN)


def task_of(planned: PlannedCopy) -> CopyTask | None:
    """The task that copies it; None where nothing is left to copy, or nothing can be copied."""
    source, target, count, position, _ = planned
    if planned.truncated is not None:
        return None
    old = position is not None and wall_ms() - position.bookmark.at >= _REFRESH_MS
    if position is not None and position.offset >= source.end and not old:
        return None if planned.continues else CopyTask(source, target, count)
    return CopyTask(source, target, count, refresh=old)


def places_of(
    admin: Admin, settings: CopySettings, planned: Sequence[PlannedCopy], results: Sequence[TaskResult]
) -> list[Mapping[str, Any]]:
    """The places of the tasks; of those that failed with what they have copied, as the target knows it."""
    failed = [one.target for one, result in zip(planned, results, strict=True) if result.item is None]
    known: Mapping[TopicPartition, Position] = {}
    if failed:
        try:
            known = read_positions(admin, settings.group, failed)
        except KcliError:  # the errors of the tasks say what is wrong
            known = {}
    return [_place(settings, one, known.get(one.target)) for one in planned]


def _place(settings: CopySettings, planned: PlannedCopy, position: Position | None) -> Mapping[str, Any]:
    place = {**planned.place, "end": planned.source.start, "records": 0, "skipped_records": 0, "bytes": 0}
    if position is None or position.bookmark.run != f"{settings.run}.{settings.part}":
        return place
    own = position.bookmark
    skipped = position.offset - own.start - own.records
    return {
        **place,
        "start": own.start,
        "end": position.offset,
        "records": own.records,
        "skipped_records": skipped,
        "bytes": own.bytes,
    }


def items_of(report: Report, planned: Sequence[PlannedCopy], seconds: float) -> Report:
    """The report with the partitions that needed no task."""
    items, failures = list(report.items), list(report.failures)
    for one in planned:
        if task_of(one) is None:
            item = {**one.place, "end": one.source.start, "records": 0, "skipped_records": 0, "bytes": 0}
            if one.truncated is not None:
                failures.append(one.truncated)
                item["error"] = str(one.truncated)
            items.append(item)
    items.sort(key=lambda item: (item["topic"], item["partition"]))
    totals = {**report.totals, "seconds": round(seconds, 3)}
    return Report(items, totals, failures, report.done or any("error" not in item for item in items))
