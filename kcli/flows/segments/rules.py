"""The rules of verify that go beyond one segment: between segments, and the small files of a partition. Pure.

Each function gets facts (``walk.Facts``) and what a file says, and returns findings.
"""

from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError
from kcli.core.logdir.aborted_index import ENTRY, Aborted
from kcli.core.logdir.leader_epochs import EpochStart
from kcli.core.types import TopicPartition
from kcli.flows.segments.finding import DAMAGE, NOTE, Finding
from kcli.flows.segments.walk import Facts, Marker
from kcli.output.progress import counted

_NO_ID = bytes(16)


class Place(NamedTuple):
    """A partition's folder: ``owner`` is the broker that it belongs to, None where that is not known."""

    path: str
    tp: TopicPartition
    topic_id: bytes | None
    owner: tuple[str, int] | None


def between_segments(found: Sequence[Facts], *, contiguous: bool) -> list[Finding]:
    """Whether each segment begins where the one before ends."""
    findings = []
    for before, after in pairwise(found):
        if after.base_offset < before.next_offset:
            last = min(before.next_offset, max(after.next_offset, after.base_offset + 1)) - 1
            why = f"it begins at offset {after.base_offset}, {before.path} ends at {before.next_offset - 1}"
            meaning = f"the offsets {after.base_offset} to {last} are in both"
            findings.append(Finding(DAMAGE, "overlap", after.path, 0, after.base_offset, why, meaning))
        elif contiguous and after.base_offset > before.next_offset:
            why = f"{before.path} ends before offset {before.next_offset}, the next segment begins at {after.base_offset}"
            meaning = lost(before.next_offset, after.base_offset)
            findings.append(
                Finding(DAMAGE, "missing segment", after.path, 0, before.next_offset, why, meaning)
            )
    for one in found:
        if contiguous and one.batches and one.first_offset > one.base_offset:
            why = f"its first batch begins at offset {one.first_offset}, its name says {one.base_offset}"
            meaning = lost(one.base_offset, one.first_offset)
            findings.append(Finding(DAMAGE, "gap", one.path, 0, one.base_offset, why, meaning))
    return findings


def lost(first: int, stop: int) -> str:
    """What it means that these offsets are not there."""
    return f"{counted(stop - first, 'record')} lost, at offsets {first} to {stop - 1}"


def beyond_the_end(
    path: str, end: int, start: int, *, high_watermark: int, recovery_point: int
) -> list[Finding]:
    """Whether the checkpoints name offsets that the log does not have any more. −1: there is no checkpoint."""
    named = max(high_watermark, recovery_point)
    if named <= end:
        return []
    which = "the high watermark" if high_watermark >= recovery_point else "the recovery point"
    why = f"by its checkpoint, {which} is {named}; the log ends at offset {end}"
    return [Finding(DAMAGE, "missing segment", path, None, end, why, lost(max(end, start), named))]


def before_the_start(path: str, base: int, *, log_start: int, epochs: Sequence[EpochStart]) -> list[Finding]:
    """Whether the log begins behind its start; without a checkpoint that is no more than a note."""
    if 0 <= log_start < base:
        why = f"by its checkpoint, the log starts at offset {log_start}; its first segment begins at {base}"
        return [Finding(DAMAGE, "missing segment", path, None, log_start, why, lost(log_start, base))]
    if log_start < 0 and epochs and epochs[0].start_offset < base:
        why = (
            f"leader-epoch-checkpoint begins at offset {epochs[0].start_offset}, the first segment at {base}"
        )
        meaning = "what is before it was deleted by retention, is in tiered storage, or is lost"
        return [Finding(NOTE, "missing segment", path, None, epochs[0].start_offset, why, meaning)]
    return []


def leader_epochs(
    path: str,
    stored: Sequence[EpochStart] | None,
    found: Sequence[Facts],
    *,
    contiguous: bool,
    log_start: int = -1,
) -> list[Finding]:
    """Whether the checkpoint has the epochs of the batches. ``stored`` is None where there is no such file.

    ``log_start`` is that of its checkpoint, −1 without one.
    """
    runs = epoch_runs(found)
    if stored is None:
        if not runs:
            return []
        why = "there is no such file"
        meaning = "a broker that starts with this folder cannot tell where it and a leader diverge"
        return [Finding(DAMAGE, "leader epochs", path, None, None, why, meaning)]
    meaning = "a follower, or a consumer that compares epochs, truncates at the wrong offset"
    findings = []
    begins = stored[0].start_offset if stored else 0
    for epoch, start, last in runs:
        first = max(start, log_start)  # records before it are deleted, and so are their epochs
        if last < first:
            continue
        if first < begins:
            why = f"it begins at offset {begins}, the batches at {first}"
            deleted = "the records before it were deleted, or the epochs before it are lost"
            findings.append(Finding(NOTE, "leader epochs", path, None, first, why, deleted))
            if last < begins:
                continue
        for offset in (max(first, begins), last) if contiguous else (max(first, begins),):
            entry = next((one for one in reversed(stored) if one.start_offset <= offset), None)
            if entry is None or entry.epoch != epoch:
                says = "has no epoch for it" if entry is None else f"says {entry.epoch}"
                why = f"the batch with offset {offset} has leader epoch {epoch}, the file {says}"
                findings.append(Finding(DAMAGE, "leader epochs", path, None, offset, why, meaning))
                break
    return findings


