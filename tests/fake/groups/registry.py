"""Which groups there are, and of which kind. An Empty group becomes one of the other kind when somebody joins so."""

from collections.abc import Iterable
from typing import TypeVar

from tests.fake.codes import Code, RefusedError
from tests.fake.groups.classic_group import ClassicGroup, State
from tests.fake.groups.consumer_group import ConsumerGroup
from tests.fake.groups.deadlines import Deadlines
from tests.fake.groups.other_groups import OtherGroups

Group = ClassicGroup | ConsumerGroup
G = TypeVar("G", ClassicGroup, ConsumerGroup)


class Registry:
    """Groups by id; ``others`` are of other types.

    Live groups are not converted, as if ``group.consumer.migration.policy`` were disabled.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        self._groups: dict[str, Group] = {}
        self.others = OtherGroups()
        self._deadlines = deadlines

    def all(self) -> Iterable[Group]:
        return self._groups.values()

    def find(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def classic_with_members(self, group_id: str) -> ClassicGroup:
        """For Heartbeat and SyncGroup, which only members send."""
        found = self.find(group_id)
        if not isinstance(found, ClassicGroup):
            raise RefusedError(Code.UNKNOWN_MEMBER_ID)
        return found

    def classic_to_join(self, group_id: str, member_id: str) -> ClassicGroup:
        """Made for a newcomer; who brings a member id to an unknown group has the wrong one."""
        found = self.find(group_id)
        if isinstance(found, ConsumerGroup) and found.members:
            raise RefusedError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if isinstance(found, ClassicGroup):
            return found
        if member_id:
            self.drop(group_id)
            raise RefusedError(Code.UNKNOWN_MEMBER_ID)
        return self._put(ClassicGroup(group_id))

    def classic_for_offsets(self, group_id: str) -> ClassicGroup:
        """Who commits to a group that is not there makes one without a protocol."""
        return self._put(ClassicGroup(group_id))

    def consumer_to_join(self, group_id: str) -> ConsumerGroup:
        found = self.find(group_id)
        if found is None or (isinstance(found, ClassicGroup) and found.state is State.EMPTY):
            return self._put(ConsumerGroup(group_id))
        return self.consumer(group_id)

    def consumer(self, group_id: str) -> ConsumerGroup:
        found = self.find(group_id)
        if isinstance(found, ConsumerGroup):
            return found
        raise not_found(group_id, "consumer" if found or group_id in self.others.by_id else None)

    def classic(self, group_id: str) -> ClassicGroup:
        found = self.find(group_id)
        if isinstance(found, ClassicGroup):
            return found
        raise not_found(group_id, "classic" if found or group_id in self.others.by_id else None)

    def drop(self, group_id: str) -> None:
        """The group is no more; its offsets are another matter."""
        group = self._groups.pop(group_id, None)
        if isinstance(group, ClassicGroup):
            group.become(State.DEAD)
        self._deadlines.cancel_group(group_id)

    def _put(self, group: G) -> G:
        if group.id in self.others.by_id:
            raise not_found(group.id, None)
        self.drop(group.id)
        self._groups[group.id] = group
        return group


def not_found(group_id: str, wanted: str | None) -> RefusedError:
    """``wanted`` is the kind that it is not; None when there is no such group."""
    reason = f"is not a {wanted} group" if wanted else "not found"
    return RefusedError(Code.GROUP_ID_NOT_FOUND, f"Group {group_id} {reason}.")
