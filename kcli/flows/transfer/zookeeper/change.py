"""``kcli groups import --zookeeper`` as a change: it reads as a rewind, and has the broker of Kafka 0.7 besides."""

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any

from kcli.account.change import Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.flows.rewind.change import CHANGE, COLUMNS, ENDS, FOUND, NOT_PROVEN, PlannedOffsets, given_up
from kcli.flows.rewind.judge import OVERWRITTEN
from kcli.flows.rewind.remarks import failed_errors, overwritten_error, refusal_errors
from kcli.flows.rewind.text import NO_UNDO, change_text, rest_text, unchanged_text
from kcli.flows.transfer.change import FileOffsets
from kcli.flows.transfer.zookeeper.importing import NodeOutcome, NodeReport, execute_nodes, survey_nodes
from kcli.flows.transfer.zookeeper.offset_node import OffsetNode
from kcli.flows.transfer.zookeeper.planning import NodeGroup, NodeItem, NodePlan
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, aligned

_BROKER = Column(
    "broker",
    "id",
    spare=2,
    meaning="Of an offset in ZooKeeper: the broker of Kafka 0.7, which numbers partitions.",
)
_SHOWN = (
    Column("topic"),
    Column("part", "id"),
    Column("old", "number"),
    Column("new", "number"),
    Column("change", "number"),
    Column("note"),
)


class Node(NamedTuple):
    """What is known of a node: its part of the plan, and what became of it."""

    group: NodeGroup
    item: NodeItem
    end: NodeOutcome | None = None


ChangedNode = Item[OffsetNode, Node]


