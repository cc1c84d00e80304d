"""ListGroups, DescribeGroups and ConsumerGroupDescribe: what an onlooker sees."""

from collections.abc import Iterable

from kcli.core.protocol.messages import consumer_group_describe as consumer
from kcli.core.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kcli.core.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.classic_group import CONSUMER, ClassicGroup, Member, State
from tests.fake.groups.consumer_group import ConsumerGroup, ConsumerMember
from tests.fake.groups.other_groups import OtherGroup, kind_of
from tests.fake.groups.registry import Group, Registry
from tests.fake.groups.topics import Place, Topics

_FIRST_WITH_MESSAGE = 6  # of DescribeGroups, KIP-1043
NOT_ASKED = -2147483648
"""The bits of the operations on a group where nobody asked for them."""
_KIP_848_MEMBER = 1


def listed(group: Group) -> ListedGroup:
    classic = isinstance(group, ClassicGroup)
    return ListedGroup(
        group_id=group.id,
        protocol_type=(group.protocol_type or "") if isinstance(group, ClassicGroup) else CONSUMER,
        group_state=group.state.value,
        group_type="classic" if classic else "consumer",
    )


def listed_other(group: OtherGroup) -> ListedGroup:
    kind = kind_of(group)
    return ListedGroup(group_id=group.id, protocol_type=kind, group_state=group.state_now, group_type=kind)


def is_listed(row: ListedGroup, request: ListGroupsRequest) -> bool:
    """Filters look past upper case; an unknown word matches nothing."""
    states = {state.lower().strip() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return (not states or row.group_state.lower() in states) and (not types or row.group_type in types)


def describe_classic(registry: Registry, group_id: str, version: int, *, operations: int) -> DescribedGroup:
    """Until v5 an unknown group is Dead without an error; so is one of another kind."""
    try:
        group = registry.classic(group_id)
    except RefusedError as refused:
        spoken = version >= _FIRST_WITH_MESSAGE
        return DescribedGroup(
            error_code=refused.code if spoken else Code.NONE,
            error_message=refused.message,
            group_id=group_id,
            group_state=State.DEAD.value,
            protocol_type="",
            protocol_data="",
            members=[],
        )
    protocol = group.protocol if group.state is State.STABLE else None
    return DescribedGroup(
        error_code=Code.NONE,
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[_classic_member(member, protocol) for member in group.members.values()],
        authorized_operations=operations,
    )


def _classic_member(member: Member, protocol: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.protocols[protocol] if protocol is not None else b"",
        member_assignment=member.assignment,
    )


def undescribed_classic(group_id: str, code: int) -> DescribedGroup:
    return DescribedGroup(
        error_code=code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=[]
    )


def describe_consumer(
    registry: Registry, topics: Topics, group_id: str, *, operations: int
) -> consumer.DescribedGroup:
    try:
        if not group_id:
            raise RefusedError(Code.INVALID_GROUP_ID)
        group = registry.consumer(group_id)
    except RefusedError as refused:
        return undescribed(group_id, refused.code, refused.message)
    return consumer.DescribedGroup(
        error_code=Code.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor,
        members=[_consumer_member(group, member, topics) for member in group.members.values()],
        authorized_operations=operations,
    )


def undescribed(group_id: str, code: int, message: str | None = None) -> consumer.DescribedGroup:
    return consumer.DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _consumer_member(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> consumer.Member:
    """What it still has to give up counts as its own."""
    return consumer.Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.names or ()),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(member.assigned.keys() | member.revoking.keys(), topics),
        target_assignment=_assignment(group.targets.get(member.id, frozenset()), topics),
        member_type=_KIP_848_MEMBER,
    )


def _assignment(places: Iterable[Place], topics: Topics) -> consumer.Assignment:
    """Topics that exist, with their names."""
    rows = []
    for topic_id, partitions in by_topic(sorted(places)):
        name = topics.name_of(topic_id)
        if name is not None:
            rows.append(consumer.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=partitions))
    return consumer.Assignment(topic_partitions=rows)
