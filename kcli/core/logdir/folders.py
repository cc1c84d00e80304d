"""Finds what is in a path: a log directory, several in a folder, the folder of a partition, or single ``.log`` files.

Nothing is opened but the small files that say whose it is. What belongs to none of them is named as missing, and why.
"""

import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import KcliError, UnreadableFileError, printable
from kcli.core.logdir import checkpoints, leader_epochs
from kcli.core.logdir.checkpoints import MetaProperties, parse_topic_id
from kcli.core.records.segment import base_offset_of, is_tiered, open_file, unreadable
from kcli.core.types import TopicPartition

CURRENT, DELETED, FUTURE, STRAY = "current", "delete", "future", "stray"
LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_OWN = {
    LOCK, CLEAN_SHUTDOWN, "bootstrap.checkpoint", checkpoints.META, checkpoints.RECOVERY_POINTS,
    checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS, checkpoints.CLEANED,
}  # fmt: skip
_FOREIGN = {"lost+found"}
_INSIDE = {checkpoints.PARTITION, leader_epochs.NAME}
_LEVELS = 2  # below a folder that was given: tiered storage has a folder for each topic, and in it one for each partition
_PARTITION = re.compile(r"(.+)-(\d{1,10})", re.DOTALL | re.ASCII)
_MOVED = re.compile(r"(.*)-(\d{1,10})\.[0-9a-f]{32}-(delete|future|stray)", re.DOTALL | re.ASCII)
_TIERED = re.compile(r"(.+)-(\d{1,10})-([A-Za-z0-9_-]{22})", re.DOTALL | re.ASCII)
_TIERED_TOPIC = re.compile(r"(.+)-([A-Za-z0-9_-]{22})", re.DOTALL | re.ASCII)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)
_ANY = TypeVar("_ANY")


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

    ``state`` is ``current``, or what became of the folder: ``delete``, ``future`` (it moves to another log directory) or
    ``stray``. ``log_dir`` is None for a folder that is in none. ``named`` is False where only ``.log`` files were given,
    and their folder does not say which partition it is.
    """

    path: str
    tp: TopicPartition
    state: str = CURRENT
    topic_id: bytes = bytes(16)
    log_dir: LogDirectory | None = None
    files: tuple[str, ...] = ()
    named: bool = True

    @property
    def node_id(self) -> int:
        """The broker that it belongs to; −1 if nothing says so."""
        return self.log_dir.node_id if self.log_dir else -1

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
        """The high watermark of the checkpoint, some seconds old; −1 without one."""
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


def tiered_name(path: str) -> Named | None:
    """The partition of a folder in tiered storage: ``orders-3-TOPICID``, or ``orders-TOPICID/3``."""
    above, name = os.path.split(os.path.abspath(path))
    match = _TIERED.fullmatch(name)
    if match:
        return _named(match[1], match[2], CURRENT, parse_topic_id(match[3]))
    topic = _TIERED_TOPIC.fullmatch(os.path.basename(above))
    if topic and name.isascii() and name.isdigit():
        return _named(topic[1], name, CURRENT, parse_topic_id(topic[2]))
    return None


def _named(topic: str, partition: str, state: str, topic_id: bytes | None = None) -> Named | None:
    number = int(partition)
    if number >= 1 << 31 or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        return None
    return Named(TopicPartition(topic, number), state, topic_id or bytes(16))


def find(paths: Sequence[str | os.PathLike[str]]) -> Found:
    """What is in these paths: each a log directory, a folder of several, a partition's folder, or a ``.log`` file."""
    search = _Search()
    for path in paths:
        given = os.fspath(path)
        search.add(os.path.normpath(given) if given else given)  # the empty one is not the current folder
    return search.found()


