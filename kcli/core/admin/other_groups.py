"""Describes share groups (KIP-932) and streams groups (KIP-1071): members, assignments, tasks.

The coordinator has just denied that these groups are classic ones or those of KIP-848. All are described as share
groups, and those that are none as streams groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.core.admin.group_description import (
    GroupDescription,
    MemberDescription,
    OtherGroupError,
    known_operations,
    on_describing,
)
from kcli.core.admin.streams_members import StreamsClient, Subtopology, Task, Tasks
from kcli.core.admin.topics import describe_topics
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.coordinators import Coordinators, KeyType, ToCoordinator
from kcli.core.cluster.fanout import Items, Part, fan_out, verdict
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.names import unknown_group
from kcli.core.protocol.messages import share_group_describe as share
from kcli.core.protocol.messages import streams_group_describe as streams
from kcli.core.types import TopicPartition

SHARE, STREAMS = "share", "streams"
"""The types, as ListGroups names them."""
_REQUESTS: Mapping[str, type[Any]] = {
    SHARE: share.ShareGroupDescribeRequest,
    STREAMS: streams.StreamsGroupDescribeRequest,
}


def describe_others(
    cluster: Cluster,
    coordinators: Coordinators,
    names: Sequence[str],
    deadline: float,
    *,
    include_operations: bool = False,
) -> dict[str, GroupDescription | KcliError]:
    """Each group, or the error: NotFoundError if it was deleted meanwhile, OtherGroupError where its coordinator does not
    describe groups of its type.
    """

    def rows(of: Sequence[str], kind: str) -> dict[str, Any]:
        def ask(broker: Broker, items: Items[str, None]) -> list[Part[str]]:
            return _asked(broker, kind, [group for group, _ in items], include_operations=include_operations)

        route = ToCoordinator[str](cluster, coordinators, str)
        what = "describing group"
        return fan_out(
            cluster, dict.fromkeys(of), route, ask, _rows_of(kind), deadline, what, needs=on_describing
        )

    found: dict[str, Any] = rows(names, SHARE)
    others = [name for name, one in found.items() if isinstance(one, NotFoundError | OtherGroupError)]
    for name, one in (rows(others, STREAMS) if others else {}).items():
        if isinstance(one, OtherGroupError) and isinstance(found[name], OtherGroupError):
            found[name].why = f"it is a share or a streams group: {found[name].why}; {one.why}"
        elif not isinstance(one, NotFoundError):
            found[name] = one
    described = [one for one in found.values() if isinstance(one, streams.DescribedGroup)]
    counts = _partition_counts(cluster, described, deadline)

    def described_as(name: str, one: Any) -> GroupDescription | KcliError:
        node = coordinators.known(KeyType.GROUP, name)
        at = -1 if node is None else node
        if isinstance(one, share.DescribedGroup):
            return _share_group(one, at)
        return one if isinstance(one, KcliError) else _streams_group(one, at, counts)

    return {name: described_as(name, one) for name, one in found.items()}


def unserved(broker: Broker, request: type[Any]) -> str:
    """Why the broker does not serve a request; empty if it does. Kafka 4.0 had some of these in early access, in versions
    that are gone.
    """
    try:
        broker.version(request)
    except UnsupportedError as error:
        return f"{error.what}, {error.why}"
    return ""


def _asked(broker: Broker, kind: str, groups: list[str], *, include_operations: bool) -> list[Part[str]]:
    request = _REQUESTS[kind]
    if why := unserved(broker, request):
        return [
            Part(OtherGroupError(f"group {group} cannot be described", why=why, do=NEWER), [group])
            for group in groups
        ]
    return [Part(request(group_ids=groups, include_authorized_operations=include_operations), groups)]


NEWER = "Kafka 4.2 describes share groups and streams groups"


def _rows_of(kind: str) -> Any:
    def read(response: Any, _part: Part[str]) -> Iterator[tuple[str, int | KcliError, Any]]:
        for row in response.groups:
            group = row.group_id
            outcome = verdict(
                row.error_code, f"describing group {group}", row.error_message, on_describing(group)
            )
            if row.error_code == GROUP_ID_NOT_FOUND:
                outcome = unknown_group(group)
            elif row.error_code == UNSUPPORTED_VERSION:
                outcome = OtherGroupError(
                    f"group {group} cannot be described",
                    why=row.error_message or f"the feature {kind}.version is switched off",
                    do=f"kafka-features.sh shows {kind}.version",
                )
            yield group, outcome, row

    return read


def _share_group(row: share.DescribedGroup, coordinator: int) -> GroupDescription:
    return GroupDescription(
        group_id=row.group_id,
        type=SHARE,
        state=row.group_state,
        protocol_type=SHARE,
        assignor=row.assignor_name,
        coordinator=coordinator,
        members=tuple(_share_member(member) for member in row.members),
        epoch=row.group_epoch,
        assignment_epoch=row.assignment_epoch,
        operations=known_operations(row.authorized_operations),
    )


def _share_member(row: share.Member) -> MemberDescription:
    return MemberDescription(
        member_id=row.member_id,
        instance_id=None,
        client_id=row.client_id,
        client_host=row.client_host,
        subscription=tuple(row.subscribed_topic_names),
        assignment=tuple(
            TopicPartition(topic.topic_name, number)
            for topic in row.assignment.topic_partitions
            for number in topic.partitions
        ),
        epoch=row.member_epoch,
        rack=row.rack_id,
        protocol=SHARE,
    )


# --- streams groups --------------------------------------------------------------------------------------------------


def _streams_group(
    row: streams.DescribedGroup, coordinator: int, counts: Mapping[str, int]
) -> GroupDescription:
    parts = _subtopologies(row)
    topics = {part.id: part.inputs for part in parts or ()}
    return GroupDescription(
        group_id=row.group_id,
        type=STREAMS,
        state=row.group_state,
        protocol_type=STREAMS,
        assignor=row.assignor_name or "",
        coordinator=coordinator,
        members=tuple(_streams_member(member, topics, counts) for member in row.members),
        epoch=row.group_epoch,
        assignment_epoch=row.assignment_epoch,
        operations=known_operations(row.authorized_operations),
        topology_epoch=-1 if row.topology is None else row.topology.epoch,
        subtopologies=parts,
    )


def _streams_member(
    row: streams.Member, topics: Mapping[str, Sequence[str]], counts: Mapping[str, int]
) -> MemberDescription:
    tasks, at = _tasks(row.assignment), row.user_endpoint
    return MemberDescription(
        member_id=row.member_id,
        instance_id=row.instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        subscription=tuple(sorted({topic for some in topics.values() for topic in some})),
        assignment=_read_by(tasks, topics, counts),
        target=_read_by(_tasks(row.target_assignment), topics, counts),
        epoch=row.member_epoch,
        rack=row.rack_id,
        protocol="classic" if row.is_classic else STREAMS,
        tasks=tasks,
        target_tasks=_tasks(row.target_assignment),
        streams=StreamsClient(
            row.process_id,
            row.topology_epoch,
            tuple((tag.key, tag.value) for tag in row.client_tags),
            None if at is None else f"{at.host}:{at.port}",
            _task_offsets(row.task_offsets),
            _task_offsets(row.task_end_offsets),
        ),
    )


def _task_offsets(rows: Sequence[streams.TaskOffset]) -> tuple[tuple[Task, int], ...]:
    return tuple((Task(row.subtopology_id, row.partition), row.offset) for row in rows)


def _tasks(row: streams.Assignment) -> Tasks:
    return Tasks(
        *(
            tuple(Task(one.subtopology_id, number) for one in some for number in one.partitions)
            for some in (row.active_tasks, row.standby_tasks, row.warmup_tasks)
        )
    )


def _read_by(
    tasks: Tasks, topics: Mapping[str, Sequence[str]], counts: Mapping[str, int]
) -> tuple[TopicPartition, ...]:
    """What active tasks read: a partition of each source topic that has so many."""
    return tuple(
        TopicPartition(topic, task.partition)
        for task in tasks.active
        for topic in topics.get(task.subtopology, ())
        if task.partition < counts.get(topic, task.partition + 1)
    )


def _subtopologies(row: streams.DescribedGroup) -> tuple[Subtopology, ...] | None:
    if row.topology is None or row.topology.subtopologies is None:
        return None
    return tuple(
        Subtopology(
            part.subtopology_id,
            tuple(part.source_topics),
            tuple(part.repartition_sink_topics),
            tuple(topic.name for topic in part.repartition_source_topics),
            tuple(topic.name for topic in part.state_changelog_topics),
        )
        for part in row.topology.subtopologies
    )


def _partition_counts(
    cluster: Cluster, groups: Sequence[streams.DescribedGroup], deadline: float
) -> Mapping[str, int]:
    """Of topics that a subtopology reads together: the smaller ones have fewer partitions than there are tasks."""
    read = [part.inputs for group in groups for part in _subtopologies(group) or ()]
    names = {topic for some in read if len(some) > 1 for topic in some}
    found = describe_topics(cluster, sorted(names), deadline) if names else {}
    return {name: len(one.partitions) for name, one in found.items() if not isinstance(one, KcliError)}
