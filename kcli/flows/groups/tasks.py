"""The tasks of streams groups (KIP-1071): which member has each, and how much of its input is unread. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.group_description import GroupDescription, MemberDescription
    from kcli.core.admin.streams_members import Subtopology, Task
    from kcli.flows.groups.offsets import Position, Positions

ASSIGNED, REVOKED, AWAITED = "assigned", "to be revoked", "to be assigned"


class OwnedTask(NamedTuple):
    """A task of a member. ``role`` is active, standby or warmup, ``state`` whether the member is to keep it, to lose it,
    or to get it. ``inputs``: the topics that it reads. ``lag``: the sum of what is unread of its partitions, of an active
    task; None where that is not known. ``restoring``: records of its changelogs that it has not restored, as far as its
    member reports it.
    """

    task: Task
    role: str
    state: str
    member: MemberDescription
    inputs: tuple[str, ...]
    lag: int | None
    restoring: int | None

    @property
    def name(self) -> str:
        """As Kafka writes it: ``0_1``."""
        return f"{self.task.subtopology}_{self.task.partition}"


def owned_tasks(group: GroupDescription, positions: Positions) -> list[OwnedTask]:
    """All tasks that members have or are to have, by number and role."""
    parts = {part.id: part for part in group.subtopologies or ()}
    found = [one for member in group.members for one in _of_member(member, parts, positions)]
    order = ("active", "standby", "warmup")
    return sorted(found, key=lambda one: (one.task, order.index(one.role), one.member.member_id))


def _of_member(
    member: MemberDescription, parts: dict[str, Subtopology], positions: Positions
) -> Iterator[OwnedTask]:
    if member.tasks is None or member.target_tasks is None:
        return
    for role in member.tasks._fields:
        now, target = getattr(member.tasks, role), getattr(member.target_tasks, role)
        for task in dict.fromkeys((*now, *target)):
            state = AWAITED if task not in now else ASSIGNED if task in target else REVOKED
            part = parts.get(task.subtopology)
            inputs = () if part is None else part.inputs
            reads = role == "active" and part is not None
            lag = task_lag(task, inputs, positions) if reads else None
            yield OwnedTask(task, role, state, member, inputs, lag, _restoring(member, task))


def task_lag(task: Task, inputs: Sequence[str], positions: Positions) -> int | None:
    """What is unread of the task's partition of each input; None where that of one is not known."""
    read = [positions.get(TopicPartition(topic, task.partition)) for topic in inputs]
    lags = [_unread(one) for one in read if one is not None]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if lags and len(known) == len(lags) else None


def _unread(position: Position) -> int | None:
    """An empty log has nothing unread, whatever is committed."""
    empty = position.end is not None and position.end == position.log_start
    return 0 if empty and position.committed is None else position.lag


def _restoring(member: MemberDescription, task: Task) -> int | None:
    if member.streams is None:
        return None
    at, end = dict(member.streams.offsets).get(task), dict(member.streams.end_offsets).get(task)
    return None if at is None or end is None else max(0, end - at)
