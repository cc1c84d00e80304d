"""What a mirror job knows of its progress, as records of a compacted topic on the target. Pure.

One record for the job, one for each partition (its position and the segment of its offset map that still grows), one
for each full segment, and one for each topic of a group whose offsets are synced. A position is written together with
the segment that belongs to it, in one record: a broker that dies between two records cannot separate them. The same
records are the lines of a checkpoint file.

A job is (source cluster, target cluster, name). The target is where the records are; the key has the rest. Version 1 had
the name alone, which named the source, the selectors and the rename rules: such records are read, and taken over by
``job.taken_over``.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import msgspec

from kcli.core.classes import NamedTuple
from kcli.core.errors import CorruptRecordsError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_state import State

VERSION = 2

S = TypeVar("S", bound=msgspec.Struct)


class JobId(NamedTuple):
    """What identifies a job on its target. ``source``: the cluster id, or the brokers of a cluster that has none; empty
    for records of version 1.
    """

    source: str
    job: str

    @property
    def is_old(self) -> bool:
        """Whether its records are of version 1."""
        return not self.source


class HowCopied(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a run, in the words of ``settings.MirrorSettings``."""

    excludes: list[str] = []
    renames: list[str] = []
    groups: list[str] = []
    groups_excluded: list[str] = []
    sync_acls: bool = False
    principals: list[str] = []
    on_gap: str = "fail"
    on_recreate: str = "fail"
    timestamps: str = "keep"
    sync_configs: str = "topic"
    configs: list[tuple[str, str]] = []


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """The job as a whole. Times are milliseconds since the epoch, ``source`` and ``target`` cluster ids.

    ``run`` names the process that wrote it.
    """

    kind: str = "MirrorJob"
    version: int = VERSION
    job: str
    run: str
    source: str
    target: str
    source_servers: str
    delivery: str
    partitions: str
    topics: dict[str, str]
    """Source topic → target topic, of all that it has ever copied."""
    started_ms: int
    updated_ms: int
    host: str
    headers: bool = False
    """Whether records get a header with their origin, which ends loops."""
    ended: bool = False
    """Whether its last run ended in order; after a kill it says False for ever, and ``updated_ms`` gets old."""
    pid: int = 0
    selectors: list[str] = []
    """``-t`` of its last run."""
    selected: list[str] | None = None
    """The source topics of its last run; None: all of ``topics``, as in version 1."""
    begun: dict[str, str] = {}
    """Source topic → ``--offset`` with which its copy began, as ``job.begin_text`` writes it; none: not known."""
    polled_ms: int = -1
    """When the source was read last, before this was written: the ends of what is caught up are of then."""
    how: "HowCopied | None" = None
    """Options of its last run that a promotion needs; None: an earlier version has written it."""
    promoted_ms: int = 0
    """When it was promoted; 0: it was not. From then on no instance copies."""
    reverses_ms: int = 0
    """When the job of the opposite direction was promoted, of which this is the way back; 0: it is none."""

    @property
    def id(self) -> JobId:
        """What identifies it, for the records of this version."""
        return JobId(self.source or self.source_servers, self.job)

    def selects(self, topic: str) -> bool:
        """Whether its last run copied this topic of the source."""
        return topic in (self.topics if self.selected is None else self.selected)


RUNNING_MS = 300_000
"""A job that was not updated for so long is not running; a running one is updated every minute at least."""


def is_running(state: JobState, now: int) -> bool:
    """Whether a process runs the job, as far as its state says. ``now``: milliseconds since the epoch."""
    return not state.ended and now - state.updated_ms < RUNNING_MS


class SavedGap(msgspec.Struct, frozen=True, array_like=True):
    """Offsets of the source from ``first`` to ``last`` that were not copied, which was accepted (``--on-gap record``) or
    ordered (``mirror reset``). ``at_ms``: when.
    """

    first: int
    last: int
    why: str
    at_ms: int


class PartitionProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one partition was copied. Offsets and epochs are those of the source unless named otherwise.

    ``records`` and ``bytes`` are those of all runs. ``position`` is the next offset to be copied, ``leader_epoch`` that
    of the record before it (−1: not known). ``segments`` full segments of the offset map are in records of their own;
    ``runs`` is the one after them. ``state`` is one of ``partition_state.State``, empty in what earlier versions wrote.
    ``source_end`` is the high watermark, −1 where it was not known when this was written; ``end_seen`` the last one that
    was known, at ``end_seen_ms``.
    """

    kind: str = "MirrorPartition"
    version: int = VERSION
    target: str
    target_partition: int
    topic_id: str
    target_topic_id: str
    start: int
    target_start: int
    position: int
    leader_epoch: int
    source_end: int
    records: int
    bytes: int
    segments: int
    runs: str
    updated_ms: int
    state: str = ""
    state_since_ms: int = -1
    why: str = ""
    end_seen: int = -1
    end_seen_ms: int = -1
    gaps: list[SavedGap] = []
    """Those that nobody has acknowledged yet (``mirror accept-gap``)."""


def gaps_of(progress: PartitionProgress | None, topic_id: str) -> list[SavedGap]:
    """The gaps that were saved, where they are of the source topic with this id: one that was created anew has other
    records at the same offsets.
    """
    if progress is None or (progress.topic_id and progress.topic_id != topic_id):
        return []
    return progress.gaps


class GroupCommit(msgspec.Struct, frozen=True, array_like=True):
    """What a job knows of a group's offset in one partition.

    ``source_offset`` and ``metadata``: of the commit that was seen last on the source. ``made``: offsets that the job may
    have committed on the target, the last one at the end; it is written before the commit, so after a kill the offset
    before it may still be the one that is stored there. Empty: none yet. ``made_ms``: when, milliseconds since the epoch.
    """

    source_offset: int
    metadata: str = ""
    made: tuple[int, ...] = ()
    made_ms: int = -1


class GroupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A group's offsets in the partitions of one topic of the source, by the number of the partition.

    ``target`` and ``target_topic_id``: of the topic that has the offsets which were made.
    """

    kind: str = "MirrorGroup"
    version: int = 1
    target: str
    target_topic_id: str
    partitions: dict[int, GroupCommit]


class GroupTopic(NamedTuple):
    """A topic of the source as seen by one group."""

    group: str
    topic: str


NO_GROUPS: Mapping[GroupTopic, GroupProgress] = MappingProxyType({})


class RecoveryPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What of a partition is on the target, once the job is promoted. Offsets are those of the source unless named
    otherwise, times milliseconds since the epoch, −1 where they are not known.

    All records before ``copied_to`` are there, but for those in ``gaps``; ``copied_ms`` is the time of the last one.
    ``source_end`` is the last end that was seen, at ``seen_ms``, and ``is_read`` whether the promotion has read it: if
    not, the source may have accepted more. ``target_offset`` is the end of the target's partition: what is written from
    there on is not of the job. ``stored_beyond`` records before it are copies from ``copied_to`` on,
    of which it is not known how far they reach. ``why`` it is not copied to its end.
    """

    partition: int
    target_partition: int
    copied_to: int
    copied_ms: int = -1
    source_end: int = -1
    seen_ms: int = -1
    is_read: bool = True
    target_offset: int = -1
    stored_beyond: int = 0
    gaps: list[SavedGap] = []
    why: str = ""

    @property
    def may_be_missing(self) -> int | None:
        """How many offsets of the source, of those that were seen, may not be on the target; None: not known. It is 0
        only where the end was read.
        """
        if self.source_end < 0:
            return None
        return max(0, self.source_end - self.copied_to) or (0 if self.is_read else None)


class TopicPromotion(msgspec.Struct, frozen=True, kw_only=True):
    """The recovery points of a topic of the source, and its copy ``target``."""

    kind: str = "MirrorTopicPromotion"
    version: int = 1
    promoted_ms: int
    target: str
    topic_id: str
    target_topic_id: str
    points: list[RecoveryPoint]


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """The promotion as a whole: by which process, and whether all that follows from it was done (``finished``).

    ``unknown_since_ms``: what the source has accepted since then is not known; −1: its ends were read at the promotion.
    """

    kind: str = "MirrorPromotion"
    version: int = 1
    promoted_ms: int
    host: str
    pid: int
    source_lost: bool
    unknown_since_ms: int = -1
    finished: bool = False


class PromotedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a group's offsets when the job was promoted: rows of ``report.GROUP_COLUMNS``."""

    kind: str = "MirrorPromotedGroup"
    version: int = 1
    promoted_ms: int
    offsets: list[dict[str, str | int | None]]


