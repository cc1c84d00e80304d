"""FindCoordinator, and what coordinators say about groups: as ``__consumer_offsets`` has it.

A folder has no members: what had some when its broker stopped is Empty. A group whose partition is in no log directory is
an error, and in no list; Metadata shows that this partition has no leader.
"""

from collections.abc import Iterable, Sequence

from kcli.core.error_codes import GROUP_ID_NOT_FOUND, NONE, UNSTABLE_OFFSET_COMMIT
from kcli.core.offline import transaction_state
from kcli.core.offline.directories import Directories
from kcli.core.offline.group_state import CLASSIC, CONSUMER, STREAMS, TOPIC, Committed, StoredGroup
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.states import asked_node, coordinated, groups, leader_of, nowhere
from kcli.core.protocol.messages import consumer_group_describe as consumer
from kcli.core.protocol.messages import describe_groups as classic
from kcli.core.protocol.messages import offset_fetch as fetch
from kcli.core.protocol.messages import streams_group_describe as streams
from kcli.core.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kcli.core.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records as stored
from kcli.core.types import TopicPartition

EMPTY, _DEAD = "Empty", "Dead"
_OF_GROUPS = 0
_FIRST_WITH_KEYS = 4
_FIRST_WITH_NOT_FOUND = 6
_FIRST_WITH_GROUPS = 8


# --- coordinators ---


def find_coordinator(
    directories: Directories, request: FindCoordinatorRequest, version: int
) -> FindCoordinatorResponse:
    """The broker that led the partition last; an error that names a partition that is not there."""
    topic = TOPIC if request.key_type == _OF_GROUPS else transaction_state.TOPIC
    known = coordinated(directories, topic)

    def found(key: str) -> Coordinator:
        lacks = known.lacks(key)
        if lacks is not None:
            return Coordinator(
                key=key, node_id=-1, host="", port=-1, error_code=lacks.code, error_message=lacks.why
            )
        node_id = leader_of(directories, TopicPartition(topic, known.home_of(key)))
        return Coordinator(
            key=key, node_id=node_id, host=directories.name, port=0, error_code=NONE, error_message=None
        )

    if version < _FIRST_WITH_KEYS:
        one = found(request.key)
        return FindCoordinatorResponse(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )
    return FindCoordinatorResponse(coordinators=[found(key) for key in request.coordinator_keys])


# --- lists and descriptions ---


def list_groups(directories: Directories, request: ListGroupsRequest, _version: int) -> ListGroupsResponse:
    """The groups of the partitions that the asked node led last; NotHereError, as the response has no room for why."""
    known = coordinated(directories, TOPIC)
    if not known.partitions:
        raise nowhere("groups", TOPIC)
    found = groups(directories).groups.values()
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    rows = [
        ListedGroup(
            group_id=one.group_id,
            protocol_type=one.protocol_type,
            group_state=EMPTY,
            group_type=one.group_type,
        )
        for one in found
        if (not states or EMPTY.lower() in states)
        and (not types or one.group_type in types)
        and leader_of(directories, TopicPartition(TOPIC, known.home_of(one.group_id)))
        == asked_node(directories)
    ]
    return ListGroupsResponse(error_code=NONE, groups=rows)


def describe_groups(
    directories: Directories, request: classic.DescribeGroupsRequest, version: int
) -> classic.DescribeGroupsResponse:
    """Classic groups; others are not found, as brokers answer."""

    def row(group_id: str) -> classic.DescribedGroup:
        code, message, found = find_group(directories, group_id, CLASSIC)
        if found is None and code == GROUP_ID_NOT_FOUND and version < _FIRST_WITH_NOT_FOUND:
            code = NONE
        return classic.DescribedGroup(
            error_code=code,
            error_message=message,
            group_id=group_id,
            group_state=EMPTY if found is not None else _DEAD,
            protocol_type=found.protocol_type if found is not None else "",
            protocol_data="",
            members=[],
        )

    return classic.DescribeGroupsResponse(groups=[row(group_id) for group_id in request.groups])


def consumer_group_describe(
    directories: Directories, request: consumer.ConsumerGroupDescribeRequest, _version: int
) -> consumer.ConsumerGroupDescribeResponse:
    """Groups of the new protocol (KIP-848)."""

    def row(group_id: str) -> consumer.DescribedGroup:
        code, message, found = find_group(directories, group_id, CONSUMER)
        return consumer.DescribedGroup(
            error_code=code,
            error_message=message,
            group_id=group_id,
            group_state=EMPTY if found is not None else "",
            group_epoch=group_epoch(found),
            assignment_epoch=assignment_epoch(found, stored.ConsumerGroupTargetAssignmentMetadataValue),
            assignor_name="",
            members=[],
        )

    return consumer.ConsumerGroupDescribeResponse(
        throttle_time_ms=0, groups=[row(group_id) for group_id in request.group_ids]
    )


def streams_group_describe(
    directories: Directories, request: streams.StreamsGroupDescribeRequest, _version: int
) -> streams.StreamsGroupDescribeResponse:
    """Streams groups with their topology (KIP-1071)."""

    def row(group_id: str) -> streams.DescribedGroup:
        code, message, found = find_group(directories, group_id, STREAMS)
        return streams.DescribedGroup(
            error_code=code,
            error_message=message,
            group_id=group_id,
            group_state=EMPTY if found is not None else "",
            group_epoch=group_epoch(found),
            assignment_epoch=assignment_epoch(found, stored.StreamsGroupTargetAssignmentMetadataValue),
            topology=_topology(found),
            members=[],
        )

    return streams.StreamsGroupDescribeResponse(
        throttle_time_ms=0, groups=[row(group_id) for group_id in request.group_ids]
    )


