"""What a test may look at and do without a request: members, states, evictions, forced rebalances."""

from dataclasses import dataclass

from kcli.core.types import TopicPartition
from tests.fake.groups import embedded
from tests.fake.groups.classic_group import ClassicGroup, State
from tests.fake.groups.consumer_group import ConsumerGroup, ConsumerMember
from tests.fake.groups.machinery import Machinery
from tests.fake.groups.offsets import Committed
from tests.fake.groups.registry import Group


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member at one moment. ``epoch`` is the generation of a classic group."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    epoch: int
    partitions: frozenset[TopicPartition]
    """What it was given; what it still has to give up is not among them."""


class Inspection:
    """The part of ``Groups`` that no client reaches. KeyError for a group or member that is not there."""

    def __init__(self, machinery: Machinery) -> None:
        self._do = machinery

    def committed(self, group_id: str) -> dict[TopicPartition, Committed]:
        """(offset, leader epoch, metadata) by partition; what is pending in transactions is not there yet."""
        return self._do.offsets.of(group_id)

    def members(self, group_id: str) -> dict[str, MemberView]:
        """By member id, in the order they joined; none for an unknown group."""
        group = self._do.registry.find(group_id)
        if isinstance(group, ClassicGroup):
            return {view.id: view for view in _classic_views(group)}
        return {m.id: self._view(m) for m in group.members.values()} if group else {}

    def state(self, group_id: str) -> str:
        """As ListGroups spells it; Dead for an unknown group."""
        group = self._do.registry.find(group_id)
        return group.state.value if group else State.DEAD.value

    def generation(self, group_id: str) -> int:
        """Of a classic group; the group epoch of a KIP-848 group; −1 for an unknown one."""
        match self._do.registry.find(group_id):
            case ClassicGroup() as group:
                return group.generation
            case ConsumerGroup() as group:
                return group.epoch
        return -1

    def evict(self, group_id: str, member_id: str) -> None:
        """The member is out, as after a LeaveGroup by an administrator: it learns so from its next request."""
        group = self._find(group_id)
        if member_id not in group.members:
            raise KeyError(member_id)
        if isinstance(group, ClassicGroup):
            self._do.rebalances.drop(group, member_id)
            self._do.rebalances.after_drop(group)
        else:
            self._do.heartbeats.remove(group, [member_id])

    def force_rebalance(self, group_id: str) -> None:
        """Classic members have to join again; a KIP-848 group gets a new epoch and new targets."""
        group = self._find(group_id)
        if isinstance(group, ConsumerGroup):
            group.epoch += 1
        elif group.members and group.state is not State.PREPARING:
            self._do.rebalances.prepare(group)

    def _find(self, group_id: str) -> Group:
        group = self._do.registry.find(group_id)
        if group is None:
            raise KeyError(group_id)
        return group

    def _view(self, member: ConsumerMember) -> MemberView:
        named = ((self._do.topics.name_of(topic), partition) for topic, partition in member.assigned)
        return MemberView(
            id=member.id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            epoch=member.epoch,
            partitions=frozenset(TopicPartition(name, p) for name, p in named if name is not None),
        )


def _classic_views(group: ClassicGroup) -> list[MemberView]:
    return [
        MemberView(
            id=member.id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            epoch=group.generation,
            partitions=_readable(member.assignment),
        )
        for member in group.members.values()
    ]


def _readable(assignment: bytes) -> frozenset[TopicPartition]:
    """Groups that are not of consumers put other things there."""
    try:
        return embedded.assigned_partitions(assignment)
    except ValueError:
        return frozenset()
