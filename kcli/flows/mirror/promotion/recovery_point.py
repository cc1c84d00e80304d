"""The recovery point of a promoted job: which records of the source are on the target, and which may not be. Pure.

It is made of what the job has saved once no instance of it can write any more, so that it is true whatever they did:

- *copied* is said of what a saved position covers. The position is stored with, or after, the records before it.
- *missing* is said of nothing that may be there. At least once, a mirror that was killed has stored records that no
  position covers: the target has a tail behind the last record of the offset map. How many records that are is known, and
  not how far they reach in the source, where offsets may be skipped. They are named (``stored_beyond``); the way back
  compares them with the source. A mirror that ends in order, or hands over to the promotion, leaves none.
"""

from collections.abc import Iterable, Mapping

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.copy.state_watch import partition_names
from kcli.flows.mirror.job.state import (
    RecoveryPoint,
    SavedJob,
    SavedPartition,
    SavedPromotion,
    TopicPromotion,
)
from kcli.flows.mirror.proof.target_tail import Tail
from kcli.flows.mirror.topics.routes import parse_rename, renamed
from kcli.output.progress import counted
from kcli.output.tables import time_text


class MissingRecordsError(KcliError):
    """Records of the source may not be on the target."""

    exit_code = ExitCode.PARTLY


class Seen(NamedTuple):
    """An end of the source, and when it was read (milliseconds since the epoch)."""

    end: int
    at_ms: int


def recovery_point(
    number: int, saved: SavedPartition, tail: Tail | None, seen: Seen | None, why: str
) -> RecoveryPoint:
    """Of the partition with this ``number``. ``seen``: read by the promotion; None: what the job has seen last. ``tail``
    None: of a job by key.
    """
    progress = saved.progress
    end, at_ms = seen or (progress.end_seen, progress.end_seen_ms)
    if end < 0:  # an earlier version has written it
        end, at_ms = progress.source_end, progress.updated_ms if progress.source_end >= 0 else -1
    return RecoveryPoint(
        partition=number,
        target_partition=progress.target_partition,
        copied_to=progress.position,
        copied_ms=-1 if tail is None else tail.last_ms,
        source_end=end,
        seen_ms=at_ms,
        is_read=seen is not None,
        target_offset=-1 if tail is None else tail.end,
        stored_beyond=0 if tail is None else tail.records,
        gaps=sorted([*progress.gaps, *saved.accepted], key=lambda gap: gap.first),
        why=why or (progress.why if progress.state == State.ENDED else ""),
    )


def topic_promotions(
    saved: SavedJob, points: Mapping[TopicPartition, RecoveryPoint], promoted_ms: int
) -> dict[str, TopicPromotion]:
    """The points by topic."""
    found: dict[str, list[tuple[TopicPartition, RecoveryPoint]]] = {}
    renames = [parse_rename(text) for text in saved.state.how.renames] if saved.state.how else []
    for tp in sorted(points):
        found.setdefault(tp.topic, []).append((tp, points[tp]))
    made = {}
    for topic, rows in found.items():
        progress = next((saved.partitions[tp].progress for tp, _ in rows if tp in saved.partitions), None)
        made[topic] = TopicPromotion(
            promoted_ms=promoted_ms,
            target=saved.state.topics.get(topic) or renamed(topic, renames),
            topic_id="" if progress is None else progress.topic_id,
            target_topic_id="" if progress is None else progress.target_topic_id,
            points=[point for _, point in rows],
        )
    return made


def points_of(saved: SavedPromotion) -> dict[TopicPartition, RecoveryPoint]:
    """By partition of the source, in order."""
    return {
        TopicPartition(topic, point.partition): point
        for topic, one in sorted(saved.topics.items())
        for point in one.points
    }


def unknown_since(points: Iterable[RecoveryPoint], read_from: int) -> int:
    """Since when it is not known what the source has accepted: the earliest time at which an end was seen that was not
    read from ``read_from`` (milliseconds) on; 0 where an end was never seen, −1 where all were read.
    """
    return min((max(0, point.seen_ms) for point in points if point.seen_ms < read_from), default=-1)


def objections(job: str, saved: SavedPromotion) -> list[KcliError]:
    """What of the source may not be on the target, and why that is not known better."""
    do = f"`kcli mirror reverse --from HOST:PORT --to HOST:PORT --job {job}` lists what is missing, later"
    promotion, points = saved.promotion, points_of(saved)
    found: list[KcliError] = []
    behind = {tp: n for tp, one in points.items() if (n := one.may_be_missing)}
    if behind:
        reasons = dict.fromkeys(points[tp].why for tp in behind if points[tp].why)
        found.append(
            MissingRecordsError(
                f"up to {counted(sum(behind.values()), 'record')} of the source may be missing: "
                f"{partition_names(list(behind))}",
                why="; ".join(reasons) or "they were not copied before the promotion",
                do=do,
            )
        )
    never = [tp for tp, one in points.items() if one.source_end < 0]
    if never:
        found.append(
            MissingRecordsError(
                f"how many records of the source are missing is not known: {partition_names(never)}",
                why="the job has never seen the end of these partitions",
            )
        )
    if since := _since(promotion.unknown_since_ms):
        found.append(
            MissingRecordsError(
                f"what the source has accepted {since} is not known, and may be missing",
                why="it was not read at the promotion",
                do=do,
            )
        )
    beyond = {tp: one.stored_beyond for tp, one in points.items() if one.stored_beyond}
    if beyond:
        found.append(
            MissingRecordsError(
                f"{counted(sum(beyond.values()), 'record')} after the last known ones of the copies may be of the "
                f"source, or of others: {partition_names(list(beyond))}",
                why="the mirror was killed before it saved its position, or somebody else has written",
                do=do,
            )
        )
    holes = [tp for tp, one in points.items() if one.gaps]
    if holes:
        found.append(
            MissingRecordsError(
                f"some offsets before the recovery point were not copied: {partition_names(holes)}",
                why=points[holes[0]].gaps[0].why,
            )
        )
    return found


def _since(ms: int) -> str:
    return "" if ms < 0 else f"since {time_text(ms)}" if ms else "at any time"
