"""What a cluster would be without some of its nodes, by the rules with which its controller elects leaders. Pure.

The nodes stop in order, as by SIGTERM: the controller takes them out of the ISR and elects other leaders while they are
there. A node that is broker and controller stops the broker first.

What a leader needs to be elected, in this order: to be alive and in the ISR; alive and among the eligible leader
replicas, where nothing is left of the ISR (KIP-966); alive, with unclean.leader.election.enable. A replica that is
stopped leaves the ISR. Compared with what happens on brokers in ``tests/integration/test_cluster_check_outlook.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import PartitionView
from kcli.core.names import coordinator_partition
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import in_sync_required, is_offline

if TYPE_CHECKING:
    from kcli.flows.quorum.majority import Majority

NOBODY = -1


class TopicRules(NamedTuple):
    """The configuration of a topic. ``capped``: see ``requires_capped``."""

    min_isr: int = 1
    unclean: bool = False
    capped: bool = True

    def refuses(self, part: PartitionView) -> bool:
        """Whether records with acks=all are refused by the leader: too few replicas are in sync."""
        return len(part.isr) < in_sync_required(self.min_isr, len(part.replicas), capped=self.capped)

    def is_tight(self, part: PartitionView) -> bool:
        """Whether just as many replicas are in sync as have to be, of several."""
        required = in_sync_required(self.min_isr, len(part.replicas), capped=self.capped)
        return len(part.isr) == required < len(part.replicas)


class Remaining(NamedTuple):
    """A partition after the stop. ``loses``: its leader may lack records (an unclean election). ``stuck``: the ISR has
    replicas that are gone, and no controller takes them out: acks=all waits in vain.
    """

    part: PartitionView
    loses: bool = False
    stuck: bool = False

    @property
    def is_offline(self) -> bool:
        """Whether it has no leader."""
        return is_offline(self.part)

    def refuses(self, rules: TopicRules) -> bool:
        """Whether records with acks=all fail, though there is a leader."""
        return not self.is_offline and (self.stuck or rules.refuses(self.part))


def remaining(
    part: PartitionView, live: Collection[int], rules: TopicRules, *, elects: bool = True
) -> Remaining:
    """The partition when only ``live`` brokers are left. ``elects``: there is a controller."""
    in_sync = tuple(number for number in part.isr if number in live)
    if not elects:
        leader = part.leader if part.leader in live else NOBODY
        return Remaining(part._replace(leader=leader), stuck=len(in_sync) < len(part.isr))
    if part.leader in in_sync:
        return Remaining(part._replace(isr=in_sync))
    if in_sync:
        return Remaining(_led(part, in_sync, in_sync))
    # Brokers that were replicas before a reassignment may be left in the ELR; they are not elected.
    eligible = [number for number in part.replicas if number in (part.elr or ()) and number in live]
    if eligible:
        return Remaining(_led(part, eligible, ()))
    alive = [number for number in part.replicas if number in live]
    if rules.unclean and alive:
        return Remaining(_led(part, alive, ()), loses=True)
    return Remaining(part._replace(leader=NOBODY))


def _led(part: PartitionView, candidates: Collection[int], in_sync: tuple[int, ...]) -> PartitionView:
    """Led by the candidate that is first among the replicas."""
    leader = min(candidates, key=lambda number: (*part.replicas, number).index(number))
    return part._replace(leader=leader, isr=in_sync or (leader,))


class Situation(NamedTuple):
    """What the outlook depends on. ``live`` are the brokers that are registered, not fenced, and respond.

    ``majority`` is that of the controllers, None where it is not known or there are none (ZooKeeper); ``elects``:
    there is an active controller.
    """

    topics: Mapping[str, TopicInfo]
    rules: Mapping[str, TopicRules]
    live: frozenset[int]
    majority: Majority | None
    elects: bool


class Outlook(NamedTuple):
    """What would be worse: partitions that would have no leader, refuse acks=all, or be led by a replica that may lack
    records, and are not so already. ``catching_up``: those without a leader, or refusing, that have other replicas on
    live brokers, which are not in sync: when they are, this changes. ``majority``: that of the controllers, None where
    none is known.
    """

    offline: list[TopicPartition]
    refusing: list[TopicPartition]
    losing: list[TopicPartition]
    catching_up: frozenset[TopicPartition]
    majority: Majority | None


def outlook(situation: Situation, stopped: Collection[int]) -> Outlook:
    """The situation without these nodes."""
    live = situation.live.difference(stopped)
    offline, refusing, losing = list[TopicPartition](), list[TopicPartition](), list[TopicPartition]()
    catching_up = set[TopicPartition]()
    for name, topic in situation.topics.items():
        rules = situation.rules.get(name, TopicRules())
        for part in topic.partitions:
            before = remaining(part, situation.live, rules, elects=situation.elects)
            after = remaining(part, live, rules, elects=situation.elects)
            tp = TopicPartition(name, part.partition)
            if after.is_offline and not before.is_offline:
                offline.append(tp)
            if after.refuses(rules) and not (before.refuses(rules) or before.is_offline):
                refusing.append(tp)
            if after.loses and not before.loses:
                losing.append(tp)
            if situation.elects and live.intersection(part.replicas).difference(
                part.isr, [after.part.leader]
            ):
                catching_up.add(tp)
    majority = situation.majority
    return Outlook(
        offline,
        refusing,
        losing,
        frozenset(catching_up.intersection([*offline, *refusing])),
        None if majority is None else majority.if_stopped(stopped),
    )


def coordinated_by(names: Iterable[str], partitions: Collection[TopicPartition], count: int) -> list[str]:
    """Those of the groups or transactional ids whose coordinator is the leader of one of these ``partitions`` of its
    topic, which has ``count``.
    """
    numbers = {tp.partition for tp in partitions}
    return [name for name in names if coordinator_partition(name, count) in numbers] if numbers else []
