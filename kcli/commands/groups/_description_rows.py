"""What ``kcli groups describe`` shows: columns, rows, headings, items. Pure."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.admin.group_description import MemberDescription
from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.errors import KcliError
from kcli.core.names import group_shown
from kcli.core.types import GroupPartition, Node, Record, TopicPartition
from kcli.flows.groups.description import Described, assigned, owner_fields
from kcli.flows.groups.offsets import Position
from kcli.flows.groups.tasks import owned_tasks
from kcli.flows.rewind.mark import marked_by, own_metadata
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column
from kcli.output.template import rfc3339

if TYPE_CHECKING:  # loads the consumer, and configurations
    from kcli.core.admin.configs import ConfigEntry
    from kcli.flows.groups.records_around import RecordsAround

Row = dict[str, Any]
Times = Mapping[GroupPartition, int]
Configs = Mapping[str, "list[ConfigEntry] | KcliError"]
Records = Mapping[GroupPartition, "RecordsAround"]

_RECORD = (
    Column("offset", "id", values="count", meaning="Offset of the record."),
    Column("timestamp", "epoch", values="integer?", meaning="Milliseconds since 1970; null without one."),
    Column("time", "time", meaning="The same in UTC."),
    Column("key", meaning="The key; null is null."),
    Column("value", meaning="The value; null is null."),
    Column("key_encoding", values=("base64",), sometimes=True, meaning="Where the key is not UTF-8."),
    Column("value_encoding", values=("base64",), sometimes=True, meaning="Where the value is not UTF-8."),
)


def _peeked(key: str, meaning: str) -> Column:
    return Column(key, values="objects?", sometimes=True, inner=_RECORD, meaning=meaning)


_PLACE = (Column("topic"), Column("partition", "id"))
_TASK = (
    Column("subtopology", meaning="Id of the subtopology."),
    Column("partition", "id", values="count", meaning="Partition of the task."),
)
GROUP = Column("group")
OFFSETS = (
    GROUP,
    *_PLACE,
    Column(
        "committed",
        "number",
        spare=1,
        meaning="The committed offset, of a share group its start offset; null without one.",
    ),
    Column("end", "number", spare=2),
    Column(
        "lag_records",
        "number",
        values="integer?",
        meaning="The end minus the committed offset: below 0 where the commit is past the end; of a share group what its "
        "coordinator reports; null where it is unknown.",
    ),
    Column("log_start", "number", spare=5),
    Column("leader_epoch", "id", spare=7),
    Column("metadata", spare=6, meaning="Metadata of the commit."),
    Column("member_id", spare=9),
    Column("client_id", spare=4),
    Column("host", spare=8),
    Column("commit_time", "time", wide=True, meaning="When it was committed; null where it is unknown."),
    Column("note", "prose"),
)
MEMBERS = (
    GROUP,
    Column("member_id", values="string", meaning="Id of the member."),
    Column("instance_id", spare=4, meaning="group.instance.id; null where it has none."),
    Column("client_id", spare=2, meaning="Client id."),
    Column("host", spare=3, meaning="Host of the member."),
    Column("partitions", "number", meaning="How many partitions it has; null where they are unknown."),
    Column(
        "assignment",
        values="objects?",
        inner=_PLACE,
        meaning="Partitions that it has; null where they are unknown.",
    ),
    Column("epoch", "id", spare=5, values="count?", meaning="Epoch of the member; null where it has none."),
    Column(
        "target_assignment",
        wide=True,
        values="objects?",
        inner=_PLACE,
        meaning="Partitions that it is to have.",
    ),
    Column("subscription", wide=True, values="strings", meaning="Topics that it subscribes to."),
    Column("subscription_regex", wide=True, meaning="Regular expression that it subscribes to."),
    Column("rack", wide=True, meaning="Rack of the member."),
    Column("protocol", wide=True, meaning="classic, consumer, share or streams, or the assignor."),
    *(
        Column(
            f"{kind}_tasks",
            wide=True,
            values="objects?",
            inner=_TASK,
            meaning=f"{meaning}; null in other groups.",
        )
        for kind, meaning in (
            ("active", "Tasks that a member of a streams group processes"),
            ("standby", "Tasks whose state it keeps a copy of"),
            ("warmup", "Tasks whose state it restores before it gets them"),
            ("target_active", "Tasks that it is to process"),
            ("target_standby", "Tasks whose state it is to keep a copy of"),
            ("target_warmup", "Tasks whose state it is to restore"),
        )
    ),
    Column(
        "process_id",
        wide=True,
        meaning="Id of the instance of a streams group's member; null in other groups.",
    ),
    Column(
        "topology_epoch",
        "id",
        wide=True,
        values="count?",
        meaning="Epoch of the topology that a streams group's member has; null in other groups.",
    ),
    Column(
        "client_tags",
        wide=True,
        values="object?",
        meaning="Tags of a streams group's member, by which standby tasks are spread; null in other groups.",
    ),
    Column(
        "endpoint",
        wide=True,
        meaning="Where it answers interactive queries, host:port; null where it does not.",
    ),
)
CONFIGS = (
    GROUP,
    Column("key", values="string", meaning="The key, as Kafka names it."),
    Column("value", "prose", meaning="The value in force; null where there is none."),
    Column("source", values="string", meaning="Where it comes from: group, default, static broker, …"),
)
STATES = (
    GROUP,
    Column("type", spare=2, meaning="classic, consumer, share or streams."),
    Column("state", meaning="State of the group, as Kafka names it; null where it is unknown."),
    Column("coordinator", "id", spare=1),
    Column("assignor", spare=3, meaning="Name of the assignor; null where there is none."),
    Column(
        "epoch",
        "id",
        spare=4,
        values="count?",
        meaning="Epoch or generation of the group; null where it has none.",
    ),
    Column(
        "assignment_epoch",
        "id",
        spare=5,
        values="count?",
        meaning="Epoch of the assignment; null where it has none.",
    ),
    Column("member_count", "number", meaning="How many members; null where they are unknown."),
    Column("protocol_type", wide=True, meaning="What the members are: consumer, connect, …"),
    Column(
        "topology_epoch",
        "id",
        wide=True,
        values="count?",
        meaning="Epoch of the topology of a streams group; null where there is none.",
    ),
    Column("note", "prose"),
)
SUBTOPOLOGIES = (
    GROUP,
    Column("subtopology", values="string", meaning="Id of the subtopology."),
    Column("source_topics", values="strings", meaning="Topics of others that it reads."),
    Column(
        "repartition_source_topics",
        values="strings",
        meaning="Repartition topics of the application that it reads.",
    ),
    Column(
        "repartition_sink_topics",
        values="strings",
        meaning="Repartition topics of the application that it writes.",
    ),
    Column("changelog_topics", values="strings", meaning="Topics with the content of its stores."),
)
TASKS = (
    GROUP,
    Column("task", values="string", meaning="The task as Kafka names it: subtopology_partition."),
    Column("role", values=("active", "standby", "warmup"), meaning="What the member does with it."),
    Column(
        "state",
        values=("assigned", "to be assigned", "to be revoked"),
        meaning="Whether the member keeps it, is to get it, or is to lose it.",
    ),
    Column(
        "lag_records",
        "number",
        values="integer?",
        meaning="Of an active task: the sum of what is unread of its partitions; null where one of them is unknown.",
    ),
    Column(
        "restoring_records",
        "number",
        spare=4,
        values="count?",
        meaning="Records of changelogs that it has not restored yet, as its member reports them for warm-up tasks.",
    ),
    Column("input_topics", spare=3, values="strings", meaning="Topics of which it reads its partition."),
    Column("member_id", values="string", meaning="Id of the member."),
    Column("client_id", spare=2, values="string", meaning="Client id of the member."),
    Column("host", spare=1, values="string", meaning="Host of the member."),
    Column("process_id", wide=True, meaning="Id of the instance that the member is of."),
)
PARTS = (
    Column(
        "members",
        values="objects?",
        sometimes=True,
        inner=tuple(one for one in MEMBERS if one.key not in ("group", "partitions")),
        meaning="The members; null where they are unknown, absent where they were not requested.",
    ),
    Column(
        "partitions",
        values="objects?",
        sometimes=True,
        inner=(
            *OFFSETS[1:],
            _peeked("read", "The records before the commit, with --peek."),
            _peeked("next", "The records after the commit, with --peek."),
        ),
        meaning="The partitions; null where they are unknown, absent where they were not requested.",
    ),
    Column(
        "subtopologies",
        values="objects?",
        sometimes=True,
        inner=SUBTOPOLOGIES[1:],
        meaning="Of a streams group: its subtopologies; null where its coordinator does not know them.",
    ),
    Column(
        "tasks",
        values="objects?",
        sometimes=True,
        inner=TASKS[1:],
        meaning="Of a streams group: the tasks of its members; null where they are unknown.",
    ),
    Column(
        "configs",
        values="objects?",
        sometimes=True,
        inner=CONFIGS[1:],
        meaning="The keys that concern groups of its type; null where they are unknown, absent without --config.",
    ),
)
"""What a description has in JSON besides the columns of its group."""
RECORDS = (*_PLACE, _RECORD[0], Column("is"), *_RECORD[2:5])
_SPARSE = ("leader_epoch", "metadata", "member_id", "client_id", "host", "note")
LONGEST = 200
"""Characters of a value in a pipe; a key has half of it."""


def heading(group: Described, nodes: Mapping[int, Node]) -> str:
    """A group in one line, for people."""
    found = group.description
    node = nodes.get(group.coordinator)
    parts = [group.type, group.state]
    if group.coordinator >= 0:
        parts.append(f"coordinator {node if node is not None else f'node {group.coordinator}'}")
    if found is not None:
        parts += [f"assignor {found.assignor}"] if found.assignor else []
        parts += (
            [f"epoch {found.epoch}", f"assignment epoch {found.assignment_epoch}"] if found.epoch >= 0 else []
        )
        parts += [f"topology epoch {found.topology_epoch}"] if found.topology_epoch >= 0 else []
        parts.append(counted(len(found.members), "member"))
    return visible_line(f"{group_shown(group.group_id)}: {', '.join(parts)}") + "\n"


def state_row(group: Described) -> Row:
    """A group without its members and partitions."""
    found = group.description
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "coordinator": _known(group.coordinator),
        "assignor": (found.assignor if found is not None else "") or None,
        "epoch": None if found is None else _known(found.epoch),
        "assignment_epoch": None if found is None else _known(found.assignment_epoch),
        "topology_epoch": None if found is None else _known(found.topology_epoch),
        "member_count": None if found is None else len(found.members),
        "protocol_type": group.protocol_type or None,
        "note": group.note,
    }


def member_rows(group: Described) -> list[Row]:
    """A line for each member; assignments as ``orders:0,1;payments:2``."""
    return [
        {
            **_member(group, member),
            "partitions": None if member.assignment is None else len(member.assignment),
            "assignment": _partitions_text(member.assignment),
            "target_assignment": _partitions_text(member.target),
            **{key: _tasks_text(some) for key, some in _tasks(member)},
        }
        for member in group.members
    ]


def member_items(group: Described) -> list[Row]:
    """The members, for JSON: assignments as lists of topic and partition; null where they are not known."""
    return [
        {
            **{key: value for key, value in _member(group, member).items() if key != "group"},
            "assignment": _partitions(member.assignment),
            "target_assignment": _partitions(member.target),
            **{
                key: None if some is None else [task._asdict() for task in some]
                for key, some in _tasks(member)
            },
        }
        for member in group.members
    ]


def offset_rows(group: Described, times: Times) -> list[Row]:
    """A line for each partition for which the group has a commit or an owner."""
    owners = {} if group.description is None else assigned(group.description)
    readers = Counter(tp for member in group.members for tp in member.assignment or ())
    return [
        {
            "group": group.group_id,
            "topic": tp.topic,
            "partition": tp.partition,
            **_offsets(position),
            **owner_fields(None if position.shared and readers[tp] > 1 else owners.get(tp)),
            "commit_time": times.get(GroupPartition(group.group_id, tp)),
            "note": _note(position, readers[tp] if position.shared else 0),
        }
        for tp, position in group.positions.items()
    ]


def config_rows(group: Described, configs: Configs) -> list[Row]:
    """A line for each key of its configuration."""
    found = configs[group.group_id]
    return (
        [] if isinstance(found, KcliError) else [{"group": group.group_id, **_config(one)} for one in found]
    )


def config_items(group: Described, configs: Configs) -> list[Row] | None:
    """The keys, for JSON; None where they are not known."""
    found = configs[group.group_id]
    return None if isinstance(found, KcliError) else [_config(one) for one in found]


def _config(entry: ConfigEntry) -> Row:
    return {"key": entry.name, "value": entry.value, "source": entry.source}


def offset_items(group: Described, times: Times, records: Records | None) -> list[Row]:
    """The partitions, for JSON; with the ``records`` around each commit, if given."""
    items = []
    for row, tp in zip(offset_rows(group, times), group.positions, strict=True):
        item = {key: value for key, value in row.items() if key != "group"}
        item["commit_time"] = rfc3339(-1 if row["commit_time"] is None else row["commit_time"])
        if records is not None:
            around = records.get(GroupPartition(group.group_id, tp))
            item["read"] = None if around is None else [record_item(record) for record in around.read]
            item["next"] = None if around is None else [record_item(record) for record in around.next]
        items.append(item)
    return items


def subtopology_rows(group: Described) -> list[Row]:
    """A line for each subtopology of a streams group whose topics are known."""
    parts = None if group.description is None else group.description.subtopologies
    return [
        {
            "group": group.group_id,
            "subtopology": part.id,
            "source_topics": list(part.sources),
            "repartition_source_topics": list(part.repartition_sources),
            "repartition_sink_topics": list(part.repartition_sinks),
            "changelog_topics": list(part.changelogs),
        }
        for part in parts or ()
    ]


def task_rows(group: Described) -> list[Row]:
    """A line for each task that a member of a streams group has, or is to have."""
    if group.description is None:
        return []
    return [
        {
            "group": group.group_id,
            "task": one.name,
            "role": one.role,
            "state": one.state,
            "lag_records": one.lag,
            "restoring_records": one.restoring,
            "input_topics": list(one.inputs),
            "member_id": one.member.member_id,
            "client_id": one.member.client_id,
            "host": one.member.host,
            "process_id": one.member.streams and one.member.streams.process_id,
        }
        for one in owned_tasks(group.description, group.positions)
    ]


def without_group(rows: Iterable[Row]) -> list[Row]:
    """The rows as parts of their group's item in JSON."""
    return [{key: value for key, value in row.items() if key != "group"} for row in rows]


