"""``groups describe -o kafka``: the text of Kafka's own ``kafka-consumer-groups.sh --describe`` (4.4.0). Pure.

Widths, blanks, empty lines and messages are the script's, so that programs which parse its output can parse this.
"""

from collections.abc import Mapping, Sequence

from kcli.commands.groups._description_rows import partitions_text
from kcli.core.admin.group_description import MemberDescription
from kcli.core.types import Node, TopicPartition
from kcli.flows.groups.description import Described
from kcli.flows.groups.offsets import Position

MISSING = "-"
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def message(group: Described) -> str | None:
    """The script's message on stderr before the lines of a group."""
    if group.state == "Empty":
        return f"\nConsumer group '{group.group_id}' has no active members."
    if group.state in _REBALANCING:
        return f"\nWarning: Consumer group '{group.group_id}' is rebalancing."
    return None


def offsets(group: Described, *, verbose: bool) -> str:
    """``--offsets``: partitions of members first, members with the most partitions before others, then the rest."""
    members = [member for member in group.members if member.assignment]
    rows: list[list[str]] = []
    owned: set[TopicPartition] = set()
    for member in sorted(members, key=lambda one: -len(one.assignment or ())):
        partitions = sorted(member.assignment or ())
        owned.update(partitions)
        owner = (member.member_id, member.client_host, member.client_id)
        rows += [_offset_cells(group, tp, owner, verbose=verbose) for tp in partitions]
    no_owner = (MISSING, MISSING, MISSING)
    rest = [
        tp for tp, position in group.positions.items() if position.committed is not None and tp not in owned
    ]
    rows += [_offset_cells(group, tp, no_owner, verbose=verbose) for tp in rest]
    if not rows:
        return ""
    epoch = ["LEADER-EPOCH"] if verbose else []
    head = ["GROUP", "TOPIC", "PARTITION", *epoch, "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    head += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    least = [15, 15, 10, *([15] if verbose else []), 15, 15, 15, 15, 15, 0]
    growing = (0, 1, len(head) - 3, len(head) - 2)
    widths = [_widest(rows, n, width) if n in growing else width for n, width in enumerate(least)]
    return "".join(f"\n{_line(cells, widths)}" for cells in (head, *rows)) + "\n"


def members(group: Described, *, verbose: bool) -> str:
    """``--members``: a group without members has the heading too."""
    rows = [
        [group.group_id, one.member_id, one.instance_id or "", one.client_host, one.client_id]
        for one in group.members
    ]
    counts = [str(len(one.assignment or ())) for one in group.members]
    head = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID"]
    widths = [_widest(rows, n, 17 if n == 2 else 15) for n in range(len(head))]
    shown = [0, 1, 2, 3, 4] if any(one.instance_id for one in group.members) else [0, 1, 3, 4]
    lines = [
        _line([*(cells[n] for n in shown), count], [*(widths[n] for n in shown), 15]) + " "
        for cells, count in zip([head, *rows], ["#PARTITIONS", *counts], strict=True)
    ]
    if verbose:
        lines = [line + more for line, more in zip(lines, _assignments(group), strict=True)]
    return "\n" + "".join(f"{line}\n" for line in lines)


def states(group: Described, nodes: Mapping[int, Node], *, verbose: bool) -> str:
    """``--state``."""
    description = group.description
    if description is None:
        return ""
    node = nodes.get(group.coordinator)
    coordinator = f"{node.host}:{node.port}  ({node.id})" if node is not None else MISSING
    head = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group_id, coordinator, description.assignor or MISSING, group.state]
    widths = [max(15, len(group.group_id)), max(25, len(coordinator)), 20, 20]
    if verbose:
        head += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [_number(description.epoch), _number(description.assignment_epoch)]
        widths += [15, 25]
    head.append("#MEMBERS")
    cells.append(str(len(description.members)))
    return "".join(f"\n{_line(line, [*widths, 0])}" for line in (head, cells)) + "\n"


def _offset_cells(
    group: Described, tp: TopicPartition, owner: tuple[str, str, str], *, verbose: bool
) -> list[str]:
    position = group.positions.get(tp, Position())
    commit = position.committed
    epoch = [_number(commit.leader_epoch if commit is not None else -1)] if verbose else []
    offsets = (None if commit is None else commit.offset, position.end, position.lag)
    numbers = [MISSING if one is None else str(one) for one in offsets]
    return [group.group_id, tp.topic, str(tp.partition), *epoch, *numbers, *owner]


def _assignments(group: Described) -> list[str]:
    """The columns that ``--verbose`` adds to each line of ``--members``, beginning with the heading."""
    upgrading = {one.protocol for one in group.members} >= {"classic", "consumer"}
    target_epoch = _number(group.description.assignment_epoch if group.description is not None else -1)
    rows = []
    for one in group.members:
        current, target = _assignment(one.assignment), _assignment(one.target)
        rows.append([_number(one.epoch), current, target_epoch, target, _upgraded(one)])
    head = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"]
    widths = [15, _widest(rows, 1, 20), 15, _widest(rows, 3, 20), 0]
    count = len(head) if upgrading else len(head) - 1
    return [_line(cells[:count], widths[:count]) for cells in (head, *rows)]


def _upgraded(member: MemberDescription) -> str:
    return MISSING if member.protocol is None else "true" if member.protocol == "consumer" else "false"


def _assignment(partitions: Sequence[TopicPartition] | None) -> str:
    return partitions_text(partitions) if partitions else MISSING


def _number(number: int) -> str:
    return MISSING if number < 0 else str(number)


def _widest(rows: Sequence[Sequence[str]], column: int, least: int) -> int:
    return max([least, *(len(cells[column]) for cells in rows)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
