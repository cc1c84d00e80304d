"""The plan of an import into ZooKeeper: a new offset or a refusal for each node, from a file and the current state.
Pure.
"""

from collections.abc import Mapping, Sequence

from kcli.core.classes import dataclass, field
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.formats.zookeeper_text import offset_node
from kcli.flows.transfer.importing import ImportRefusedError, ImportTarget, mismatch
from kcli.flows.transfer.zookeeper.offset_node import ANY_BROKER, OffsetNode, is_node_name
from kcli.flows.transfer.zookeeper.read_groups import Partitions, Stored
from kcli.output.progress import counted

_LISTED = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What ZooKeeper has of the targets.

    ``unread``: nodes that cannot be read. ``topics`` None: no brokers are registered there, so partitions are not
    known. ``running`` are the ids of consumers, by group; ``groups`` those that exist.
    """

    cluster: str = ""
    stored: Mapping[OffsetNode, Stored] = field(default_factory=dict)
    unread: Mapping[OffsetNode, KcliError] = field(default_factory=dict)
    topics: Mapping[str, Partitions] | None = None
    running: Mapping[str, Sequence[str]] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeItem:
    """One node. ``before`` None: it does not exist yet. ``new`` None: ``refusal`` says why it is not changed."""

    node: OffsetNode
    before: Stored | None
    new: int | None
    note: str = ""
    refusal: KcliError | None = None

    @property
    def change(self) -> int | None:
        """The difference in offsets, negative for moving back. None without an old or a new offset."""
        return None if self.before is None or self.new is None else self.new - self.before.offset

    @property
    def changes(self) -> bool:
        """Whether the offset will change."""
        return self.change != 0

    @property
    def action(self) -> str:
        """``commit`` or ``refused``, as in the plan of a rewind."""
        return "commit" if self.refusal is None else "refused"


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """One group. ``refusal``: why it cannot be imported now."""

    group: str
    exists: bool
    items: tuple[NodeItem, ...]
    refusal: KcliError | None = None

    @property
    def todo(self) -> list[NodeItem]:
        """The items that can be done."""
        return [item for item in self.items if item.refusal is None] if self.refusal is None else []

    @property
    def refused(self) -> list[NodeItem]:
        """The refused items of a group that can be imported."""
        return [item for item in self.items if item.refusal is not None]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """The whole import. ``to`` describes it in words, ``backup`` is the path of the file for the old offsets."""

    cluster: str
    to: str
    backup: str
    groups: tuple[NodeGroup, ...]

    @property
    def possible(self) -> bool:
        """Whether any part of it can be done."""
        return any(group.todo for group in self.groups)

    @property
    def changes(self) -> bool:
        """Whether any offset will change."""
        return any(item.changes for group in self.groups for item in group.todo)

    @property
    def refused(self) -> list[tuple[OffsetNode, KcliError]]:
        """The refused nodes and their errors, of groups that can be imported."""
        items = (item for group in self.groups if group.refusal is None for item in group.items)
        return [(item.node, item.refusal) for item in items if item.refusal is not None]


def node_of(target: ImportTarget) -> OffsetNode:
    """The node of a partition that is imported."""
    return offset_node(target.saved, target.group, target.tp.topic)


def plan_nodes(targets: Sequence[ImportTarget], found: Found, *, force: bool) -> tuple[NodeGroup, ...]:
    """The groups with their items; a refusal does not affect the others. ``force`` as in ``ImportRequest``."""
    items: dict[str, list[NodeItem]] = {}
    for target in targets:
        items.setdefault(target.group, []).append(_item(target, found, force=force))
    return tuple(
        NodeGroup(
            group,
            group in found.groups,
            tuple(sorted(rows, key=lambda item: item.node)),
            refusal(group, found.running.get(group, ())),
        )
        for group, rows in items.items()
    )


def refusal(group: str, running: Sequence[str]) -> KcliError | None:
    """Why the offsets of a group cannot be set: its name, or running consumers that would overwrite them."""
    if not is_node_name(group):
        return NotPossibleError(
            f"the offsets of group {group} cannot be set in ZooKeeper",
            why="ZooKeeper does not accept that name for a node",
            do="use another group name with --group",
        )
    if not running:
        return None
    more = f" and {len(running) - _LISTED} more" if len(running) > _LISTED else ""
    return NotPossibleError(
        f"group {group} has consumers ({len(running)}) in ZooKeeper",
        why=f"they continue from their own positions, and would overwrite the new offsets: "
        f"{', '.join(running[:_LISTED])}{more}",
        do="stop them and try again; a dead consumer is removed after its session timeout",
    )


def _item(target: ImportTarget, found: Found, *, force: bool) -> NodeItem:
    node = node_of(target)
    before = found.stored.get(node)
    try:
        if node in found.unread:
            raise found.unread[node]
        _check_partition(node, found)
        reason = mismatch(target.saved, target.tp.topic, found.cluster)
        if reason and not force:
            raise ImportRefusedError(
                f"{node}: the offset of the file is not one of this topic",
                why=reason,
                do="--force uses the offset unchanged",
            )
    except KcliError as error:
        return NodeItem(node, before, None, f"refused: {error.why or error.what}", error)
    return NodeItem(node, before, target.saved.offset, f"forced: {reason}" if reason else "")


def _check_partition(node: OffsetNode, found: Found) -> None:
    """Rejects a partition unknown to the brokers: setting it would create a node that no consumer reads."""
    if found.topics is None:
        return
    if node.topic not in found.topics:
        raise NotFoundError(
            f"topic {node.topic} does not exist",
            why=f"the brokers of this ZooKeeper have no topic {node.topic}",
            do="--map-topic NAME-IN-THE-FILE=NAME-HERE, or leave it out with -t",
        )
    numbers = found.topics[node.topic]
    if (numbers is None) != (node.broker != ANY_BROKER):
        theirs, ours = ("0.7", "0.8 or later") if numbers is None else ("0.8 or later", "0.7")
        raise ImportRefusedError(
            f"{node}: the offset is of another layout",
            why=f"the topic's partitions are those of Kafka {theirs}, the file's of {ours}",
            do="leave it out with -t: offsets of 0.7 and of later versions cannot be converted",
        )
    if numbers is not None and node.partition not in numbers:
        raise NotFoundError(
            f"partition {node} does not exist",
            why=f"the topic has {counted(len(numbers), 'partition')}",
            do="leave it out with -t",
        )
