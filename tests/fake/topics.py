"""Topics of the fake cluster and who leads their partitions. Loop thread only."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.fake.codes import Code, RefusedError
from tests.fake.log import PartitionLog
from tests.fake.settings import Settings

_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass(slots=True)
class Partition:
    """``leader`` is −1 while there is none. ``adding`` and ``removing`` are replicas of a reassignment in progress;
    ``copied``: how many bytes the adding ones have. ``directories`` of nodes where it is not in the first one, and of
    ``futures``, which are being copied there. ``elr``, ``last_known_elr``: the replicas of KIP-966.
    """

    index: int
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int = 0
    log: PartitionLog = field(default_factory=PartitionLog)
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    copied: dict[int, int] = field(default_factory=dict)
    directories: dict[int, str] = field(default_factory=dict)
    futures: dict[int, str] = field(default_factory=dict)
    elr: list[int] = field(default_factory=list)
    last_known_elr: list[int] = field(default_factory=list)

    def lead(self, node: int) -> None:
        """Every change of leader begins a new epoch, also the one to nobody."""
        self.leader = node
        self.leader_epoch += 1
        if node >= 0:
            self.log.begin_epoch(self.leader_epoch)
            if node not in self.isr:
                self.isr.append(node)
            if node not in self.replicas:
                self.replicas.append(node)


@dataclass(slots=True)
class Topic:
    name: str
    topic_id: bytes
    partitions: list[Partition]
    configs: dict[str, str]

    def config(self, name: str, default: str) -> str:
        return self.configs.get(name, default)


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """What group coordinators want to know of a topic."""

    topic_id: bytes
    partitions: int


class Topics:
    """By name and by id. Partition i of any topic is led by the i-th of ``nodes``, over and over."""

    def __init__(self, nodes: Iterable[int], settings: Settings) -> None:
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[bytes, Topic] = {}
        self._former_names: dict[bytes, str] = {}
        self._folded: dict[str, str] = {}
        """Names by what they are in metrics, which have no dots."""
        self._infos: dict[str, TopicInfo] | None = None
        self._nodes = list(nodes)
        self._settings = settings

    def create(
        self,
        name: str,
        partitions: int = -1,
        replication: int = -1,
        configs: Mapping[str, str] | None = None,
        assignments: Mapping[int, list[int]] | None = None,
        *,
        dry: bool = False,
    ) -> Topic:
        """A new topic; RefusedError as a controller would answer. ``assignments``: replicas, the leader first."""
        self._check_name(name)
        count = len(assignments) if assignments else (1 if partitions == -1 else partitions)
        copies = min(3, len(self._nodes)) if replication == -1 else replication
        if count < 1:
            raise RefusedError(Code.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        if not assignments and not 1 <= copies <= len(self._nodes):
            raise RefusedError(
                Code.INVALID_REPLICATION_FACTOR, f"{copies} copies on {len(self._nodes)} brokers"
            )
        self.check_configs(configs or {})
        made = [self._partition(i, copies, (assignments or {}).get(i)) for i in range(count)]
        topic = Topic(name, uuid.uuid4().bytes, made, dict(configs or {}))
        if not dry:
            self.by_name[name] = self.by_id[topic.topic_id] = topic
            self._former_names[topic.topic_id] = name
            self._folded[name.replace(".", "_")] = name
            self._infos = None
        return topic

    def check_configs(self, keys: Iterable[str]) -> None:
        """RefusedError for a key of a topic that these brokers do not have."""
        for key in sorted(self._settings.unknown_configs.intersection(keys)):
            raise RefusedError(Code.INVALID_CONFIG, f"Unknown topic config name: {key}")

    def delete(self, name: str) -> None:
        topic = self.by_name.pop(name, None)
        if topic is None:
            raise RefusedError(Code.UNKNOWN_TOPIC_OR_PARTITION)
        del self.by_id[topic.topic_id]
        del self._folded[name.replace(".", "_")]
        self._infos = None

    def grow(self, name: str, count: int) -> None:
        """More partitions for a topic."""
        self._infos = None
        topic = self.by_name[name]
        copies = len(topic.partitions[0].replicas)
        topic.partitions += [self._partition(i, copies, None) for i in range(len(topic.partitions), count)]

    def find(self, name: str | None, topic_id: bytes = bytes(16)) -> Topic:
        """By name, or by id where there is no name."""
        if name:
            topic = self.by_name.get(name)
            if topic is None:
                raise RefusedError(Code.UNKNOWN_TOPIC_OR_PARTITION)
            return topic
        topic = self.by_id.get(bytes(topic_id))
        if topic is None:
            raise RefusedError(Code.UNKNOWN_TOPIC_ID)
        return topic

    def partition(self, name: str | None, topic_id: bytes, index: int) -> Partition:
        topic = self.find(name, topic_id)
        if not 0 <= index < len(topic.partitions):
            raise RefusedError(Code.UNKNOWN_TOPIC_OR_PARTITION)
        return topic.partitions[index]

    def name_of(self, topic_id: bytes) -> str:
        """Also of a topic that was deleted; empty for an id that never was."""
        return self._former_names.get(bytes(topic_id), "")

    def infos(self) -> dict[str, TopicInfo]:
        if self._infos is None:
            self._infos = {n: TopicInfo(t.topic_id, len(t.partitions)) for n, t in self.by_name.items()}
        return self._infos

    def all_partitions(self) -> Iterable[Partition]:
        for topic in self.by_name.values():
            yield from topic.partitions

    def min_insync(self, topic: Topic) -> int:
        return int(topic.config("min.insync.replicas", str(self._settings.min_insync_replicas)))

    def max_message_bytes(self, topic: Topic) -> int:
        return int(topic.config("max.message.bytes", str(self._settings.max_message_bytes)))

    def is_legal(self, name: str) -> bool:
        return bool(name) and name not in (".", "..") and len(name) <= 249 and set(name) <= _LEGAL

    def _check_name(self, name: str) -> None:
        if not self.is_legal(name):
            raise RefusedError(Code.INVALID_TOPIC_EXCEPTION, f"the topic name {name!r} is not legal")
        if name in self.by_name:
            raise RefusedError(Code.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if clash := self._folded.get(name.replace(".", "_")):
            raise RefusedError(Code.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with '{clash}'")

    def _partition(self, index: int, copies: int, replicas: list[int] | None) -> Partition:
        if replicas is None:
            replicas = [self._nodes[(index + i) % len(self._nodes)] for i in range(copies)]
        made = Partition(index, list(replicas), list(replicas), replicas[0])
        made.log.begin_epoch(0)
        return made
