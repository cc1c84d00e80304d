"""``groups describe -o kafka`` of streams groups: the text of Kafka's own ``kafka-streams-groups.sh --describe`` (4.4.0).

As for other groups, widths, blanks, empty lines and messages are the script's.
"""

from collections.abc import Iterable, Mapping, Sequence

from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.types import Node
from kcli.flows.groups.description import Described
from kcli.flows.groups.offsets import Position

MISSING = "-"


def offsets(group: Described, *, verbose: bool) -> str:
    """``--offsets``: of what active tasks read; nothing of a group without members. Where nothing is committed, the lag
    is the size of the log.
    """
    if not group.members:
        return ""
    read = {tp for member in group.members for tp in member.assignment or ()}
    found = {tp: group.positions.get(tp, Position()) for tp in read}
    rows = [
        [group.group_id, tp.topic, str(tp.partition), *(_numbers(at) if verbose else []), _lag(at)]
        for tp, at in sorted(found.items())
    ]
    head = ["GROUP", "TOPIC", "PARTITION"]
    head += ["CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET"] if verbose else []
    widths = [15, 15, 10, *([15, 15, 15, 15] if verbose else [0])]
    return _lines([*head, "OFFSET-LAG"], rows, widths, growing=(0, 1))


def members(group: Described, *, verbose: bool) -> str:
    """``--members``; nothing of a group without members."""
    if group.description is None or not group.members:
        return ""
    rows = []
    for one in group.members:
        process = one.streams.process_id if one.streams is not None else ""
        named = [process, one.client_id]
        if not verbose:
            rows.append([group.group_id, one.member_id, *named, _tasks(one.tasks, "")])
            continue
        # As in the script, nothing separates the epoch of the topology and the member.
        epochs = [str(group.description.assignment_epoch), str(group.description.topology_epoch).ljust(14)]
        states = [one.member_id, "streams" if one.protocol is None else one.protocol, str(one.epoch)]
        tasks = _tasks(one.tasks, "") + _tasks(one.target_tasks, "TARGET-")
        rows.append([group.group_id, *epochs, *states, *named, tasks])
    if verbose:
        head = ["GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", "MEMBER-PROTOCOL"]
        head += ["MEMBER-EPOCH", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"]
        return _lines(head, rows, [15, 25, 14, 15, 15, 15, 15, 15, 0], growing=(0, 3, 6, 7))
    head = ["GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"]
    return _lines(head, rows, [15, 15, 15, 15, 0], growing=(0, 1, 2, 3))


def states(group: Described, nodes: Mapping[int, Node], *, verbose: bool) -> str:
    """``--state``."""
    description = group.description
    if description is None:
        return ""
    node = nodes.get(group.coordinator)
    coordinator = f"{node.host}:{node.port} ({node.id})" if node is not None else MISSING
    head = ["GROUP", "COORDINATOR (ID)", "ASSIGNOR", "STATE"]
    cells = [group.group_id, coordinator, description.assignor or MISSING, group.state]
    widths = [15, 25, 15, 25]
    if verbose:
        head += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [str(description.epoch), str(description.assignment_epoch)]
        widths += [15, 25]
    rows = [[*cells, str(len(description.members))]]
    return _empty(group) + _lines([*head, "#MEMBERS"], rows, [*widths, 0], growing=(0, 1))


def _empty(group: Described) -> str:
    """The script prints it among the lines."""
    return (
        f"\nError: Streams group '{group.group_id}' has no active members.\n"
        if group.state == "Empty"
        else ""
    )


def _numbers(at: Position) -> list[str]:
    epoch = -1 if at.committed is None else at.committed.leader_epoch
    found = (
        None if at.committed is None else at.committed.offset,
        None if epoch < 0 else epoch,
        at.end,
    )
    return [MISSING if one is None else str(one) for one in found]


def _lag(at: Position) -> str:
    size = None if at.end is None or at.log_start is None else at.end - at.log_start
    lag = at.lag if at.committed is not None else size
    return MISSING if lag is None else str(lag)


def _tasks(tasks: Tasks | None, prefix: str) -> str:
    """``ACTIVE: 0:[0,1]; 1:[0]; STANDBY: 1:[1]; ``."""
    if tasks is None:
        return ""
    kinds = ((kind, _by_subtopology(getattr(tasks, kind))) for kind in tasks._fields)
    return "".join(
        f"{prefix}{kind.upper()}: "
        + "".join(f"{name}:[{','.join(map(str, numbers))}]; " for name, numbers in found.items())
        for kind, found in kinds
        if found
    )


def _by_subtopology(tasks: Iterable[Task]) -> dict[str, list[int]]:
    """In the order of the coordinator, as the script has them."""
    found: dict[str, list[int]] = {}
    for task in tasks:
        found.setdefault(task.subtopology, []).append(task.partition)
    return found


def _lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int], *, growing: Sequence[int]
) -> str:
    widths = [
        max([least[n], *(len(row[n]) for row in rows)]) if n in growing else least[n]
        for n in range(len(head))
    ]
    return "".join(
        " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + "\n"
        for cells in (head, *rows)
    )
