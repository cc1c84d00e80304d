"""Reads the state of the controllers from a log directory: the newest whole snapshot, and the metadata log after it."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator

from kcli.core.error_codes import NOT_IN_LOG_DIRS, REMEDIES
from kcli.core.errors import KcliError, NotInLogDirsError, ProtocolError
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.offline.image import TOPIC, MetadataImage
from kcli.core.offline.stored_values import control_type
from kcli.core.records.segment import Segment
from kcli.core.records.view import BatchView

Note = Callable[[str, str], None]
"""Tells what is notable, with its level."""

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_FOOTER = 4


class NotHereError(NotInLogDirsError):
    """The log directories do not have what the answer is made of: ``why`` is its message, ``code`` its code."""

    code = NOT_IN_LOG_DIRS

    def __init__(self, what: str, *, why: str) -> None:
        super().__init__(what, why=why, do=REMEDIES[NOT_IN_LOG_DIRS])


def read_image(log: PartitionLog | None, note: Note) -> MetadataImage:
    """The state of the controllers; NotHereError without a log, or where its beginning is gone and in no snapshot."""
    if log is None:
        raise NotHereError(
            "the state of the controllers is not known",
            why=f"none of the log directories has the metadata log, {TOPIC}-0: it is in metadata.log.dir, else in the "
            "first of log.dirs; a cluster with ZooKeeper has none",
        )
    found = MetadataImage()
    start = _read_snapshot(log, found, note)
    if start < log.start_offset:
        raise NotHereError(
            "the state of the controllers is not known",
            why=f"the metadata log begins at offset {log.start_offset}, and no snapshot in {log.folder.path} says what "
            "was before",
        )
    found.replay(batches_from(log, start))
    note_unknown(note, TOPIC, found.unknown)
    if found.open_transaction is not None:
        note("the metadata log ends in a transaction of the controller, which is left out", "note")
    return found


def batches_from(log: PartitionLog, start: int) -> Iterator[BatchView]:
    """The batches from this offset to the end, with checksums compared."""
    for _segment, (_position, batch) in log.batches(start, log.end_offset, verify=True):
        if batch.base_offset >= start:
            yield batch


def _read_snapshot(log: PartitionLog, found: MetadataImage, note: Note) -> int:
    """Replays the newest whole snapshot that the log continues; returns the offset that follows it, 0 without one."""
    for end_offset, epoch, path in _snapshots(log.folder.path):
        if end_offset < log.start_offset:
            break
        try:
            batches = _whole_snapshot(path)
        except KcliError as error:
            note(f"{path} is not read: {error}", "warning")
            continue
        found.replay(batches)
        found.end_offset, found.leader_epoch = end_offset, epoch
        return end_offset
    return 0


def _snapshots(folder: str) -> list[tuple[int, int, str]]:
    names = map(_SNAPSHOT.fullmatch, os.listdir(folder))
    return sorted(((int(m[1]), int(m[2]), os.path.join(folder, m[0])) for m in names if m), reverse=True)


def _whole_snapshot(path: str) -> list[BatchView]:
    with Segment.open(path, base_offset=0) as segment:
        batches = [batch for _position, batch in segment.batches(verify=True)]
    if not batches or not batches[-1].is_control or control_type(batches[-1]) != _FOOTER:
        raise ProtocolError("the snapshot is not whole", why="it has no footer")
    return batches


def note_unknown(note: Note, topic: str, unknown: Counter[str]) -> None:
    """Names the records of newer versions of Kafka, if there are any."""
    if unknown:
        kinds = ", ".join(f"{name} ({count:,})" for name, count in sorted(unknown.items()))
        note(
            f"{topic} has records that this version does not know; what they say is missing: {kinds}",
            "warning",
        )
