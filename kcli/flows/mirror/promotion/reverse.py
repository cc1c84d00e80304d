"""``kcli mirror reverse``: copies back to the old source what was written at the target since a job was promoted.

The way back is a job of its own: its source is the old target, its target the old source, its name the same; it has its
own lease, state and, some day, promotion. It begins where the recovery point of the first direction ends, so nothing of
that direction is sent again, and no header is needed to tell.

1. Its start is written to the old source, in one transaction: the position of each partition (``target_offset`` of the
   recovery point), and what of the old source the copy never got, from ``copied_to`` up to the end of now (*stranded*).
2. The first record is copied. A kill between 1 and 2, or any later one, leaves the ranges of 1 as they are: records that
   were copied back are behind them, and are not taken for stranded.

The topic ids of the promotion are written as those of an earlier run: a topic that was created anew meanwhile, on either
side, ends its partitions as in any job that continues (``job.partition_copies``); so does a log of the old source that
ends before ``copied_to``.
"""

import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, replace
from kcli.core.clock import wall_ms
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import ContinuedMap, OffsetMap
from kcli.flows.mirror.groups.offsets import Mapped
from kcli.flows.mirror.job.check import matching_topics, not_begun
from kcli.flows.mirror.job.state import (
    HowCopied,
    JobId,
    JobState,
    PartitionProgress,
    SavedJob,
    SavedPromotion,
    StateRecord,
    StrandedRange,
    deletions,
    group_deletion,
    job_record,
    partition_records,
    stranded_records,
)
from kcli.flows.mirror.job.writer import JobWriter
from kcli.flows.mirror.promotion.promote import how_copied, settings_of
from kcli.flows.mirror.promotion.recovery_point import points_of
from kcli.flows.mirror.promotion.stranded import Sides, reach
from kcli.flows.mirror.proof.proof import Log, logs
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.output.tables import time_text


class Return(NamedTuple):
    """Where a partition of the old target begins, and its partition of the old source. ``stranded``: of the latter;
    ``ids``: of both topics, as the promotion knew them; ``reached``: the end of the old source that has to be there;
    ``lost``: the offset of the old target from which on the old source has lost the records, None where it has not.
    """

    target: TopicPartition
    position: int
    stranded: StrandedRange
    ids: tuple[str, str]
    reached: int
    lost: int | None = None


def check_promoted(state: JobState, promotion: SavedPromotion | None) -> SavedPromotion:
    """The promotion of a job; ConflictError for one that was not promoted, or that has no way back."""
    if promotion is None:
        raise ConflictError(
            f"mirror job {state.job} was not promoted",
            why="its target is a copy, and nothing that others have written there is known",
            do=f"`kcli mirror promote --from HOST:PORT --to HOST:PORT --job {state.job}` promotes it",
        )
    if state.partitions == "by-key":
        raise ConflictError(
            f"mirror job {state.job} has no way back",
            why="it chose partitions by key: where its records end on the target is not known",
            do="a new --job NAME copies topics from the target",
        )
    return promotion


def check_begins_anew(own: SavedJob | None, promoted: JobState) -> bool:
    """Whether the way back of the job that was ``promoted`` has not begun; ConflictError where another job has its name.

    Way and way back alternate: an earlier job of this direction was promoted, too, before the one that is reversed now.
    """
    if own is None or own.state.reverses_ms == promoted.promoted_ms:
        return own is None
    if 0 < own.state.promoted_ms < promoted.promoted_ms:
        return True
    raise ConflictError(
        f"mirror job {promoted.job} of the opposite direction exists already",
        why=f"it was begun {time_text(own.state.started_ms)}, and is not the way back of this one",
        do="promote the job that is to be reversed under another --job NAME",
    )


def returns(
    sides: Sides, source: Admin, forth: SavedJob, promotion: SavedPromotion
) -> dict[TopicPartition, Return]:
    """By partition of the old target. ``source``: admin of the old source; ``forth``: the job that was promoted. Raises
    the first error of a partition that cannot be read.
    """
    points = points_of(promotion)
    ends = _ends(source, [tp for tp, point in points.items() if point.target_offset >= 0])
    found = {}
    for tp, log in ends.items():
        point, topic = points[tp], promotion.topics[tp.topic]
        there = TopicPartition(topic.target, point.target_partition)
        copied_to, position = point.copied_to, point.target_offset
        if point.stored_beyond and log is not None and log.stable > copied_to:
            known = forth.partitions[tp].offsets.target_end
            tail = Span(known, position)
            reached = reach(sides, tp, log, copied_to, there, tail, point.stored_beyond)
            copied_to = reached.copied_to
            position = position if reached.foreign is None else reached.foreign
        end = copied_to if log is None else max(log.high, copied_to)
        lost = None
        if log is not None and log.high < copied_to:
            again = forth.partitions[tp].offsets.translate(log.high)
            lost = again if isinstance(again, int) else position
        found[there] = Return(
            tp,
            position,
            StrandedRange(tp.partition, copied_to, end),
            (topic.target_topic_id, topic.topic_id),
            end,
            lost,
        )
    return found


