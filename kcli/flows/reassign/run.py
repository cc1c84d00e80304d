"""``kcli reassign run``: moves replicas as a file says: all of it, or nothing where a partition cannot be moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError, NotFoundError, OutcomeUnknownError, PartlyFailedError, TimedOutError
from kcli.core.permissions import on_cluster
from kcli.core.types import TopicPartition
from kcli.files.journal_folder import new_id
from kcli.flows.partition_failures import grouped_failures, partition_names, reason
from kcli.flows.permitted import denied_topics, refusal
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.journal import ReassignmentJournals, clear_throttles
from kcli.flows.reassign.moves import (
    HeldBackError,
    Move,
    OutdatedError,
    planned_moves,
    refusals,
    seconds_at,
    traffic,
)
from kcli.flows.reassign.plan_file import read_plan_file
from kcli.flows.reassign.replicas import ClusterReplicas, survey
from kcli.flows.reassign.throttle import Throttle, planned_throttle, set_throttle, without_existing
from kcli.output.progress import counted, duration_text, size_text
from kcli.output.talk import Talk

_PAUSE = 0.1

MoveItem = Item[TopicPartition, Move]
Wait = Callable[[Admin, Collection[TopicPartition]], int]
"""Waits until the partitions are moved; returns the exit status of the signal that ended it, else 0."""


class ReassignmentRun(Change[TopicPartition, Move]):
    """``path``: the file that says the replicas; ConfigError if it does not. ``rate``: the limit of the throttle, bytes a
    second. ``wait``: to wait for the end; without it a move that was begun is done.
    """

    kind = "Reassignment"
    printed_by = "reassign run"
    also_planned_by = "reassign plan"
    item_meaning = "A partition."
    columns = view.COLUMNS
    plan_keys = report_keys = view.FURTHER
    parts = True
    nothing = "nothing is to be moved: the replicas are as the file says"

    def __init__(self, path: str, rate: int | None, talk: Talk, wait: Wait | None) -> None:
        self.wanted, self.rate, self.talk, self.wait = read_plan_file(path), rate, talk, wait
        self.journal_path: Path | None = None
        self._shown: dict[TopicPartition, Move] = {}
        self._warnings: list[str] = []
        self._refused: set[TopicPartition] = set()
        self._moving: set[TopicPartition] = set()

    # the plan

    def decide(self, admin: Admin) -> list[MoveItem]:
        """A move for each partition of the file. If one of them is refused, none is made."""
        found = survey(admin, {tp.topic for tp in self.wanted})
        moves = planned_moves(self.wanted, found)
        refused = refusals(moves, found, self._shown)
        todo = [move for move in moves if move.needed and move.tp not in refused]
        self._warnings = [*found.unknown_sizes(), *_few_replicas(admin, todo)]
        refused |= self._denied(admin, found, todo)
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

    def _denied(
        self, admin: Admin, found: ClusterReplicas, todo: Sequence[Move]
    ) -> dict[TopicPartition, KcliError]:
        """The moves that are not permitted: reassignments need ALTER on the cluster, a throttle ALTER_CONFIGS too."""
        error = refusal(found.operations, on_cluster("ALTER"), "reassigning partitions")
        own, kept = self._throttle(admin, todo)
        self._warnings += [f"a throttle is kept as it is: {text}" for text in kept]
        if error is None and own.brokers:
            error = refusal(found.operations, on_cluster("ALTER_CONFIGS"), "setting the throttle of brokers")
        if error is not None:
            return {move.tp: error for move in todo}
        topics = denied_topics(admin, list(own.topics), "ALTER_CONFIGS", "setting the throttle of topic {}")
        return {move.tp: topics[move.tp.topic] for move in todo if move.tp.topic in topics}

    def _throttle(self, admin: Admin, todo: Sequence[Move]) -> tuple[Throttle, list[str]]:
        """What is to be set, and what is kept, in words."""
        if self.rate is None:
            return Throttle(0), []
        return without_existing(admin, planned_throttle(todo, self.rate), admin.connect().nodes)

    def text(self, plan: Sequence[MoveItem]) -> str:
        """The plan for people: the moves, and what each broker has and gets."""
        moves = [item.facts for item in plan if item.facts.needed]
        if not moves:
            return ""
        rows = traffic(moves, ())
        head = f"Move replicas of {counted(len(moves), 'partition')}: {view.copied_text(moves)}"
        if self.rate is not None:
            seconds = max(1.0, seconds_at(self.rate, rows))
            head += f", at least {duration_text(seconds)} at {size_text(self.rate)}/s"
        refused = [
            item.key for item in plan if item.error is not None and not isinstance(item.error, HeldBackError)
        ]
        lines = [f"{head}.", *view.moves_table(moves, refused), *view.brokers_table(rows)]
        if self.rate is None and any(move.copied for move in moves):
            lines.append("No throttle: --throttle 50MB/s limits what each broker sends and receives.")
        return "\n".join(lines)

    def questions(self, plan: Sequence[MoveItem]) -> list[Question]:
        """One for all moves."""
        count = sum(item.outcome is Outcome.PLANNED for item in plan)
        return [Question(self.text(plan), f"Move {counted(count, 'partition')}?")]

    def warnings(self, plan: Sequence[MoveItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """Sizes that are not known, too few replicas, throttles that are kept."""
        return self._warnings

    def again(self, item: MoveItem, now: MoveItem | None) -> MoveItem:
        """Sizes grow, and leaders change; ``decide`` has compared the replicas."""
        return super().again(item, now and now._replace(facts=item.facts))

    # the act

    def apply(self, admin: Admin, todo: Sequence[MoveItem]) -> Mapping[TopicPartition, KcliError | None]:
        """Writes the journal, sets the throttle, starts the moves."""
        moves = [item.facts for item in todo]
        journals, number = ReassignmentJournals(admin.cluster_id()), new_id(wall_ms())
        with journals.locked():
            try:
                own = self._throttle(admin, moves)[0] if self.rate is not None else None
                self.journal_path = journals.write(number, moves, own, wall_ms())
                if own is not None:
                    set_throttle(admin, own)
            except (
                OutcomeUnknownError,
                TimedOutError,
            ) as error:  # its answer was lost, and not that of the moves
                raise PartlyFailedError("the throttle was not set", error) from error
            answers = admin.alter_reassignments({move.tp: move.new for move in moves})
        self._refused = {tp for tp, error in answers.items() if error is not None and not is_lost(error)}
        return answers

    def read_back(
        self, admin: Admin, items: Sequence[MoveItem]
    ) -> Mapping[TopicPartition, Found[Move] | KcliError]:
        """How far the moves are; with ``wait``, when they have ended."""
        found = self._observed(admin, [item.facts for item in items])
        if self.wait is not None and self._moving:
            self.stopped_by = self.wait(admin, sorted(self._moving))
            if not self.stopped_by:
                found |= self._observed(admin, [item.facts for item in items if item.key in self._moving])
        return found

    def _observed(self, admin: Admin, moves: Sequence[Move]) -> dict[TopicPartition, Found[Move] | KcliError]:
        """The moves as the cluster shows them; waits a moment until it shows those that were accepted."""
        until = monotonic() + VISIBLE_WITHIN
        while True:
            ongoing = admin.list_reassignments([move.tp for move in moves])
            topics = admin.describe_topics(sorted({move.tp.topic for move in moves}))
            found: dict[TopicPartition, Found[Move] | KcliError] = {}
            for move in moves:
                one = ongoing.get(move.tp)
                if one is not None and set(one.target) == set(move.new):
                    found[move.tp] = Found(move, note="the move has begun, and goes on")
                else:
                    found[move.tp] = _ended(move, topics[move.tp.topic], moving=one is not None)
            self._moving = {tp for tp, one in found.items() if isinstance(one, Found) and one.note}
            open_ones = [
                tp for tp, one in found.items() if not isinstance(one, Found) or one.error is not None
            ]
            if not set(open_ones) - self._refused or monotonic() >= until:
                return found
            admin.cluster.sleep(_PAUSE)

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:
        """Removes the throttles of moves that have ended, or were not begun."""
        return () if dry_run else clear_throttles(admin, self.talk, dry_run=False)

    # what is printed

    def whole(self, item: MoveItem) -> bool:
        """Where the plan is refused, nothing is moved."""
        return item.outcome is Outcome.REFUSED

    def row(self, item: MoveItem) -> dict[str, Any]:
        """The values of the columns."""
        return view.move_row(item.facts)

    def failures(self, items: Sequence[MoveItem]) -> Iterator[KcliError]:
        """An error for each reason, with its partitions."""
        for outcome, what in (
            (Outcome.REFUSED, "{} cannot be moved"),
            (Outcome.FAILED, "the replicas of {} were not moved"),
            (Outcome.UNKNOWN, "it is not known whether the replicas of {} were moved"),
        ):
            errors = {
                item.key: item.error
                for item in items
                if item.outcome is outcome
                if item.error is not None and not isinstance(item.error, HeldBackError)
            }
            yield from grouped_failures(what, errors)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return reason(error)

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


def _ended(move: Move, topic: TopicInfo | KcliError, *, moving: bool) -> Found[Move] | KcliError:
    """What was read back of a move that is not in progress; ``moving``: to other replicas."""
    if isinstance(topic, KcliError) and not isinstance(topic, NotFoundError):
        return topic
    parts = [] if isinstance(topic, KcliError) else topic.partitions
    replicas = next((part.replicas for part in parts if part.partition == move.tp.partition), ())
    if replicas == move.new and not moving:
        return Found(move)
    why = f"its replicas are {view.numbers_text(replicas)}" if replicas else "it does not exist any more"
    do = "the move was cancelled or replaced by another client: `kcli reassign status` shows what is being moved"
    return Found(move, OutdatedError(f"{move.tp} was not moved", why=why, do=do))


def _few_replicas(admin: Admin, todo: Sequence[Move]) -> Iterator[str]:
    """Fewer replicas than min.insync.replicas: producers with acks=all fail."""
    fewest: dict[str, int] = {}
    for move in todo:
        if len(move.new) < len(move.old):
            fewest[move.tp.topic] = min(len(move.new), fewest.get(move.tp.topic, len(move.new)))
    resources = [ConfigResource(ConfigKind.TOPIC, name) for name in fewest]
    found = admin.describe_configs(resources, keys=["min.insync.replicas"]) if resources else {}
    for resource, entries in found.items():
        for entry in [] if isinstance(entries, KcliError) else entries:
            count = fewest[resource.name]
            if entry.name == "min.insync.replicas" and int(entry.value or 1) > count:
                yield (
                    f"{resource} has min.insync.replicas={entry.value}: with {counted(count, 'replica')} "
                    "producers with acks=all fail"
                )