class _Search:
    def __init__(self) -> None:
        self._log_dirs: dict[str, LogDirectory] = {}
        self._partitions: dict[str, PartitionFolder] = {}
        self._files: dict[str, list[str]] = {}
        self._missing: list[Missing] = []

    def add(self, path: str) -> None:
        """Something that was given."""
        if not os.path.isdir(path):
            self._file(path)
            return
        before = len(self._missing)
        if not self._folder(path, _LEVELS, given=True) and len(self._missing) == before:
            self._miss(path, "no log directory, no folder of a partition and no segment")

    def found(self) -> Found:
        """All of it."""
        for folder, names in self._files.items():
            if os.path.realpath(folder) not in self._partitions:
                self._partition(folder, self._log_dir_above(folder), files=tuple(sorted(set(names))))
        order = sorted(self._partitions.values(), key=lambda one: (one.tp, one.path))
        return Found(tuple(self._log_dirs.values()), tuple(order), tuple(self._missing))

    def _file(self, path: str) -> None:
        folder, name = os.path.split(path)
        if not os.path.lexists(path):
            self._miss(path, "there is no such file or folder")
        elif base_offset_of(name) < 0:
            self._miss(path, "it is no segment: its name is not an offset of twenty digits and .log")
        else:
            self._files.setdefault(folder or ".", []).append(name)

    def _folder(self, path: str, levels: int, *, given: bool = False) -> bool:
        """Takes what is in a folder; False if that is nothing."""
        entries = self._entries(path)
        if entries is None:
            return False
        if _is_partition(path, entries):
            self._partition(path, self._log_dir_above(path) if given else None)
            return True
        folders = [
            name
            for name in entries
            if name not in _FOREIGN | _OWN and os.path.isdir(os.path.join(path, name))
        ]
        if not _OWN.isdisjoint(entries):
            self._log_dir(path, folders)
            return True
        if not levels:
            return False
        before = len(self._missing)
        inner = [os.path.join(path, name) for name in folders]
        empty = [one for one in inner if not self._folder(one, levels - 1)]
        if len(empty) == len(inner):
            del self._missing[before:]
            return False
        named = {missing.path for missing in self._missing[before:]}
        for one in empty:
            if one not in named:
                self._miss(one, "no log directory and no folder of a partition")
        return True

    def _log_dir(self, path: str, folders: Sequence[str]) -> None:
        log_dir = self._read_log_dir(path)
        for name in folders:
            inner = os.path.join(path, name)
            if name_of_folder(name) or tiered_name(inner):
                self._partition(inner, log_dir)
            else:
                self._miss(inner, "its name is not that of a partition's folder")

    def _partition(self, path: str, log_dir: LogDirectory | None, *, files: tuple[str, ...] = ()) -> None:
        entries = files or self._entries(path)
        if entries is None:
            return
        name = os.path.basename(os.path.abspath(path))
        tiered = tiered_name(path) if any(is_tiered(entry) for entry in entries) else None
        named = tiered or name_of_folder(name)
        known = named is not None
        if named is None and not files:
            self._miss(
                path, "it has segments, but its name is not that of a partition's folder: give the .log files"
            )
            return
        if named is None:
            topic = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:249] or "log"
            named = Named(TopicPartition(topic, 0), CURRENT)
        topic_id = self._small(path, checkpoints.PARTITION, checkpoints.parse_partition_metadata)
        key = os.path.realpath(path)
        self._partitions[key] = PartitionFolder(
            path, named.tp, named.state, topic_id or named.topic_id, log_dir, files, known
        )

    def _log_dir_above(self, path: str) -> LogDirectory | None:
        above = os.path.dirname(os.path.abspath(path))
        try:
            return None if _OWN.isdisjoint(os.listdir(above)) else self._read_log_dir(above)
        except OSError:
            return None

    def _read_log_dir(self, path: str) -> LogDirectory:
        key = os.path.realpath(path)
        known = self._log_dirs.get(key)
        if known is None:
            offsets = checkpoints.parse_offset_checkpoint
            known = self._log_dirs[key] = LogDirectory(
                path,
                self._small(path, checkpoints.META, checkpoints.parse_meta_properties),
                is_live(path),
                os.path.lexists(os.path.join(path, CLEAN_SHUTDOWN)),
                self._small(path, checkpoints.RECOVERY_POINTS, offsets) or {},
                self._small(path, checkpoints.LOG_STARTS, offsets) or {},
                self._small(path, checkpoints.HIGH_WATERMARKS, offsets) or {},
            )
        return known

    def _small(self, folder: str, name: str, parse: Callable[[bytes, str], _ANY]) -> _ANY | None:
        """What a small file says; None without one. One that cannot be read, or is damaged, is missing."""
        where = os.path.join(folder, name)
        try:
            data = read_file(where)
            return None if data is None else parse(data, where)
        except KcliError as error:
            self._miss(where, error.why)
            return None

    def _entries(self, path: str) -> list[str] | None:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            self._miss(path, error.strerror or str(error))
            return None

    def _miss(self, path: str, why: str) -> None:
        self._missing.append(Missing(printable(path), why))


