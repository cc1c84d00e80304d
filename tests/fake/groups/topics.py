"""What the coordinator knows of topics: names, ids and numbers of partitions, always as they are right now."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from kcli.core.types import TopicPartition
from tests.fake.codes import Code

Place = tuple[bytes, int]
"""Topic id and partition: how KIP-848 names partitions, so that a recreated topic is another one."""


class Topic(Protocol):
    """What the fake cluster keeps of a topic, as far as groups care."""

    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> int: ...


class Topics:
    """Questions about the cluster's topics."""

    def __init__(self, source: Callable[[], Mapping[str, Topic]]) -> None:
        self._source = source

    def __contains__(self, tp: TopicPartition) -> bool:
        topic = self._source().get(tp.topic)
        return topic is not None and 0 <= tp.partition < topic.partitions

    def names(self) -> Iterable[str]:
        return self._source().keys()

    def id_of(self, name: str) -> bytes | None:
        topic = self._source().get(name)
        return topic.topic_id if topic else None

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, topic in self._source().items() if topic.topic_id == topic_id), None)

    def sizes(self, names: Iterable[str]) -> dict[bytes, int]:
        """Partitions by topic id, of those topics that exist."""
        topics = self._source()
        return {topics[name].topic_id: topics[name].partitions for name in sorted(names) if name in topics}

    def checked(self, asked: Iterable[TopicPartition]) -> Iterator[tuple[TopicPartition, Code]]:
        """Each with what a broker says to it before it asks the coordinator."""
        for tp in asked:
            yield tp, Code.NONE if tp in self else Code.UNKNOWN_TOPIC_OR_PARTITION
