"""What ``kcli topics list`` and ``offsets`` show: their columns and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple, replace
from kcli.core.cluster.metadata import OR_HIDDEN, no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.positions import SPECIAL_NAMES, OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at, unknown_offsets
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.flows.topics.sizes import TopicSize


def list_topics(inv: Invocation, match: str | None, internal: bool, with_size: bool, sort: str) -> int:
    """Lists topics; ``sort`` is a key of ``_SORTED_BY``, or ``name``. Returns the exit status."""
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, permissions=True)
        cluster = connect(inv, admin)
        found = [topic for topic in admin.list_topics() if matches(topic, match, internal)]
        sizes = _sizes(inv, admin, found) if with_size or sort in ("size", "disk") else None
        warn_of_hidden(inv, admin, "topics")
    warn_of_incomplete(inv, found)
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


class ChosenPartitions(NamedTuple):
    """Those of the topics that are named, each with its partitions, and of those that match; else of all topics."""

    names: Sequence[TopicPartitions]
    match: str | None
    partitions: Sequence[int] | None
    internal: bool

    def topics(self, inv: Invocation, admin: Admin) -> dict[str, TopicInfo]:
        """The topics; one that is named and does not exist is missing."""
        names = unique([one.topic for one in self.names])
        found = readable(inv, admin.describe_topics(names) if names else {}, "topic")
        if names and self.match is None:
            return found
        warn_of_hidden(inv, admin, "topics")
        listed = [topic for topic in admin.list_topics() if matches(topic, self.match, self.internal)]
        return found | {topic.name: topic for topic in listed if topic.name not in found}

    def of(self, inv: Invocation, found: Mapping[str, TopicInfo]) -> list[TopicPartition]:
        """Their partitions; one that is named with its topic and does not exist is missing."""
        named: dict[str, set[int] | None] = {}
        for one in self.names:
            wanted = self.partitions if one.partitions is None else one.partitions
            before = named.get(one.topic, set())
            named[one.topic] = None if wanted is None or before is None else before | set(wanted)
        for name, numbers in named.items():
            count = len(found[name].partitions) if name in found else 0
            for number in sorted(numbers or ()) if name in found else ():
                if number >= count:
                    inv.lacks(Missing.of(no_partition(TopicPartition(name, number), count)))
        others = None if self.partitions is None else set(self.partitions)
        return [
            tp
            for tp in _partitions(found.values())
            if (numbers := named.get(tp.topic, others)) is None or tp.partition in numbers
        ]


def topic_offsets(inv: Invocation, chosen: ChosenPartitions, when: OffsetSpec | None) -> int:
    """Prints the offsets of partitions. Returns the exit status."""
    query = _query(when)
    inv.page()
    with open_admin(inv) as admin:
        admin.foresee(topics=True, permissions=not chosen.names)
        cluster = connect(inv, admin)
        found = chosen.topics(inv, admin)
        partitions = chosen.of(inv, found)
        if query is None:
            ends = log_ends(admin, partitions, topics=found)
            done = any(log.end is not None for log in ends.values())
            for error in unknown_offsets(ends):
                inv.lacks(Missing.of(error))
            rows_to_add = end_rows(spans(ends))
        else:
            answers = offsets_at(admin, partitions, query)
            done = any(isinstance(answer, OffsetInfo) for answer in answers.values())
            readable(inv, answers, "the offset of")
            rows_to_add = time_rows(answers)
    columns = ENDS if query is None else TIMES
    if not found and not chosen.names:
        inv.talk.remark(no_topics(chosen.match, internal=chosen.internal))
    print_rows(inv, "TopicOffsetList", columns, rows_to_add, cluster, item="TopicOffset")
    return inv.finish(done=done)


def _sizes(inv: Invocation, admin: Admin, found: Sequence[TopicInfo]) -> dict[str, TopicSize]:
    """The size of each topic; errors of brokers are failures, and the sums that include them are unknown."""
    from kcli.flows.topics.sizes import topic_sizes  # few runs need it

    sizes = topic_sizes(admin, found)
    for part in sizes.missing:
        inv.lacks(part)
    return sizes.items


def matches(topic: TopicInfo, match: str | None, internal: bool) -> bool:
    return (internal or not topic.internal) and (match is None or fnmatchcase(topic.name, match))


def warn_of_incomplete(inv: Invocation, found: Iterable[TopicInfo]) -> None:
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


def log_spans(inv: Invocation, admin: Admin, topics: Mapping[str, TopicInfo]) -> Ends:
    """Start and end of the log of every partition; unknown ones are missing, with a warning."""
    ends = log_ends(admin, _partitions(topics.values()), topics=topics)
    for error in unknown_offsets(ends):
        inv.talk.warn(str(error))
        inv.lacks(Missing.of(error), told=True)
    return spans(ends)


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

NAME = Column("name", values="string", meaning="Name of the topic.")
FACTOR = Column("replication_factor", "number", meaning="Replicas of a partition; null where it is unknown.")
INTERNAL = Column("internal", values="boolean", meaning="Whether it is a topic of Kafka's own.")
ID = Column("topic_id", meaning="Id of the topic; null where the broker has none.")
LIST = (
    NAME,
    Column("partitions", "number", meaning="How many partitions; null where it is unknown."),
    FACTOR,
    Column("under_replicated", "number", meaning="Partitions with replicas that are not in sync."),
    replace(INTERNAL, wide=True),
    replace(ID, wide=True),
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
_DISK_SHOWN = (SIZES[0], replace(SIZES[1], wide=False))
_SORTED_BY = {
    "partitions": "partitions",
    "under-replicated": "under_replicated",
    "size": "size_bytes",
    "disk": "disk_bytes",
}
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
        meaning="With --time: the first offset at or after the time, or the special offset; null where there is none.",
    ),
    Column(
        "timestamp",
        "epoch",
        sometimes=True,
        meaning="With --time: the timestamp of that record, in milliseconds since 1970.",
    ),
    Column("leader_epoch", "id", spare=1, sometimes=True),
)


def spans(ends: Mapping[TopicPartition, LogEnds]) -> Ends:
    """Start and end of each log; both None where one of them is unknown."""
    return {tp: (log.start, log.end) if log.end is not None else (None, None) for tp, log in ends.items()}


def no_topics(match: str | None, *, internal: bool) -> str:
    """The note for an empty list."""
    if match is not None:
        return f"no topic matches {match}, {OR_HIDDEN}"
    return f"there are no topics{'' if internal else ', or internal ones only'}, {OR_HIDDEN}"


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