def _is_partition(path: str, entries: Sequence[str]) -> bool:
    if any(base_offset_of(entry) >= 0 for entry in entries):
        return True
    return name_of_folder(os.path.basename(os.path.abspath(path))) is not None and not _INSIDE.isdisjoint(
        entries
    )


def read_file(path: str, most: int = 128 << 20) -> bytes | None:
    """The content of a file that is read as a whole; None if there is none. UnreadableFileError otherwise."""
    try:
        descriptor = open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        pieces, size = [], 0
        while size <= most and (piece := os.read(descriptor, 1 << 20)):
            pieces.append(piece)
            size += len(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if size > most:
        raise UnreadableFileError(printable(path), why=f"it is larger than {most >> 20} MB")
    return b"".join(pieces)


_PIECE = 1 << 16
_WHOLE_ENTRIES = 24  # of 8 bytes, or of 12


class Used(NamedTuple):
    """The content of an index without the zeros behind its last entry, and the size of the file."""

    data: bytes
    size: int


def read_used(path: str, most: int = 128 << 20) -> Used | None:
    """All that an index has in front of the zeros at its end, of which holes are not read; None if there is no file.

    UnreadableFileError where it cannot be read, or has more than ``most`` bytes.
    """
    try:
        descriptor = open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        size = os.fstat(descriptor).st_size
        end = min(size, -(-_end_of_data(descriptor, size) // _WHOLE_ENTRIES) * _WHOLE_ENTRIES)
        if end > most:
            raise UnreadableFileError(printable(path), why=f"it is larger than {most >> 20} MB")
        return Used(os.pread(descriptor, end, 0), size)
    except OSError as error:
        raise unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _end_of_data(descriptor: int, size: int) -> int:
    """Behind the last byte that is not zero."""
    end = size
    while end:
        start = (end - 1) // _PIECE * _PIECE
        if _is_hole(descriptor, start, end):
            end = start
            continue
        piece = os.pread(descriptor, end - start, start).rstrip(b"\0")
        if piece:
            return start + len(piece)
        end = start
    return 0


def _is_hole(descriptor: int, start: int, end: int) -> bool:
    try:
        return os.lseek(descriptor, start, os.SEEK_DATA) >= end
    except OSError as error:
        return error.errno == errno.ENXIO  # no data from there on; anything else: the file system cannot tell
    except AttributeError:
        return False  # not on Windows


def read_entries(path: str) -> bytes:
    """The content of an index as far as there are entries: up to the zeros with which that of the segment that is written
    to is filled. Empty where there is none that can be read.
    """
    try:
        descriptor = open_file(path)
    except OSError:
        return b""
    pieces = []
    try:
        while (piece := os.read(descriptor, _PIECE)) and piece.count(0) < len(piece):
            pieces.append(piece)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def is_live(path: str) -> bool | None:
    """Does a process of this machine hold the lock of a log directory? It is asked for, and never taken.

    False without the file, or where nobody holds it: on a copy, a snapshot, or a disk of another machine. None where this
    cannot be told.
    """
    shape = _LOCK_SHAPES.get(sys.platform)
    try:
        descriptor = open_file(os.path.join(path, LOCK))
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        if shape is None:
            return None
        import fcntl  # not on Windows

        layout, kind = shape
        values = [0, 0, 0, 0, 0]
        values[kind] = fcntl.F_WRLCK
        with suppress(OSError):
            answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *values))
            return bool(struct.unpack(layout, answer)[kind] != fcntl.F_UNLCK)
        return None
    finally:
        os.close(descriptor)


_LOCK_SHAPES = {"linux": ("hhqqi4x", 0), "darwin": ("qqihh", 3)}
"""``struct flock``, and which of its fields is the kind of the lock."""
