"""What ``kcli topics`` shows: list, describe, offsets. Their columns, rows, descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import OR_HIDDEN, PartitionView
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.positions import SPECIAL_NAMES, OffsetSpec
from kcli.core.types import Node, TopicPartition
from kcli.flows.configs.units import with_unit
from kcli.flows.configs.values import own_values
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at, unknown_offsets
from kcli.flows.topics.sizes import TopicSize, topic_sizes
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry


def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool, sort: str) -> int:
    """Lists topics; ``sort`` is a key of ``_SORTED_BY``, or ``name``. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if _wanted(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size or sort in ("size", "disk") else None
        warn_of_hidden(inv, admin, "topics")
    _warn_of_incomplete(inv, found)
    columns = LIST if sizes is None else (*LIST, *(_DISK_SHOWN if sort == "disk" else SIZES))
    rows = [list_row(topic) | (size_row(sizes[topic.name]) if sizes else {}) for topic in found]
    if sort in _SORTED_BY:
        key = _SORTED_BY[sort]
        rows.sort(key=lambda row: (row[key] is None, -(row[key] or 0)))  # those without a value last
    if not found:
        inv.talk.remark(no_topics(match, internal=internal))
    print_rows(inv, "TopicList", columns, rows, cluster, item="Topic")
    if found and sizes is not None and inv.out.list_kind() in ("table", "plain", "wide"):
        inv.out.release()  # on a terminal the note follows the table
        inv.talk.note("SIZE-BYTES counts one replica of each partition, DISK-BYTES (-o wide) all of them")
    return inv.finish(done=True)


def describe_topics(
    inv: Invocation, names: tuple[str, ...], match: str | None, under_replicated: bool, unavailable: bool
) -> int:
    """Describes topics. Returns the exit status."""
    wanted = wanted_partitions(under_replicated=under_replicated, unavailable=unavailable)
    if not names and match is None and wanted is None:
        raise usage(
            "topics describe: missing argument TOPIC",
            why="it is required without --match, --under-replicated and --unavailable",
            do="name some, or use --match GLOB, --under-replicated or --unavailable",
        )
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = _described(inv, admin, names, match, every=not names and match is None)
        whole = found
        if wanted is not None:
            found = with_partitions(whole, wanted)
        _warn_of_incomplete(inv, found.values())
        ends = _ends(admin, found.values())
        _warn_of_unknown(inv, ends)
        headed = wanted is None or inv.out.list_kind() in _OF_TOPICS
        configs = readable(
            inv,
            admin.describe_topic_configs(list(found)) if found and headed else {},
            "the configuration of topic",
        )
        if not names:
            warn_of_hidden(inv, admin, "topics")
        nodes = admin.connect().nodes
    if not found and (whole or not names):
        inv.talk.remark(nothing_described(match, under_replicated=under_replicated, unavailable=unavailable))
    print_descriptions(
        inv, cluster, found, whole, spans(ends), configs, nodes, listed=not names, headed=headed
    )
    return inv.finish(done=bool(found) or not names)


def topic_offsets(inv: Invocation, names: tuple[str, ...], when: OffsetSpec | None) -> int:
    """Prints the offsets of topics. Returns the exit status."""
    query = _query(when)
    inv.page()
    names = unique(names)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        if names:
            found = readable(inv, admin.describe_topics(names), "topic")
        else:
            warn_of_hidden(inv, admin, "topics")
            found = {topic.name: topic for topic in admin.list_topics() if not topic.internal}
        if query is None:
            ends = _ends(admin, found.values())
            done = any(log.end is not None for log in ends.values())
            for error in unknown_offsets(ends):
                inv.lacks(Missing.of(error))
            rows_to_add = end_rows(spans(ends))
        else:
            answers = offsets_at(admin, _partitions(found.values()), query)
            done = any(isinstance(answer, OffsetInfo) for answer in answers.values())
            readable(inv, answers, "the offset of")
            rows_to_add = time_rows(answers)
    columns = ENDS if query is None else TIMES
    if not found and not names:
        inv.talk.remark(no_topics(None, internal=False))
    print_rows(inv, "TopicOffsetList", columns, rows_to_add, cluster, item="TopicOffset")
    return inv.finish(done=done)


def _described(
    inv: Invocation, admin: Admin, names: Sequence[str], match: str | None, *, every: bool
) -> dict[str, TopicInfo]:
    """The topics that are named, then those that match; a name that does not exist is reported."""
    found = readable(inv, admin.describe_topics(unique(names)) if names else {}, "topic")
    if every or match is not None:
        listed = [topic for topic in admin.list_topics() if every or _wanted(topic, match, internal=True)]
        found |= {topic.name: topic for topic in listed if topic.name not in found}
    return found


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """The size of each topic; errors of brokers are failures, and the sums that include them are unknown."""
    sizes = topic_sizes(admin, found)
    for part in sizes.missing:
        inv.lacks(part)
    return sizes.items


def _wanted(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def _warn_of_incomplete(inv: Invocation, found: Iterable[TopicInfo]) -> None:
    """A topic that the broker returned with an error is shown, although it is incomplete."""
    for topic in found:
        if topic.error is not None:
            inv.talk.warn(f"the description of topic {topic.name} is incomplete: {topic.error}")
            inv.lacks(
                Missing.of(topic.error, f"a part of the description of topic {topic.name}"),
                told=True,
            )


def _partitions(found: Iterable[TopicInfo]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, part.partition) for topic in found for part in topic.partitions]


def _ends(admin: Admin, found: Iterable[TopicInfo]) -> dict[TopicPartition, LogEnds]:
    """The log start and end of every partition, without waiting for partitions without a leader."""
    return log_ends(admin, _partitions(found))


def _warn_of_unknown(inv: Invocation, ends: Mapping[TopicPartition, LogEnds]) -> None:
    """Warns of unknown offsets."""
    for error in unknown_offsets(ends):
        inv.talk.warn(str(error))
        inv.lacks(Missing.of(error), told=True)


def _query(when: OffsetSpec | None) -> int | None:
    """The timestamp for ListOffsets."""
    if when is None:
        return None
    if when.listed is not None:
        return when.listed
    if when.kind in ("earliest", "latest"):
        return EARLIEST if when.kind == "earliest" else LATEST
    words = {1: "latest", 2: "earliest"} | {-value: name for value, name in SPECIAL_NAMES.items()}
    word = words.get(when.value) if when.kind == "from_end" else None
    raise usage(
        "topics offsets: --time must be earliest, latest, another special offset or a time",
        why="an offset cannot be found by an offset",
        do=f"write --time {word}, which is -{when.value} in Kafka's script"
        if word
        else "write --time @-1h or --time 2026-11-21T10:00Z",
    )


Ends = dict[TopicPartition, tuple[int | None, int | None]]
Row = dict[str, Any]

_NAME = Column("name", values="string", meaning="Name of the topic.")
_FACTOR = Column("replication_factor", "number", meaning="Replicas of a partition; null where it is unknown.")
_INTERNAL = Column("internal", values="boolean", meaning="Whether it is a topic of Kafka's own.")
_ID = Column("topic_id", meaning="Id of the topic; null where the broker has none.")
LIST = (
    _NAME,
    Column("partitions", "number", meaning="How many partitions; null where it is unknown."),
    _FACTOR,
    Column("under_replicated", "number", meaning="Partitions with replicas that are not in sync."),
    replace(_INTERNAL, wide=True),
    replace(_ID, wide=True),
)
SIZES = (
    Column(
        "size_bytes",
        "size",
        sometimes=True,
        meaning="Bytes of one replica of each partition; null where it is unknown.",
    ),
    Column(
        "disk_bytes",
        "size",
        wide=True,
        sometimes=True,
        meaning="Bytes of all replicas; null where it is unknown.",
    ),
)
PARTITIONS = (
    Column("topic"),
    Column("partition", "id"),
    Column("leader", "id", meaning="Number of the leader; null without one."),
    Column("leader_epoch", "id", spare=4, meaning="Its epoch; null where it is unknown."),
    Column("replicas", spare=1),
    Column("isr"),
    Column("log_start", "number", spare=3),
    Column("end", "number", spare=2),
    Column(
        "offline", wide=True, values="integers", meaning="Numbers of the brokers whose replicas are offline."
    ),
)
_OF_TOPICS = ("json", "ndjson", "yaml", "name")
"""The formats in which a topic is one item with its partitions."""
_DISK_SHOWN = (SIZES[0], replace(SIZES[1], wide=False))
_SORTED_BY = {
    "partitions": "partitions",
    "under-replicated": "under_replicated",
    "size": "size_bytes",
    "disk": "disk_bytes",
}
DESCRIPTION = (
    _NAME,
    replace(_ID, spare=1),
    replace(_INTERNAL, spare=2),
    _FACTOR,
    Column("partitions", values="objects", inner=PARTITIONS[1:], meaning="The partitions."),
    Column("configs", values="settings?", meaning="What is set on it; null where it may not be read."),
)
ENDS = (
    Column("topic"),
    Column("partition", "id"),
    Column("log_start", "number", sometimes=True),
    Column("end", "number", sometimes=True),
    Column(
        "offsets",
        "number",
        sometimes=True,
        meaning="end less log_start: at least as many as there are records; null where it is unknown.",
    ),
)
TIMES = (
    *ENDS[:2],
    Column(
        "offset",
        "number",
        sometimes=True,
        meaning="With --time: the first offset at or after the time; null where there is none or where it is unknown.",
    ),
    Column(
        "timestamp",
        "epoch",
        sometimes=True,
        meaning="With --time: the timestamp of that record, in milliseconds since 1970.",
    ),
    Column("leader_epoch", "id", spare=1, sometimes=True),
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
    headed: bool,
) -> None:
    """A line per partition, but an item per topic in JSON and YAML.

    ``found`` may have only some of the partitions of ``whole``. Plain output has what a table has; without headers it is
    rows only. ``listed``: no topic was named, so the list may be empty. ``headed``: of whole topics, with settings.
    """
    form = inv.out.list_kind()
    columns: tuple[Column, ...]
    if form in _OF_TOPICS:
        columns, rows = DESCRIPTION, [description(t, ends, configs.get(t.name)) for t in found.values()]
    else:
        columns, rows = PARTITIONS, [row for topic in found.values() for row in partition_rows(topic, ends)]
    if form == "wide":
        rows = [row | {"leader": broker(row["leader"], nodes)} for row in rows]
    if headed and (form in ("table", "wide") or (form == "plain" and inv.out.headers)):
        for topic in found.values():
            units = form != "plain"
            inv.out.shown(heading(whole[topic.name], configs.get(topic.name), units=units), fold=True)
    if found or listed:
        print_rows(inv, "TopicDescriptionList", columns, rows, cluster, item="TopicDescription")


def broker(number: int | None, nodes: Mapping[int, Node]) -> str | None:
    """``1 (host:9092)``."""
    node = nodes.get(number) if number is not None else None
    return None if number is None else f"{number} ({node.host}:{node.port})" if node else str(number)


def heading(topic: TopicInfo, entries: list[ConfigEntry] | None, *, units: bool) -> str:
    """The topic itself, for people: a line, and one for each of its settings; with ``units`` also what numbers mean."""
    copies = topic.replication_factor
    parts = [f"partitions {len(topic.partitions)}", f"replication factor {copies}"]
    if topic.topic_id:
        parts.append(f"id {topic.topic_id}")
    lines = [f"{visible_line(topic.name)}: {', '.join(parts)}"]
    for key, value in (own_values(entries) or {}).items():
        lines.append(visible_line(f"  {key} = {with_unit(key, value) if units and value else value}"))
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
