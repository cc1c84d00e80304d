"""What ``kcli pipeline export`` reports: columns, partitions without records, and an export that was complete before."""

from typing import Any

from kcli.output.tables import Column
from kcli.pipeline.manifest import ExportedPartition, ExportedTopic, ExportPlan, Manifest
from kcli.pipeline.report import Report

COLUMNS = (
    Column("topic"),
    Column("partition", "number"),
    Column("start", "id"),
    Column("end", "id"),
    Column("records", "number"),
    Column("bytes", "size"),
    Column("error", "prose"),
)


def with_empty(report: Report, plan: ExportPlan) -> Report:
    """The report with the partitions that have no records in the range."""
    known = {(item["topic"], item["partition"]) for item in report.items}
    empty = [
        item_of(topic, one)
        for topic in plan.topics
        for one in topic.partitions
        if (topic.topic, one.partition) not in known
    ]
    return report._replace(
        items=sorted([*report.items, *empty], key=lambda item: (item["topic"], item["partition"]))
    )


def report_of_manifest(manifest: Manifest) -> Report:
    """The report of an export that was complete before."""
    items = [item_of(topic, one) for topic in manifest.topics for one in topic.partitions]
    totals = {
        "records": sum(item["records"] for item in items),
        "bytes": sum(item["bytes"] for item in items),
        "seconds": 0.0,
        "tasks": 0,
        "task_retries": 0,
    }
    return Report(items, totals, [], True)


def item_of(topic: ExportedTopic, one: ExportedPartition) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "partition": one.partition,
        "start": one.start,
        "end": one.end,
        "records": one.records,
        "bytes": sum(file.bytes for file in one.files),
        "files": [file.path for file in one.files],
    }
