"""What ``kcli topics offsets`` shows, and ``describe`` of the ends of logs: their columns and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin, readable, unique, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import TopicPartitions
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.commands.topics._tables import Row, matches, no_topics
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.positions import SPECIAL_NAMES, OffsetSpec
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds, log_ends, offsets_at, unknown_offsets
from kcli.output.tables import Column

Ends = dict[TopicPartition, tuple[int | None, int | None]]
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


def spans(ends: Mapping[TopicPartition, LogEnds]) -> Ends:
    """Start and end of each log; both None where one of them is unknown."""
    return {tp: (log.start, log.end) if log.end is not None else (None, None) for tp, log in ends.items()}


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
