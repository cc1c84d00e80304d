"""The plan of an import into ZooKeeper: a new offset or a refusal for each node, from a file and the current state.
Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.formats.zookeeper_text import place_of
from kcli.flows.transfer.importing import Aim, Here, ImportRefusedError, stranger
from kcli.flows.transfer.zookeeper.place import ANY_BROKER, Place, is_node_name
from kcli.flows.transfer.zookeeper.reading import Partitions, Stored

_LISTED = 5


@dataclass(frozen=True, slots=True)
class Found:
    """The current state of the aims in ZooKeeper.

    ``unread``: nodes that cannot be read. ``topics`` None: no brokers are registered there, so partitions are not
    known. ``running`` are the ids of consumers, by group; ``groups`` those that exist.
    """

    cluster: str = ""
    stored: Mapping[Place, Stored] = field(default_factory=dict)
    unread: Mapping[Place, KcliError] = field(default_factory=dict)
    topics: Mapping[str, Partitions | None] | None = None
    running: Mapping[str, Sequence[str]] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeItem:
    """One node. ``before`` None: it does not exist yet. ``new`` None: ``refusal`` says why it is not changed."""

    place: Place
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
    """The whole import. ``to`` describes it in words, ``kept`` is the file for the old offsets."""

    cluster: str
    to: str
    kept: str
    groups: tuple[NodeGroup, ...]

    @property
    def possible(self) -> bool:
        """Whether any part of it can be done."""
        return any(group.todo for group in self.groups)

    @property
    def refused(self) -> list[tuple[Place, KcliError]]:
        """The refused nodes and their errors, of groups that can be imported."""
        items = (item for group in self.groups if group.refusal is None for item in group.items)
        return [(item.place, item.refusal) for item in items if item.refusal is not None]


def place(aim: Aim) -> Place:
    """The node of the aim."""
    return place_of(aim.saved, aim.group, aim.tp.topic)


def plan_nodes(chosen: Sequence[Aim], found: Found, *, force: bool) -> tuple[NodeGroup, ...]:
    """The groups with their items; a refusal does not affect the others. ``force`` as in ``Wish``."""
    items: dict[str, list[NodeItem]] = {}
    for aim in chosen:
        items.setdefault(aim.group, []).append(_item(aim, found, force=force))
    return tuple(
        NodeGroup(
            group,
            group in found.groups,
            tuple(sorted(rows, key=lambda item: item.place)),
            refusal(group, found.running.get(group, ())),
        )
        for group, rows in items.items()
    )


def refusal(group: str, running: Sequence[str]) -> KcliError | None:
    """Why the offsets of a group cannot be set: its name, or running consumers that would overwrite them."""
    if not is_node_name(group):
        return NotPossibleError(
            f"the offsets of group {group} cannot be set in ZooKeeper",
            why="no node can have that name",
            do="give it another one with --group",
        )
    if not running:
        return None
    more = f" and {len(running) - _LISTED} more" if len(running) > _LISTED else ""
    return NotPossibleError(
        f"group {group} has consumers ({len(running)}) in ZooKeeper",
        why=f"they go on from positions of their own, and would overwrite these: "
        f"{', '.join(running[:_LISTED])}{more}",
        do="stop them and try again; one that died is forgotten after its session timeout",
    )


def _item(aim: Aim, found: Found, *, force: bool) -> NodeItem:
    where = place(aim)
    before = found.stored.get(where)
    try:
        note = _checked(aim, where, found, force=force)
    except KcliError as error:
        return NodeItem(where, before, None, f"refused: {error.why or error.what}", error)
    return NodeItem(where, before, aim.saved.offset, note)


def _checked(aim: Aim, where: Place, found: Found, *, force: bool) -> str:
    """Returns a note; raises the reason why the offset must not be set there."""
    if where in found.unread:
        raise found.unread[where]
    _check_partition(where, found)
    reason = stranger(aim, Here(found.cluster, {}, {}))
    if reason and not force:
        raise ImportRefusedError(
            f"{where}: the offset of the file is not one of this topic",
            why=reason,
            do="--force takes the offset as it is",
        )
    return f"forced: {reason}" if reason else ""


def _check_partition(where: Place, found: Found) -> None:
    """Rejects a partition unknown to the brokers: setting it would create a node that no consumer reads."""
    if found.topics is None:
        return
    topic = found.topics[where.topic]
    if topic is None:
        raise NotFoundError(
            f"topic {where.topic} does not exist",
            why=f"the brokers of this ZooKeeper have no topic {where.topic}",
            do="--map-topic NAME-IN-THE-FILE=NAME-HERE, or leave it out with -t",
        )
    if (topic.numbers is None) != (where.broker != ANY_BROKER):
        theirs, ours = ("0.7", "0.8 or later") if topic.numbers is None else ("0.8 or later", "0.7")
        raise ImportRefusedError(
            f"{where}: the offset is of another layout",
            why=f"the topic's partitions are those of Kafka {theirs}, the file's of {ours}",
            do="offsets of 0.7 mean nothing to later versions, nor the other way round",
        )
    if topic.numbers is not None and where.partition not in topic.numbers:
        raise NotFoundError(
            f"partition {where} does not exist",
            why=f"the topic has {len(topic.numbers)} partitions",
            do="leave it out with -t",
        )
