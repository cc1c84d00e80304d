"""What an export keeps of a cluster besides records: settings of its topics, and positions of the groups that read them.
Values of the manifest. Each run that keeps them replaces those of earlier ones; each says when it read them.
"""

from collections.abc import Iterator

import msgspec

from kcli.core.types import OffsetAndMetadata, TopicPartition

PARTITIONS, REPLICATION = "partitions", "replication.factor"
"""The names in reports of what is no configuration of a topic."""


class Unread(msgspec.Struct, frozen=True):
    """What could not be read, as in the ``missing`` of a document."""

    what: str
    where: str
    why: str


class TopicSettings(msgspec.Struct, frozen=True):
    """``config`` has what is set on the topic itself, and nothing else."""

    topic: str
    partitions: int
    replication_factor: int
    config: dict[str, str]

    def rows(self) -> list[tuple[str, str]]:
        """All of it by name."""
        shape = [(PARTITIONS, str(self.partitions)), (REPLICATION, str(self.replication_factor))]
        return [*shape, *sorted(self.config.items())]


class SavedSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of topics. ``at``: when they were read."""

    at: str
    topics: list[TopicSettings]
    missing: list[Unread] = []


class PartitionPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """``offset``: of the next record to be read. ``metadata``: of the commit, the group's own."""

    partition: int
    offset: int
    metadata: str = ""


class TopicPositions(msgspec.Struct, frozen=True):
    """The positions in a topic."""

    topic: str
    partitions: list[PartitionPosition]


class GroupPositions(msgspec.Struct, frozen=True):
    """What a group has committed for topics of the export."""

    group: str
    topics: list[TopicPositions]


class SavedGroups(msgspec.Struct, frozen=True, omit_defaults=True):
    """The positions of groups. ``at``: when they were read, before the ends of the export."""

    at: str
    groups: list[GroupPositions]
    missing: list[Unread] = []

    def commits(self) -> Iterator[tuple[str, TopicPartition, OffsetAndMetadata]]:
        """Each with its group and partition."""
        for group in self.groups:
            for topic in group.topics:
                for one in topic.partitions:
                    tp = TopicPartition(topic.topic, one.partition)
                    yield group.group, tp, OffsetAndMetadata(one.offset, one.metadata)


Saved = SavedSettings | SavedGroups


def is_whole(saved: Saved | None) -> bool:
    """Whether it was read, and nothing of it is missing."""
    return saved is not None and not saved.missing
