"""One step of a KIP-848 member towards its target; pure. Kafka's CurrentAssignmentBuilder is the model.

A member first gives up what it shall not have (and stays in its epoch until it reports so), then goes to the
target's epoch with what is free, then gets the rest as others release it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fake.groups.consumer_group import ConsumerMember, Progress
from tests.fake.groups.topics import Place


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of the member."""

    progress: Progress
    epoch: int
    assigned: dict[Place, int]
    revoking: dict[Place, int]


def next_step(
    member: ConsumerMember,
    target: frozenset[Place],
    target_epoch: int,
    owned: frozenset[Place] | None,
    is_free: Callable[[Place], bool],
) -> Step:
    """``owned`` is what the member reports to hold; None when its heartbeat does not tell.

    ``is_free`` is about other members: what this one just gave up it may get again.
    """
    if member.progress is Progress.UNREVOKED and (owned is None or owned & member.revoking.keys()):
        return Step(member.progress, member.epoch, member.assigned, member.revoking)
    kept = {place: at for place, at in member.assigned.items() if place in target}
    surplus = {place: at for place, at in member.assigned.items() if place not in target}
    if surplus and (owned is None or owned & surplus.keys()):
        return Step(Progress.UNREVOKED, member.epoch, kept, surplus)
    wanted = target - kept.keys()
    free = {place for place in wanted if is_free(place)}
    progress = Progress.STABLE if free == wanted else Progress.UNRELEASED
    return Step(progress, target_epoch, kept | dict.fromkeys(free, target_epoch), {})
