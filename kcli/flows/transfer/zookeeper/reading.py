"""The state of groups in ZooKeeper: their offsets, their running consumers, and the partitions of topics."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from kcli.core.errors import KcliError, NotFoundError
from kcli.core.near_names import near_names
from kcli.core.topic_names import is_topic_name
from kcli.core.types import TopicPartition
from kcli.flows.transfer.exporting import Export
from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.zookeeper.place import (
    ANY_BROKER,
    CONSUMERS,
    Place,
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


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partition numbers of an existing topic; None for a topic of 0.7, where they are BROKER-PARTITION."""

    numbers: frozenset[int] | None


def export_zookeeper(
    zookeeper: ZooKeeper,
    names: Sequence[str] | None,
    wanted: Callable[[TopicPartition], bool],
    *,
    at_ms: int,
) -> Export:
    """The offsets of these groups (None: of all), for the partitions that are ``wanted``.

    Errors are as in ``export_offsets``, plus one for each node that does not contain an offset. ``at_ms`` is now.
    """
    there, errors = _existing(zookeeper, names)
    stored, unread = offsets_at(zookeeper, _places(zookeeper, there, wanted, errors))
    errors += unread.values()
    cluster = cluster_id(zookeeper) if stored else ""
    groups = {place.group for place in (*stored, *unread)}
    return Export(
        tuple(
            SavedOffset(
                place.topic,
                place.partition,
                one.offset,
                group=place.group,
                cluster=cluster or None,
                at_ms=at_ms,
                broker=None if place.broker == ANY_BROKER else place.broker,
            )
            for place, one in sorted(stored.items())
        ),
        len(there),
        () if errors else tuple(name for name in there if name not in groups),
        tuple(errors),
    )


def offsets_at(
    zookeeper: ZooKeeper, places: Iterable[Place]
) -> tuple[dict[Place, Stored], dict[Place, KcliError]]:
    """The contents of these nodes, and the errors of those that cannot be read; nodes in neither do not exist."""
    stored: dict[Place, Stored] = {}
    errors: dict[Place, KcliError] = {}
    by_path = {place.path: place for place in places}
    for path, told in zookeeper.nodes(by_path).items():
        try:
            if isinstance(told, KcliError):
                raise told
            if told is not None:
                stored[by_path[path]] = _offset(path, told)
        except KcliError as error:
            errors[by_path[path]] = error
    return stored, errors


def running(zookeeper: ZooKeeper, groups: Iterable[str]) -> dict[str, list[str]]:
    """The ids of each group's running consumers; raises an error if they cannot be read."""
    paths = {members_path(group): group for group in groups}
    found: dict[str, list[str]] = {}
    for path, names in zookeeper.children(paths).items():
        if isinstance(names, KcliError):
            raise names
        found[paths[path]] = names or []
    return found


def existing(zookeeper: ZooKeeper, groups: Collection[str]) -> set[str]:
    """The groups that have a node."""
    found = zookeeper.children(group_path(group) for group in groups)
    return {group for group in groups if found[group_path(group)] is not None}


def cluster_id(zookeeper: ZooKeeper) -> str:
    """The id of the cluster that uses this ZooKeeper; empty if it has none (before 0.10.1) or cannot be read."""
    told = zookeeper.nodes([_CLUSTER])[_CLUSTER]
    try:
        document = json.loads(told.data) if isinstance(told, Node) else None
    except (ValueError, RecursionError):
        return ""
    found = document.get("id") if isinstance(document, dict) else None
    return found if isinstance(found, str) else ""


def partitions_of(zookeeper: ZooKeeper, topics: Collection[str]) -> dict[str, Partitions | None] | None:
    """By topic, None for a topic that does not exist; None for all if no brokers are registered here.

    That is the case where consumers use a separate ZooKeeper.
    """
    if zookeeper.nodes([_TOPICS])[_TOPICS] is None:
        return None
    found = zookeeper.nodes(f"{_TOPICS}/{topic}" for topic in topics)
    known: dict[str, Partitions | None] = {}
    for topic in topics:
        told = found[f"{_TOPICS}/{topic}"]
        if isinstance(told, KcliError):
            raise told
        known[topic] = None if told is None else Partitions(_numbers(told.data))
    return known


# --- contents ---------------------------------------------------------------------------------------------


def _existing(zookeeper: ZooKeeper, names: Sequence[str] | None) -> tuple[list[str], list[KcliError]]:
    """The requested groups that exist, and the errors of the others."""
    told = zookeeper.children([CONSUMERS])[CONSUMERS]
    if isinstance(told, KcliError):
        raise told
    if told is None:
        raise NotFoundError(
            f"ZooKeeper at {zookeeper.hosts} has no groups",
            why=f"there is no {CONSUMERS}",
            do="name the chroot if there is one: --zookeeper HOST:PORT/CHROOT, as in zookeeper.connect",
        )
    if names is None:
        return told, []
    missing: list[KcliError] = []
    for name in names:
        if name not in told:
            near = near_names(name, told, 3)
            hint = f"did you mean {', '.join(near)}?" if near else "--all exports all groups that there are"
            missing.append(NotFoundError(f"group {name} does not exist in ZooKeeper", do=hint))
    return sorted(name for name in names if name in told), missing


def _places(
    zookeeper: ZooKeeper,
    groups: Iterable[str],
    wanted: Callable[[TopicPartition], bool],
    errors: list[KcliError],
) -> list[Place]:
    """The offset nodes of groups; ``errors`` gets nodes that cannot be read, and nodes whose names are not partitions.

    The latter are reported where the whole topic is wanted.
    """
    roots = {offsets_path(group): group for group in groups}
    topics = {
        f"{path}/{topic}": (roots[path], topic)
        for path, names in good(zookeeper.children(roots), errors).items()
        for topic in names
    }
    found: list[Place] = []
    for path, names in good(zookeeper.children(topics), errors).items():
        group, topic = topics[path]
        for name in names:
            broker, partition = parse_name(name) or _NO_PARTITION
            if not wanted(TopicPartition(topic, partition)):
                continue
            if partition < 0 or not is_topic_name(topic):
                errors.append(KcliError(f"{path}/{name} is no offset", why="its name is no partition's"))
            else:
                found.append(Place(group, topic, broker, partition))
    return found


def _offset(path: str, node: Node) -> Stored:
    try:
        return Stored(fields.offset(path, node.data.decode("utf-8", "replace").strip()), node.version)
    except BrokenFileError as error:
        raise KcliError(f"{path} holds no offset", why=error.reason) from None


def _numbers(data: bytes) -> frozenset[int] | None:
    """The partition numbers in the JSON that brokers since 0.8 keep for a topic; brokers of 0.7 have a node for each
    broker.
    """
    try:
        partitions = json.loads(data)["partitions"]
        return frozenset(map(int, partitions))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
