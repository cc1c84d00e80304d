"""A group's committed offsets, in columns: most groups have an offset everywhere and no metadata. Pure.

Thousands of groups have tens of thousands of committed offsets, often in the same partitions: the partition lists are
shared, and no object is created per offset until it is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from kcli.core.protocol.messages.offset_fetch import OffsetFetchResponseTopic, OffsetFetchResponseTopics
from kcli.core.protocol.table import Table
from kcli.core.types import OffsetAndMetadata, TopicPartition

_COLUMNS = ["partition_index", "committed_offset", "committed_leader_epoch", "error_code"]

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

    def _partitions_of(self, names: tuple[tuple[str, tuple[int, ...]], ...]) -> TopicPartitions | None:
        if names not in self._known:
            partitions = tuple(TopicPartition(name, number) for name, numbers in names for number in numbers)
            self._known[names] = (
                partitions if len(set(partitions)) == len(partitions) and partitions else None
            )
        return self._known[names]
