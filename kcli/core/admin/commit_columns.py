"""A group's committed offsets, in columns: most groups have an offset everywhere and no metadata. Pure.

Thousands of groups have tens of thousands of committed offsets, often in the same partitions: the partition lists are
shared, and no object is created per offset until it is read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponseTopic, OffsetFetchResponseTopics
from kcli.core.protocol.table import Table
from kcli.core.types import OffsetAndMetadata, TopicPartition

_COLUMNS = ["partition_index", "committed_offset", "committed_leader_epoch", "error_code"]

GROUP = ["group_id", "topics", "error_code"]
"""The values that ``Table.tuples`` have for a group; ``topics`` are pairs of a name and the columns above."""

_TOPIC_VALUES = 2
_Pick = Callable[[tuple[int, ...]], tuple[int, ...]] | None
_Order = tuple[tuple[int, ...], _Pick]
"""Partitions in ascending order, and what sorts their columns; None: they are sorted."""

TopicPartitions = tuple[TopicPartition, ...]
Topic = OffsetFetchResponseTopic | OffsetFetchResponseTopics
"""The value in responses of older and of newer versions."""


class CommitColumns(Mapping[TopicPartition, OffsetAndMetadata]):
    """A mapping by topic and partition. ``offsets`` and ``epochs`` (leader epochs) are in the order of ``partitions``."""

    __slots__ = ("_by_partition", "epochs", "offsets", "partitions")

    def __init__(
        self, partitions: TopicPartitions, offsets: tuple[int, ...], epochs: tuple[int, ...]
    ) -> None:
        self.partitions = partitions
        self.offsets = offsets
        self.epochs = epochs
        self._by_partition: dict[TopicPartition, OffsetAndMetadata] | None = None

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.partitions)

    def __getitem__(self, tp: TopicPartition) -> OffsetAndMetadata:
        if self._by_partition is None:
            rows = zip(self.partitions, self.offsets, self.epochs, strict=True)
            self._by_partition = {tp: OffsetAndMetadata(offset, "", epoch) for tp, offset, epoch in rows}
        return self._by_partition[tp]

    def __repr__(self) -> str:
        return repr(dict(self))


class CommitReader:
    """Builds columns from responses; caches partition lists, which other groups often share."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, tuple[int, ...]], ...], TopicPartitions | None] = {}
        self._orders: dict[tuple[int, ...], _Order] = {}
        self._single: dict[tuple[str, tuple[int, ...]], tuple[TopicPartitions | None, _Pick]] = {}
        """Of groups that read one topic: its name, and its partitions as they are listed."""

    def read(self, topics: Iterable[Topic]) -> CommitColumns | None:
        """None if an element has an error, metadata or no offset, or is repeated, or if there are no elements."""
        names: list[tuple[str, tuple[int, ...]]] = []
        offsets: tuple[int, ...] = ()
        epochs: tuple[int, ...] = ()
        for topic in sorted(topics, key=attrgetter("name")):
            rows = topic.partitions
            if not isinstance(rows, Table) or not rows or rows.names != _COLUMNS:
                return None
            numbers, committed, leaders, errors = zip(*sorted(rows.tuples), strict=True)
            if any(errors) or min(committed) < 0:
                return None
            names.append((topic.name, numbers))
            offsets, epochs = offsets + committed, epochs + leaders
        partitions = self._partitions_of(tuple(names))
        return None if partitions is None else CommitColumns(partitions, offsets, epochs)

    def read_tuples(self, topics: list[tuple[Any, ...]]) -> CommitColumns | None:
        """As ``read``, of the values from which ``Table`` would create the elements."""
        if not topics or len(topics[0]) != _TOPIC_VALUES:
            return None
        if len(topics) == 1:
            ((name, columns),) = topics
            numbers, committed, leaders, errors = columns
            if not numbers or any(errors) or min(committed) < 0:
                return None
            if (name, numbers) in self._single:
                partitions, pick = self._single[name, numbers]
            else:
                in_order, pick = self._order_of(numbers)
                partitions = self._partitions_of(((name, in_order),))
                self._single[name, numbers] = partitions, pick
            if partitions is None:
                return None
            if pick is None:
                return CommitColumns(partitions, committed, leaders)
            return CommitColumns(partitions, pick(committed), pick(leaders))
        topics = sorted(topics)
        names: list[tuple[str, tuple[int, ...]]] = []
        offsets: tuple[int, ...] = ()
        epochs: tuple[int, ...] = ()
        for name, columns in topics:
            numbers, committed, leaders, errors = columns
            if not numbers or any(errors) or min(committed) < 0:
                return None
            in_order, pick = self._orders.get(numbers) or self._order_of(numbers)
            names.append((name, in_order))
            offsets += committed if pick is None else pick(committed)
            epochs += leaders if pick is None else pick(leaders)
        found = self._partitions_of(tuple(names))
        return None if found is None else CommitColumns(found, offsets, epochs)

    def _order_of(self, numbers: tuple[int, ...]) -> _Order:
        """Coordinators list partitions in any order, and in the same one for all groups that have the same."""
        in_order = tuple(sorted(numbers))
        places = sorted(range(len(numbers)), key=numbers.__getitem__)
        found = self._orders[numbers] = (in_order, None if in_order == numbers else itemgetter(*places))
        return found

    def _partitions_of(self, names: tuple[tuple[str, tuple[int, ...]], ...]) -> TopicPartitions | None:
        if names not in self._known:
            partitions = tuple(TopicPartition(name, number) for name, numbers in names for number in numbers)
            self._known[names] = (
                partitions if len(set(partitions)) == len(partitions) and partitions else None
            )
        return self._known[names]
