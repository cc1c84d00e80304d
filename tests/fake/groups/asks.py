"""Short ways to write requests of the group APIs, and to read their answers, in tests."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from kcli.core.protocol.messages import consumer_group_heartbeat as chb
from kcli.core.protocol.messages import (
    join_group,
    leave_group,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from kcli.core.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from tests.fake.groups.driver import Driver, Parked

Offsets = Mapping[str, Mapping[int, int]]
Partitions = Mapping[str, Iterable[int]]
G = "g"
"""The group that most tests are about."""


def subscription(*topics: str) -> bytes:
    """ConsumerProtocolSubscription v0."""
    names = b"".join(struct.pack(">h", len(name.encode())) + name.encode() for name in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def assignment(partitions: Partitions) -> bytes:
    """ConsumerProtocolAssignment v0."""
    rows = b"".join(
        struct.pack(">h", len(name)) + name.encode() + struct.pack(f">i{len(list(p))}i", len(list(p)), *p)
        for name, p in partitions.items()
    )
    return struct.pack(">hi", 0, len(partitions)) + rows + struct.pack(">i", -1)


def join(
    member: str = "",
    group: str = G,
    *,
    instance: str | None = None,
    protocols: Mapping[str, bytes] | None = None,
    kind: str = "consumer",
    session: float = 10,
    rebalance: float = 60,
) -> join_group.JoinGroupRequest:
    chosen = {"range": subscription("a")} if protocols is None else protocols
    return join_group.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=round(session * 1000),
        rebalance_timeout_ms=round(rebalance * 1000),
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocols=[join_group.JoinGroupRequestProtocol(name=n, metadata=m) for n, m in chosen.items()],
    )


def sync(
    member: str,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
    group: str = G,
    *,
    instance: str | None = None,
    kind: str | None = "consumer",
    protocol: str | None = "range",
) -> sync_group.SyncGroupRequest:
    return sync_group.SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocol_name=protocol,
        assignments=[
            sync_group.SyncGroupRequestAssignment(member_id=m, assignment=part)
            for m, part in (assignments or {}).items()
        ],
    )


def heartbeat(
    member: str, generation: int, group: str = G, *, instance: str | None = None
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
    )


def leave(*who: str | tuple[str, str | None], group: str = G) -> leave_group.LeaveGroupRequest:
    """Member ids, or (member id, instance id)."""
    pairs = [(one, None) if isinstance(one, str) else one for one in who]
    return leave_group.LeaveGroupRequest(
        group_id=group,
        members=[leave_group.MemberIdentity(member_id=m, group_instance_id=i) for m, i in pairs],
    )


def commit(
    offsets: Offsets,
    member: str = "",
    generation: int = -1,
    group: str = G,
    *,
    instance: str | None = None,
    metadata: str | None = "",
) -> offset_commit.OffsetCommitRequest:
    """Topic ids are those of ``Driver``."""
    return offset_commit.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name=name,
                topic_id=name.encode() * 16 if len(name) == 1 else b"?" * 16,
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(
                        partition_index=p, committed_offset=offset, committed_metadata=metadata
                    )
                    for p, offset in rows.items()
                ],
            )
            for name, rows in offsets.items()
        ],
    )


def fetch(
    *groups: str,
    partitions: Partitions | None = None,
    stable: bool = False,
    member: str | None = None,
    epoch: int = -1,
) -> offset_fetch.OffsetFetchRequest:
    """v8 and newer; all that is committed unless ``partitions`` are named."""
    topics = None
    if partitions is not None:
        topics = [
            offset_fetch.OffsetFetchRequestTopics(name=n, topic_id=n.encode() * 16, partition_indexes=list(p))
            for n, p in partitions.items()
        ]
    return offset_fetch.OffsetFetchRequest(
        require_stable=stable,
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                group_id=g, member_id=member, member_epoch=epoch, topics=topics
            )
            for g in groups or (G,)
        ],
    )


def old_fetch(
    partitions: Partitions | None, group: str = G, *, stable: bool = False
) -> offset_fetch.OffsetFetchRequest:
    """v1 to v7."""
    topics = None
    if partitions is not None:
        topics = [
            offset_fetch.OffsetFetchRequestTopic(name=n, partition_indexes=list(p))
            for n, p in partitions.items()
        ]
    return offset_fetch.OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)


def delete_offsets(partitions: Partitions, group: str = G) -> offset_delete.OffsetDeleteRequest:
    return offset_delete.OffsetDeleteRequest(
        group_id=group,
        topics=[
            offset_delete.OffsetDeleteRequestTopic(
                name=name,
                partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=p) for p in rows],
            )
            for name, rows in partitions.items()
        ],
    )


def delete(*groups: str) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=list(groups))


def describe(*groups: str, operations: bool = False) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=list(groups or (G,)), include_authorized_operations=operations)


def consumer_describe(*groups: str) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(group_ids=list(groups or (G,)), include_authorized_operations=False)


def list_groups(states: Iterable[str] = (), types: Iterable[str] = ()) -> ListGroupsRequest:
    return ListGroupsRequest(states_filter=list(states), types_filter=list(types))


def consumer_heartbeat(
    member: str, epoch: int, group: str = G, *, owned: Partitions | None = None, **more: Any
) -> chb.ConsumerGroupHeartbeatRequest:
    """``owned`` None: the member does not tell what it holds."""
    held = None
    if owned is not None:
        held = [
            chb.TopicPartitions(topic_id=name.encode() * 16, partitions=list(p)) for name, p in owned.items()
        ]
    return chb.ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, topic_partitions=held, **more
    )


def consumer_join(
    member: str, *topics: str, group: str = G, rebalance: float = 5, **more: Any
) -> chb.ConsumerGroupHeartbeatRequest:
    """Epoch 0, with all that a first heartbeat must tell; topic ``a`` unless others are named."""
    more.setdefault("subscribed_topic_names", list(topics or ("a",)))
    return consumer_heartbeat(
        member, 0, group, owned={}, rebalance_timeout_ms=round(rebalance * 1000), **more
    )


# Answers


def given(answer: Any) -> dict[str, list[int]] | None:
    """The assignment in a ConsumerGroupHeartbeat's answer by topic; None when there is none."""
    if answer.assignment is None:
        return None
    return {chr(bytes(t.topic_id)[0]): sorted(t.partitions) for t in answer.assignment.topic_partitions}


