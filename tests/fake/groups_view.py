"""Groups as a test sees and pokes them, as methods of FakeCluster."""

from collections.abc import Callable
from typing import Any, TypeVar

from kcli.core.types import TopicPartition
from tests.fake.groups.coordinator import Groups
from tests.fake.groups.inspection import MemberView
from tests.fake.groups.other_groups import OtherGroup
from tests.fake.state import State
from tests.fake.thread import LoopThread

T = TypeVar("T")


class GroupsView:
    """Needs ``_state`` and ``_thread``. One coordinator's state serves all nodes, so that moves keep it."""

    _state: State
    _thread: LoopThread

    def with_groups(self, act: Callable[[Groups], T]) -> T:
        """``act(groups)`` on the cluster's thread, for what has no method here."""
        return self._thread.call(act, self._state.groups)

    def committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """By partition; what a transaction has not committed yet is not there."""
        return {tp: c.offset for tp, c in self.with_groups(lambda g: g.committed(group)).items()}

    def group_members(self, group: str) -> dict[str, MemberView]:
        """By member id: instance, client, epoch, partitions."""
        return self.with_groups(lambda g: g.members(group))

    def group_state(self, group: str) -> str:
        """``Stable``, ``PreparingRebalance``, …, ``Dead`` for one that is unknown."""
        return self.with_groups(lambda g: g.state(group))

    def group_generation(self, group: str) -> int:
        """The generation, or the epoch of a KIP-848 group; −1 for one that is unknown."""
        return self.with_groups(lambda g: g.generation(group))

    def add_group(self, group: OtherGroup) -> None:
        """A share or a streams group, instead of what was there; see ``groups.other_groups``."""
        self.with_groups(lambda g: g.add_other(group))

    def evict(self, group: str, member_id: str) -> None:
        """As LeaveGroup by a stranger: the member learns it from its next request."""
        self.with_groups(lambda g: g.evict(group, member_id))

    def force_rebalance(self, group: str) -> None:
        """Members have to join again."""
        self.with_groups(lambda g: g.force_rebalance(group))

    def configure_groups(self, **settings: Any) -> None:
        """Fields of ``groups.settings.Settings``."""

        def configure(groups: Groups) -> None:
            for name, value in settings.items():
                assert hasattr(groups.settings, name), f"groups have no setting {name}"
                setattr(groups.settings, name, value)

        self.with_groups(configure)