def columns_below_heading(rows: Iterable[Row], form: str) -> tuple[Column, ...]:
    """The columns below a group's heading: in plain output all of them, in a table those that have a value."""
    if form != "table":
        return OFFSETS if form == "plain" else OFFSETS[1:]
    filled = {key for row in rows for key, value in row.items() if value is not None}
    return tuple(column for column in OFFSETS[1:] if column.key in filled or column.key not in _SPARSE)


def record_rows(tp: TopicPartition, around: RecordsAround, width: int | None) -> list[Row]:
    """Records around a commit, for people: a value has at most half of ``width``, a key a quarter."""
    longest = LONGEST if width is None else max(20, width // 2)
    return [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "offset": record.offset,
            "is": word,
            "time": None if record.timestamp < 0 else record.timestamp,
            "key": _shown(record.key, longest // 2),
            "value": _shown(record.value, longest),
        }
        for word, records in (("read", around.read), ("next", around.next))
        for record in records
    ]


def record_item(record: Record) -> Row:
    """A record as in the JSON of ``consume``, without topic, partition and headers."""
    return {
        "offset": record.offset,
        "timestamp": None if record.timestamp < 0 else record.timestamp,
        "time": rfc3339(record.timestamp),
        **_bytes("key", record.key),
        **_bytes("value", record.value),
    }


def _member(group: Described, member: MemberDescription) -> Row:
    streams = member.streams
    return {
        "group": group.group_id,
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": _known(member.epoch),
        "rack": member.rack,
        "protocol": member.protocol or group.type,
        "subscription": list(member.subscription),
        "subscription_regex": member.subscription_regex,
        "process_id": None if streams is None else streams.process_id,
        "topology_epoch": None if streams is None else streams.topology_epoch,
        "client_tags": None if streams is None else dict(streams.tags),
        "endpoint": None if streams is None else streams.endpoint,
    }


def _offsets(position: Position) -> Row:
    commit = position.committed
    return {
        "committed": None if commit is None else commit.offset,
        "end": position.end,
        "lag_records": position.lag,
        "log_start": position.log_start,
        "leader_epoch": None if commit is None else _known(commit.leader_epoch),
        "metadata": (own_metadata(commit) if commit is not None else "") or None,
    }


def _note(position: Position, readers: int) -> str | None:
    """``readers``: how many members of a share group have the partition."""
    rewind = marked_by(position.committed)
    notes = [position.note, f"read by {counted(readers, 'member')}" if readers > 1 else None]
    return "; ".join(filter(None, notes)) or (f"set by rewind {rewind}" if rewind else None)


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _partitions(assignment: Iterable[TopicPartition] | None) -> list[Row] | None:
    if assignment is None:
        return None
    return [{"topic": tp.topic, "partition": tp.partition} for tp in sorted(assignment)]


def _partitions_text(assignment: Iterable[TopicPartition] | None) -> str | None:
    return None if assignment is None else partitions_text(assignment) or None


def _tasks(member: MemberDescription) -> list[tuple[str, list[Task] | None]]:
    """By the key of the column, in order."""
    return [
        (f"{when}{kind}_tasks", None if tasks is None else sorted(getattr(tasks, kind)))
        for when, tasks in (("", member.tasks), ("target_", member.target_tasks))
        for kind in Tasks._fields
    ]


def _tasks_text(tasks: Iterable[Task] | None) -> str | None:
    """As Kafka names them: ``0_1,0_2``."""
    return (
        None if tasks is None else ",".join(f"{task.subtopology}_{task.partition}" for task in tasks) or None
    )


def partitions_text(assignment: Iterable[TopicPartition]) -> str:
    """Partitions by topic, as Kafka's script writes them: ``orders:0,1;payments:2``."""
    numbers: dict[str, list[str]] = {}
    for tp in sorted(assignment):
        numbers.setdefault(tp.topic, []).append(str(tp.partition))
    return ";".join(f"{topic}:{','.join(found)}" for topic, found in numbers.items())


def _shown(data: bytes | None, longest: int) -> str | None:
    if data is None:
        return None
    text = visible_line(data[: 4 * longest].decode("utf-8", "backslashreplace"))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _bytes(name: str, data: bytes | None) -> Row:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {name: b64encode(data).decode(), f"{name}_encoding": "base64"}