def codes(answer: Any) -> dict[tuple[str, int], int]:
    """Code by partition of an answer with topics."""
    return {
        (topic.name or chr(bytes(topic.topic_id)[0]), row.partition_index): row.error_code
        for topic in answer.topics
        for row in topic.partitions
    }


def code(answer: Any) -> int:
    """The one code of all partitions."""
    (only,) = set(codes(answer).values())
    return only


def fetched(answer: Any, group: int = 0) -> dict[tuple[str, int], tuple[int, int]]:
    """(offset, code) by partition of one group in an answer of v8 and newer."""
    return {
        (topic.name or chr(bytes(topic.topic_id)[0]), row.partition_index): (
            row.committed_offset,
            row.error_code,
        )
        for topic in answer.groups[group].topics
        for row in topic.partitions
    }


# Whole groups


def member_id(driver: Driver, group: str = G, **more: Any) -> str:
    """Asks for a member id (KIP-394)."""
    return str(driver.ask(join(group=group, **more)).member_id)


def lone(driver: Driver, group: str = G, **more: Any) -> str:
    """A Stable group of one dynamic member, generation 1; its member id."""
    member = member_id(driver, group, **more)
    assert driver.ask(join(member, group, **more)).generation_id == 1
    driver.ask(sync(member, 1, {member: assignment({"a": [0, 1, 2, 3]})}, group))
    return member


def pair(driver: Driver, group: str = G, **more: Any) -> tuple[str, str]:
    """A Stable group of two, generation 2, leader first, each with two partitions of ``a``."""
    leader = lone(driver, group, **more)
    follower = member_id(driver, group, **more)
    waiting: Parked = driver.park(join(follower, group, **more))
    driver.ask(join(leader, group, **more))
    assert waiting.answer.generation_id == 2
    waiting = driver.park(sync(follower, 2, group=group))
    shares = {leader: assignment({"a": [0, 1]}), follower: assignment({"a": [2, 3]})}
    driver.ask(sync(leader, 2, shares, group))
    assert waiting.answer.error_code == 0
    return leader, follower
