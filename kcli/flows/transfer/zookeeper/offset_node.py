"""The node of an offset in ZooKeeper, as written by old consumers. Pure.

``/consumers/GROUP/offsets/TOPIC/PARTITION`` since Kafka 0.8. In 0.7 the last name is ``BROKER-PARTITION``: each broker
numbered its own partitions, so such a name is not a partition of a current cluster. Source: Kafka 0.7's and 0.8's
``kafka.utils.ZKGroupTopicDirs``.
"""

import re

from kcli.core.classes import NamedTuple

CONSUMERS = "/consumers"
ANY_BROKER = -1
_PATH = re.compile(r"/consumers/([^/]+)/offsets/([^/]+)/([^/]+)")
_NAME = re.compile(r"(?:(0|[1-9][0-9]{0,8})-)?(0|[1-9][0-9]{0,8})")
_ILLEGAL = re.compile("[/\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


class OffsetNode(NamedTuple):
    """A node. ``broker`` is that of 0.7, ANY_BROKER where the cluster numbers the partitions."""

    group: str
    topic: str
    broker: int
    partition: int

    @property
    def name(self) -> str:
        """``3``, or 0.7's ``1-3``."""
        return f"{self.partition}" if self.broker == ANY_BROKER else f"{self.broker}-{self.partition}"

    @property
    def path(self) -> str:
        """The path of the node."""
        return f"{offsets_path(self.group)}/{self.topic}/{self.name}"

    def __str__(self) -> str:
        return f"{self.topic}{'-' if self.broker == ANY_BROKER else ' '}{self.name}"


def parse_name(name: str) -> tuple[int, int] | None:
    """Broker and partition of ``3`` or ``1-3``; None for other names."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return ANY_BROKER if match[1] is None else int(match[1]), int(match[2])


def parse_path(path: str) -> tuple[str, str, int, int] | None:
    """Group, topic, broker and partition; None if it is not the path of an offset node."""
    match = _PATH.fullmatch(path)
    found = parse_name(match[3]) if match is not None else None
    return None if match is None or found is None else (match[1], match[2], *found)


def is_node_name(name: str) -> bool:
    """Whether ZooKeeper accepts it as a node name: not every Kafka group name is valid there."""
    return bool(name) and name not in (".", "..") and _ILLEGAL.search(name) is None


def group_path(group: str) -> str:
    """The path of all nodes of a group."""
    return f"{CONSUMERS}/{group}"


def offsets_path(group: str) -> str:
    """The path of the group's topics."""
    return f"{group_path(group)}/offsets"


def members_path(group: str) -> str:
    """The path of its running consumers, each of which has an ephemeral node there."""
    return f"{group_path(group)}/ids"