class StrandedRange(msgspec.Struct, frozen=True, array_like=True):
    """Offsets from ``first`` up to, not including, ``stop`` of a partition of the target: the opposite direction never
    copied them.
    """

    partition: int
    first: int
    stop: int


class _TopicStranded(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = "MirrorStranded"
    version: int = 1
    reverses_ms: int
    ranges: list[StrandedRange]


class SavedPromotion(NamedTuple):
    """A promotion as loaded; ``topics`` by their names on the source."""

    promotion: Promotion
    topics: Mapping[str, TopicPromotion]
    groups: Mapping[str, PromotedGroup]


class _AcceptedGaps(msgspec.Struct, frozen=True, kw_only=True):
    """A record of its own: a job that runs writes its progress from memory, and would bring the gaps back."""

    kind: str = "MirrorAcceptedGaps"
    version: int = VERSION
    gaps: list[SavedGap]


class StateRecord(NamedTuple):
    """A record of the state topic. ``value`` None deletes what was stored under the key."""

    key: bytes
    value: bytes | None


class _Key(msgspec.Struct, omit_defaults=True):
    job: str
    topic: str = ""
    partition: int = -1
    segment: int = -1
    source: str = ""
    accepted: bool = False

    @property
    def id(self) -> JobId:
        return JobId(self.source, self.job)


class _GroupKey(msgspec.Struct):
    """No key of the others has these names, so versions that know nothing of groups leave the record alone."""

    of_job: str
    group: str
    topic: str
    source: str = ""


class _PromotionKey(msgspec.Struct, omit_defaults=True):
    """Of the promotion as a whole, of a topic, or of a group."""

    promotion_of: str
    source: str
    topic: str = ""
    group: str | None = None


class _StrandedKey(msgspec.Struct):
    """Of a topic of the target."""

    stranded_of: str
    source: str
    topic: str


class SavedPartition(NamedTuple):
    """A partition as loaded: its progress and its whole offset map. ``accepted``: gaps that were acknowledged, and are
    not among those of the progress.
    """

    progress: PartitionProgress
    offsets: OffsetMap
    accepted: Sequence[SavedGap] = ()


NOTHING_STRANDED: Mapping[TopicPartition, StrandedRange] = MappingProxyType({})


class SavedJob(NamedTuple):
    """A job as loaded."""

    state: JobState
    partitions: Mapping[TopicPartition, SavedPartition]
    groups: Mapping[GroupTopic, GroupProgress] = NO_GROUPS
    promotion: SavedPromotion | None = None
    stranded: Mapping[TopicPartition, StrandedRange] = NOTHING_STRANDED


def job_record(state: JobState, job: JobId | None = None) -> StateRecord:
    """The record of the job as a whole; ``job``: where it is not that of this version."""
    return StateRecord(_key(job or state.id), msgspec.json.encode(state))


def partition_records(
    job: JobId, tp: TopicPartition, progress: PartitionProgress, offsets: OffsetMap
) -> list[StateRecord]:
    """The records of a partition's progress: the segments completed since ``progress.segments``, then the progress.

    ``progress.segments`` says how many segments are already stored; ``runs`` and ``segments`` are filled in here.
    """
    *full, (last, runs) = offsets.segments(progress.segments)
    progress = msgspec.structs.replace(
        progress, version=VERSION, segments=last, runs=base64.b64encode(runs).decode()
    )
    return [
        *(StateRecord(_key(job, tp, number), data) for number, data in full),
        progress_record(job, tp, progress),
    ]


def group_record(job: JobId, key: GroupTopic, progress: GroupProgress) -> StateRecord:
    """The record of a group's offsets in one topic."""
    return StateRecord(
        msgspec.json.encode(_GroupKey(job.job, *key, job.source)), msgspec.json.encode(progress)
    )


def progress_record(job: JobId, tp: TopicPartition, progress: PartitionProgress) -> StateRecord:
    """The record of a partition's progress, whose segments are stored."""
    return StateRecord(_key(job, tp), msgspec.json.encode(progress))


def promotion_records(job: JobId, saved: SavedPromotion) -> list[StateRecord]:
    """All records of a promotion."""
    key = _PromotionKey(job.job, job.source)

    def record(made: msgspec.Struct, topic: str = "", group: str | None = None) -> StateRecord:
        own = msgspec.structs.replace(key, topic=topic, group=group)
        return StateRecord(msgspec.json.encode(own), msgspec.json.encode(made))

    return [
        *(record(one, topic=topic) for topic, one in saved.topics.items()),
        *(record(one, group=group) for group, one in saved.groups.items()),
        record(saved.promotion),
    ]


def stranded_records(
    job: JobId, reverses_ms: int, ranges: Mapping[TopicPartition, StrandedRange]
) -> list[StateRecord]:
    """Records for the ranges of all topics; those of another way back do not count any more."""
    found: dict[str, list[StrandedRange]] = {}
    for tp, one in sorted(ranges.items()):
        found.setdefault(tp.topic, []).append(one)
    return [
        StateRecord(
            msgspec.json.encode(_StrandedKey(job.job, job.source, topic)),
            msgspec.json.encode(_TopicStranded(reverses_ms=reverses_ms, ranges=some)),
        )
        for topic, some in found.items()
    ]


def group_deletion(job: JobId, key: GroupTopic) -> StateRecord:
    """What deletes the record of a group's offsets in one topic."""
    return StateRecord(msgspec.json.encode(_GroupKey(job.job, *key, job.source)), None)


def accepted_record(job: JobId, tp: TopicPartition, gaps: Sequence[SavedGap]) -> StateRecord:
    """All gaps of the partition that are acknowledged."""
    return StateRecord(_key(job, tp, accepted=True), msgspec.json.encode(_AcceptedGaps(gaps=list(gaps))))


def deletions(job: JobId, partitions: Mapping[TopicPartition, SavedPartition]) -> list[StateRecord]:
    """What deletes the progress of these partitions, and their segments."""
    return [
        StateRecord(key, None)
        for tp, saved in partitions.items()
        for key in (_key(job, tp), *(_key(job, tp, number) for number in range(saved.progress.segments)))
    ]


def job_deletion(job: JobId) -> StateRecord:
    """What deletes the record of the job as a whole."""
    return StateRecord(_key(job), None)


def load_jobs(records: Iterable[tuple[bytes | None, bytes | None]]) -> dict[JobId, SavedJob]:
    """The jobs in (key, value) records, in the order in which they were written; the last record of a key counts.

    Records that kcli did not write are ignored. CorruptRecordsError for a position whose segments are missing, and for
    a state written by a later version.
    """
    latest: dict[bytes, bytes] = {}
    for key, value in records:
        if key is not None and value is None:
            latest.pop(key, None)
        elif key is not None and value is not None:
            latest[key] = value
    jobs: dict[JobId, JobState] = {}
    found: dict[JobId, dict[TopicPartition, PartitionProgress]] = {}
    segments: dict[tuple[JobId, TopicPartition, int], bytes] = {}
    accepted: dict[tuple[JobId, TopicPartition], list[SavedGap]] = {}
    for name, data in _keyed(latest, _Key):
        tp = TopicPartition(name.topic, name.partition)
        if name.segment >= 0:
            segments[name.id, tp, name.segment] = data
        elif name.accepted:
            accepted[name.id, tp] = _decode(data, _AcceptedGaps, f"{name.job}, {tp}").gaps
        elif name.topic:
            found.setdefault(name.id, {})[tp] = _decode(data, PartitionProgress, f"{name.job}, {tp}")
        else:
            jobs[name.id] = _decode(data, JobState, name.job)
    groups: dict[JobId, dict[GroupTopic, GroupProgress]] = {}
    for of, data in _keyed(latest, _GroupKey):
        groups.setdefault(JobId(of.source, of.of_job), {})[GroupTopic(of.group, of.topic)] = _decode(
            data, GroupProgress, f"{of.of_job}, group {of.group}"
        )
    promotions, stranded = _promotions(latest), _stranded(latest)
    return {
        job: SavedJob(
            state,
            {
                tp: _loaded(state, job, tp, progress, segments, accepted.get((job, tp), ()))
                for tp, progress in found.get(job, {}).items()
            },
            groups.get(job, NO_GROUPS),
            promotions.get(job) if state.promoted_ms else None,
            stranded.get((job, state.reverses_ms), NOTHING_STRANDED),
        )
        for job, state in jobs.items()
    }


def _stranded(
    latest: Mapping[bytes, bytes],
) -> dict[tuple[JobId, int], dict[TopicPartition, StrandedRange]]:
    """By job, and by the promotion of which it is the way back."""
    found: dict[tuple[JobId, int], dict[TopicPartition, StrandedRange]] = {}
    for of, data in _keyed(latest, _StrandedKey):
        one = _decode(data, _TopicStranded, f"{of.stranded_of}, stranded records")
        own = found.setdefault((JobId(of.source, of.stranded_of), one.reverses_ms), {})
        own |= {TopicPartition(of.topic, row.partition): row for row in one.ranges}
    return found


def _promotions(latest: Mapping[bytes, bytes]) -> dict[JobId, SavedPromotion]:
    heads: dict[JobId, Promotion] = {}
    topics: dict[JobId, dict[str, TopicPromotion]] = {}
    groups: dict[JobId, dict[str, PromotedGroup]] = {}
    for of, data in _keyed(latest, _PromotionKey):
        job = JobId(of.source, of.promotion_of)
        whose = f"{job.job}, its promotion"
        if of.topic:
            topics.setdefault(job, {})[of.topic] = _decode(data, TopicPromotion, whose)
        elif of.group is not None:
            groups.setdefault(job, {})[of.group] = _decode(data, PromotedGroup, whose)
        else:
            heads[job] = _decode(data, Promotion, whose)
    return {
        job: SavedPromotion(
            head,
            {name: one for name, one in topics.get(job, {}).items() if one.promoted_ms == head.promoted_ms},
            {name: one for name, one in groups.get(job, {}).items() if one.promoted_ms == head.promoted_ms},
        )
        for job, head in heads.items()
    }


def _loaded(
    state: JobState,
    job: JobId,
    tp: TopicPartition,
    progress: PartitionProgress,
    segments: Mapping[tuple[JobId, TopicPartition, int], bytes],
    accepted: Sequence[SavedGap],
) -> SavedPartition:
    open_gaps = [gap for gap in progress.gaps if gap not in accepted]
    mine = [gap for gap in accepted if gap in progress.gaps]
    seen = progress.end_seen_ms
    if progress.state == State.CAUGHT_UP and state.selects(
        tp.topic
    ):  # it is not written again while it stays so
        seen = max(seen, state.polled_ms)
    progress = msgspec.structs.replace(progress, gaps=open_gaps, end_seen_ms=seen)
    return SavedPartition(progress, _offsets(job, tp, progress, segments), mine)


def _offsets(
    job: JobId,
    tp: TopicPartition,
    progress: PartitionProgress,
    segments: Mapping[tuple[JobId, TopicPartition, int], bytes],
) -> OffsetMap:
    made = OffsetMap(progress.start, progress.target_start)
    try:
        made.load(segments[job, tp, number] for number in range(progress.segments))
        made.load([base64.b64decode(progress.runs, validate=True)])
    except (KeyError, ValueError) as error:
        raise CorruptRecordsError(
            f"the state of job {job.job} for {tp} is incomplete", why=f"its offset map has no segment {error}"
        ) from None
    made.advance(progress.position)
    return made


def _keyed(latest: Mapping[bytes, bytes], kind: type[S]) -> Iterator[tuple[S, bytes]]:
    for data, value in latest.items():
        try:
            key = msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        yield key, value


def _decode(value: bytes, kind: type[S], whose: str) -> S:
    try:
        version = msgspec.json.decode(value, type=_Versioned).version
        if version > VERSION:
            raise CorruptRecordsError(
                f"the state of mirror job {whose} has version {version}",
                why=f"this kcli reads versions up to {VERSION}",
                do="use the kcli that wrote it, or a later one",
            )
        return msgspec.json.decode(value, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptRecordsError(f"the state of mirror job {whose} cannot be read", why=str(error)) from None


class _Versioned(msgspec.Struct):
    version: int


def _key(job: JobId, tp: TopicPartition | None = None, segment: int = -1, *, accepted: bool = False) -> bytes:
    topic, partition = tp or ("", -1)
    return msgspec.json.encode(_Key(job.job, topic, partition, segment, job.source, accepted))