def epoch_runs(found: Sequence[Facts]) -> list[tuple[int, int, int]]:
    """Leader epoch, first and last offset of the batches that have it one after the other."""
    starts: list[tuple[int, int]] = []
    for one in found:
        for epoch, first in one.epochs:
            if epoch >= 0 and (not starts or starts[-1][0] < epoch):
                starts.append((epoch, first))
    end = max((one.next_offset for one in found), default=0)
    stops = [*(first for _, first in starts[1:]), end]
    return [(epoch, first, stop - 1) for (epoch, first), stop in zip(starts, stops, strict=False)]


def transaction_index(
    path: str,
    entries: Sequence[Aborted],
    markers: Collection[Marker],
    had_records: Collection[Marker],
    *,
    contiguous: bool,
    elsewhere: Collection[Aborted] = (),
) -> list[Finding]:
    """Whether a .txnindex has the abort markers of its segment.

    ``had_records`` are those whose transaction has records: a broker writes no entry for others. ``elsewhere``: entries
    whose first offset is not where a transaction begins.
    """
    known = {Marker(one.last_offset, one.producer_id) for one in entries}
    findings = []
    for number, one in enumerate(entries):
        if contiguous and Marker(one.last_offset, one.producer_id) not in markers:
            named = f"the abort marker of producer {one.producer_id} at offset {one.last_offset}"
            why = f"it names {named}; the log has none there"
            meaning = "consumers with read_committed do not see records that are committed"
            findings.append(
                Finding(DAMAGE, "transaction index", path, number * ENTRY.size, one.last_offset, why, meaning)
            )
        elif one in elsewhere:
            begun = f"producer {one.producer_id} began a transaction at offset {one.first_offset}"
            why = f"by it, {begun}; the log has none there"
            meaning = "consumers with read_committed see aborted records, or do not see committed ones"
            findings.append(
                Finding(
                    DAMAGE, "transaction index", path, number * ENTRY.size, one.first_offset, why, meaning
                )
            )
    for marker in had_records:
        if marker not in known:
            why = f"it has no entry for the abort marker of producer {marker.producer_id} at offset {marker.offset}"
            meaning = "consumers with read_committed see records of an aborted transaction"
            position = len(entries) * ENTRY.size
            findings.append(Finding(DAMAGE, "transaction index", path, position, marker.offset, why, meaning))
    return findings


def producer_snapshot(path: str, offset: int, end: int, error: DamagedFileError | None) -> list[Finding]:
    """Whether a .snapshot is whole; ``offset`` is that of its name, ``end`` that of the log."""
    meaning = "a broker that starts here deletes it and reads the log in its place"
    if error is not None:
        return [Finding(DAMAGE, "producer snapshot", path, error.position, None, error.why, meaning)]
    if offset > end:
        why = f"it is of offset {offset}, the log ends at {end}"
        return [Finding(NOTE, "producer snapshot", path, None, offset, why, meaning)]
    return []


def folders(
    places: Sequence[Place], known: Mapping[str, bytes], numbers: Mapping[str, Collection[int]]
) -> list[Finding]:
    """Whether each partition has one folder, and the topic id of its name.

    ``known`` are the topic ids that the metadata log has, ``numbers`` the partitions of topics, as far as it has them.
    """
    findings = []
    by_owner: dict[tuple[tuple[str, int], TopicPartition], str] = {}
    ids: dict[str, Place] = {}
    names: dict[bytes, Place] = {}
    for place in places:
        if place.owner is not None:
            other = by_owner.setdefault((place.owner, place.tp), place.path)
            if other != place.path:
                why = f"{other} is a folder of the same partition, of the same broker"
                meaning = "the broker does not start with two folders of a partition"
                findings.append(Finding(DAMAGE, "folder", place.path, None, None, why, meaning))
        topic = place.tp.topic
        if numbers.get(topic) and place.tp.partition not in numbers[topic]:
            why = f"{topic} has {counted(len(numbers[topic]), 'partition')} by the metadata log, and not this one"
            meaning = "a broker takes the folder for one that was left over, and deletes it after a while"
            findings.append(Finding(DAMAGE, "folder", place.path, None, None, why, meaning))
        if place.topic_id is None or place.topic_id == _NO_ID:
            continue
        expected = known.get(topic)
        says = _id_text(place.topic_id)
        meaning = "a broker takes the folder for that of another topic, and moves it aside or refuses it"
        if expected is not None and expected != place.topic_id:
            right = next((name for name, one in known.items() if one == place.topic_id), None)
            whose = f"that is {right}'s" if right else "no topic has it"
            right_id = f"{topic} has {_id_text(expected)} by the metadata log"
            why = f"partition.metadata says topic id {says}, {right_id}: {whose}"
            findings.append(Finding(DAMAGE, "partition.metadata", place.path, None, None, why, meaning))
        elif expected is None:
            same_id, same_name = names.setdefault(place.topic_id, place), ids.setdefault(topic, place)
            if same_id.tp.topic != topic:
                why = f"partition.metadata says topic id {says}, which {same_id.path} has too"
                findings.append(Finding(DAMAGE, "partition.metadata", place.path, None, None, why, meaning))
            elif same_name.topic_id != place.topic_id:
                other_id = _id_text(same_name.topic_id or _NO_ID)
                why = f"partition.metadata says topic id {says}, {same_name.path} has {other_id}"
                findings.append(Finding(DAMAGE, "partition.metadata", place.path, None, None, why, meaning))
    return findings


def _id_text(topic_id: bytes) -> str:
    return urlsafe_b64encode(topic_id).decode().rstrip("=")
