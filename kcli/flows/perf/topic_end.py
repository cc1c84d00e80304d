"""The end of a topic: where a consumer begins that is to receive what is sent from now on, and up to where it reads."""

from __future__ import annotations

from collections.abc import Callable

from kcli.core.cluster.offsets import LATEST
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.ranges import bounds
from kcli.core.consumer.subscription import Span
from kcli.core.errors import MembershipError
from kcli.core.types import TopicPartition

_LOOK = 0.1


def begin_at_end(consumer: Consumer, topic: str, timeout: float) -> None:
    """All partitions are assigned and the positions are the ends, also in a group, whose only member it must be."""
    numbers = consumer.partitions([topic], timeout)[topic]
    partitions = [TopicPartition(topic, number) for number in numbers]
    if not consumer.options.group_id:
        ends = bounds(consumer, partitions, timeout).ends
        consumer.assign({tp: Span(ends[tp]) for tp in partitions})
        return
    consumer.subscribe([topic])
    deadline = consumer.cluster.deadline(timeout)
    while not (consumer.is_stable and consumer.assignment.issuperset(partitions)):
        if consumer.cluster.loop.now() >= deadline:
            raise shared_group(consumer, topic, len(partitions))
        consumer.poll(_LOOK)
    for tp in partitions:
        consumer.seek(tp, LATEST)
    for tp in partitions:
        consumer.position(tp, timeout)


def read_to_end(
    consumer: Consumer,
    timeout: float,
    receive: Callable[[float], object],
    stopped: Callable[[], bool],
) -> None:
    """Calls ``receive``, which polls, until everything is read that is in the assigned partitions now."""
    ends = bounds(consumer, sorted(consumer.assignment), timeout).ends
    deadline = consumer.cluster.deadline(timeout)
    while any(consumer.position(tp) < end for tp, end in ends.items() if tp in consumer.assignment):
        if stopped() or consumer.cluster.loop.now() >= deadline:
            return
        receive(_LOOK)


def shared_group(consumer: Consumer, topic: str, count: int) -> MembershipError:
    """The error where other partitions than the ``count`` ones of the beginning are assigned to this member."""
    assigned = len(consumer.assignment)
    if assigned > count:
        return added_partitions(topic, assigned, count)
    return MembershipError(
        f"group {consumer.options.group_id}: {assigned} of {count} partitions of {topic} are assigned",
        why="other members have the others, and would receive their records",
        do="use a group without members, or leave -g out",
    )


def added_partitions(topic: str, now: int, before: int) -> MembershipError:
    """The error where records may be in partitions that this consumer does not read from their beginning."""
    return MembershipError(
        f"topic {topic} has {now} partitions now, and had {before} when the test began",
        why="records that were sent to a new partition are not received",
        do="run the test again",
    )
