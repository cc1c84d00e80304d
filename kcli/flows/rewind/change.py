"""A plan of new committed offsets as a change of the cluster: of rewind, import, copy and create.

The second look, the journal and the read-back are those of ``execute``: they happen under its lock, and for a group with
members while these are held.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from kcli.account.change import Change, Item, Question, TimeLimit, distinct
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError
from kcli.core.names import own_group_danger
from kcli.flows.rewind import text
from kcli.flows.rewind.execute import LiveRewind, execute
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.judge import HELD, OVERWRITTEN
from kcli.flows.rewind.mark import marked_by
from kcli.flows.rewind.outcomes import (
    FAILED,
    OVERWROTE,
    REFUSED,
    UNKNOWN,
    VERIFIED,
    GroupReport,
    NotProvenError,
    PartitionOutcome,
    UnprovenError,
    commit_text,
)
from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan
from kcli.flows.rewind.remarks import Refused, partition_errors, refusal_errors, refused_warnings
from kcli.output.progress import counted
from kcli.output.tables import Column

ENDS = {
    VERIFIED: Outcome.DONE,
    HELD: Outcome.DONE,
    OVERWROTE: Outcome.FAILED,
    OVERWRITTEN: Outcome.FAILED,
    FAILED: Outcome.FAILED,
    UNKNOWN: Outcome.UNKNOWN,
    REFUSED: Outcome.REFUSED,
}
_NOTHING_TO_DO = "no group has committed offsets of these topics: nothing to rewind"
_RELEASED = "nothing was committed; the members continue from what they had committed"

COLUMNS = (
    Column("group"),
    Column("topic", meaning="Name of the topic; null where the group could not be planned."),
    Column("partition", "id", meaning="Number of the partition; null where none could be planned."),
    Column("committed", "number", spare=1),
    Column(
        "new",
        "number",
        meaning="The offset to be committed; null where the commit is to be deleted, or where there is none.",
    ),
)
FOUND = Column(
    "found",
    "number",
    spare=2,
    meaning="What was read back; null where there is no commit or where it is unknown.",
)
CHANGE = Column(
    "change", "number", values="integer?", meaning="new less committed; null where one of them is unknown."
)
ACTION = Column("action", meaning="What is to be done: commit, delete, keep or refused.")
REASON = Column(
    "reason",
    meaning="Says more about the status; null where there is no more to say. Of done: held (members of a running group "
    "continued from there). Of failed: overwritten (another client has set it since), overwrote (read back as requested, "
    "but it replaced a commit that another client made after the plan), metadata_lost. Of unknown: "
    "not_proven (read back, but another client may have come between, or members have not continued from there yet).",
)
NOT_PROVEN = "not_proven"
UNDO = Column("undo", meaning="Id for --undo, or the file with the old offsets; null where there is none.")


K = TypeVar("K", bound=Hashable)
F = TypeVar("F")


class Place(NamedTuple):
    """A partition of a group; without one a topic, or the whole group, that could not be planned."""

    group: str
    topic: str | None = None
    partition: int | None = None


class Offset(NamedTuple):
    """What is known of a place: its part of the plan, and what became of it."""

    plan: GroupPlan | None = None
    item: RewindItem | None = None
    end: PartitionOutcome | None = None
    report: GroupReport | None = None


OffsetItem = Item[Place, Offset]


class WholePlan(Protocol):
    """A plan of offsets of groups."""

    @property
    def possible(self) -> bool:
        """Whether any part of it can be done."""

    @property
    def refused(self) -> Sequence[Refused]:
        """The partitions that are refused, of groups that are not."""


P = TypeVar("P", bound=WholePlan)


class PlannedOffsets(Change[K, F], Generic[K, F, P]):
    """New offsets of groups by a ``_plan``, of which partitions that are refused are left out. ``again``: offsets are set
    although all of them are as requested. ``dry``: nothing will have the ids of the plan.
    """

    item_meaning = "A partition."
    tells_refusals = True
    nothing = ""

    def __init__(self, plan: P, *, again: bool, dry: bool) -> None:
        self._plan, self._again, self._dry = plan, again, dry
        self._tried = False

    def is_idle(self, plan: Sequence[Item[K, F]]) -> bool:
        """A plan that changes nothing is confirmed by what was read for it."""
        return super().is_idle(plan) and not (self._again and self._plan.possible)

    def warnings(self, plan: Sequence[Item[K, F]]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """The partitions that are left out while others are set."""
        return refused_warnings(self._plan.refused) if self._plan.possible else ()

    def failures(self, items: Sequence[Item[K, F]]) -> Iterable[KcliError]:
        """Without those that are warnings."""
        return distinct(
            item.error
            for item in items
            if item.error is not None and not (self._plan.possible and self.is_left_out(item.facts))
        )

    def is_left_out(self, facts: F) -> bool:
        """Whether it is a partition that is refused alone, not its group."""
        raise NotImplementedError

    def decided_again(self, admin: Any, plan: Sequence[Item[K, F]]) -> list[Item[K, F]]:  # noqa: ARG002
        """The act looks again itself: under the lock of the groups, or at the versions of the nodes."""
        return list(plan)


class OffsetsChange(PlannedOffsets[Place, Offset, RewindPlan]):
    """``survey`` makes the plan, for the cluster ``where``. ``live``: groups with members are rewound as they run."""

    kind = "Rewind"
    printed_by = "groups rewind, groups copy, groups create"
    columns = COLUMNS
    plan_columns = (
        CHANGE,
        Column(
            "records",
            "number",
            spare=2,
            meaning="Records that would be read again or skipped, at most; null where it is unknown.",
        ),
    )
    plan_keys: Sequence[Column] = (
        ACTION,
        Column(
            "span_seconds",
            "duration",
            values="number?",
            meaning="Time between the records at both offsets, in seconds; null where it is unknown.",
        ),
    )
    report_columns = (FOUND,)
    report_keys: Sequence[Column] = (
        REASON,
        ACTION,
        UNDO,
        Column("member_id"),
        Column("client_id"),
        Column("host"),
        Column(
            "commits",
            values="objects?",
            meaning="Of a group with members: the commits that were seen, each with its offset and the seconds after the "
            "release of the group.",
        ),
    )

    def __init__(
        self,
        survey: Callable[[Admin], RewindPlan],
        where: text.Where,
        *,
        again: bool,
        dry: bool,
        live: LiveRewind | None = None,
        takes_stdout: bool = False,
        lookups: Sequence[Sequence[str]] = (),
    ) -> None:
        super().__init__(RewindPlan("", ()), again=again, dry=dry)
        self._lookups = lookups
        self._survey, self._where, self._live = survey, where, live
        self.takes_stdout = takes_stdout
        self._begun: list[GroupPlan] = []
        self._reports: Sequence[GroupReport] = ()

    # the plan

    def begin(self, admin: Admin) -> None:
        """With the first contact: the coordinators of the groups, as they are looked up (``lookups``), and the topics."""
        for names in self._lookups:
            admin.foresee(groups=names, topics=True)

    def decide(self, admin: Admin) -> list[OffsetItem]:
        """Each partition; groups and topics that cannot be planned are refused as a whole."""
        plan = self._plan = self._survey(admin)
        errors = iter(refusal_errors(plan.refused, possible=plan.possible))
        names = (*plan.asked, *(name for name, _ in plan.unplanned), *(one.group for one in plan.groups))
        found: dict[str, list[OffsetItem]] = {name: [] for name in names}
        for (group, topic), error in plan.unplanned.items():
            item = Item(Place(group, topic), Offset(), Outcome.REFUSED, error)
            found[group].append(item)
        for one in plan.groups:
            items = [
                _planned(one, item, one.refusal or (item.refusal and next(errors))) for item in one.items
            ]
            if not items and not found[one.group]:
                outcome = Outcome.UNCHANGED if one.refusal is None else Outcome.REFUSED
                items = [Item(Place(one.group), Offset(one), outcome, one.refusal)]
            found[one.group] += items
        whole = [item for items in found.values() for item in items]
        if not self.is_idle(whole):
            _check_own_groups(plan)
        if not whole:
            self.nothing = _NOTHING_TO_DO
        return whole

    def text(self, plan: Sequence[OffsetItem]) -> str:
        """All groups that could be read."""
        shown = text.plan_text(self._plan, self._where, dry=self._dry)
        danger = own_group_danger(subject(self._plan) or "")
        return f"{shown}\n{danger}." if self._dry and danger and not self.is_idle(plan) else shown

    def questions(self, plan: Sequence[OffsetItem]) -> list[Question]:
        """One for all groups; that of kcli's own groups is answered by the name. Groups that are held need it in time."""
        group = subject(self._plan)
        danger = own_group_danger(group or "")
        until = None if self._live is None else self._live.barriers.until
        return [
            Question(
                self.text(plan),
                text.question(self._plan),
                name=None if danger is None else group,
                subject=group,
                danger=danger,
                limit=None if until is None else TimeLimit(until, _RELEASED),
            )
        ]

    def is_left_out(self, facts: Offset) -> bool:
        """Whether it is a partition that is refused alone, not its group."""
        alone = facts.plan is not None and facts.plan.refusal is None
        return alone and facts.item is not None and facts.item.refusal is not None

    # the act

    def act(self, admin: Admin, plan: Sequence[OffsetItem]) -> list[OffsetItem]:
        """Commits the offsets, those that are to stay, too: a group is as requested, or it is not."""
        self._tried = True
        try:
            reports = execute(
                admin, self._plan, Journals(self._plan.cluster), written=self._begun.append, live=self._live
            )
        except KcliError as error:
            begun = {group.group for group in self._begun}
            return [given_up(item, error, begun=item.key.group in begun) for item in plan]
        if self._live is not None:
            self.interruption = self._live.watcher.interruption
        ended = {item.key: item for item in self.settled(reports)}
        return [item if item.outcome is Outcome.REFUSED else ended.get(item.key, item) for item in plan]

    def stopped(self, plan: Sequence[OffsetItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """How to undo what may have been done."""
        undos = map(text.undo_command, self._begun)
        return (f"offsets may have been set; undo with: {undo}" for undo in undos)

    # the report

    def settled(self, reports: Sequence[GroupReport]) -> list[OffsetItem]:
        """What became of the partitions of each group, of which the summary tells."""
        self._tried, self._reports = True, reports
        return [item for report in reports for item in _settled(report)]

    def noticed(self, items: Sequence[OffsetItem]) -> Iterable[str]:
        """What is no error, of each group; where the act failed as a whole, how to undo it."""
        for report in self._reports:
            if any(outcome.without_metadata for outcome in report.outcomes):
                yield text.without_metadata_text(report)
            if report.missing:
                yield text.missing_text(report)
            if report.journal_error is not None:
                yield text.not_recorded_text(report)
        if not self._reports:
            yield from self.stopped(items)

    def summary(self, items: Sequence[OffsetItem]) -> Iterable[str]:  # noqa: ARG002 - also of what is not done
        """One verdict on each group that was planned."""
        for report in self._reports:
            if report.error is None:
                yield text.done_text(report)
            elif report.plan.refusal is None:
                yield text.undone_text(report.plan)
        if not self._tried and self._plan.possible:
            yield from (text.nothing_text(group) for group in self._plan.groups if group.refusal is None)

    def row(self, item: OffsetItem) -> dict[str, Any]:
        """The columns of a plan."""
        one = item.facts.item
        return {
            **_place(item),
            "change": one and one.change,
            "records": one and one.records,
            "action": _action(item),
            "span_seconds": None if one is None or one.span_ms is None else one.span_ms / 1000,
            "note": (one.note if one is not None else "") or (str(item.error) if item.error else None),
        }

    def report_row(self, item: OffsetItem) -> dict[str, Any]:
        """Those of a report, and of a group that runs who owns the partition, and the commits since its release."""
        one, end, report = item.facts.item, item.facts.end, item.facts.report
        found = end.found if end is not None else one and one.committed
        row = {
            **_place(item),
            "found": found and found.offset,
            "reason": None if end is None else _reason(end, item.outcome),
            "action": _action(item),
            "undo": report.plan.id if report is not None and report.kept else None,
            "note": _note(item),
        }
        return row if end is None or report is None or not report.plan.live else row | _live_keys(end)


def subject(plan: RewindPlan) -> str | None:
    """The group, for a confirmation by name; None for several groups."""
    names = [group.group for group in plan.groups]
    return names[0] if len(names) == 1 else None


def _check_own_groups(plan: RewindPlan) -> None:
    """One of kcli's own groups has to be named, so it is refused beside others."""
    for group in plan.groups if len(plan.groups) > 1 else ():
        if danger := own_group_danger(group.group):
            raise ConfigError(
                f"{counted(len(plan.groups), 'group')} at once, and {group.group} among them",
                why=f"{danger}, so its name has to be typed; nothing was done",
                do=f"leave out {group.group}, or change it alone",
            )


def _planned(plan: GroupPlan, item: RewindItem, refusal: KcliError | None) -> OffsetItem:
    place = Place(plan.group, item.tp.topic, item.tp.partition)
    if refusal is not None:
        return Item(place, Offset(plan, item), Outcome.REFUSED, refusal)
    outcome = Outcome.PLANNED if item.changes or plan.live else Outcome.UNCHANGED
    return Item(place, Offset(plan, item), outcome)


def _settled(report: GroupReport) -> list[OffsetItem]:
    errors = partition_errors(report)
    found = []
    for end in report.outcomes:
        item, plan = end.item, report.plan
        error = errors.get(item.tp) or item.refusal or report.error
        outcome = ENDS[end.status]
        if outcome is Outcome.DONE and error is not None:
            outcome = Outcome.FAILED
        elif outcome is Outcome.DONE and not item.changes and not plan.live:
            outcome = Outcome.UNCHANGED
        place = Place(plan.group, item.tp.topic, item.tp.partition)
        found.append(Item(place, Offset(plan, item, end, report), outcome, error))
    return found


def given_up(item: Item[K, F], error: KcliError, *, begun: bool) -> Item[K, F]:
    """Of an act that ended with an error, perhaps after it was ``begun`` with this group."""
    if item.outcome is Outcome.REFUSED:
        return item
    return item._replace(outcome=Outcome.UNKNOWN if begun else Outcome.REFUSED, error=error)


def _place(item: OffsetItem) -> dict[str, Any]:
    one = item.facts.item
    return {
        "group": item.key.group,
        "topic": item.key.topic,
        "partition": item.key.partition,
        "committed": one and one.committed and one.committed.offset,
        "new": one and one.new and one.new.offset,
    }


def _action(item: OffsetItem) -> str:
    plan, one = item.facts.plan, item.facts.item
    if plan is None or plan.refusal is not None:
        return "refused"
    return "keep" if one is None else one.action


def _note(item: OffsetItem) -> str | None:
    """Why it is not as requested, what else was found, or the note of the plan."""
    one, end = item.facts.item, item.facts.end
    error = (end and end.error) or (one and one.refusal)
    if error is None and (end is None or end.status == REFUSED):
        error = item.error
    return str(error) if error is not None else (end and _by(end)) or (one and one.note) or None


def _by(end: PartitionOutcome) -> str:
    """A lack of metadata, the rewind whose offsets are there instead of the planned ones, or what was replaced."""
    if end.without_metadata:
        return "set, without its metadata"
    if end.status == OVERWROTE:
        return f"overwrote {commit_text(end.replaced)}"
    if end.status != OVERWRITTEN:
        return ""
    rewind = marked_by(end.found)
    return f"overwritten by {f'rewind {rewind}' if rewind else 'another client'}"


def _reason(end: PartitionOutcome, outcome: Outcome) -> str | None:
    if isinstance(end.error, NotProvenError | UnprovenError):
        return NOT_PROVEN
    if end.status == VERIFIED and outcome is Outcome.FAILED:
        return "metadata_lost"
    return end.status if end.status in (HELD, OVERWROTE, OVERWRITTEN) else None


def _live_keys(end: PartitionOutcome) -> dict[str, Any]:
    member = end.member
    return {
        "member_id": member and member.member_id,
        "client_id": member and member.client_id,
        "host": member and member.host,
        "commits": [{"seconds": round(at, 3), "offset": offset} for at, offset in end.seen],
    }