def find_group(
    directories: Directories, group_id: str, kind: str
) -> tuple[int, str | None, StoredGroup | None]:
    """Code, message (in the words of brokers, which clients read) and group; the group is None with a code."""
    try:
        lacks = coordinated(directories, TOPIC).lacks(group_id)
        if lacks is not None:
            raise lacks
        found = groups(directories).groups.get(group_id)
    except NotHereError as error:
        return error.code, error.why, None
    if found is None:
        return GROUP_ID_NOT_FOUND, f"Group {group_id} not found.", None
    if found.group_type != kind:
        return GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {kind} group.", None
    return NONE, None, found


def group_epoch(found: StoredGroup | None) -> int:
    """0 without a group, or where it has no metadata."""
    return max(0, found.epoch) if found is not None else 0


def assignment_epoch(found: StoredGroup | None, kind: type[Struct]) -> int:
    """By the record of this class."""
    value = found.value(kind) if found is not None else None
    return int(value.assignment_epoch) if value is not None else 0


def _topology(found: StoredGroup | None) -> streams.Topology | None:
    value: stored.StreamsGroupTopologyValue | None = (
        found.value(stored.StreamsGroupTopologyValue) if found is not None else None
    )
    if value is None:
        return None
    return streams.Topology(
        epoch=value.epoch,
        subtopologies=[
            streams.Subtopology(
                subtopology_id=one.subtopology_id,
                source_topics=one.source_topics,
                repartition_sink_topics=one.repartition_sink_topics,
                state_changelog_topics=_topics(one.state_changelog_topics),
                repartition_source_topics=_topics(one.repartition_source_topics),
            )
            for one in value.subtopologies
        ],
    )


def _topics(topics: Iterable[stored.StreamsGroupTopologyTopicInfo]) -> list[streams.TopicInfo]:
    return [
        streams.TopicInfo(
            name=one.name,
            partitions=one.partitions,
            replication_factor=one.replication_factor,
            topic_configs=[streams.KeyValue(key=pair.key, value=pair.value) for pair in one.topic_configs],
        )
        for one in topics
    ]


# --- committed offsets ---


def offset_fetch(
    directories: Directories, request: fetch.OffsetFetchRequest, version: int
) -> fetch.OffsetFetchResponse:
    """Committed offsets, also those of groups that nobody knows: nothing is committed for them."""
    stable = request.require_stable
    if version >= _FIRST_WITH_GROUPS:
        return fetch.OffsetFetchResponse(
            groups=[_of_group(directories, asked, stable) for asked in request.groups]
        )
    code, _message, found = _commits(directories, request.group_id)
    topics = [
        fetch.OffsetFetchResponseTopic(
            name=name,
            partitions=[
                fetch.OffsetFetchResponsePartition(
                    partition_index=number,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=code or unstable,
                )
                for number, committed, unstable in rows
            ],
        )
        for name, rows in _rows(found, request.topics, stable)
    ]
    return fetch.OffsetFetchResponse(error_code=code, topics=topics)


def _of_group(
    directories: Directories, asked: fetch.OffsetFetchRequestGroup, stable: bool
) -> fetch.OffsetFetchResponseGroup:
    code, _message, found = _commits(directories, asked.group_id)
    if code:
        return fetch.OffsetFetchResponseGroup(group_id=asked.group_id, topics=[], error_code=code)
    topics = [
        fetch.OffsetFetchResponseTopics(
            name=name,
            partitions=[
                fetch.OffsetFetchResponsePartitions(
                    partition_index=number,
                    committed_offset=committed.offset,
                    committed_leader_epoch=committed.leader_epoch,
                    metadata=committed.metadata,
                    error_code=unstable,
                )
                for number, committed, unstable in rows
            ],
        )
        for name, rows in _rows(found, asked.topics, stable)
    ]
    return fetch.OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics, error_code=NONE)


def _commits(directories: Directories, group_id: str) -> tuple[int, str | None, StoredGroup]:
    nothing = StoredGroup(group_id)
    try:
        lacks = coordinated(directories, TOPIC).lacks(group_id)
        if lacks is not None:
            raise lacks
        return NONE, None, groups(directories).groups.get(group_id, nothing)
    except NotHereError as error:
        return error.code, error.why, nothing


_NOTHING = Committed(-1, -1, "", -1, -1, bytes(16))
Rows = list[tuple[int, Committed, int]]


def _rows(
    found: StoredGroup,
    topics: Sequence[fetch.OffsetFetchRequestTopic | fetch.OffsetFetchRequestTopics] | None,
    stable: bool,
) -> Iterable[tuple[str, Rows]]:
    """Partition, committed offset and code, by topic; topics null means all that have one."""
    if topics is None:
        wanted: dict[str, list[int]] = {}
        for tp in sorted(found.offsets):
            wanted.setdefault(tp.topic, []).append(tp.partition)
    else:
        wanted = {topic.name: topic.partition_indexes for topic in topics}
    for name, numbers in wanted.items():
        rows: Rows = []
        for number in numbers:
            tp = TopicPartition(name, number)
            if stable and tp in found.pending:
                rows.append((number, _NOTHING, UNSTABLE_OFFSET_COMMIT))
            else:
                rows.append((number, found.offsets.get(tp, _NOTHING), NONE))
        yield name, rows
