"""What ``kcli topics`` prints: columns, rows, the description, the plan of a deletion. Pure but for printing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.types import TopicPartition
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.commands._context import Invocation
    from kcli.core.admin.configs import ConfigEntry
    from kcli.core.admin.topics import TopicInfo

Ends = dict[TopicPartition, tuple[int | None, int | None]]
Row = dict[str, Any]

LIST = (
    Column("name"),
    Column("partitions", "number"),
    Column("replication_factor", "number"),
    Column("under_replicated", "number"),
    Column("internal", wide=True),
    Column("topic_id", wide=True),
)
PARTITIONS = (
    Column("topic"),
    Column("partition", "id"),
    Column("leader", "id"),
    Column("leader_epoch", "id", spare=4),
    Column("replicas", spare=1),
    Column("isr"),
    Column("log_start", "number", spare=3),
    Column("end", "number", spare=2),
    Column("offline", wide=True),
)
DESCRIPTION = (
    Column("name"),
    Column("topic_id", spare=1),
    Column("internal", spare=2),
    Column("replication_factor", "number"),
    Column("partitions"),
    Column("configs"),
)
ENDS = (
    Column("topic"),
    Column("partition", "id"),
    Column("log_start", "number"),
    Column("end", "number"),
    Column("offsets", "number"),
)
TIMES = (
    Column("topic"),
    Column("partition", "id"),
    Column("offset", "number"),
    Column("timestamp", "epoch"),
    Column("leader_epoch", "id", spare=1),
)


def list_row(topic: TopicInfo) -> Row:
    """A topic in a list."""
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": replication_factor(topic),
        "under_replicated": sum(len(part.isr) < len(part.replicas) for part in topic.partitions),
        "internal": topic.internal,
        "topic_id": topic.topic_id or None,
    }


def replication_factor(topic: TopicInfo) -> int | None:
    """The largest number of replicas of a partition; they differ only while replicas are moved."""
    return max((len(part.replicas) for part in topic.partitions), default=None)


def print_descriptions(
    inv: Invocation,
    cluster: str,
    found: Mapping[str, TopicInfo],
    ends: Ends,
    configs: Mapping[str, list[ConfigEntry]],
) -> None:
    """A line per partition for people, cut and csv; an item per topic in JSON and YAML."""
    form = inv.out.list_kind()
    columns: tuple[Column, ...]
    if form in ("json", "ndjson", "yaml", "name"):
        columns, rows = DESCRIPTION, [description(t, ends, configs.get(t.name)) for t in found.values()]
    else:
        columns, rows = PARTITIONS, [row for topic in found.values() for row in partition_rows(topic, ends)]
    if form in ("table", "wide"):
        for topic in found.values():
            inv.out.text(heading(topic, configs.get(topic.name)))
    if found:
        with inv.out.rows(
            "TopicDescriptionList",
            "TopicDescription",
            columns,
            cluster=cluster,
            warnings=inv.talk.warnings,
        ) as printed:
            for row in rows:
                printed.add(row)


def heading(topic: TopicInfo, entries: list[ConfigEntry] | None) -> str:
    """The topic itself, for people: a line, and one for each setting of its own."""
    from kcli.output.sanitise import visible_line

    copies = replication_factor(topic)
    parts = [f"partitions {len(topic.partitions)}", f"replication factor {copies}"]
    if topic.topic_id:
        parts.append(f"id {topic.topic_id}")
    lines = [f"{visible_line(topic.name)}: {', '.join(parts)}"]
    lines += [f"  {key} = {visible_line(str(value))}" for key, value in (overrides(entries) or {}).items()]
    return "\n".join(lines) + "\n\n"


def overrides(entries: list[ConfigEntry] | None) -> dict[str, str | None] | None:
    """What is set on the topic itself; None where it may not be read."""
    if entries is None:
        return None
    return {entry.name: entry.value for entry in sorted(entries, key=_name) if not entry.is_default}


def _name(entry: ConfigEntry) -> str:
    return entry.name


def description(topic: TopicInfo, ends: Ends, entries: list[ConfigEntry] | None) -> Row:
    """A topic with everything, for JSON."""
    partitions = [
        {key: value for key, value in row.items() if key != "topic"} for row in partition_rows(topic, ends)
    ]
    return {
        "name": topic.name,
        "topic_id": topic.topic_id or None,
        "internal": topic.internal,
        "replication_factor": replication_factor(topic),
        "partitions": partitions,
        "configs": overrides(entries),
    }


def partition_rows(topic: TopicInfo, ends: Ends) -> Iterator[Row]:
    """A topic's partitions."""
    for part in topic.partitions:
        log_start, end = ends.get(TopicPartition(topic.name, part.partition), (None, None))
        yield {
            "topic": topic.name,
            "partition": part.partition,
            "leader": part.leader if part.leader >= 0 else None,
            "leader_epoch": part.leader_epoch if part.leader_epoch >= 0 else None,
            "replicas": list(part.replicas),
            "isr": list(part.isr),
            "log_start": log_start,
            "end": end,
            "offline": list(part.offline),
        }


def end_rows(found: Mapping[str, TopicInfo], ends: Ends) -> list[Row]:
    """First offset and end of each partition."""
    return [
        {
            "topic": place.topic,
            "partition": place.partition,
            "log_start": log_start,
            "end": end,
            "offsets": end - log_start if end is not None and log_start is not None else None,
        }
        for place, (log_start, end) in ends.items()
        if place.topic in found
    ]


def time_rows(answers: Mapping[TopicPartition, Any]) -> list[Row]:
    """The offset found in each partition; null where no record is that new."""
    return [
        {
            "topic": place.topic,
            "partition": place.partition,
            "offset": answer.offset if answer.offset >= 0 else None,
            "timestamp": answer.timestamp if answer.timestamp >= 0 else None,
            "leader_epoch": answer.leader_epoch if answer.leader_epoch >= 0 else None,
        }
        for place, answer in sorted(answers.items())
    ]


def deletion_plan(topic: TopicInfo, ends: Ends) -> str:
    """What would be lost."""
    spans = [ends.get(TopicPartition(topic.name, part.partition), (None, None)) for part in topic.partitions]
    offsets = sum(end - start for start, end in spans if start is not None and end is not None)
    count = len(topic.partitions)
    partitions = "1 partition" if count == 1 else f"{count} partitions"
    return f"Delete topic {topic.name}: {partitions}, up to {offsets:,} records."
