"""Finds what a path has: a log directory, several in a folder, the folder of a partition, or single ``.log`` files.

Nothing is opened but the small files that say whose it is. What belongs to none of it is named as missing, with the reason.
"""

import os
import re
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from kcli.core.errors import KcliError, UnreadableFileError
from kcli.core.logdir import checkpoints, leader_epochs
from kcli.core.logdir.checkpoints import MetaProperties
from kcli.core.records.segment import base_offset_of, unreadable
from kcli.core.types import TopicPartition

CURRENT, DELETED, FUTURE, STRAY = "current", "delete", "future", "stray"
LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_OWN = {
    LOCK, CLEAN_SHUTDOWN, "bootstrap.checkpoint", "lost+found", checkpoints.META, checkpoints.RECOVERY_POINTS,
    checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS, checkpoints.CLEANED,
}  # fmt: skip
_FILES = {checkpoints.PARTITION, leader_epochs.NAME}
_PARTITION = re.compile(r"(.+)-(\d{1,10})", re.DOTALL)
_MOVED = re.compile(r"(.*)-(\d{1,10})\.[0-9a-f]{32}-(delete|future|stray)", re.DOTALL)
_TIERED = re.compile(r"([A-Za-z0-9_-]{22})-(\d{1,10})-(.+)", re.DOTALL)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Named(NamedTuple):
    """What the name of a partition's folder says."""

    tp: TopicPartition
    state: str
    topic_id: bytes = bytes(16)


class Missing(NamedTuple):
    """What cannot be read, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """A log directory. ``live``: a process on this machine holds its lock, a broker that runs; None: that cannot be told.

    ``clean``: a broker that stopped in order left its mark. The checkpoints are what could be read of them.
    """

    path: str
    meta: MetaProperties | None = None
    live: bool | None = None
    clean: bool = False
    recovery_points: dict[TopicPartition, int] = field(default_factory=dict, repr=False)
    log_starts: dict[TopicPartition, int] = field(default_factory=dict, repr=False)
    high_watermarks: dict[TopicPartition, int] = field(default_factory=dict, repr=False)

    @property
    def node_id(self) -> int:
        """The broker that it belongs to; −1 if it does not say."""
        return self.meta.node_id if self.meta else -1


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """The files of a partition: all of ``path``, or only the ``files`` that were given.

    ``state`` is ``current``, or what the folder became: ``delete``, ``future`` (moves to another log directory), ``stray``.
    ``log_dir`` is None for a folder that is in none. ``named`` is False where only a ``.log`` file was given and its folder
    does not say which partition it is.
    """

    path: str
    tp: TopicPartition
    state: str = CURRENT
    topic_id: bytes = bytes(16)
    log_dir: LogDirectory | None = None
    files: tuple[str, ...] = ()
    named: bool = True

    @property
    def recovery_point(self) -> int:
        """The offset up to which the log was flushed, by the checkpoint; −1 without one."""
        return self.log_dir.recovery_points.get(self.tp, -1) if self.log_dir else -1

    @property
    def log_start(self) -> int:
        """The first offset, by the checkpoint (it has only those that are not a segment's first); −1 without one."""
        return self.log_dir.log_starts.get(self.tp, -1) if self.log_dir else -1

    @property
    def high_watermark(self) -> int:
        """The high watermark of the checkpoint, up to five seconds old; −1 without one."""
        return self.log_dir.high_watermarks.get(self.tp, -1) if self.log_dir else -1


class Found(NamedTuple):
    """Log directories, partitions in order of topic and number, and what could not be read."""

    log_dirs: tuple[LogDirectory, ...]
    partitions: tuple[PartitionFolder, ...]
    missing: tuple[Missing, ...]


def name_of_folder(name: str) -> Named | None:
    """The partition that a folder's name says, as ``orders-3``; None if it is not the folder of one."""
    moved = _MOVED.fullmatch(name)
    if moved:
        return _named(moved[1], moved[2], moved[3])
    match = _PARTITION.fullmatch(name)
    return _named(match[1], match[2], CURRENT) if match else None


def _named(topic: str, partition: str, state: str, topic_id: bytes = bytes(16)) -> Named | None:
    number = int(partition)
    if number >= 1 << 31 or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        return None
    return Named(TopicPartition(topic, number), state, topic_id)


def find(paths: Sequence[str | os.PathLike[str]]) -> Found:
    """What is in these paths; each may be a log directory, a folder of several, a partition's folder, or a ``.log`` file."""
    search = _Search()
    for path in paths:
        search.add(os.fspath(path))
    return search.found()


class _Search:
    def __init__(self) -> None:
        self._log_dirs: dict[str, LogDirectory] = {}
        self._partitions: dict[str, PartitionFolder] = {}
        self._files: dict[str, list[str]] = {}
        self._missing: list[Missing] = []

    def add(self, path: str) -> None:
        path = os.path.normpath(path)
        if not os.path.isdir(path):
            self._file(path)
            return
        entries = self._entries(path)
        if entries is None:
            return
        if _is_partition(path, entries):
            self._partition(path, self._log_dir_above(path))
        elif not self._log_dir(path, entries):
            inner = [
                os.path.join(path, name)
                for name in entries
                if os.path.isdir(os.path.join(path, name)) and name not in _OWN
            ]
            if not sum([self._below(folder) for folder in inner]):
                self._missing.append(
                    Missing(path, "no log directory, no folder of a partition and no segment")
                )

    def found(self) -> Found:
        for folder, names in self._files.items():
            if folder not in self._partitions:
                self._partition(folder, self._log_dir_above(folder), tuple(sorted(set(names))))
        order = sorted(self._partitions.values(), key=lambda one: (one.tp, one.path))
        return Found(tuple(self._log_dirs.values()), tuple(order), tuple(self._missing))

    def _file(self, path: str) -> None:
        folder, name = os.path.split(path)
        if not os.path.exists(path):
            self._missing.append(Missing(path, "there is no such file or folder"))
        elif base_offset_of(name) < 0:
            self._missing.append(Missing(path, "it is no segment: its name is not twenty digits and .log"))
        else:
            self._files.setdefault(folder or ".", []).append(name)

    def _below(self, path: str) -> bool:
        """Takes a log directory, or a partition, below a folder that was given."""
        entries = self._entries(path)
        if entries is None:
            return True
        if _is_partition(path, entries):
            self._partition(path, None)
            return True
        if self._log_dir(path, entries):
            return True
        self._missing.append(Missing(path, "no log directory and no folder of a partition"))
        return False

    def _log_dir(self, path: str, entries: list[str]) -> bool:
        """Is it a log directory? One has a file of its own, or a folder of a partition."""
        own = not _OWN.isdisjoint(set(entries) - {"lost+found"})
        partitions, others = [], []
        for name in entries:
            inner = os.path.join(path, name)
            if name in _OWN or not os.path.isdir(inner):
                continue
            is_one = name_of_folder(name) if own else _is_partition(inner, self._entries(inner) or [])
            (partitions if is_one or _TIERED.fullmatch(name) else others).append(inner)
        if not own and not partitions:
            return False
        log_dir = self._read_log_dir(path)
        for inner in partitions:
            self._partition(inner, log_dir)
        self._missing += [Missing(inner, "its name is not that of a partition's folder") for inner in others]
        return True

    def _partition(self, path: str, log_dir: LogDirectory | None, files: tuple[str, ...] = ()) -> None:
        name = os.path.basename(os.path.abspath(path))
        tiered = _TIERED.fullmatch(name)
        named = name_of_folder(name)
        if tiered:
            named = _named(tiered[3], tiered[2], CURRENT) or named
        if named is None and not files:
            self._missing.append(Missing(path, "its name is not that of a partition's folder"))
            return
        known = named is not None
        if named is None:
            topic = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:249] or "log"
            named = Named(TopicPartition(topic, 0), CURRENT)
        topic_id = named.topic_id
        try:
            data = read_file(os.path.join(path, checkpoints.PARTITION))
            if data is not None:
                topic_id = checkpoints.parse_partition_metadata(
                    data, os.path.join(path, checkpoints.PARTITION)
                )
        except KcliError as error:
            self._missing.append(Missing(error.what, error.why))
        self._partitions[path] = PartitionFolder(path, named.tp, named.state, topic_id, log_dir, files, known)

    def _log_dir_above(self, path: str) -> LogDirectory | None:
        above = os.path.dirname(os.path.abspath(path))
        if any(
            os.path.exists(os.path.join(above, name))
            for name in (checkpoints.META, checkpoints.HIGH_WATERMARKS)
        ):
            return self._read_log_dir(above)
        return None

    def _read_log_dir(self, path: str) -> LogDirectory:
        known = self._log_dirs.get(path)
        if known is None:
            known = self._log_dirs[path] = LogDirectory(
                path,
                self._small(path, checkpoints.META, checkpoints.parse_meta_properties, None),
                is_live(path),
                os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)),
                self._small(path, checkpoints.RECOVERY_POINTS, checkpoints.parse_offset_checkpoint, {}),
                self._small(path, checkpoints.LOG_STARTS, checkpoints.parse_offset_checkpoint, {}),
                self._small(path, checkpoints.HIGH_WATERMARKS, checkpoints.parse_offset_checkpoint, {}),
            )
        return known

    def _small(self, folder, name, parse, default):  # type: ignore[no-untyped-def]
        where = os.path.join(folder, name)
        try:
            data = read_file(where)
            return default if data is None else parse(data, where)
        except KcliError as error:
            self._missing.append(Missing(where, error.why))
            return default

    def _entries(self, path: str) -> list[str] | None:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            self._missing.append(Missing(path, error.strerror or str(error)))
            return None


