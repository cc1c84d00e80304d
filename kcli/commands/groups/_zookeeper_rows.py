"""The text and the rows of an import into ZooKeeper: those of a rewind, and the broker of Kafka 0.7. Pure."""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

from kcli.commands.groups._rewind_text import NO_UNDO, change_text, rest_text
from kcli.flows.transfer.zookeeper.importing import NodeReport
from kcli.flows.transfer.zookeeper.planning import NodeGroup, NodeItem, NodePlan
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, aligned

Row = dict[str, Any]

_NODE = (
    Column("group"),
    Column("topic"),
    Column("broker", "id", spare=2),
    Column("partition", "id"),
    Column("committed", "number", spare=1),
    Column("new", "number"),
)
PLAN = (*_NODE, Column("change", "number"), Column("note", "prose"))
REPORT = (*_NODE, Column("found", "number"), Column("status"), Column("note", "prose"))
"""``broker`` is null where the cluster numbers partitions."""

_SHOWN = (
    Column("topic"),
    Column("part", "id"),
    Column("old", "number"),
    Column("new", "number"),
    Column("change", "number"),
    Column("note"),
)


def plan_text(plan: NodePlan, hosts: str, *, dry: bool = False) -> str:
    """All groups, one below the other. ``dry``: the plan is only shown, and no file will be written."""
    text = "\n\n".join(_group(group, plan, hosts) for group in plan.groups)
    return text + "".join(f"\n{line}" for line in _undo(plan, hosts, dry=dry))


def question(plan: NodePlan) -> str:
    """The question below the plan."""
    groups = sum(bool(group.todo) for group in plan.groups)
    return "Proceed?" if groups == 1 else f"Proceed with {groups} groups?"


def undo_command(plan: NodePlan, hosts: str) -> str:
    """The command that restores the old offsets."""
    return f"kcli groups import --zookeeper {quote(hosts)} {quote(plan.backup)}"


def done_text(report: NodeReport) -> str:
    """One sentence on what was done to a group."""
    partitions = counted(report.count("verified"), "partition")
    return f"group {report.plan.group}: {partitions} set and read back{rest_text(report.count)}"


def nothing_text(report: NodeReport) -> str:
    """One sentence on a group for which there was nothing to do."""
    return f"nothing is to be changed: group {report.plan.group} is as requested{rest_text(report.count)}"


def plan_rows(plan: NodePlan) -> Iterator[Row]:
    """A row for each partition."""
    for group in plan.groups:
        for item in group.items:
            yield {
                **_node(item),
                "change": item.change,
                "note": item.note or None,
                "action": "refused" if group.refusal is not None else item.action,
            }


def report_rows(report: NodeReport, backup: str | None) -> Iterator[Row]:
    """A row for each partition of one group; JSON also names the file with the old offsets."""
    for outcome in report.outcomes:
        error = outcome.error or (report.error if outcome.status == "refused" else None)
        yield {
            **_node(outcome.item),
            "found": outcome.found,
            "status": outcome.status,
            "note": str(error) if error is not None else outcome.item.note or None,
            "action": outcome.item.action,
            "undo": backup,
        }


def _node(item: NodeItem) -> Row:
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
            else f"Undo afterwards with: {undo_command(plan, hosts)}"
        )
    if created:
        yield f"{counted(created, 'partition')} had no offset: the new offset stays until its node is deleted."
