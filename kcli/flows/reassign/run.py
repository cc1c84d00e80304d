"""``kcli reassign run``: moves replicas as a file says: all of it, or nothing where a partition cannot be moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from kcli.account.change import Item
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import caps_requirement
from kcli.flows.partition_failures import partition_names
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.change import MoveItem, Moving, ReplicaMoves
from kcli.flows.reassign.moves import (
    FactorChangeError,
    HeldBackError,
    Move,
    planned_moves,
    refusals,
    without_leader,
)
from kcli.flows.reassign.plan_file import read_plan_file
from kcli.flows.reassign.replicas import survey
from kcli.output.progress import counted


class ReassignmentRun(ReplicaMoves):
    """``path``: the file that says the replicas; ConfigError if it does not. Without ``wait`` a move that was begun is
    done. ``same_factor``: a partition that would have more or fewer replicas is refused.
    """

    kind = "Reassignment"
    printed_by = "reassign run"
    also_planned_by = "reassign plan"
    nothing = "nothing is to be moved: the replicas are as the file says"

    def __init__(self, path: str, how: Moving, *, same_factor: bool = False) -> None:
        super().__init__(how)
        self._same_factor = same_factor
        self.wanted = read_plan_file(path)
        self._shown: dict[TopicPartition, Move] = {}

    def decide(self, admin: Admin) -> list[MoveItem]:
        """A move for each partition of the file. If one of them is refused, none is made."""
        found = survey(admin, {tp.topic for tp in self.wanted})
        moves = planned_moves(self.wanted, found)
        refused = refusals(moves, found, self._shown)
        if self._same_factor:
            refused = {move.tp: FactorChangeError(move) for move in moves if move.changes_factor} | refused
        todo = [move for move in moves if move.needed and move.tp not in refused]
        self._warnings = [*found.unknown_sizes(), *without_leader(todo), *few_replicas(admin, todo)]
        refused |= self.denied(admin, found, todo)
        self._shown = self._shown or {move.tp: move for move in moves}
        return [self._item(move, refused) for move in moves]

    def _item(self, move: Move, refused: Mapping[TopicPartition, KcliError]) -> MoveItem:
        if (error := refused.get(move.tp)) is not None:
            return Item(move.tp, move, Outcome.REFUSED, error)
        if not move.needed:
            return Item(move.tp, move, Outcome.UNCHANGED, note=view.move_note(move))
        if refused:
            return Item(move.tp, move, Outcome.REFUSED, HeldBackError())
        return Item(move.tp, move, note=view.move_note(move))

    def whole(self, item: MoveItem) -> bool:
        """Where the plan is refused, nothing is moved."""
        return item.outcome is Outcome.REFUSED

    def summary(self, items: Sequence[MoveItem]) -> Iterator[str]:
        """What has been moved, what is being moved, and how to go back."""
        done = [item for item in items if item.key not in self._moving]
        moving = len(items) - len(done)
        if done:
            yield f"moved the replicas of {counted(len(done), 'partition')}, read back"
        if moving:
            yield (
                f"{counted(moving, 'partition')} {'is' if moving == 1 else 'are'} being moved: "
                "`kcli reassign status --watch` shows how far, and removes a throttle at the end"
            )
        if other := [item.key for item in done if item.facts.new[0] != item.facts.leader]:
            names = partition_names(other)
            yield f"{names}: `kcli elect-leaders` makes the preferred replica the leader, if it is not yet"
        if items:
            yield f"go back with: kcli reassign run {quote(str(self.journal_path))}"


def few_replicas(admin: Admin, todo: Sequence[Move]) -> Iterator[str]:
    """Fewer replicas than brokers require in sync: producers with acks=all fail."""
    fewest: dict[str, int] = {}
    for move in todo:
        if len(move.new) < len(move.old):
            fewest[move.tp.topic] = min(len(move.new), fewest.get(move.tp.topic, len(move.new)))
    resources = [ConfigResource(ConfigKind.TOPIC, name) for name in fewest]
    if not resources or caps_requirement(admin):
        return
    found = admin.describe_configs(resources, keys=["min.insync.replicas"])
    for resource, entries in found.items():
        for entry in [] if isinstance(entries, KcliError) else entries:
            count = fewest[resource.name]
            if entry.name == "min.insync.replicas" and int(entry.value or 1) > count:
                yield (
                    f"{resource} has min.insync.replicas={entry.value}: with {counted(count, 'replica')} "
                    "producers with acks=all fail"
                )
