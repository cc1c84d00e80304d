"""A committed offset in a file. A pure value."""

from kcli.core.classes import dataclass, field
from kcli.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class SavedOffset:
    """One commit. None is what the file does not contain; ``group`` None: it belongs to the group that the user names.

    ``timestamp`` is that of the first unread record, in ms since the epoch, also None if there was none: then
    ``drained`` is true. ``group_type`` is that of the group: ``share`` for a start offset. ``at_ms`` is when it was read,
    in ms since the epoch too. ``location`` is the line or entry in the file, for messages. ``broker`` is that of Kafka
    0.7, where each broker numbered its own partitions.
    """

    topic: str
    partition: int
    offset: int
    group: str | None = None
    leader_epoch: int | None = None
    metadata: str | None = None
    cluster: str | None = None
    topic_id: str | None = None
    timestamp: int | None = None
    drained: bool | None = None
    at_ms: int | None = None
    group_type: str | None = None
    broker: int | None = None
    location: str = field(default="", compare=False)

    @property
    def tp(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(self.topic, self.partition)
