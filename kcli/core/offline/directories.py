"""The log directories that a cluster is made of: their topics and partitions, opened on first use.

What the server's thread does, and what another one asks for, is done under ``lock``.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from kcli.core.addresses import cluster_place
from kcli.core.classes import NamedTuple
from kcli.core.errors import (
    ConfigError,
    CorruptRecordsError,
    DamagedFileError,
    KcliError,
    NotFoundError,
    UnreadableFileError,
    printable,
)
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.logdir.folders import CURRENT, Found, PartitionFolder, find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.replicas import Replica, choose_replica
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.offline.image import MetadataImage
from kcli.core.offline.metadata_log import NotHereError, read_image
from kcli.core.protocol.schema import NO_UUID
from kcli.core.protocol.stored.metadata_records import PartitionRecord
from kcli.core.types import TopicPartition

T = TypeVar("T")

_OPEN = 16
"""Partitions whose segments stay open: a process may have a thousand files, and a broker has more partitions."""
_NODE = 0
"""The number of the node where no directory says whose it is."""


class TopicFolders(NamedTuple):
    """The folders of a topic, by partition: several where the disks of several brokers are there."""

    name: str
    id: bytes
    partitions: Mapping[int, tuple[PartitionFolder, ...]]


class Directories:
    """``paths``: log directories, folders of partitions, or single ``.log`` files. ``hooks`` are told what is notable
    about what is read. ``committing``: what is open at the end of a log is taken as ended by its coordinator; says the
    producers whose transactions in a partition are committed. None: it stays open.

    ConfigError where the paths belong to several clusters, or none of them exists; NotFoundError or UnreadableFileError
    where there is nothing to be read.
    """

    def __init__(
        self,
        paths: Sequence[str],
        hooks: Hooks = NO_HOOKS,
        *,
        committing: Callable[["Directories", TopicPartition], Container[int]] | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.name = cluster_place("", ",".join(paths))
        self.committing = committing
        self.lock = threading.Lock()
        self.failures: dict[TopicPartition, KcliError] = {}
        """Why a partition could not be read, the last time that it was asked for."""
        self.asked_node = -1
        """The broker that the request is for which is answered; negative before the client knows one."""
        self._hooks = hooks
        self._given = {os.path.normpath(path) for path in self.paths}
        self._made: dict[Any, Any] = {}
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._recent: OrderedDict[TopicPartition, None] = OrderedDict()
        self._noted: set[str] = set()
        self.found = find(paths)
        self._check_found()
        self.topics: dict[str, TopicFolders] = {}
        self._find_topics()
        self.by_id = {topic.id: topic for topic in self.topics.values() if topic.id != NO_UUID}

    @property
    def cluster_id(self) -> str | None:
        """The cluster that the directories belong to; None where none says."""
        ids = {found.meta.cluster_id for found in self.found.log_dirs if found.meta and found.meta.cluster_id}
        return next(iter(ids), None)

    @property
    def node_id(self) -> int:
        """The number of the node that answers for all brokers: that of one of them."""
        return min((found.node_id for found in self.found.log_dirs if found.node_id >= 0), default=_NODE)

    @property
    def is_live(self) -> bool:
        """Whether a broker has one of the directories open."""
        return any(found.live for found in self.found.log_dirs)

    def image(self) -> MetadataImage:
        """The state of the controllers; NotHereError without a metadata log, as of a cluster with ZooKeeper."""
        return self.once(_image)

    def known_image(self) -> MetadataImage | None:
        """The same; None if there is none, or if it cannot be read, which is noted."""
        try:
            return self.image()
        except NotHereError:
            return None
        except KcliError as error:
            self.note(f"the metadata log cannot be read: {error}", "warning")
            return None

    def stored_partition(self, tp: TopicPartition) -> PartitionRecord | None:
        """A partition as the metadata log has it; None for the metadata log itself, and without one."""
        known = self.known_image() if tp.topic != METADATA_LOG else None
        topic = known.topics.get(tp.topic) if known is not None else None
        return topic.partitions.get(tp.partition) if topic is not None else None

    def in_sync(self, tp: TopicPartition) -> Collection[int]:
        """The brokers whose replicas of a partition were in sync, as far as the directories say.

        A broker that stops in order is the last one out of the ISR, and then an eligible leader (KIP-966).
        """
        partition = self.stored_partition(tp)
        if partition is None:
            return ()
        return partition.isr or partition.eligible_leader_replicas or partition.last_known_elr or ()

    def log(self, tp: TopicPartition) -> PartitionLog | None:
        """The log of a partition; None if there is none. Of several replicas the one that is chosen, which is noted."""
        if tp not in self._logs:
            topic = self.topics.get(tp.topic)
            folders = topic.partitions.get(tp.partition) if topic is not None else None
            if not folders:
                return None
            self._logs[tp] = log = self._opened(tp, folders)
            if self.committing is not None:
                log.end_transactions(self.committing(self, tp))
        self._recent[tp] = None
        self._recent.move_to_end(tp)
        if len(self._recent) > _OPEN:
            self._logs[self._recent.popitem(last=False)[0]].release()
        return self._logs[tp]

    def narrow(self, tp: TopicPartition, folder: PartitionFolder | None) -> None:
        """Reads this replica of a partition and no other one; None: as if no folder had the partition."""
        topic = self.topics[tp.topic]
        partitions = dict(topic.partitions)
        if folder is None:
            partitions.pop(tp.partition, None)
        else:
            partitions[tp.partition] = (folder,)
        self.topics[tp.topic] = topic._replace(partitions=partitions)
        log = self._logs.pop(tp, None)
        if log is not None:
            log.close()
        self._recent.pop(tp, None)
        self._made.clear()

    def failure(self, tp: TopicPartition, offset: int) -> KcliError | None:
        """Why a partition cannot be read at an offset, with file and position; None if it can, as far as is known."""
        known = self.failures.pop(tp, None)
        if known is not None:
            return known
        try:
            log = self.log(tp)
            if log is not None:
                next(log.batches(offset, offset + 1, verify=True), None)
        except DamagedFileError as error:
            return error.from_offset(offset).in_partition(tp)
        except CorruptRecordsError as error:
            return error.in_partition(tp)
        except KcliError as error:
            return error
        return None

    def is_inside(self, folder: PartitionFolder) -> bool:
        """Whether a folder was found in a log directory, and not named itself."""
        return not folder.files and folder.path not in self._given

    def once(self, make: Callable[["Directories"], T]) -> T:
        """``make(self)``, made at the first call: what several answers are made of, as the state of the controllers."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    def note(self, text: str, level: str = "note") -> None:
        """Tells what is notable, once."""
        if text not in self._noted:
            self._noted.add(text)
            self._hooks.log(level, "conf", text)

    def miss(self, error: KcliError) -> None:
        """Tells that a part of what is read is not there, once."""
        if str(error) not in self._noted:
            self._noted.add(str(error))
            self._hooks.missing(error)

    def close(self) -> None:
        """Closes the files; they are opened anew when they are asked for."""
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        self._recent.clear()
        self._made.clear()

    # --- inside ------------------------------------------------------------------------------------

    def _check_found(self) -> None:
        ids = sorted({one.meta.cluster_id for one in self.found.log_dirs if one.meta and one.meta.cluster_id})
        if len(ids) > 1:
            raise ConfigError(
                f"the log directories belong to {len(ids)} clusters: {', '.join(ids)}",
                why="one cluster is read at a time",
                do="name the directories of one of them",
            )
        if not self.found.partitions:
            raise _nothing(self.found, self.paths)
        given = set(map(printable, self._given))
        for missing in self.found.missing:
            if missing.path in given:
                self.miss(
                    UnreadableFileError(f"{missing.path} is not read", why=missing.why, do="check the path")
                )
            else:
                self.note(f"{missing.path} is not read: {missing.why}", "warning")
        for one in self.found.log_dirs:
            if one.live:
                self.note(f"a broker has {one.path} open: what it writes meanwhile may be missing")

    def _find_topics(self) -> None:
        """That of the metadata log first: it says which folders are of an older topic of the same name."""
        by_name: dict[str, list[PartitionFolder]] = {}
        for folder in self.found.partitions:
            if folder.state == CURRENT or not self.is_inside(folder):
                by_name.setdefault(folder.tp.topic, []).append(folder)
        for name in sorted(by_name, key=lambda one: (one != METADATA_LOG, one)):
            self.topics[name] = self._topic(name, by_name[name])

    def _topic(self, name: str, folders: Sequence[PartitionFolder]) -> TopicFolders:
        ids = {folder.topic_id for folder in folders} - {NO_UUID}
        stored = self._stored_id(name) if len(ids) > 1 else None
        topic_id = stored or max(ids, key=lambda one: _last_change(folders, one), default=NO_UUID)
        if topic_id == NO_UUID and name != METADATA_LOG:  # before Kafka 2.8, or the file is lost
            topic_id = self._stored_id(name) or NO_UUID
        partitions: dict[int, tuple[PartitionFolder, ...]] = {}
        for folder in folders:
            if folder.topic_id in (topic_id, NO_UUID):
                number = folder.tp.partition
                partitions[number] = (*partitions.get(number, ()), folder)
            else:
                self.note(
                    f"{folder.path} is not read: it belongs to an older topic of the name {name}", "warning"
                )
        return TopicFolders(name, topic_id, partitions)

    def _stored_id(self, name: str) -> bytes | None:
        """The id of a topic by the metadata log, if there is one."""
        known = self.known_image()
        topic = known.topics.get(name) if known is not None else None
        return topic.topic_id if topic is not None else None

    def _opened(self, tp: TopicPartition, folders: Sequence[PartitionFolder]) -> PartitionLog:
        logs = [PartitionLog(folder) for folder in folders]
        chosen = logs[0] if len(logs) == 1 else self._chosen(tp, logs)
        if chosen.tail is not None:
            tail = chosen.tail
            name = chosen.files[-1].name
            self.note(
                f"{tp} ends at offset {chosen.end_offset}: {tail.why}, at byte {tail.position} of "
                f"{os.path.join(chosen.folder.path, name)}"
            )
        elif -1 < chosen.high_watermark < chosen.end_offset:
            self.note(
                f"{tp}: offsets {chosen.high_watermark} to {chosen.end_offset - 1} are above the last high watermark "
                "that was saved: they may not have been committed"
            )
        return chosen

    def _chosen(self, tp: TopicPartition, logs: Sequence[PartitionLog]) -> PartitionLog:
        replicas = [
            Replica(_node_of(log), log.last_epoch, log.end_offset, log.epochs(), log.start_offset)
            for log in logs
        ]
        choice = choose_replica(replicas, self.in_sync(tp))
        for index, log in enumerate(logs):
            if index != choice.number:
                log.close()
        chosen = logs[choice.number].folder.path
        if len({(one.last_epoch, one.end_offset) for one in replicas}) > 1:
            self.note(f"{tp} is read from {chosen}, of {len(logs)} replicas that end at different offsets")
        for one in choice.differences:
            how = "beyond it" if one.beyond else "instead of its records"
            self.note(
                f"{tp}: {logs[one.number].folder.path} has offsets {one.offset} to {one.end_offset - 1} {how}, which are "
                "not read",
                "warning",
            )
        return logs[choice.number]


def _image(directories: Directories) -> MetadataImage:
    return read_image(directories.log(TopicPartition(METADATA_LOG, 0)), directories.note)


def _node_of(log: PartitionLog) -> int:
    return log.folder.log_dir.node_id if log.folder.log_dir is not None else -1


def _last_change(folders: Iterable[PartitionFolder], topic_id: bytes) -> float:
    """When the files of this topic were changed last."""
    times = [0.0]
    for folder in folders:
        if folder.topic_id == topic_id:
            try:
                times += [entry.stat().st_mtime for entry in os.scandir(folder.path)]
            except OSError:
                continue
    return max(times)


def _nothing(found: Found, paths: Sequence[str]) -> KcliError:
    if not found.missing:
        return NotFoundError(
            f"{paths[0]} has no partitions", why="no folder in it is that of a partition", do="check the path"
        )
    first = found.missing[0]
    if os.path.lexists(first.path):
        return UnreadableFileError(f"{first.path} cannot be read", why=first.why, do="check the path")
    return ConfigError(f"{first.path} cannot be read", why=first.why, do="check the path")