def never_copied(
    source: Admin,
    forth: SavedJob,
    found: Mapping[TopicPartition, Return],
    writers: Callable[[], Iterable[JobState]],
) -> dict[TopicPartition, StrandedRange]:
    """Partitions of the old source that the job selects and that are not in ``found``, since nothing of them was copied:
    all of their records are stranded. ``source``, ``forth``: as of ``returns``; ``writers``: see ``not_begun``.
    """
    topics = {name for name in forth.state.topics if forth.state.selects(name)}
    topics.update(not_begun(source, forth, writers))
    known = {one.target for one in found.values()}
    left = [
        tp
        for topic in source.list_topics()
        if topic.name in topics
        for tp in (TopicPartition(topic.name, one.partition) for one in topic.partitions)
        if tp not in known
    ]
    return {
        tp: StrandedRange(tp.partition, log.start, log.high)
        for tp, log in _ends(source, left).items()
        if log is not None
    }


def begun_elsewhere(copy: Admin, forth: SavedJob) -> list[str]:
    """Topics of the old target that patterns of the job select and that it never wrote: others have created them there,
    and the way back does not begin with them. With rename rules no name of the target tells what it would be called.
    """
    state, how = forth.state, how_copied(forth)
    if how.renames:
        return []
    known = set(state.topics.values())
    return [name for name in matching_topics(copy, state, how.excludes) if name not in known]


def _ends(admin: Admin, partitions: list[TopicPartition]) -> dict[TopicPartition, Log | None]:
    """None where the topic, or the partition, is gone."""
    exist = {(topic.name, one.partition) for topic in admin.list_topics() for one in topic.partitions}
    found: dict[TopicPartition, Log | None] = dict.fromkeys(partitions)
    for tp, log in logs(admin, [tp for tp in partitions if tp in exist]).items():
        if isinstance(log, KcliError):
            raise log
        found[tp] = log
    return found


def begin(
    writer: JobWriter,
    job: JobId,
    found: Mapping[TopicPartition, Return],
    left: Mapping[TopicPartition, StrandedRange],
    promoted: SavedJob,
    servers: str,
) -> None:
    """Step 1, of the way back ``job``, whose source has these ``servers``. ``left``: what was never copied; ``promoted``:
    the other job.
    """
    now, old, forth = wall_ms(), writer.saved, promoted.state
    how = how_copied(promoted)
    topics = {tp.topic: one.target.topic for tp, one in found.items()}
    state = JobState(
        job=job.job,
        run=secrets.token_hex(8),
        source=forth.target,
        target=forth.source,
        source_servers=servers,
        delivery=forth.delivery,
        partitions=forth.partitions,
        topics=topics,
        started_ms=now,
        updated_ms=now,
        host=socket.gethostname(),
        headers=forth.headers,
        ended=True,
        pid=os.getpid(),
        selectors=sorted(topics),
        selected=sorted(topics),
        how=HowCopied(
            renames=[f"{one}={other}" for one, other in topics.items() if one != other],
            groups=how.groups,
            groups_excluded=how.groups_excluded,
            timestamps=how.timestamps,
            sync_configs=how.sync_configs,
        ),
        reverses_ms=forth.promoted_ms,
    )
    records: list[StateRecord] = []
    if old is not None:
        records += deletions(job, old.partitions)
        records += [group_deletion(job, key) for key in old.groups]
    for tp, one in found.items():
        progress = PartitionProgress(
            target=one.target.topic,
            target_partition=one.target.partition,
            topic_id=one.ids[0],
            target_topic_id=one.ids[1],
            start=one.position,
            target_start=one.reached,
            position=one.position,
            leader_epoch=-1,
            source_end=-1,
            records=0,
            bytes=0,
            segments=0,
            runs="",
            updated_ms=now,
        )
        records += partition_records(job, tp, progress, OffsetMap(one.position, one.reached))
    ranges = {one.target: one.stranded for one in found.values()} | dict(left)
    writer.write([*records, *stranded_records(job, forth.promoted_ms, ranges), job_record(state)])


def return_settings(
    saved: SavedJob, *, follow: bool, max_wait: float | None, verify: bool, groups: tuple[str, ...]
) -> MirrorSettings:
    """Those of the way back; ``groups`` are synced besides those of the first direction."""
    settings = settings_of(saved, max_wait=max_wait)
    chosen = tuple(dict.fromkeys([*settings.groups, *groups]))
    return replace(settings, until_caught_up=not follow, verify=verify, groups=chosen)


class ReturningMirror(Mirror):
    """The way back. Offsets of groups that were committed before the promotion are translated by what the first direction
    has copied (``forth``).
    """

    forth: SavedJob

    def _group_maps(self) -> dict[TopicPartition, Mapped]:
        maps = super()._group_maps()
        points = {} if self.forth.promotion is None else points_of(self.forth.promotion)
        for tp, one in self.forth.partitions.items():
            there = TopicPartition(one.progress.target, one.progress.target_partition)
            mapped = maps.get(there)
            if mapped is not None and mapped.target == tp and mapped.offsets is not None and tp in points:
                before = one.offsets.inverted(one.offsets.target_end)
                whole = ContinuedMap(before, mapped.offsets, known=not points[tp].stored_beyond)
                maps[there] = mapped._replace(offsets=whole)
        return maps
