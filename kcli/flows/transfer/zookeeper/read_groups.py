"""The state of groups in ZooKeeper: their offsets, their running consumers, and the partitions of topics."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from kcli.account.survey import Missing
from kcli.core.classes import dataclass
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.names import is_topic_name
from kcli.core.near_names import near_names
from kcli.core.types import TopicPartition
from kcli.flows.transfer.exporting import Export
from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.zookeeper.offset_node import (
    ANY_BROKER,
    CONSUMERS,
    OffsetNode,
    group_path,
    members_path,
    offsets_path,
    parse_name,
)
from kcli.flows.transfer.zookeeper.session import Node, ZooKeeper, good

_CLUSTER = "/cluster/id"
_TOPICS = "/brokers/topics"
_NO_PARTITION = (ANY_BROKER, -1)


@dataclass(frozen=True, slots=True)
class Stored:
    """An offset, and the version of its node."""

    offset: int
    version: int


Partitions = frozenset[int] | None
"""The partition numbers of a topic; None for a topic of Kafka 0.7, where partitions are BROKER-PARTITION."""


def export_zookeeper(
    zookeeper: ZooKeeper, names: Sequence[str] | None, wanted: Callable[[TopicPartition], bool], *, at_ms: int
) -> Export:
    """The offsets of these groups (None: of all), for the partitions that are ``wanted``.

    Errors are as in ``export_offsets``, plus one for each node that does not contain an offset. ``at_ms`` is now.
    """
    present, errors = _existing(zookeeper, names)
    stored, unread = offsets_at(zookeeper, _offset_nodes(zookeeper, present, wanted, errors))
    errors += unread.values()
    cluster = cluster_id(zookeeper) if stored else ""
    groups = {node.group for node in (*stored, *unread)}
    return Export(
        tuple(
            SavedOffset(
                node.topic,
                node.partition,
                one.offset,
                group=node.group,
                cluster=cluster or None,
                at_ms=at_ms,
                broker=None if node.broker == ANY_BROKER else node.broker,
            )
            for node, one in sorted(stored.items())
        ),
        len(present),
        () if errors else tuple(name for name in present if name not in groups),
        tuple(map(Missing.of, errors)),
    )


def offsets_at(
    zookeeper: ZooKeeper, nodes: Iterable[OffsetNode]
) -> tuple[dict[OffsetNode, Stored], dict[OffsetNode, KcliError]]:
    """The contents of these nodes, and the errors of those that cannot be read; nodes in neither do not exist."""
    stored: dict[OffsetNode, Stored] = {}
    errors: dict[OffsetNode, KcliError] = {}
    by_path = {node.path: node for node in nodes}
    for path, found in zookeeper.nodes(by_path).items():
        try:
            if isinstance(found, KcliError):
                raise found
            if found is not None:
                stored[by_path[path]] = _offset(path, found)
        except KcliError as error:
            errors[by_path[path]] = error
    return stored, errors


def running(zookeeper: ZooKeeper, groups: Iterable[str]) -> dict[str, list[str]]:
    """The ids of each group's running consumers; raises an error if they cannot be read."""
    paths = {members_path(group): group for group in groups}
    errors: list[KcliError] = []
    found = good(zookeeper.children(paths), errors)
    for error in errors:
        raise error
    return {group: found.get(path, []) for path, group in paths.items()}


def existing(zookeeper: ZooKeeper, groups: Collection[str]) -> set[str]:
    """The groups that have a node."""
    found = zookeeper.children(group_path(group) for group in groups)
    return {group for group in groups if found[group_path(group)] is not None}


def cluster_id(zookeeper: ZooKeeper) -> str:
    """The id of the cluster that uses this ZooKeeper; empty if it has none (before 0.10.1) or cannot be read."""
    node = zookeeper.nodes([_CLUSTER])[_CLUSTER]
    try:
        document = json.loads(node.data) if isinstance(node, Node) else None
    except (ValueError, RecursionError):
        return ""
    found = document.get("id") if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""


def partitions_of(zookeeper: ZooKeeper, topics: Iterable[str]) -> dict[str, Partitions] | None:
    """Those topics that exist; None if no brokers are registered here: consumers may use a separate ZooKeeper."""
    if zookeeper.nodes([_TOPICS])[_TOPICS] is None:
        return None
    paths = {f"{_TOPICS}/{topic}": topic for topic in topics}
    known: dict[str, Partitions] = {}
    for path, node in zookeeper.nodes(paths).items():
        if isinstance(node, KcliError):
            raise node
        if node is not None:
            known[paths[path]] = _numbers(node.data)
    return known


# --- contents ---------------------------------------------------------------------------------------------


def _existing(zookeeper: ZooKeeper, names: Sequence[str] | None) -> tuple[list[str], list[KcliError]]:
    """The requested groups that exist, and the errors of the others."""
    present = zookeeper.children([CONSUMERS])[CONSUMERS]
    if isinstance(present, KcliError):
        raise present
    if present is None:
        raise NotFoundError(
            f"ZooKeeper at {zookeeper.hosts} has no groups",
            why=f"there is no {CONSUMERS}",
            do="name the chroot if there is one: --zookeeper HOST:PORT/CHROOT, as in zookeeper.connect",
        )
    if names is None:
        return present, []
    missing: list[KcliError] = []
    for name in names:
        if name not in present:
            near = near_names(name, present, 3)
            hint = f"did you mean {', '.join(near)}?" if near else "--all exports all groups"
            why = "ZooKeeper has no offsets of a group of that name"
            missing.append(NotFoundError(f"group {name} does not exist in ZooKeeper", why=why, do=hint))
    return sorted(name for name in names if name in present), missing


def _offset_nodes(
    zookeeper: ZooKeeper,
    groups: Iterable[str],
    wanted: Callable[[TopicPartition], bool],
    errors: list[KcliError],
) -> list[OffsetNode]:
    """The offset nodes of groups; ``errors`` gets unreadable nodes, and of whole topics also nodes with other names."""
    roots = {offsets_path(group): group for group in groups}
    topics = {
        f"{path}/{topic}": (roots[path], topic)
        for path, names in good(zookeeper.children(roots), errors).items()
        for topic in names
    }
    found: list[OffsetNode] = []
    for path, names in good(zookeeper.children(topics), errors).items():
        group, topic = topics[path]
        for name in names:
            broker, partition = parse_name(name) or _NO_PARTITION
            if not wanted(TopicPartition(topic, partition)):
                continue
            if partition < 0 or not is_topic_name(topic):
                errors.append(
                    KcliError(f"{path}/{name} is not an offset", why="its name is not that of a partition")
                )
            else:
                found.append(OffsetNode(group, topic, broker, partition))
    return found


def _offset(path: str, node: Node) -> Stored:
    try:
        return Stored(fields.offset_number(path, node.data.decode("utf-8", "replace").strip()), node.version)
    except BrokenFileError as error:
        raise KcliError(f"{path} contains no offset", why=error.reason) from None


def _numbers(data: bytes) -> Partitions:
    """From the JSON that brokers since 0.8 store for a topic; brokers of 0.7 have a node for each broker."""
    try:
        return frozenset(map(int, json.loads(data)["partitions"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
