"""The plan of ``kcli topics trim``: the new start of each partition, and what goes before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kcli.commands._partition_failures import partition_names
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import DataLossError, KcliError, NoLeaderError, PartlyFailedError
from kcli.core.positions import OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table

PLAN = (
    Column("topic", wide=True),
    Column("partition", "id"),
    Column("log_start", "number"),
    Column("new_log_start", "number"),
    Column("end", "number", spare=1),
    Column("records", "number"),
    Column("note", "prose"),
)
REPORT = (*PLAN[:-1], Column("status"), Column("note", "prose"))

AtTime = Mapping[TopicPartition, OffsetInfo | KcliError]


class TrimItem(NamedTuple):
    """A partition: ``before`` is the offset at which it is to start, None where ``error`` says why there is none."""

    tp: TopicPartition
    start: int | None = None
    end: int | None = None
    before: int | None = None
    note: str = ""
    error: KcliError | None = None

    @property
    def records(self) -> int | None:
        """How many offsets go: at most as many records."""
        return None if self.before is None or self.start is None else self.before - self.start


class TrimOutcome(NamedTuple):
    """``status``: ``done``, ``unchanged``, ``failed``, ``unknown``. ``start`` is the start that was read back."""

    status: str
    start: int | None = None
    error: KcliError | None = None


def trim_items(spec: OffsetSpec, ends: Mapping[TopicPartition, LogEnds], at_time: AtTime) -> list[TrimItem]:
    """The new start of each partition. ``at_time``: the first record that is not older, for a time."""
    return [_item(spec, tp, log, at_time.get(tp)) for tp, log in ends.items()]


def plan_text(topic: str, what: str, items: Sequence[TrimItem]) -> str:
    """The plan for people; ``what`` is the limit in words."""
    columns = [column for column in PLAN if column.key != "topic"]
    table = indented_table(columns, [_grouped(plan_row(item)) for item in items])
    trimmed = [item for item in items if item.records]
    records = sum(item.records or 0 for item in trimmed)
    kept = len(items) - len(trimmed)
    total = f"  {counted(len(trimmed), 'partition')}, up to {counted(records, 'record')} deleted"
    if kept:
        total += f"; {counted(kept, 'partition')} unchanged"
    lines = [f"Trim topic {visible_line(topic)}: delete the records before {what}.", *table, total + "."]
    if trimmed:
        lines.append("Deleted records cannot be restored; groups that have not read them skip them or fail.")
    return "\n".join(lines)


def plan_row(item: TrimItem) -> dict[str, Any]:
    """A row of the plan."""
    return {
        "topic": item.tp.topic,
        "partition": item.tp.partition,
        "log_start": item.start,
        "new_log_start": item.before,
        "end": item.end,
        "records": item.records,
        "note": item.note or (_reason(item.error) if item.error is not None else None),
    }


def report_row(item: TrimItem, outcome: TrimOutcome) -> dict[str, Any]:
    """A row of the report: ``new_log_start`` as it was read back, ``records`` that are gone."""
    gone = None if outcome.start is None or item.start is None else outcome.start - item.start
    note = _reason(outcome.error) if outcome.error is not None else item.note or None
    return plan_row(item) | {
        "new_log_start": outcome.start,
        "records": gone,
        "status": outcome.status,
        "note": note,
    }


def grouped_errors(
    errors: Iterable[tuple[TopicPartition, KcliError]], *, unknown: bool = False
) -> list[KcliError]:
    """An error for each reason: ``records of orders-0,4 were not deleted``, or ``unknown`` whether they were."""
    by_reason: dict[str, list[tuple[TopicPartition, KcliError]]] = {}
    for tp, error in errors:
        reason = error.do if isinstance(error, DataLossError) else _reason(error)  # ends differ
        by_reason.setdefault(reason, []).append((tp, error))
    found: list[KcliError] = []
    for alike in by_reason.values():
        records = f"records of {partition_names(tp for tp, _ in alike)}"
        what = f"it is not known whether {records} were deleted" if unknown else f"{records} were not deleted"
        found.append(PartlyFailedError(what, alike[0][1]))
    return found


def _item(
    spec: OffsetSpec, tp: TopicPartition, log: LogEnds, at_time: OffsetInfo | KcliError | None
) -> TrimItem:
    if log.start is None or log.end is None:
        return TrimItem(tp, log.start, log.end, error=log.error)
    item = TrimItem(tp, log.start, log.end)
    if isinstance(at_time, KcliError):
        return item._replace(error=at_time)
    if spec.kind == "offset" and spec.value > log.end:
        return item._replace(error=_beyond(tp, spec.value, log.end), note=f"{spec.value:,} is beyond the end")
    before, note = _before(spec, log.start, log.end, at_time)
    if before <= log.start:
        return item._replace(
            before=log.start, note=note or ("empty" if log.start == log.end else "nothing before it")
        )
    return item._replace(before=before, note=note or ("all records" if before == log.end else ""))


def _before(spec: OffsetSpec, start: int, end: int, at_time: OffsetInfo | None) -> tuple[int, str]:
    """The offset that is to be the first, within the log at most up to its end, and a note."""
    if spec.kind == "latest":
        return end, ""
    if spec.kind == "offset":
        return spec.value, ""
    if spec.kind == "from_start":
        return min(start + spec.value, end), ""
    if spec.kind == "from_end":
        return end - spec.value, ""
    if spec.kind == "timestamp" and at_time is not None:
        if at_time.offset < 0:
            return end, "" if start == end else "all records are older"
        return min(at_time.offset, end), ""
    return start, ""


def _beyond(tp: TopicPartition, offset: int, end: int) -> DataLossError:
    return DataLossError(
        f"{tp}: offset {offset:,} is beyond the end",
        why=f"its high watermark is {end:,}",
        do="choose partitions with -p, or give --before latest for all records, or a time",
    )


def _reason(error: KcliError) -> str:
    return "no leader" if isinstance(error, NoLeaderError) else error.why or error.what


def _grouped(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers with separators."""
    numbers = {column.key for column in PLAN if column.kind == "number"}
    return {
        key: f"{value:,}" if key in numbers and value is not None else value for key, value in row.items()
    }
