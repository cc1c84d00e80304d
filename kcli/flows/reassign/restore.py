"""Moves replicas back as journals have them: ``kcli brokers drain --undo``, and ``kcli undo`` of one journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kcli.account.change import Found, Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.journal import Journal, ReplicasEntry, listed
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.change import MoveItem, Moving, ReplicaMoves, StillMovingError
from kcli.flows.reassign.moves import Move, OutdatedError
from kcli.flows.reassign.replicas import ClusterReplicas, survey
from kcli.output.progress import counted

_AS_BEFORE = "its replicas are as before"
_GOES_ON = "the same line goes on; `kcli reassign status --watch` shows how far it is"


class ReplicaRestore(ReplicaMoves):
    """The partitions of ``journals``; None: of all journals of ``command``, such as those of one drain and of the runs
    that went on with it.
    """

    kind = "ReplicaRestore"
    printed_by = "brokers drain, undo"
    item_meaning = "A partition of the journals."
    nothing = "nothing is to be moved back: the replicas are as before"

    def __init__(self, how: Moving, journals: Sequence[Journal] | None = None, *, command: str = "") -> None:
        super().__init__(how)
        self.journals, self.command = journals, command
        self._shown: dict[TopicPartition, Move] = {}

    def decide(self, admin: Admin) -> list[MoveItem]:
        """Refused where the replicas were changed since, and where a broker is not alive."""
        entries = self._entries(admin)
        found = survey(admin, {tp.topic for tp in entries})
        items = [self._item(tp, rows, found) for tp, rows in sorted(entries.items())]
        todo = [item.facts for item in items if item.outcome is Outcome.PLANNED]
        self._warnings = list(found.unknown_sizes())
        denied = self.denied(admin, found, todo)
        self._shown = self._shown or {item.key: item.facts for item in items}
        return [
            item._replace(outcome=Outcome.REFUSED, error=denied[item.key]) if item.key in denied else item
            for item in items
        ]

    def _entries(self, admin: Admin) -> dict[TopicPartition, list[ReplicasEntry]]:
        """By partition, the newest first."""
        cluster = admin.cluster_id()
        journals = self.journals
        if journals is None:
            journals = [journal for journal in listed(cluster)[0] if journal.command == self.command]
            if not journals:
                raise NotFoundError(
                    f"there is no journal of kcli {self.command}",
                    why="the broker was not drained from this machine",
                    do="`kcli undo` lists what can be undone",
                )
        found: dict[TopicPartition, list[ReplicasEntry]] = {}
        for journal in reversed(journals):
            journal.check_cluster(cluster)
            for entry in journal.entries:
                if isinstance(entry, ReplicasEntry):
                    found.setdefault(entry.tp, []).append(entry)
        return found

    def _item(self, tp: TopicPartition, entries: Sequence[ReplicasEntry], found: ClusterReplicas) -> MoveItem:
        part, moving = found.partitions.get(tp), found.ongoing.get(tp)
        if part is None or _is_another(entries[0], found):
            return Item(tp, Move(tp, (), entries[-1].before), Outcome.REFUSED, _gone(tp))
        before = _before(part.replicas, entries)
        old = part.replicas if moving is None else moving.replicas
        move = Move(tp, old, before, part.leader, found.sizes.get(tp))
        if moving is not None and not set(moving.adding) <= set(before):
            self._replaced.add(tp)
        if not before:
            return Item(tp, move._replace(new=old), Outcome.REFUSED, _changed_since(tp, part.replicas))
        if not move.needed and (part.leader == before[0] or before[0] not in part.isr):
            return Item(tp, move, Outcome.UNCHANGED, note=_AS_BEFORE)
        if dead := [number for number in before if number not in found.racks]:
            return Item(tp, move, Outcome.REFUSED, _dead(tp, dead))
        if tp in self._shown and self._shown[tp].old != old and moving is None:
            return Item(tp, move, Outcome.REFUSED, _changed_since(tp, part.replicas))
        return Item(tp, move, note=view.move_note(move) if move.needed else "only the leader")

    def shown(self, plan: Sequence[MoveItem]) -> list[MoveItem]:
        """What is to be moved, and what is refused."""
        return [item for item in plan if item.outcome is not Outcome.UNCHANGED]

    def heading(self, plan: Sequence[MoveItem]) -> str:
        """What is done, the first words of the plan."""
        return f"Move replicas of {counted(len(self.moved(plan)), 'partition')} back"

    def read_back(
        self, admin: Admin, items: Sequence[MoveItem]
    ) -> Mapping[TopicPartition, Found[Move] | KcliError]:
        """What has ended gets its leader back, too."""
        return self.with_preferred_leaders(admin, super().read_back(admin, items))

    def going_on(self, move: Move) -> Found[Move] | KcliError:
        """It is done when the replicas are where they were."""
        return StillMovingError(move.tp, _GOES_ON)

    def summary(self, items: Sequence[MoveItem]) -> Iterator[str]:
        """How many are back."""
        if items:
            yield f"moved the replicas of {counted(len(items), 'partition')} back, read back"


def _before(now: Sequence[int], entries: Sequence[ReplicasEntry]) -> tuple[int, ...]:
    """The replicas before the entries, the newest of which is the first. Empty where it does not lead to those of now.

    An entry that was not acted on, or only by an election, leads from where it begins to there.
    """
    found: tuple[int, ...] = ()
    for entry in entries:
        if set(now) not in (set(entry.after), set(entry.before)):
            break
        now = found = entry.before
    return found


def _is_another(entry: ReplicasEntry, found: ClusterReplicas) -> bool:
    now = found.topic_ids.get(entry.topic, "")
    return bool(entry.topic_id and now and now != entry.topic_id)


def _gone(tp: TopicPartition) -> OutdatedError:
    return OutdatedError(
        f"{tp} cannot be moved back",
        why="it does not exist any more, or its topic was deleted and created again",
        do="nothing was done to it; `kcli topics list` shows the topics that there are",
    )


def _changed_since(tp: TopicPartition, now: Sequence[int]) -> OutdatedError:
    return OutdatedError(
        f"{tp} cannot be moved back",
        why=f"its replicas were changed since: they are {view.numbers_text(now)}",
        do="`kcli reassign plan` makes a plan for it; nothing was done to it",
    )


def _dead(tp: TopicPartition, dead: Sequence[int]) -> OutdatedError:
    return OutdatedError(
        f"{tp} cannot be moved back",
        why=f"broker {view.numbers_text(dead)} is not alive",
        do="start it, and run the same line again",
    )
