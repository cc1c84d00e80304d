"""What all changes that move replicas share: the throttle, the journal, the start, the progress, the read-back.

Which replicas a partition is to have, and what forbids it, is decided by ``run.py``, ``restore.py`` and
``flows/brokers/drain.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic, wall_ms
from kcli.core.error_codes import NO_REASSIGNMENT_IN_PROGRESS
from kcli.core.errors import (
    BrokerError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    PartlyFailedError,
    TimedOutError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_cluster
from kcli.core.types import TopicPartition
from kcli.files.journal_folder import new_id
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.flows.permitted import denied_topics, refusal
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign import rows as view
from kcli.flows.reassign.journal import ReassignmentJournals, clear_throttles
from kcli.flows.reassign.moves import HeldBackError, Move, OutdatedError, seconds_at, traffic
from kcli.flows.reassign.replicas import ClusterReplicas
from kcli.flows.reassign.throttle import Throttle, planned_throttle, set_throttle, without_existing
from kcli.output.progress import counted, duration_text, size_text
from kcli.output.tables import Column
from kcli.output.talk import Talk

MoveItem = Item[TopicPartition, Move]
Wait = Callable[[Admin, Collection[TopicPartition]], int]
"""Waits until the partitions are moved; returns the exit status of the signal that ended it, else 0."""

BEGUN = "the move has begun, and goes on"
_PAUSE = 0.1


class StillMovingError(KcliError):
    """A move has begun, and has not ended: what was asked for is not done yet."""

    exit_code = ExitCode.PARTLY

    def __init__(self, tp: TopicPartition, do: str) -> None:
        super().__init__(f"{tp} is still being moved", why=BEGUN, do=do)


class Moving(NamedTuple):
    """How replicas are moved: at most ``rate`` bytes a second (None: no limit), with ``wait`` to wait for the end."""

    talk: Talk
    rate: int | None = None
    wait: Wait | None = None


class ReplicaMoves(Change[TopicPartition, Move]):
    """Moves of replicas, one for each partition."""

    columns = view.COLUMNS
    plan_keys: Sequence[Column] = view.FURTHER
    report_keys: Sequence[Column] = view.FURTHER
    item_meaning = "A partition."
    parts = True
    subject = "replicas"
    """What of a partition is moved, in errors."""

    def __init__(self, how: Moving) -> None:
        self.rate, self.talk, self.wait = how.rate, how.talk, how.wait
        self.journal_path: Path | None = None
        self._warnings: list[str] = []
        self._refused: set[TopicPartition] = set()
        self._replaced: set[TopicPartition] = set()
        self._moving: set[TopicPartition] = set()

    # the plan

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(topics=True, permissions=True)

    def denied(
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

    def heading(self, plan: Sequence[MoveItem]) -> str:
        """What is done, the first words of the plan."""
        return f"Move replicas of {counted(len(self.moved(plan)), 'partition')}"

    def stay(self) -> Iterable[tuple[int, ...]]:
        """The replicas of partitions that are not in the plan, where what brokers have counts them."""
        return ()

    def shown(self, plan: Sequence[MoveItem]) -> list[MoveItem]:
        """The items that the text of the plan shows."""
        return [item for item in plan if item.facts.needed]

    def moved(self, plan: Sequence[MoveItem]) -> list[Move]:
        """Of these the moves that are not refused."""
        return [item.facts for item in self.shown(plan) if not _is_refused(item)]

    def text(self, plan: Sequence[MoveItem]) -> str:
        """The plan for people: the moves, and what each broker has and gets."""
        items, moves = self.shown(plan), self.moved(plan)
        if not items:
            return ""
        rows = traffic(moves, (), others=self.stay())
        head = self.heading(plan)
        if any(move.adding for move in moves):
            head += f": {view.copied_text(moves)}"
            if self.rate is not None:
                seconds = max(1.0, seconds_at(self.rate, rows))
                head += f", at least {duration_text(seconds)} at {size_text(self.rate)}/s"
        notes = {item.key: "refused" if _is_refused(item) else item.note for item in items}
        lines = [f"{head}.", *view.moves_table([item.facts for item in items], notes)]
        if moves:
            lines += view.brokers_table(rows)
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
        """Starts the moves."""
        return self.start(admin, [item.facts for item in todo])

    def start(self, admin: Admin, moves: Sequence[Move]) -> dict[TopicPartition, KcliError | None]:
        """Writes the journal, sets the throttle, starts the moves."""
        if not moves:
            return {}
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
            answers = self._cancelled(admin, [move.tp for move in moves if move.tp in self._replaced])
            wanted = {move.tp: move.new for move in moves if answers.get(move.tp) is None}
            answers |= admin.alter_reassignments(wanted)
        self._refused |= {tp for tp, error in answers.items() if error is not None and not is_lost(error)}
        return answers

    def _cancelled(
        self, admin: Admin, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, KcliError | None]:
        """Ends the moves that others take the place of. A KRaft controller would go on to add the replicas that the new
        move removes, and never end.
        """
        answers = admin.alter_reassignments(dict.fromkeys(partitions)) if partitions else {}
        return {
            tp: None
            if isinstance(error, BrokerError) and error.code == NO_REASSIGNMENT_IN_PROGRESS
            else error
            for tp, error in answers.items()
        }

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
            self._moving = {
                move.tp
                for move in moves
                if (one := ongoing.get(move.tp)) is not None and set(one.target) == set(move.new)
            }
            found = {
                move.tp: self.going_on(move)
                if move.tp in self._moving
                else self.ended(move, topics[move.tp.topic], moving=move.tp in ongoing)
                for move in moves
            }
            open_ones = {
                tp for tp, one in found.items() if not isinstance(one, Found) or one.error is not None
            }
            if not open_ones - self._moving - self._refused or monotonic() >= until:
                return found
            admin.cluster.sleep(_PAUSE)

    def with_preferred_leaders(
        self, admin: Admin, found: Mapping[TopicPartition, Found[Move] | KcliError]
    ) -> dict[TopicPartition, Found[Move] | KcliError]:
        """What was found, after an election of the preferred leaders where moves have ended; a note where that failed."""
        judged = dict(found)
        done = [tp for tp, one in found.items() if isinstance(one, Found) and one.error is None]
        for tp, error in (admin.elect_leaders(done) if done else {}).items():
            one = judged[tp]
            if error is not None and isinstance(one, Found):
                judged[tp] = one._replace(
                    note=f"its preferred replica does not lead it: {error.why or error}"
                )
        return judged

    def going_on(self, move: Move) -> Found[Move] | KcliError:
        """What is found of a move that has begun, and goes on."""
        return Found(move, note=BEGUN)

    def ended(self, move: Move, topic: TopicInfo | KcliError, *, moving: bool) -> Found[Move] | KcliError:
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

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:
        """Removes the throttles of moves that have ended, or were not begun."""
        return () if dry_run else clear_throttles(admin, self.talk, dry_run=False)

    # what is printed

    def row(self, item: MoveItem) -> dict[str, Any]:
        """The values of the columns."""
        return view.move_row(item.facts)

    def failures(self, items: Sequence[MoveItem]) -> Iterator[KcliError]:
        """An error for each reason, with its partitions."""
        for outcome, what in (
            (Outcome.REFUSED, "{} cannot be moved"),
            (Outcome.FAILED, f"the {self.subject} of {{}} were not moved"),
            (Outcome.UNKNOWN, f"it is not known whether the {self.subject} of {{}} were moved"),
        ):
            errors = {
                item.key: item.error
                for item in items
                if item.outcome is outcome
                if item.error is not None and not isinstance(item.error, HeldBackError | StillMovingError)
            }
            yield from grouped_failures(what, errors)
        still = {item.key: item.error for item in items if isinstance(item.error, StillMovingError)}
        yield from grouped_failures("{}: still being moved", still)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return reason(error)


def _is_refused(item: MoveItem) -> bool:
    """For a reason of its own."""
    return item.error is not None and not isinstance(item.error, HeldBackError)
