"""What ``kcli topics`` prints of topics as they are: columns, rows, descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import OR_HIDDEN, PartitionView
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import Node, TopicPartition
from kcli.flows.configs.values import own_values
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.topics.sizes import TopicSize
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

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
SIZES = (Column("size_bytes", "size"), Column("disk_bytes", "size", wide=True))
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


def wanted_partitions(*, under_replicated: bool, unavailable: bool) -> Callable[[PartitionView], bool] | None:
    """Which partitions are to be shown; None: all."""
    if not under_replicated and not unavailable:
        return None
    return lambda part: (
        (unavailable and part.leader < 0) or (under_replicated and len(part.isr) < len(part.replicas))
    )


def with_partitions(
    found: Mapping[str, TopicInfo], wanted: Callable[[PartitionView], bool]
) -> dict[str, TopicInfo]:
    """The topics that have such partitions, with these only."""
    kept = {
        name: replace(topic, partitions=tuple(filter(wanted, topic.partitions)))
        for name, topic in found.items()
    }
    return {name: topic for name, topic in kept.items() if topic.partitions}


def spans(ends: Mapping[TopicPartition, LogEnds]) -> Ends:
    """Start and end of each log; both None where one of them is unknown."""
    return {tp: (log.start, log.end) if log.end is not None else (None, None) for tp, log in ends.items()}


def no_topics(match: str | None, *, internal: bool) -> str:
    """The note for an empty list."""
    if match is not None:
        return f"no topic matches {match}, {OR_HIDDEN}"
    return f"there are no topics{'' if internal else ', or internal ones only'}, {OR_HIDDEN}"


def nothing_described(match: str | None, *, under_replicated: bool, unavailable: bool) -> str:
    """The note where there is nothing to describe."""
    kinds = [
        word
        for word, given in (("under-replicated", under_replicated), ("unavailable", unavailable))
        if given
    ]
    if kinds:
        return f"no {' or '.join(kinds)} partitions in the topics that this client may describe"
    return no_topics(match, internal=True)


def size_row(size: TopicSize) -> Row:
    """The disk usage of a topic."""
    return {"size_bytes": size.leaders, "disk_bytes": size.replicas}


def list_row(topic: TopicInfo) -> Row:
    """A topic in a list."""
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": topic.replication_factor,
        "under_replicated": sum(len(part.isr) < len(part.replicas) for part in topic.partitions),
        "internal": topic.internal,
        "topic_id": topic.topic_id or None,
    }


def print_descriptions(
    inv: Invocation,
    cluster: str,
    found: Mapping[str, TopicInfo],
    whole: Mapping[str, TopicInfo],
    ends: Ends,
    configs: Mapping[str, list[ConfigEntry]],
    nodes: Mapping[int, Node],
    *,
    listed: bool,
) -> None:
    """A line per partition, but an item per topic in JSON and YAML.

    ``found`` may have only some of the partitions of ``whole``. Plain output has what a table has; without headers it is
    rows only. ``listed``: no topic was named, so the list may be empty.
    """
    form = inv.out.list_kind()
    columns: tuple[Column, ...]
    if form in ("json", "ndjson", "yaml", "name"):
        columns, rows = DESCRIPTION, [description(t, ends, configs.get(t.name)) for t in found.values()]
    else:
        columns, rows = PARTITIONS, [row for topic in found.values() for row in partition_rows(topic, ends)]
    if form == "wide":
        rows = [row | {"leader": broker(row["leader"], nodes)} for row in rows]
    if form in ("table", "wide") or (form == "plain" and inv.out.headers):
        for topic in found.values():
            inv.out.text(heading(whole[topic.name], configs.get(topic.name)))
    if found or listed:
        print_rows(inv, "TopicDescriptionList", columns, rows, cluster, item="TopicDescription")


def broker(number: int | None, nodes: Mapping[int, Node]) -> str | None:
    """``1 (host:9092)``."""
    node = nodes.get(number) if number is not None else None
    return None if number is None else f"{number} ({node.host}:{node.port})" if node else str(number)


def heading(topic: TopicInfo, entries: list[ConfigEntry] | None) -> str:
    """The topic itself, for people: a line, and one for each of its settings."""
    copies = topic.replication_factor
    parts = [f"partitions {len(topic.partitions)}", f"replication factor {copies}"]
    if topic.topic_id:
        parts.append(f"id {topic.topic_id}")
    lines = [f"{visible_line(topic.name)}: {', '.join(parts)}"]
    lines += [visible_line(f"  {key} = {value}") for key, value in (own_values(entries) or {}).items()]
    return "\n".join(lines) + "\n\n"


def description(topic: TopicInfo, ends: Ends, entries: list[ConfigEntry] | None) -> Row:
    """A topic with everything, for JSON."""
    partitions = [
        {key: value for key, value in row.items() if key != "topic"} for row in partition_rows(topic, ends)
    ]
    return {
        "name": topic.name,
        "topic_id": topic.topic_id or None,
        "internal": topic.internal,
        "replication_factor": topic.replication_factor,
        "partitions": partitions,
        "configs": own_values(entries),
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


def end_rows(ends: Ends) -> list[Row]:
    """First offset and end of each partition."""
    return [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "log_start": log_start,
            "end": end,
            "offsets": end - log_start if end is not None and log_start is not None else None,
        }
        for tp, (log_start, end) in ends.items()
    ]


def time_rows(answers: Mapping[TopicPartition, OffsetInfo | KcliError]) -> list[Row]:
    """The offset found in each partition; null where no record is that new. Partitions with an error are omitted."""
    return [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "offset": answer.offset if answer.offset >= 0 else None,
            "timestamp": answer.timestamp if answer.timestamp >= 0 else None,
            "leader_epoch": answer.leader_epoch if answer.leader_epoch >= 0 else None,
        }
        for tp, answer in sorted(answers.items())
        if isinstance(answer, OffsetInfo)
    ]
