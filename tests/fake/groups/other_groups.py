"""Share groups (KIP-932) and streams groups (KIP-1071), as a test has put them there. They have no members that send
requests: states, members and offsets are what the test says. Start offsets of share groups without members are altered
and deleted as by Kafka 4.4.0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcli.core.protocol.messages import alter_share_group_offsets as altering
from kcli.core.protocol.messages import delete_share_group_offsets as deleting
from kcli.core.protocol.messages import describe_share_group_offsets as offsets
from kcli.core.protocol.messages import share_group_describe as share
from kcli.core.protocol.messages import streams_group_describe as streams
from kcli.core.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kcli.core.types import TopicPartition
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.topics import Topics

NOT_ASKED = -2147483648
SHARE, STREAMS = "share", "streams"


@dataclass
class SharePlace:
    """``start`` −1: nothing has been read yet. ``acknowledged``: records after the start offset that are done with.

    ``code``: the coordinator cannot say where the group is in this partition.
    """

    start: int = -1
    acknowledged: int = 0
    code: int = 0


@dataclass
class ShareGroup:
    """``members`` have partitions, which several may share."""

    id: str
    places: dict[TopicPartition, SharePlace] = field(default_factory=dict)
    members: dict[str, list[TopicPartition]] = field(default_factory=dict)
    state: str = ""
    epoch: int = 1

    @property
    def state_now(self) -> str:
        """As the coordinator spells it."""
        return self.state or ("Stable" if self.members else "Empty")


@dataclass
class StreamsMember:
    """Tasks by subtopology."""

    active: Mapping[str, list[int]] = field(default_factory=dict)
    standby: Mapping[str, list[int]] = field(default_factory=dict)
    warmup: Mapping[str, list[int]] = field(default_factory=dict)


@dataclass
class StreamsGroup:
    """``sources``: the topics that each subtopology reads; ``repartition`` and ``changelogs``, those that it creates, are
    read and kept by it. ``unknown``: the coordinator does not know its topics. Its offsets are committed as those of
    other groups.
    """

    id: str
    sources: dict[str, list[str]] = field(default_factory=dict)
    members: dict[str, StreamsMember] = field(default_factory=dict)
    state: str = ""
    epoch: int = 1
    topology_epoch: int = 0
    repartition: dict[str, list[str]] = field(default_factory=dict)
    changelogs: dict[str, list[str]] = field(default_factory=dict)
    unknown: bool = False

    @property
    def state_now(self) -> str:
        return self.state or ("Stable" if self.members else "Empty")

    def is_subscribed(self, topic: str) -> bool:
        return bool(self.members) and any(
            topic in some for by_part in (self.sources, self.repartition) for some in by_part.values()
        )


OtherGroup = ShareGroup | StreamsGroup


def kind_of(group: OtherGroup) -> str:
    return SHARE if isinstance(group, ShareGroup) else STREAMS


class OtherGroups:
    """By id."""

    def __init__(self) -> None:
        self.by_id: dict[str, OtherGroup] = {}

    def share(self, group_id: str) -> ShareGroup:
        found = self.by_id.get(group_id)
        if isinstance(found, ShareGroup):
            return found
        raise self.not_found(group_id, SHARE)

    def streams(self, group_id: str) -> StreamsGroup:
        found = self.by_id.get(group_id)
        if isinstance(found, StreamsGroup):
            return found
        raise self.not_found(group_id, STREAMS)

    def not_found(self, group_id: str, wanted: str, *, known: bool = False) -> RefusedError:
        """``known``: it is a classic group, or one of KIP-848."""
        there = known or group_id in self.by_id
        reason = f"is not a {wanted} group" if there else "not found"
        return RefusedError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}.")


def describe_share(group: ShareGroup, topics: Topics, *, operations: int) -> share.DescribedGroup:
    return share.DescribedGroup(
        error_code=Code.NONE,
        group_id=group.id,
        group_state=group.state_now,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        assignor_name="simple",
        members=[
            share.Member(
                member_id=name,
                member_epoch=group.epoch,
                client_id=f"client-{name}",
                client_host="/127.0.0.1",
                subscribed_topic_names=sorted({tp.topic for tp in places}),
                assignment=share.Assignment(
                    topic_partitions=[
                        share.TopicPartitions(
                            topic_id=topics.id_of(topic) or bytes(16), topic_name=topic, partitions=numbers
                        )
                        for topic, numbers in by_topic(sorted(places))
                    ]
                ),
            )
            for name, places in group.members.items()
        ],
        authorized_operations=operations,
    )


def undescribed_share(group_id: str, code: int, message: str | None = None) -> share.DescribedGroup:
    return share.DescribedGroup(
        error_code=code, error_message=message, group_id=group_id, group_state="", group_epoch=0,
        assignment_epoch=0, assignor_name="", members=[],
    )  # fmt: skip


def share_places(
    group: ShareGroup, ends: Mapping[TopicPartition, int], topics: Topics
) -> offsets.DescribeShareGroupOffsetsResponseGroup:
    """Of all its partitions."""
    rows = [(tp.topic, _place(tp, group.places[tp], ends.get(tp, 0))) for tp in sorted(group.places)]
    return offsets.DescribeShareGroupOffsetsResponseGroup(
        group_id=group.id,
        topics=[
            offsets.DescribeShareGroupOffsetsResponseTopic(
                topic_name=name, topic_id=topics.id_of(name) or bytes(16), partitions=some
            )
            for name, some in by_topic(row for row in rows)
        ],
        error_code=Code.NONE,
    )


def no_places(group_id: str, code: int) -> offsets.DescribeShareGroupOffsetsResponseGroup:
    return offsets.DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=[], error_code=code)


def alter_places(
    groups: OtherGroups, request: altering.AlterShareGroupOffsetsRequest, topics: Topics, *, known: bool
) -> altering.AlterShareGroupOffsetsResponse:
    """Makes a share group that is not there. What was acknowledged is forgotten. ``known``: it is one of consumers."""
    group = groups.by_id.get(request.group_id)
    if known or isinstance(group, StreamsGroup):
        refused = groups.not_found(request.group_id, SHARE, known=known)
        return unaltered(refused.code, refused.message)
    if group is not None and group.members:
        return unaltered(Code.NON_EMPTY_GROUP)
    rows = []
    for topic in request.topics:
        for asked in topic.partitions:
            tp = TopicPartition(topic.topic_name, asked.partition_index)
            code = Code.UNKNOWN_TOPIC_OR_PARTITION
            if tp in topics:
                code = Code.NONE
                group = group or ShareGroup(request.group_id)
                group.places[tp] = SharePlace(asked.start_offset)
            row = altering.AlterShareGroupOffsetsResponsePartition(
                partition_index=tp.partition, error_code=code
            )
            rows.append((tp.topic, row))
    if group is not None:
        groups.by_id[group.id] = group
    return altering.AlterShareGroupOffsetsResponse(
        throttle_time_ms=0,
        error_code=Code.NONE,
        responses=[
            altering.AlterShareGroupOffsetsResponseTopic(
                topic_name=name, topic_id=topics.id_of(name) or bytes(16), partitions=some
            )
            for name, some in by_topic(rows)
        ],
    )


def delete_places(
    groups: OtherGroups, request: deleting.DeleteShareGroupOffsetsRequest, topics: Topics, *, known: bool
) -> deleting.DeleteShareGroupOffsetsResponse:
    """Of whole topics. The group stays."""
    group = groups.by_id.get(request.group_id)
    if not isinstance(group, ShareGroup):
        refused = groups.not_found(request.group_id, SHARE, known=known)
        return undeleted(refused.code, refused.message)
    if group.members:
        return undeleted(Code.NON_EMPTY_GROUP)
    rows = []
    for asked in request.topics:
        there = [tp for tp in group.places if tp.topic == asked.topic_name]
        for tp in there:
            del group.places[tp]
        rows.append(
            deleting.DeleteShareGroupOffsetsResponseTopic(
                topic_name=asked.topic_name,
                topic_id=topics.id_of(asked.topic_name) or bytes(16),
                error_code=Code.NONE if there else Code.UNKNOWN_TOPIC_OR_PARTITION,
            )
        )
    return deleting.DeleteShareGroupOffsetsResponse(throttle_time_ms=0, error_code=Code.NONE, responses=rows)


def unaltered(code: int, message: str | None = None) -> altering.AlterShareGroupOffsetsResponse:
    return altering.AlterShareGroupOffsetsResponse(
        throttle_time_ms=0, error_code=code, error_message=message, responses=[]
    )


def undeleted(code: int, message: str | None = None) -> deleting.DeleteShareGroupOffsetsResponse:
    return deleting.DeleteShareGroupOffsetsResponse(
        throttle_time_ms=0, error_code=code, error_message=message, responses=[]
    )


def _place(
    tp: TopicPartition, at: SharePlace, end: int
) -> offsets.DescribeShareGroupOffsetsResponsePartition:
    known = at.start >= 0 and not at.code
    return offsets.DescribeShareGroupOffsetsResponsePartition(
        partition_index=tp.partition,
        start_offset=at.start if known else -1,
        leader_epoch=0,
        lag=max(0, end - at.start - at.acknowledged) if known else -1,
        error_code=at.code,
    )


def describe_streams(group: StreamsGroup, *, operations: int) -> streams.DescribedGroup:
    return streams.DescribedGroup(
        error_code=Code.NONE,
        group_id=group.id,
        group_state=group.state_now,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        topology=streams.Topology(
            epoch=group.topology_epoch,
            subtopologies=None if group.unknown else [
                streams.Subtopology(
                    subtopology_id=part, source_topics=topics,
                    repartition_sink_topics=group.repartition.get(part, []),
                    state_changelog_topics=_made(group.changelogs.get(part, [])),
                    repartition_source_topics=_made(group.repartition.get(part, [])),
                )
                for part, topics in group.sources.items()
            ],
        ),
        members=[_streams_member(group, name, member) for name, member in group.members.items()],
        authorized_operations=operations,
    )  # fmt: skip


def _made(names: list[str]) -> list[streams.TopicInfo]:
    return [
        streams.TopicInfo(name=name, partitions=0, replication_factor=-1, topic_configs=[]) for name in names
    ]


def last_heartbeat(
    group: StreamsGroup, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse:
    """A member leaves; nothing else is sent by what is tested."""
    if request.member_id not in group.members:
        return refused_last_heartbeat(Code.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member.")
    del group.members[request.member_id]
    group.epoch += 1
    return _heartbeat_answer(Code.NONE, request.member_id, request.member_epoch)


def refused_last_heartbeat(code: int, message: str | None = None) -> StreamsGroupHeartbeatResponse:
    return _heartbeat_answer(code, message=message)


def _heartbeat_answer(
    code: int, member_id: str = "", epoch: int = 0, message: str | None = None
) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=code, error_message=message, member_id=member_id, member_epoch=epoch,
        heartbeat_interval_ms=0, task_offset_interval_ms=0, status=None, endpoint_information_epoch=0,
    )  # fmt: skip


def undescribed_streams(group_id: str, code: int, message: str | None = None) -> streams.DescribedGroup:
    return streams.DescribedGroup(
        error_code=code, error_message=message, group_id=group_id, group_state="", group_epoch=0,
        assignment_epoch=0, members=[],
    )  # fmt: skip


def _streams_member(group: StreamsGroup, name: str, member: StreamsMember) -> streams.Member:
    assignment = streams.Assignment(
        active_tasks=_tasks(member.active.items()),
        standby_tasks=_tasks(member.standby.items()),
        warmup_tasks=_tasks(member.warmup.items()),
    )
    return streams.Member(
        member_id=name,
        member_epoch=group.epoch,
        client_id=f"client-{name}",
        client_host="/127.0.0.1",
        topology_epoch=group.topology_epoch,
        process_id=f"process-{name}",
        client_tags=[],
        task_offsets=[],
        task_end_offsets=[],
        assignment=assignment,
        target_assignment=assignment,
        is_classic=False,
    )


def _tasks(by_part: Iterable[tuple[str, list[int]]]) -> list[streams.TaskIds]:
    return [streams.TaskIds(subtopology_id=part, partitions=numbers) for part, numbers in by_part]
