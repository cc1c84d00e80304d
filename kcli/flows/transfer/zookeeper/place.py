"""Where a consumer of old keeps an offset in ZooKeeper, by the names of the nodes. Pure.

``/consumers/GROUP/offsets/TOPIC/PARTITION`` since Kafka 0.8. In 0.7 the last name is ``BROKER-PARTITION``: each broker
counted partitions of its own, so that such a name is no partition of a cluster of today. Source: Kafka 0.7's and 0.8's
``kafka.utils.ZKGroupTopicDirs``.
"""

import re
from typing import NamedTuple

CONSUMERS = "/consumers"
ANY_BROKER = -1
_PATH = re.compile(r"/consumers/([^/]+)/offsets/([^/]+)/([^/]+)")
_NAME = re.compile(r"(?:(0|[1-9][0-9]{0,8})-)?(0|[1-9][0-9]{0,8})")
_ILLEGAL = re.compile("[/\0-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


class Place(NamedTuple):
    """A node. ``broker`` is 0.7's, ANY_BROKER where the cluster numbers partitions."""

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
        """Of the node."""
        return f"{offsets_path(self.group)}/{self.topic}/{self.name}"

    def __str__(self) -> str:
        return f"{self.topic}{'-' if self.broker == ANY_BROKER else ' '}{self.name}"


def parse_name(name: str) -> tuple[int, int] | None:
    """Broker and partition of ``3`` or ``1-3``; None for what is neither."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return ANY_BROKER if match[1] is None else int(match[1]), int(match[2])


def parse_path(path: str) -> tuple[str, str, int, int] | None:
    """Group, topic, broker and partition; None where it is no node of an offset."""
    match = _PATH.fullmatch(path)
    found = parse_name(match[3]) if match is not None else None
    return None if match is None or found is None else (match[1], match[2], *found)


def is_node_name(name: str) -> bool:
    """Whether ZooKeeper takes it for one: not every group that Kafka can have may be one there."""
    return bool(name) and name not in (".", "..") and _ILLEGAL.search(name) is None


def group_path(group: str) -> str:
    """Of all that belongs to a group."""
    return f"{CONSUMERS}/{group}"


def offsets_path(group: str) -> str:
    """Of its topics."""
    return f"{group_path(group)}/offsets"


def members_path(group: str) -> str:
    """Of its consumers that run: each has an ephemeral node there."""
    return f"{group_path(group)}/ids"