def _is_partition(path: str, entries: Iterable[str]) -> bool:
    name = os.path.basename(os.path.abspath(path))
    if any(base_offset_of(entry) >= 0 for entry in entries):
        return True
    return name_of_folder(name) is not None and not _FILES.isdisjoint(entries)


def read_file(path: str, most: int = 128 << 20) -> bytes | None:
    """The content of a file that is read as a whole; None if there is none. UnreadableFileError otherwise."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) > most:
        raise UnreadableFileError(path, why=f"it is larger than {most >> 20} MB")
    return data


def is_live(path: str) -> bool | None:
    """Does a process of this machine hold the lock of a log directory? It is asked for, and never taken.

    False without the file, or where nobody holds it: on a copy, a snapshot or the disk of another machine. None where this
    cannot be told.
    """
    shape = _LOCK_SHAPES.get(sys.platform)
    try:
        descriptor = os.open(os.path.join(path, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        if shape is None:
            return None
        import fcntl

        layout, kind = shape
        values = [0, 0, 0, 0, 0]
        values[kind] = fcntl.F_WRLCK
        with suppress(OSError):
            answer = struct.unpack(
                layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *values))
            )
            return answer[kind] != fcntl.F_UNLCK
        return None
    finally:
        os.close(descriptor)


_LOCK_SHAPES = {"linux": ("hhqqi4x", 0), "darwin": ("qqihh", 3)}
"""``struct flock``, and which of its fields is the kind of the lock."""
