"""Replication factors and replicas that topics are to have: the moves that lead there. A part of ``kcli apply``.

Each run decides by the state of the cluster. A move that an earlier run has begun, and that leads to what is wanted, is
waited for. A topic is moved as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from kcli.account.change import Found, Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.journal import ReplicasEntry
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.assignment import Placement, assignment
from kcli.flows.reassign.change import BEGUN, MoveItem, Moving, ReplicaMoves, StillMovingError
from kcli.flows.reassign.moves import (
    HeldBackError,
    Move,
    OutdatedError,
    planned_moves,
    refusals,
    without_leader,
)
from kcli.flows.reassign.replicas import ClusterReplicas, survey
from kcli.flows.reassign.run import few_replicas
from kcli.output.progress import counted

_GOES_ON = "the same line goes on; `kcli reassign status --watch` shows how far it is"
_CORRECT = "correct spec.assignment in the file"
_TO_BE_ADDED = "once it was added"


class Wanted(NamedTuple):
    """The replicas of a topic: a number for each of its partitions, or the brokers by partition."""

    factor: int | None = None
    replicas: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class TopicPlacement(ReplicaMoves):
    """``wanted`` by topic. ``partitions``: how many a topic will have, where some are added before the moves."""

    kind = "Reassignment"
    nothing = ""

    def __init__(self, wanted: Mapping[str, Wanted], partitions: Mapping[str, int], how: Moving) -> None:
        super().__init__(how)
        self.wanted, self._partitions = wanted, partitions
        self._shown: dict[TopicPartition, Move] = {}
        self._begun: set[TopicPartition] = set()
        self._decided: list[MoveItem] = []
        self._ids: Mapping[str, str] = {}

    def decide(self, admin: Admin) -> list[MoveItem]:
        """The partitions that are to be moved, or are being moved there."""
        found = survey(admin, set(self.wanted))
        self._ids = found.topic_ids
        moves, refused = self._moves(found)
        todo = [move for move in moves if move.old and move.tp not in refused and move.tp not in self._begun]
        self._warnings = [*found.unknown_sizes(), *without_leader(todo), *few_replicas(admin, todo)]
        refused |= self.denied(admin, found, todo)
        held = {tp.topic for tp in refused}
        self._shown = self._shown or {move.tp: move for move in moves if move.old}
        self._decided = [self._item(move, refused, held_back=move.tp.topic in held) for move in moves]
        return self._decided

    def _moves(self, found: ClusterReplicas) -> tuple[list[Move], dict[TopicPartition, KcliError]]:
        replicas: dict[TopicPartition, tuple[int, ...]] = {}
        refused: dict[TopicPartition, KcliError] = {}
        new: list[Move] = []
        for topic, wanted in self.wanted.items():
            there = {tp: part for tp, part in found.partitions.items() if tp.topic == topic}
            if wanted.factor is None:
                for number, brokers in wanted.replicas.items():
                    tp = TopicPartition(topic, number)
                    if tp in there or number >= self._partitions.get(topic, 0):
                        replicas[tp] = brokers
                    else:
                        new.append(Move(tp, (), brokers))
                continue
            try:
                replicas |= self._by_factor(there, wanted.factor, found)
            except ConfigError as error:
                first = min(there)
                refused[first] = OutdatedError(
                    f"topic {topic} cannot have {counted(wanted.factor, 'replica')}",
                    why=f"{error.what}: {error.why}",
                    do="correct the number of replicas, or start another broker",
                )
                replicas[first] = there[first].replicas
        moves = []
        for move in planned_moves(replicas, found):
            moving = found.ongoing.get(move.tp)
            if moving is not None and moving.target == move.new:
                self._begun.add(move.tp)
                moves.append(move._replace(old=moving.before))
            elif move.needed or move.tp in refused:
                moves.append(move)
        begun = [move for move in moves if move.tp not in self._begun]
        return [*moves, *new], refusals(begun, found, self._shown, _CORRECT) | refused

    def _by_factor(
        self, there: Mapping[TopicPartition, PartitionView], factor: int, found: ClusterReplicas
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """The partitions with another number of replicas, and those that are being moved to this one."""
        other = [
            Placement(tp, part.replicas, part.leader, found.sizes.get(tp, 0))
            for tp, part in sorted(there.items())
            if len(part.replicas) != factor
        ]
        racks = {number: rack for number, rack in found.racks.items() if number not in found.cordoned}
        shown = {tp: move.new for tp, move in self._shown.items() if tp in there}
        moving = {tp: found.ongoing[tp].target for tp in there if tp in found.ongoing}
        here = {tp: brokers for tp, brokers in moving.items() if len(brokers) == factor}
        return assignment(other, racks, factor) | shown | here

    def _item(self, move: Move, refused: Mapping[TopicPartition, KcliError], *, held_back: bool) -> MoveItem:
        if (error := refused.get(move.tp)) is not None:
            return Item(move.tp, move, Outcome.REFUSED, error)
        if held_back:
            return Item(move.tp, move, Outcome.REFUSED, HeldBackError())
        if move.tp in self._begun:
            return Item(move.tp, move, note=BEGUN)
        return Item(move.tp, move, note=view.move_note(move) if move.old else _TO_BE_ADDED)

    def heading(self, plan: Sequence[MoveItem]) -> str:
        """What is done, the first words of the plan."""
        topics = dict.fromkeys(item.key.topic for item in self.shown(plan))
        return f"{super().heading(plan)} of {counted(len(topics), 'topic')}"

    def decided_again(self, admin: Admin, plan: Sequence[MoveItem]) -> list[MoveItem]:
        """With the partitions that were added since the plan."""
        known = {item.key for item in plan}
        again = super().decided_again(admin, plan)
        return [*again, *(item for item in self._decided if item.key not in known)]

    def again(self, item: MoveItem, now: MoveItem | None) -> MoveItem:
        """A move that had begun may have ended since the plan, and a partition that was added since may be where it is
        wanted: both are read back.
        """
        if now is None and not item.facts.old:
            self._begun.add(item.key)
        if now is None and item.key in self._begun:
            return item
        return now if now is not None and not item.facts.old else super().again(item, now)

    def entries(self, todo: Sequence[MoveItem]) -> list[ReplicasEntry]:
        """For the journal: the replicas before; of moves that go on already, that of the run that began them has them."""
        return [
            ReplicasEntry(
                item.key.topic,
                self._ids.get(item.key.topic, ""),
                item.key.partition,
                item.facts.old,
                item.facts.new,
            )
            for item in todo
            if item.key not in self._begun and item.facts.old
        ]

    def apply(self, admin: Admin, todo: Sequence[MoveItem]) -> dict[TopicPartition, KcliError | None]:
        """Starts the moves that have not begun."""
        answers = self.start(admin, [item.facts for item in todo if item.key not in self._begun])
        return {item.key: answers.get(item.key) for item in todo}

    def going_on(self, move: Move) -> Found[Move] | KcliError:
        """It is done when the replicas are there."""
        return StillMovingError(move.tp, _GOES_ON)

    def summary(self, items: Sequence[MoveItem]) -> Iterator[str]:
        """How many were moved."""
        if items:
            yield f"moved the replicas of {counted(len(items), 'partition')}, read back"
