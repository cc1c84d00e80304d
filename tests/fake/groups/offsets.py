"""Committed positions by group, and those of open transactions, which become committed or vanish with them.

Of a plain and a transactional commit the one whose *request* came later wins: Kafka compares where the commits
stand in the log, not the markers (kafka-facts 2).
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from kcli.core.types import TopicPartition


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


class Offsets:
    """Positions of all groups. A value is (its number in the order of commits, the position)."""

    def __init__(self) -> None:
        self._count = 0
        self._stored: dict[str, dict[TopicPartition, tuple[int, Committed]]] = {}
        self._open: dict[int, dict[tuple[str, TopicPartition], tuple[int, Committed]]] = defaultdict(dict)

    def of(self, group_id: str) -> dict[TopicPartition, Committed]:
        """All that is committed, without what is pending."""
        return {tp: value for tp, (_, value) in self._stored.get(group_id, {}).items()}

    def is_pending(self, group_id: str, tp: TopicPartition) -> bool:
        """Whether an open transaction holds a position for it: it is not stable."""
        return any((group_id, tp) in positions for positions in self._open.values())

    def commit(self, group_id: str, tp: TopicPartition, value: Committed) -> None:
        self._count += 1
        self._stored.setdefault(group_id, {})[tp] = self._count, value

    def commit_in_transaction(
        self, producer_id: int, group_id: str, tp: TopicPartition, value: Committed
    ) -> None:
        """Invisible until ``complete``."""
        self._count += 1
        self._open[producer_id][group_id, tp] = self._count, value

    def complete(self, producer_id: int, *, committed: bool) -> None:
        """The transaction's marker is written."""
        positions = self._open.pop(producer_id, {})
        if not committed:
            return
        for (group_id, tp), (number, value) in positions.items():
            stored = self._stored.setdefault(group_id, {})
            if tp not in stored or stored[tp][0] < number:
                stored[tp] = number, value

    def delete(self, group_id: str, tp: TopicPartition) -> None:
        """Committed and pending."""
        self._forget(lambda group, at: group == group_id and at == tp)

    def delete_group(self, group_id: str) -> None:
        self._forget(lambda group, _: group == group_id)

    def forget_topic(self, topic: str) -> None:
        """It was deleted: its positions vanish in all groups."""
        self._forget(lambda _, tp: tp.topic == topic)

    def _forget(self, is_meant: Callable[[str, TopicPartition], bool]) -> None:
        for group_id, stored in list(self._stored.items()):
            self._stored[group_id] = {p: value for p, value in stored.items() if not is_meant(group_id, p)}
            if not self._stored[group_id]:
                del self._stored[group_id]
        for positions in self._open.values():
            for key in [key for key in positions if is_meant(*key)]:
                del positions[key]