class NodeImport(PlannedOffsets[OffsetNode, Node, NodePlan]):
    """The offsets of a file, in ZooKeeper at ``hosts``. Its client is a ``ZooKeeper``."""

    kind = "OffsetImport"
    printed_by = "groups import"
    columns = (*COLUMNS[:2], _BROKER, *COLUMNS[2:])
    plan_columns = (CHANGE,)
    report_columns = (FOUND,)

    def __init__(self, file: FileOffsets, hosts: str, *, again: bool, dry: bool) -> None:
        super().__init__(NodePlan("", "", "", ()), again=again, dry=dry)
        self._file, self._hosts = file, hosts
        self._reports: Sequence[NodeReport] = ()
        self._started: list[bool] = []
        self._has_backup = False

    def decide(self, admin: Any) -> list[ChangedNode]:
        """Each partition, group by group."""
        plan = self._plan = survey_nodes(
            admin, self._file.targets, self._file.words, wall_ms(), force=self._file.request.force
        )
        errors = iter(refusal_errors(plan.refused, possible=plan.possible))
        return [
            _planned(group, item, group.refusal or (item.refusal and next(errors)))
            for group in plan.groups
            for item in group.items
        ]

    def text(self, plan: Sequence[ChangedNode]) -> str:  # noqa: ARG002 - the change's signature
        """All groups, one below the other."""
        text = "\n\n".join(_group(group, self._plan, self._hosts) for group in self._plan.groups)
        return text + "".join(f"\n{line}" for line in _undo(self._plan, self._hosts, dry=self._dry))

    def questions(self, plan: Sequence[ChangedNode]) -> list[Question]:
        """One for all groups."""
        groups = sum(bool(group.todo) for group in self._plan.groups)
        sentence = "Proceed?" if groups == 1 else f"Proceed with {groups} groups?"
        return [Question(self.text(plan), sentence)]

    def is_left_out(self, facts: Node) -> bool:
        """Whether it is refused alone, not its group."""
        return facts.group.refusal is None and facts.item.refusal is not None

    def act(self, admin: Any, plan: Sequence[ChangedNode]) -> list[ChangedNode]:
        """Sets the offsets, those that are to stay, too."""
        self._tried = True
        try:
            self._reports, self._has_backup = execute_nodes(
                admin, self._plan, before_write=self._started.append
            )
        except KcliError as error:
            return [given_up(item, error, begun=bool(self._started)) for item in plan]
        ended = {item.key: item for report in self._reports for item in _settled(report)}
        return [item if item.outcome is Outcome.REFUSED else ended[item.key] for item in plan]

    def stopped(self, plan: Sequence[ChangedNode]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """How to undo what may have been done."""
        for has_backup in self._started:
            undo = f"; undo with: {self._undo_command}" if has_backup else ", where there were none"
            yield f"offsets may have been set{undo}"

    def noticed(self, items: Sequence[ChangedNode]) -> Iterable[str]:
        """How to undo an act that failed as a whole."""
        return () if self._reports else self.stopped(items)

    def summary(self, items: Sequence[ChangedNode]) -> Iterable[str]:  # noqa: ARG002 - also of what is not done
        """One verdict on each group that was planned, and how to undo it."""
        for report in self._reports:
            if report.count("refused") < len(report.outcomes):
                ended = [one.item for one in report.outcomes if one.status == "verified"]
                done = sum(item.changes for item in ended)
                rest = f"{unchanged_text(len(ended) - done)}{rest_text(report.count)}"
                yield f"group {report.plan.group}: {counted(done, 'partition')} set and read back{rest}"
        if self._has_backup:
            yield f"undo with: {self._undo_command}"
        for group in () if self._tried else self._plan.groups:
            if group.todo:
                rest = f", {len(group.refused)} refused" if group.refused else ""
                yield f"nothing is to be changed: group {group.group} is as requested{rest}"

    def row(self, item: ChangedNode) -> dict[str, Any]:
        """The columns of a plan."""
        one = item.facts.item
        note = one.note or (str(item.error) if item.error else None)
        return {**_node(one), "change": one.change, "records": None, "note": note, "action": _action(item)}

    def report_row(self, item: ChangedNode) -> dict[str, Any]:
        """Those of a report, and the file with the old offsets."""
        _, one, end = item.facts
        late = end is not None and end.status == "verified" and item.error is not None
        error = (end and end.error) or one.refusal or (item.error if end is None or late else None)
        lost = end is not None and end.status == OVERWRITTEN
        note = str(error) if error is not None else "overwritten by another client" if lost else one.note
        return {
            **_node(one),
            "found": end.found if end is not None else one.before and one.before.offset,
            "reason": NOT_PROVEN if late else OVERWRITTEN if lost else None,
            "note": note or None,
            "action": _action(item),
            "undo": self._plan.backup if self._has_backup else None,
        }

    @property
    def _undo_command(self) -> str:
        return _undo_command(self._plan, self._hosts)


def _planned(group: NodeGroup, item: NodeItem, refusal: KcliError | None) -> ChangedNode:
    outcome = Outcome.REFUSED if refusal else Outcome.PLANNED if item.changes else Outcome.UNCHANGED
    return Item(item.node, Node(group, item), outcome, refusal)


def _settled(report: NodeReport) -> list[ChangedNode]:
    """The error of a group of which offsets were set is of consumers that may have begun at the old ones."""
    group, ends = report.plan.group, report.outcomes
    failed = {o.item.node: o.error for o in ends if o.status in ("failed", "unknown") and o.error is not None}
    errors = failed_errors(group, failed)
    lost = [one for one in ends if one.status == OVERWRITTEN]
    if lost:
        change = "deleted it" if lost[0].found is None else f"set it to {lost[0].found}"
        why = f"{lost[0].item.node}: another client has {change}"
        error = overwritten_error(group, len(lost), len(ends), why, "import")
        errors |= dict.fromkeys((one.item.node for one in lost), error)
    found = []
    for end in ends:
        outcome, given = ENDS[end.status], errors.get(end.item.node) or end.item.refusal or report.error
        if outcome is Outcome.DONE and given is not None:
            outcome = Outcome.UNKNOWN
        elif outcome is Outcome.DONE and not end.item.changes:
            outcome = Outcome.UNCHANGED
        found.append(Item(end.item.node, Node(report.plan, end.item, end), outcome, given))
    return found


def _action(item: ChangedNode) -> str:
    return "refused" if item.facts.group.refusal is not None else item.facts.item.action


def _undo_command(plan: NodePlan, hosts: str) -> str:
    """Restores the old offsets."""
    return f"kcli groups import --zookeeper {quote(hosts)} {quote(plan.backup)}"


def _node(item: NodeItem) -> dict[str, Any]:
    return {
        "group": item.node.group,
        "topic": item.node.topic,
        "broker": item.node.broker if item.node.broker >= 0 else None,
        "partition": item.node.partition,
        "committed": None if item.before is None else item.before.offset,
        "new": item.new,
    }


def _group(group: NodeGroup, plan: NodePlan, hosts: str) -> str:
    cluster = f" (cluster {visible_line(plan.cluster)})" if plan.cluster else ""
    lines = [f"Import into group {group.group} in ZooKeeper at {hosts}{cluster}", f"  to: {plan.to}"]
    lines += _table(group.items)
    if group.refusal is not None:
        return "\n".join([*lines, f"Refused: {group.refusal.why}."])
    refused = f", {counted(len(group.refused), 'partition')} refused" if group.refused else ""
    lines.append(f"  {counted(len(group.todo), 'partition')} to be set{refused}.")
    if group.todo:
        state = "no consumer is running" if group.exists else "does not exist"
        lines.append(f"Group state: {state}.")
    return "\n".join(lines)


def _table(items: Sequence[NodeItem]) -> list[str]:
    rows = [
        [
            visible_line(item.node.topic),
            item.node.name,
            "-" if item.before is None else f"{item.before.offset:,}",
            "-" if item.new is None else f"{item.new:,}",
            change_text(item.change),
            visible_line(item.note),
        ]
        for item in items
    ]
    lines = [[column.heading for column in _SHOWN], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + aligned(line, widths, _SHOWN).rstrip() for line in lines]


def _undo(plan: NodePlan, hosts: str, *, dry: bool) -> Iterator[str]:
    """How to undo the import, and what an undo leaves."""
    todo = [item for group in plan.groups for item in group.todo]
    created = sum(item.before is None for item in todo)
    if todo and not plan.changes:
        yield NO_UNDO
    elif created < len(todo):
        yield (
            "The old offsets will be stored in a file first; importing that file restores them."
            if dry
            else f"Undo afterwards with: {_undo_command(plan, hosts)}"
        )
    if created:
        yield f"{counted(created, 'partition')} had no offset: the new offset stays until its node is deleted."
