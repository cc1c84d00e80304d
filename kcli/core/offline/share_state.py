"""Where share groups are in their partitions, from ``__share_group_state`` (KIP-932). Pure.

A snapshot has all of the state, an update what changed since; both are compacted by group, topic id and partition.
"""

from collections import Counter
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.offline.coordinator_log import CoordinatorLog, stored_records

TOPIC = "__share_group_state"
_UNCHANGED = -1


class SharePartition(NamedTuple):
    """A partition of a topic as a share group has it."""

    group_id: str
    topic_id: bytes
    partition: int


class ShareStart(NamedTuple):
    """``start_offset`` −1: the group has not begun to read. ``delivered``: how many records behind it are complete, −1
    where that is not stored.
    """

    start_offset: int
    leader_epoch: int
    delivered: int


class ShareState:
    """The starts of some partitions of the topic. ``unknown`` counts records of a type or version that is not known."""

    def __init__(self) -> None:
        self.starts: dict[SharePartition, ShareStart] = {}
        self.unknown: Counter[str] = Counter()

    def add(self, log: CoordinatorLog) -> None:
        """Adds those of one partition."""
        for part, found in stored_records(log, TOPIC, self.unknown):
            self._add(SharePartition(part.group_id, part.topic_id, part.partition), found)

    def _add(self, part: SharePartition, found: Any) -> None:
        before = self.starts.get(part)
        start, delivered = found.start_offset, found.delivery_complete_count
        if before is not None and start == _UNCHANGED:
            start = before.start_offset
        self.starts[part] = ShareStart(start, found.leader_epoch, delivered)
