"""``groups describe -o kafka`` of share groups: the text of Kafka's own ``kafka-share-groups.sh --describe`` (4.4.0).

As for other groups, widths, blanks, empty lines and messages are the script's.
"""

from collections.abc import Mapping, Sequence

from kcli.core.types import Node, TopicPartition, by_topic
from kcli.flows.groups.description import WITHOUT_MEMBERS, Described

MISSING = "-"


def message(group: Described, section: str | None) -> str | None:
    """The script's message on stderr before the lines of a group, of which it has none for ``--offsets``."""
    if section in ("members", "state") and group.state in WITHOUT_MEMBERS:
        return f"\nShare group '{group.group_id}' has no active members."
    return None


def offsets(group: Described, *, verbose: bool) -> str:
    """``--offsets``."""
    if not group.positions:
        return f"\nShare group '{group.group_id}' has no offset information.\n"
    rows = []
    for tp, at in group.positions.items():
        start = at.committed
        epoch = None if start is None else start.leader_epoch
        numbers = [None if start is None else start.offset, at.reported]
        cells = [
            MISSING if one is None or one < 0 else str(one)
            for one in [*([epoch] if verbose else []), *numbers]
        ]
        rows.append([group.group_id, tp.topic, str(tp.partition), *cells])
    head = ["GROUP", "TOPIC", "PARTITION", *(["LEADER-EPOCH"] if verbose else []), "START-OFFSET", "LAG"]
    least = [max(15, len(group.group_id)), 15, 10, *([13] if verbose else []), 13, 0]
    return _lines(head, rows, least, growing=(1,))


def members(group: Described, *, verbose: bool) -> str:
    """``--members``; nothing of a group without members."""
    if not group.members:
        return ""
    rows = []
    for one in sorted(group.members, key=lambda member: member.member_id):
        partitions = one.assignment or ()
        cells = [group.group_id, one.member_id, one.client_host, one.client_id, str(len(partitions))]
        rows.append([*cells, *([str(one.epoch)] if verbose else []), _assignment(partitions)])
    head = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    head += [*(["MEMBER-EPOCH"] if verbose else []), "ASSIGNMENT"]
    least = [max(15, len(group.group_id)), 15, 15, 15, 12, *([13] if verbose else []), 0]
    return _lines(head, rows, least, growing=(1, 2, 3))


def states(group: Described, nodes: Mapping[int, Node], *, verbose: bool) -> str:
    """``--state``."""
    description = group.description
    if description is None:
        return ""
    node = nodes.get(group.coordinator)
    coordinator = f"{node.host}:{node.port}  ({node.id})" if node is not None else MISSING
    head = ["GROUP", "COORDINATOR (ID)", "STATE"]
    cells = [group.group_id, coordinator, group.state]
    least = [max(15, len(group.group_id)), 25, 15]
    if verbose:
        head += ["GROUP-EPOCH", "ASSIGNMENT-EPOCH"]
        cells += [str(description.epoch), str(description.assignment_epoch)]
        least += [12, 17]
    head.append("#MEMBERS")
    cells.append(str(len(description.members)))
    return _lines(head, [cells], [*least, 0], growing=(1,))


def _assignment(partitions: Sequence[TopicPartition]) -> str:
    topics = by_topic(sorted(partitions))
    return ";".join(f"{name}:{','.join(map(str, numbers))}" for name, numbers in sorted(topics.items()))


def _lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int], *, growing: Sequence[int]
) -> str:
    widths = [
        max([least[n], *(len(row[n]) for row in rows)]) if n in growing else least[n]
        for n in range(len(head))
    ]
    return (
        "".join(
            "\n" + " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            for cells in (head, *rows)
        )
        + "\n"
    )
