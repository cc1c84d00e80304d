"""``kcli reassign cancel``: cancels moves in progress, so that partitions keep the replicas that they had before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.reassignments import Reassignment
from kcli.core.clock import monotonic
from kcli.core.error_codes import NO_REASSIGNMENT_IN_PROGRESS
from kcli.core.errors import BrokerError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.partition_failures import grouped_failures, reason
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.read_back import VISIBLE_WITHIN
from kcli.flows.reassign.journal import clear_throttles
from kcli.flows.reassign.rows import FURTHER, NEW_REPLICAS
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table
from kcli.output.talk import Talk

_TOPIC = -1
"""In place of a partition: the item is a topic, which does not exist."""
_FINISHED = "it had finished before"
_PAUSE = 0.1

CancelItem = Item[TopicPartition, Reassignment]


class NotCancelledError(KcliError):
    """A partition is being moved although the cancellation was confirmed."""

    exit_code = ExitCode.REFUSED


class ReassignmentCancel(Change[TopicPartition, Reassignment]):
    """The moves of the partitions of ``topics``; none: of all."""

    kind = "ReassignmentCancel"
    printed_by = "reassign cancel"
    item_meaning = "A partition that is being moved."
    columns = (
        Column("topic"),
        Column("partition", "id", meaning="Number of the partition; null for a topic that does not exist."),
        Column("replicas"),
        NEW_REPLICAS,
    )
    plan_keys = report_keys = FURTHER
    parts = True
    nothing = "nothing is being moved"

    def __init__(self, topics: Sequence[str], talk: Talk) -> None:
        self.topics, self.talk = tuple(dict.fromkeys(topics)), talk
        self._finished: set[TopicPartition] = set()
        self._confirmed: list[TopicPartition] = []

    def decide(self, admin: Admin) -> list[CancelItem]:
        """What is being moved; topics that do not exist are refused."""
        named = admin.describe_topics(self.topics) if self.topics else {}
        missing = [
            Item(TopicPartition(name, _TOPIC), Reassignment((), (), ()), Outcome.REFUSED, topic)
            for name, topic in named.items()
            if isinstance(topic, KcliError)
        ]
        moves = [
            Item(tp, one)
            for tp, one in sorted(admin.list_reassignments().items())
            if not self.topics or tp.topic in named
        ]
        denied = denied_on_cluster(admin, "ALTER", "cancelling reassignments") if moves else None
        if denied is not None:
            moves = [item._replace(outcome=Outcome.REFUSED, error=denied) for item in moves]
        return [*missing, *moves]

    def text(self, plan: Sequence[CancelItem]) -> str:
        """The plan for people."""
        moves = [item for item in plan if not self.whole(item)]
        if not moves:
            return ""
        columns = (*self.columns[:3], Column("adding"), Column("removing"))
        return "\n".join(
            [
                f"Cancel the moves of {counted(len(moves), 'partition')}: what was copied to the replicas that are "
                "being added is dropped.",
                *indented_table(columns, [self.row(item) for item in moves]),
            ]
        )

    def questions(self, plan: Sequence[CancelItem]) -> list[Question]:
        """One for all moves."""
        count = sum(item.outcome is Outcome.PLANNED for item in plan)
        return [Question(self.text(plan), f"Cancel the moves of {counted(count, 'partition')}?")]

    def again(self, item: CancelItem, now: CancelItem | None) -> CancelItem:
        """A move may have finished meanwhile; another one of the same partition is not cancelled in its place."""
        if now is None:
            return item._replace(outcome=Outcome.UNCHANGED, note=_FINISHED)
        same = now.facts.target == item.facts.target
        return super().again(item, now._replace(facts=item.facts) if same else now)

    def apply(self, admin: Admin, todo: Sequence[CancelItem]) -> Mapping[TopicPartition, KcliError | None]:
        """Cancels the moves."""
        answers = admin.alter_reassignments(dict.fromkeys(item.key for item in todo))
        for tp, error in answers.items():
            if isinstance(error, BrokerError) and error.code == NO_REASSIGNMENT_IN_PROGRESS:
                self._finished.add(tp)
                answers[tp] = None
        wanted = [tp for tp, error in answers.items() if error is None or is_lost(error)]
        self._confirmed = [tp for tp in wanted if tp not in self._finished]
        return answers

    def read_back(
        self, admin: Admin, items: Sequence[CancelItem]
    ) -> dict[TopicPartition, Found[Reassignment] | KcliError]:
        """Waits a moment until the partitions are not being moved any more."""
        until = monotonic() + VISIBLE_WITHIN
        wanted = self._confirmed
        while (left := admin.list_reassignments(wanted) if wanted else {}) and monotonic() < until:
            admin.cluster.sleep(_PAUSE)
        found: dict[TopicPartition, Found[Reassignment] | KcliError] = {}
        for item in items:
            if item.key in self._finished:
                found[item.key] = Found(item.facts, note=_FINISHED, outcome=Outcome.UNCHANGED)
            elif item.key in left:
                found[item.key] = Found(item.facts, _still_moved(item.key))
            else:
                found[item.key] = Found(item.facts)
        return found

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:
        """Removes the throttles of moves that have ended."""
        return clear_throttles(admin, self.talk, dry_run=dry_run)

    def whole(self, item: CancelItem) -> bool:
        """A topic that is missing is no part of another."""
        return item.key.partition == _TOPIC

    def row(self, item: CancelItem) -> dict[str, Any]:
        """The values of the columns."""
        one = item.facts
        return {
            "topic": item.key.topic,
            "partition": None if self.whole(item) else item.key.partition,
            "replicas": list(one.replicas),
            "adding": list(one.adding),
            "removing": list(one.removing),
            "new_replicas": list(one.before),
        }

    def failures(self, items: Sequence[CancelItem]) -> Iterator[KcliError]:
        """An error for each missing topic, and one for each reason, with its partitions."""
        for item in items:
            if self.whole(item) and item.error is not None:
                yield item.error
        for unknown in (False, True):
            errors = {
                item.key: item.error
                for item in items
                if item.error is not None
                if not self.whole(item) and (item.outcome is Outcome.UNKNOWN) is unknown
            }
            not_known = "it is not known whether " if unknown else ""
            were = "were" if unknown else "were not"
            yield from grouped_failures(f"{not_known}the moves of {{}} {were} cancelled", errors)

    def reason(self, error: KcliError) -> str:
        """Without the partition."""
        return reason(error)

    def summary(self, items: Sequence[CancelItem]) -> Iterator[str]:
        """How many were cancelled."""
        if items:
            yield f"cancelled the moves of {counted(len(items), 'partition')}, read back"


def _still_moved(tp: TopicPartition) -> NotCancelledError:
    return NotCancelledError(
        f"{tp} is still being moved",
        why="another client moves it, or the controller has not finished",
        do="see `kcli reassign status`",
    )
