"""Which files ``segments dump`` shows: those that are named, or those of the partitions below a folder."""

import os
import re
from collections.abc import Iterator, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.logdir.folders import Found, Missing, find
from kcli.core.logdir.segment_files import choose_files
from kcli.core.offline.image import TOPIC
from kcli.core.records.segment import base_offset_of
from kcli.core.types import TopicPartition
from kcli.flows.segments.snapshots import BOOTSTRAP, CHECKPOINT

LOG, CHECKPOINTS = ".log", ".checkpoint"
INDEXES = (".index", ".timeindex", ".txnindex", ".snapshot")
_INDEX = re.compile(r"(\d{20})(\.index|\.timeindex|\.txnindex|\.snapshot)", re.ASCII)


class Dumped(NamedTuple):
    """A file: ``suffix`` says of which kind, ``base_offset`` is that of its name."""

    path: str
    suffix: str
    base_offset: int
    tp: TopicPartition


def dumped_files(paths: Sequence[str], *, indexes: bool) -> tuple[list[Dumped], list[Missing]]:
    """``indexes``: of folders, the indexes and snapshots of producers in place of the segments."""
    files: list[Dumped] = []
    missing: list[Missing] = []
    for path in paths:
        name = os.path.basename(path)
        index, snapshot = _INDEX.fullmatch(name), CHECKPOINT.fullmatch(name)
        if os.path.isfile(path) and (index or snapshot):
            suffix = index[2] if index else CHECKPOINTS
            tp = _partition(path) if index else TopicPartition(TOPIC, 0)
            files.append(Dumped(path, suffix, int(name[:20]), tp))
            continue
        if name == BOOTSTRAP and os.path.isfile(path):
            files.append(Dumped(path, CHECKPOINTS, 0, TopicPartition(TOPIC, 0)))
            continue
        found = find([path])
        missing += found.missing
        files += _below(found, indexes=indexes and os.path.isdir(path))
    return files, missing


def _partition(path: str) -> TopicPartition:
    """That of the file's folder."""
    folder = os.path.dirname(os.path.abspath(path))
    named = find([folder]).partitions
    return named[0].tp if named else TopicPartition(os.path.basename(folder), 0)


def _below(found: Found, *, indexes: bool) -> Iterator[Dumped]:
    for folder in found.partitions:
        if indexes:
            for name in sorted(os.listdir(folder.path)):
                match = _INDEX.fullmatch(name)
                if match:
                    yield Dumped(os.path.join(folder.path, name), match[2], int(match[1]), folder.tp)
            continue
        if not folder.files:
            for name in sorted(filter(CHECKPOINT.fullmatch, os.listdir(folder.path))):
                yield Dumped(os.path.join(folder.path, name), CHECKPOINTS, int(name[:20]), folder.tp)
        for file in choose_files(folder.path, folder.files).files:
            yield Dumped(os.path.join(folder.path, file.name), LOG, base_offset_of(file.name), folder.tp)
