"""``kcli brokers drain``: moves leaders, then replicas, to other brokers, so that nothing is left on these.

The flow is that of ``kcli reassign run``; here is decided what moves where, and confirmed that nothing is left. Each run
decides by the state of the cluster, so a run that was killed goes on with the same line.

A partition never has fewer replicas in sync by this: only replicas in sync become leaders, and a move ends when all of
the new replicas are in sync, of which there are as many as go (``tests/integration/test_drain_under_load.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.clock import monotonic
from kcli.core.cluster.metadata import PartitionView, no_partition
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.brokers.drain_targets import (
    TooFewBrokersError,
    drain_targets,
    leader_targets,
    led_elsewhere,
)
from kcli.flows.cluster_state import described
from kcli.flows.journal import Draft, ReplicasEntry
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.assignment import Placement
from kcli.flows.reassign.change import BEGUN, MoveItem, Moving, ReplicaMoves, StillMovingError
from kcli.flows.reassign.moves import HeldBackError, Move, OutdatedError, traffic, without_leader
from kcli.flows.reassign.replicas import ClusterReplicas, survey
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column

_PAUSE = 0.1
_GOES_ON = "the same line goes on; with --watch it waits for the end"

Errors = dict[TopicPartition, KcliError]


class UnderReplicatedError(OutdatedError):
    """A replica that is to stay is not in sync: until it is, the partition is left alone."""


class NotDrainedError(KcliError):
    """Something is left on a broker, or came to it during the drain."""

    exit_code = ExitCode.PARTLY


def command_of(numbers: Iterable[int]) -> str:
    """The command in the journals, by which ``--undo`` finds them."""
    return f"brokers drain {' '.join(map(str, sorted(set(numbers))))}"


class BrokerDrain(ReplicaMoves):
    """``numbers``: the brokers. ``leaders_only``: replicas stay. ``rack_aware``: no partition gets on fewer racks."""

    kind = "BrokerDrain"
    printed_by = "brokers drain"
    item_meaning = "A partition that has a replica on the brokers, or is led by them."
    plan_keys = report_keys = (
        *view.FURTHER,
        Column("leader", "id", meaning="Number of the leader when the plan was made; null without one."),
        Column(
            "new_leader", "id", meaning="The preferred leader that it is to have; null where there is none."
        ),
    )

    def __init__(
        self, numbers: Sequence[int], how: Moving, *, leaders_only: bool = False, rack_aware: bool = True
    ) -> None:
        super().__init__(how)
        self.numbers = sorted(set(numbers))
        self.leaders_only, self.rack_aware = leaders_only, rack_aware
        if leaders_only:
            self.subject = "leaders"
        word = "broker" if len(self.numbers) == 1 else "brokers"
        self.name = f"{word} {view.numbers_text(self.numbers)}"
        empty = "leads no partition" if leaders_only else "has no replicas"
        self.nothing = (
            f"nothing is to be moved: {self.name} {empty if len(self.numbers) == 1 else _plural(empty)}"
        )
        self._shown: dict[TopicPartition, Move] = {}
        self._begun: set[TopicPartition] = set()
        self._stay: list[tuple[int, ...]] = []
        self._ids: Mapping[str, str] = {}
        self._reordered = False
        self._empty = False

    # the plan

    def decide(self, admin: Admin) -> list[MoveItem]:
        """An item for each partition on the brokers; all are refused where there are too few other brokers or racks."""
        found = survey(admin)
        self._check_known(admin, found)
        scope = {tp: part for tp, part in sorted(found.partitions.items()) if self._concerns(tp, found)}
        self._begun |= set() if self.leaders_only else {tp for tp in scope if self._leaves(tp, found)}
        refused = {
            tp: error
            for tp, part in scope.items()
            if tp not in self._begun and (error := self._refusal(tp, part, found)) is not None
        }
        todo = {tp: part for tp, part in scope.items() if tp not in self._begun and tp not in refused}
        moves, too_few = self._moves(todo, found)
        self._warnings = list(self._remarks(found, moves))
        refused |= too_few | self.denied(admin, found, moves)
        planned = {move.tp: move for move in moves}
        planned |= {tp: self._shown.get(tp) or _begun(tp, found) for tp in self._begun & scope.keys()}
        self._shown = self._shown or planned
        self._stay = [part.replicas for tp, part in found.partitions.items() if tp not in scope]
        self._ids = found.topic_ids
        items = [self._item(tp, planned.get(tp) or _stays(tp, scope[tp]), refused, too_few) for tp in scope]
        return [*items, *self._strays(admin, found, scope)]

    def _check_known(self, admin: Admin, found: ClusterReplicas) -> None:
        named = {
            number for part in found.partitions.values() for number in part.replicas
        } | found.racks.keys()
        if set(self.numbers) <= named:
            return
        named |= {broker.node.id for broker in described(admin).brokers}
        for number in self.numbers:
            if number not in named:
                raise NotFoundError(
                    f"the cluster has no broker {number}",
                    why=f"it has {view.numbers_text(sorted(named)) or 'none'}",
                    do="`kcli brokers list` lists the brokers",
                )

    def _concerns(self, tp: TopicPartition, found: ClusterReplicas) -> bool:
        """Whether the partition is on the brokers; of leaders only, whether they lead it or would again."""
        part = found.partitions[tp]
        if self.leaders_only:
            return part.leader in self.numbers or part.replicas[0] in self.numbers
        moving = found.ongoing.get(tp)
        held = part.replicas if moving is None else moving.replicas
        return not set(self.numbers).isdisjoint(held)

    def _leaves(self, tp: TopicPartition, found: ClusterReplicas) -> bool:
        """Whether the partition is being moved away from the brokers, by an earlier run as a rule."""
        return tp in found.ongoing and set(self.numbers).isdisjoint(found.ongoing[tp].target)

    def _refusal(self, tp: TopicPartition, part: PartitionView, found: ClusterReplicas) -> KcliError | None:
        if tp in found.ongoing:
            return OutdatedError(
                f"{tp} cannot be moved",
                why="it is being moved to other replicas",
                do="wait for it with `kcli reassign status --watch`, or cancel it: "
                f"`kcli reassign cancel --topic {tp.topic}`",
            )
        shown = self._shown.get(tp)
        if shown is not None and shown.old != part.replicas:
            return OutdatedError(
                f"{tp} cannot be moved",
                why="it is not as it was when the plan was shown: its replicas were changed meanwhile",
                do="run it again; nothing was done to it",
            )
        return self._unsafe(tp, part)

    def _unsafe(self, tp: TopicPartition, part: PartitionView) -> KcliError | None:
        """Why a partition is left alone now: it has no leader, or a replica that is to stay is not in sync."""
        if part.leader < 0:
            return OutdatedError(
                f"{tp} cannot be moved",
                why="it has no leader, so nothing can be copied",
                do="start a broker that has a replica in sync; `kcli cluster describe` shows it",
            )
        late = [number for number in part.replicas if number not in part.isr and number not in self.numbers]
        if late:
            return UnderReplicatedError(
                f"{tp} cannot be moved",
                why=f"the replica on broker {view.numbers_text(late)} is not in sync",
                do="wait until it is, and run the same line again; `kcli topics describe --under-replicated` shows it",
            )
        return None

    def _moves(
        self,
        todo: Mapping[TopicPartition, PartitionView],
        found: ClusterReplicas,
    ) -> tuple[list[Move], dict[TopicPartition, TooFewBrokersError]]:
        """Where the partitions go; as the plan was shown, if it was."""
        if self._shown:
            return [self._shown[tp] for tp in todo if tp in self._shown], {}
        rows = {tp: _placement(tp, part, found) for tp, part in found.partitions.items()}
        others = [row for tp, row in rows.items() if tp not in todo]
        placed = [rows[tp] for tp in todo]
        if self.leaders_only:
            wanted, refused = leader_targets(placed, others, self.numbers)
        else:
            candidates = found.racks.keys() - set(self.numbers) - found.cordoned
            aware = self.rack_aware and all(found.racks[number] is not None for number in candidates)
            wanted, refused = drain_targets(
                placed, others, found.racks, self.numbers, candidates, rack_aware=aware
            )
        moves = [
            Move(tp, part.replicas, wanted[tp], part.leader, found.sizes.get(tp))
            for tp, part in todo.items()
            if tp in wanted
        ]
        return moves, refused

    def _item(
        self,
        tp: TopicPartition,
        move: Move,
        refused: Mapping[TopicPartition, KcliError],
        too_few: Mapping[TopicPartition, TooFewBrokersError],
    ) -> MoveItem:
        if (error := refused.get(tp)) is not None:
            return Item(tp, move, Outcome.REFUSED, error)
        if too_few and not self.leaders_only:
            return Item(tp, move, Outcome.REFUSED, HeldBackError())
        if tp in self._begun:
            return Item(tp, move, note=BEGUN)
        return Item(tp, move, note=view.move_note(move) if move.needed else "only the leader")

    def _remarks(self, found: ClusterReplicas, moves: Sequence[Move]) -> Iterator[str]:
        yield from found.unknown_sizes()
        yield from without_leader(moves)
        for number in self.numbers:
            if number not in found.racks:
                yield f"broker {number} is not alive: only what DescribeTopics shows of it can be seen, not its disks"
        left = {number: rack for number, rack in found.racks.items() if number not in self.numbers}
        without = [number for number, rack in left.items() if rack is None]
        if not self.leaders_only and self.rack_aware and 0 < len(without) < len(left):
            yield f"racks are ignored: broker {view.numbers_text(without)} has none (broker.rack)"
        for row in traffic(moves, ()):
            if row.received > found.free.get(row.broker, row.received):
                free = size_text(found.free[row.broker])
                yield f"broker {row.broker} receives {size_text(row.received)}, and has {free} left on its disks"

    def _strays(
        self, admin: Admin, found: ClusterReplicas, scope: Collection[TopicPartition]
    ) -> list[MoveItem]:
        """What is on the disks of the brokers, and in no description of a topic. What was just moved or deleted is for a
        moment.
        """
        if self.leaders_only:
            return []
        until = monotonic() + VISIBLE_WITHIN
        while strays := self._on_disks(admin, found.racks) - set(scope):
            if monotonic() >= until:
                break
            admin.cluster.sleep(_PAUSE)
        return [Item(tp, Move(tp, (), ()), Outcome.REFUSED, _stray(tp, self.name)) for tp in sorted(strays)]

    def _on_disks(self, admin: Admin, live: Collection[int]) -> set[TopicPartition]:
        """The replicas in the log directories of those of the brokers that are alive; raises if one does not say."""
        numbers = [number for number in self.numbers if number in live]
        held = set()
        for directories in (admin.describe_log_dirs(broker_ids=numbers) if numbers else {}).values():
            if isinstance(directories, KcliError):
                raise directories
            held |= {tp for directory in directories for tp in directory.replicas}
        return held

    def shown(self, plan: Sequence[MoveItem]) -> list[MoveItem]:
        """All but what is on disks only."""
        return [item for item in plan if item.facts.old]

    def again(self, item: MoveItem, now: MoveItem | None) -> MoveItem:
        """A move that had begun may have ended since the plan, which is read back."""
        return item if now is None and item.key in self._begun else super().again(item, now)

    def heading(self, plan: Sequence[MoveItem]) -> str:
        """What is done, the first words of the plan."""
        moves = self.moved(plan)
        if self.leaders_only:
            return f"Have other brokers lead {counted(len(moves), 'partition')} of {self.name}"
        led = sum(move.leader in self.numbers for move in moves)
        who = "it leads" if len(self.numbers) == 1 else "they lead"
        return f"Drain {self.name}: {counted(len(moves), 'partition')}, of which {who} {led:,}, leaders first"

    def stay(self) -> Iterable[tuple[int, ...]]:
        """Those of all other partitions."""
        return self._stay

    def questions(self, plan: Sequence[MoveItem]) -> list[Question]:
        """One for all moves."""
        count = counted(sum(item.outcome is Outcome.PLANNED for item in plan), "partition")
        what = f"Have other brokers lead {count}?" if self.leaders_only else f"Drain {self.name} of {count}?"
        return [Question(self.text(plan), what)]

    def journal(self, admin: Admin, todo: Sequence[MoveItem]) -> Draft | None:  # noqa: ARG002
        """The replicas before; of moves that go on already, the journal of the run that began them has them."""
        entries = [
            ReplicasEntry(
                item.key.topic,
                self._ids.get(item.key.topic, ""),
                item.key.partition,
                item.facts.old,
                item.facts.new,
            )
            for item in todo
            if item.key not in self._begun
        ]
        return Draft(command_of(self.numbers), entries) if entries else None

    # the act

    def act(self, admin: Admin, plan: Sequence[MoveItem]) -> list[MoveItem]:
        """The moves; then a look at what is left on the brokers."""
        after = super().act(admin, plan)
        self.may_have_changed = self.may_have_changed or self._reordered
        return after if self.stopped_by else self._confirmed(admin, after)

    def apply(self, admin: Admin, todo: Sequence[MoveItem]) -> Mapping[TopicPartition, KcliError | None]:
        """Leaders first; then replicas, of those whose leader could be moved. Before each step it looks again."""
        moves = [item.facts for item in todo if item.key not in self._begun]
        failed = self._move_leaders(admin, moves)
        if not self.leaders_only:
            failed |= self._not_now(admin, [move for move in moves if move.tp not in failed])
        self._refused |= failed.keys()
        answers: dict[TopicPartition, KcliError | None] = {item.key: failed.get(item.key) for item in todo}
        if not self.leaders_only:
            answers |= self.start(admin, [move for move in moves if move.tp not in failed])
        return answers

    def _not_now(self, admin: Admin, moves: Sequence[Move]) -> Errors:
        """The partitions that are to be left alone, by their state now."""
        topics = admin.describe_topics(sorted({move.tp.topic for move in moves})) if moves else {}
        found: Errors = {}
        for move in moves:
            part = _part(topics[move.tp.topic], move.tp)
            error = part if isinstance(part, KcliError) else self._unsafe(move.tp, part)
            if error is not None:
                found[move.tp] = error
        return found

    def _move_leaders(self, admin: Admin, moves: Sequence[Move]) -> Errors:
        """Makes replicas on other brokers preferred, and elects them. Returns the partitions where that failed."""
        orders = {
            move.tp: led_elsewhere(move.old, move.new, self.numbers)
            for move in moves
            if move.leader in self.numbers or move.old[0] in self.numbers
        }
        turns = [move for move in moves if orders.get(move.tp)]
        failed = self._not_now(admin, turns)
        changed = {
            move.tp: orders[move.tp]
            for move in turns
            if move.tp not in failed and orders[move.tp] != move.old
        }
        self._reordered = bool(changed)
        answers = admin.alter_reassignments(changed) if changed else {}
        led = [move.tp for move in turns if move.leader in self.numbers]
        failed |= {tp: error for tp, error in answers.items() if error is not None}
        led = [tp for tp in led if tp not in failed]
        self._reordered = self._reordered or bool(led)
        elected = admin.elect_leaders(led) if led else {}
        failed |= {tp: error for tp, error in elected.items() if error is not None}
        self._wait_for_leaders(admin, [tp for tp in led if tp not in failed])
        return failed

    def _wait_for_leaders(self, admin: Admin, partitions: Collection[TopicPartition]) -> None:
        """Until brokers have received them, so that copying begins at the new leaders."""
        until = monotonic() + VISIBLE_WITHIN
        while partitions and monotonic() < until:
            topics = admin.describe_topics(sorted({tp.topic for tp in partitions}))
            parts = {tp: _part(topics[tp.topic], tp) for tp in partitions}
            partitions = [
                tp
                for tp, part in parts.items()
                if not isinstance(part, KcliError) and part.leader in self.numbers
            ]
            if partitions:
                admin.cluster.sleep(_PAUSE)

    def read_back(
        self, admin: Admin, items: Sequence[MoveItem]
    ) -> Mapping[TopicPartition, Found[Move] | KcliError]:
        """Where a replica that was copied is to lead, it leads at the end."""
        return self.with_preferred_leaders(admin, super().read_back(admin, items))

    def going_on(self, move: Move) -> Found[Move] | KcliError:
        """A drain is done when nothing is left."""
        return StillMovingError(move.tp, _GOES_ON)

    def ended(self, move: Move, topic: TopicInfo | KcliError, *, moving: bool) -> Found[Move] | KcliError:
        """Its leader is another broker, too."""
        found = super().ended(move, topic, moving=moving)
        part = _part(topic, move.tp)
        if isinstance(found, KcliError) or found.error is not None or isinstance(part, KcliError):
            return found
        if part.leader in self.numbers:
            return Found(move, _left(move.tp, f"broker {part.leader} leads it"))
        return found

    def _confirmed(self, admin: Admin, after: list[MoveItem]) -> list[MoveItem]:
        """The items, where what is left on the brokers has an error; what came to them meanwhile is added."""
        open_ones = {item.key for item in after if item.error is not None}
        until = monotonic() + VISIBLE_WITHIN
        try:
            while (left := self._still_there(admin, open_ones)) and monotonic() < until:
                admin.cluster.sleep(_PAUSE)
        except KcliError as error:
            return [
                item._replace(outcome=Outcome.UNKNOWN, error=error) if item.error is None else item
                for item in after
            ]
        self._empty = not left and not open_ones and not self.leaders_only
        known = {item.key for item in after}
        items = [
            item._replace(outcome=Outcome.FAILED, error=_left(item.key, left[item.key]))
            if item.key in left
            else item
            for item in after
        ]
        came = [
            Item(tp, Move(tp, (), ()), Outcome.FAILED, _left(tp, f"{why}: it came during the drain"))
            for tp, why in sorted(left.items())
            if tp not in known
        ]
        return [*items, *came]

    def _still_there(self, admin: Admin, without: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        """What is on the brokers, by descriptions of topics and by log directories, and why."""
        drained, left = set(self.numbers), {}
        for topic in admin.list_topics():
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition)
                if self.leaders_only:
                    if part.leader in drained:
                        left[tp] = f"broker {part.leader} leads it"
                elif held := drained.intersection(part.replicas):
                    left[tp] = f"broker {view.numbers_text(sorted(held))} has a replica"
        if not self.leaders_only:
            for tp in self._on_disks(admin, admin.connect().nodes):
                left.setdefault(tp, f"a log directory of {self.name} has it")
        return {tp: why for tp, why in left.items() if tp not in without}

    # what is printed

    def whole(self, item: MoveItem) -> bool:
        """Where brokers or racks are too few, nothing is moved."""
        return isinstance(item.error, TooFewBrokersError | HeldBackError) and not self.leaders_only

    def row(self, item: MoveItem) -> dict[str, Any]:
        """The values of the columns."""
        move = item.facts
        return view.move_row(move) | {
            "leader": move.leader if move.leader >= 0 else None,
            "new_leader": move.new[0] if move.new else None,
        }

    def summary(self, items: Sequence[MoveItem]) -> Iterator[str]:
        """What was moved."""
        if not items:
            return
        count = counted(len(items), "partition")
        if self.leaders_only:
            yield f"other brokers lead {count}, read back; replicas stay on {self.name}"
        else:
            yield f"moved the replicas of {count} away from {self.name}, read back"
        if self._empty:
            yield f"nothing is left on {self.name}; new topics may be placed there until it is stopped"


def _plural(words: str) -> str:
    return words.replace("leads", "lead").replace("has", "have")


def _placement(tp: TopicPartition, part: PartitionView, found: ClusterReplicas) -> Placement:
    return Placement(tp, part.replicas, part.leader, found.sizes.get(tp, 0))


def _begun(tp: TopicPartition, found: ClusterReplicas) -> Move:
    moving = found.ongoing[tp]
    return Move(tp, moving.before, moving.target, found.partitions[tp].leader, found.sizes.get(tp))


def _stays(tp: TopicPartition, part: PartitionView) -> Move:
    return Move(tp, part.replicas, part.replicas, part.leader)


def _part(topic: TopicInfo | KcliError, tp: TopicPartition) -> PartitionView | KcliError:
    if isinstance(topic, KcliError):
        return topic
    found = next((part for part in topic.partitions if part.partition == tp.partition), None)
    return no_partition(tp, len(topic.partitions)) if found is None else found


def _left(tp: TopicPartition, why: str) -> NotDrainedError:
    return NotDrainedError(f"{tp} was not moved", why=why, do="run the same line again")


def _stray(tp: TopicPartition, name: str) -> NotDrainedError:
    return NotDrainedError(
        f"{tp} cannot be moved",
        why=f"a log directory of {name} has it, and no description of a topic: it is being deleted, or hidden from "
        "this client",
        do="run the same line again in a minute, as a user that may describe all topics",
    )
