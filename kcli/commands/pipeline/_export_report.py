"""What ``kcli pipeline export`` reports: columns, partitions without records, and an export that was complete before."""

from typing import Any

import msgspec

from kcli.output.tables import Column
from kcli.pipeline.manifest import ExportedPartition, ExportedTopic, ExportPlan, Manifest
from kcli.pipeline.report import Report

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("start", "id"),
    Column("end", "id"),
    Column("records", "number"),
    Column("skipped_records", "number", wide=True),
    Column("bytes", "size"),
    Column("error", "prose"),
)


def with_empty(report: Report, plan: ExportPlan) -> Report:
    """The report with the partitions of which nothing was written."""
    known = {(item["topic"], item["partition"]) for item in report.items}
    empty = [
        item_of(topic, msgspec.structs.replace(one, start=one.end))
        for topic in plan.topics
        for one in topic.partitions
        if (topic.topic, one.partition) not in known
    ]
    return report._replace(
        items=sorted([*report.items, *empty], key=lambda item: (item["topic"], item["partition"]))
    )


NOTHING_DONE = Report([], {"records": 0, "bytes": 0, "seconds": 0.0, "tasks": 0, "task_retries": 0}, [], True)
"""Of a run that finds everything done."""


def of_manifest(report: Report, manifest: Manifest) -> Report:
    """The report with all that a complete export has, whichever run wrote it."""
    items = [item_of(topic, one) for topic in manifest.topics for one in topic.partitions]
    sums = {name: sum(item[name] for item in items) for name in ("records", "bytes")}
    return report._replace(items=items, totals={**report.totals, **sums}, done=True)


def item_of(topic: ExportedTopic, one: ExportedPartition) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "partition": one.partition,
        "start": one.start,
        "end": one.end,
        "records": one.records,
        "skipped_records": one.end - one.start - one.records,
        "bytes": sum(file.bytes for file in one.files),
        "files": [file.path for file in one.files],
    }
