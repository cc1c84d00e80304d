"""A mirror job: what identifies it, and where each partition begins. Decisions about what an earlier run left are pure.

A job is (source cluster, target cluster, ``--job``): its selectors may change from run to run. What they select no more
keeps its position; what they select for the first time begins at ``--offset``. An option that contradicts a position is
refused. Jobs of version 1 were named after their selectors; they are taken over (``taken_over``).
"""

import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError
from kcli.core.names import DEFAULT_JOB
from kcli.core.positions import RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import copy_again, lost_topic, moved_by, recreated_source, truncated_source
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import Gap, PartitionCopy, TopicIds
from kcli.flows.mirror.job.state import (
    JobId,
    JobState,
    SavedJob,
    SavedPartition,
    StateRecord,
    deletions,
    job_deletion,
    job_record,
    partition_records,
)
from kcli.flows.mirror.topics.preflight import ConflictError, TopicFacts
from kcli.flows.mirror.topics.routes import Route, renamed, selects
from kcli.flows.mirror.topics.survey import Selection, Survey
from kcli.output.tables import time_text

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"


class Ends(NamedTuple):
    """Log start and end of partitions."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    def has_records(self, topic: str) -> bool:
        """Whether a partition of the topic has records."""
        return any(end > self.starts[tp] for tp, end in self.ends.items() if tp.topic == topic)


class Attempt(NamedTuple):
    """What a run has copied of a partition until its producer was fenced. See ``PartitionCopy``."""

    source: TopicPartition
    started_at: int
    records: int
    bytes: int
    untouched_batches: int
    encoded_batches: int
    control_batches: int
    gaps: list[Gap]


def default_name(source_cluster: str, selectors: Sequence[str], renames: Sequence[str]) -> str:
    """The name of a job of ``pipeline mirror`` without ``--job``, and of one of version 1: the same for the same source,
    selectors and rename rules.
    """
    words = "\n".join([source_cluster, *sorted(selectors), "", *renames])
    return f"{source_cluster[:8] or 'source'}-{zlib.crc32(words.encode()):08x}"


class TakenOver(NamedTuple):
    """Jobs of version 1 whose positions belong to a job of now. ``positions``: theirs, by their name."""

    jobs: Mapping[str, SavedJob]
    positions: Mapping[str, Mapping[TopicPartition, SavedPartition]]

    def records(self, job: JobId) -> list[StateRecord]:
        """What moves them to the job: their positions with whole offset maps, and the end of those of version 1."""
        found: list[StateRecord] = []
        for name, partitions in self.positions.items():
            old, state = JobId("", name), self.jobs[name].state
            for tp, saved in partitions.items():
                progress = msgspec.structs.replace(saved.progress, segments=0)
                found += partition_records(job, tp, progress, saved.offsets)
            found += deletions(old, partitions)
            left = {tp.topic for tp in self.jobs[name].partitions.keys() - partitions.keys()}
            if left:
                topics = {source: target for source, target in state.topics.items() if source in left}
                found.append(job_record(msgspec.structs.replace(state, topics=topics), old))
            else:
                found.append(job_deletion(old))
        return found


NOTHING_TAKEN = TakenOver({}, {})


def taken_over(
    jobs: Mapping[JobId, SavedJob],
    job: JobId,
    selection: Selection,
    texts: Sequence[str],
    source_cluster: str,
) -> tuple[SavedJob | None, TakenOver]:
    """The job as it was saved, with what it takes over from jobs of version 1. ``texts``: the rename rules as given.

    A job of version 1 belongs to it if it has the same source, and the same name or (for one that nobody named) the same
    selectors and rules. The default job also takes each topic that is selected now and that an unnamed one has copied to
    the same target, from the one that was updated last.
    """
    saved = jobs.get(job)
    positions: dict[str, dict[TopicPartition, SavedPartition]] = {}
    mine: dict[str, str] = {} if saved is None else dict(saved.state.topics)
    names = {job.job, default_name(source_cluster, selection.selectors, texts)}
    old = [one for key, one in jobs.items() if key.is_old and one.state.source == source_cluster]
    old.sort(key=lambda one: (one.state.job in names, one.state.updated_ms), reverse=True)
    for one in old:
        whole = one.state.job in names
        if not whole and not (job.job == DEFAULT_JOB and _UNNAMED.fullmatch(one.state.job)):
            continue
        topics = {
            source: target
            for source, target in one.state.topics.items()
            if source not in mine
            and (
                whole
                or (selects(selection.selectors, source) and renamed(source, selection.renames) == target)
            )
        }
        mine |= topics
        found = {tp: saved for tp, saved in one.partitions.items() if tp.topic in topics}
        if topics and (found or whole):
            positions[one.state.job] = found
    taken = TakenOver({name: jobs[JobId("", name)] for name in positions}, positions)
    if not positions:
        return saved, taken
    newest = next(iter(taken.jobs.values())).state if saved is None else saved.state
    state = msgspec.structs.replace(newest, job=job.job, topics=mine, selected=None)
    partitions = {tp: one for found in positions.values() for tp, one in found.items()}
    return SavedJob(state, partitions | ({} if saved is None else dict(saved.partitions))), taken


_UNNAMED = re.compile(r".{1,8}-[0-9a-f]{8}")


def begin_text(span: RangeSpec | None) -> str:
    """Where ``--offset`` lets a copy begin, as it is kept to recognise the same option later; empty without one.

    Any two times are the same here: ``@-1h`` is another instant in each run.
    """
    if span is None or span.start is None:
        return ""
    kind, value, _ = span.start
    return kind if kind in ("earliest", "latest", "timestamp") else f"{kind} {value}"


def job_state(
    name: str,
    survey: Survey,
    servers: str,
    saved: SavedJob | None,
    *,
    exactly_once: bool,
    by_key: bool,
    headers: bool,
    selectors: Sequence[str],
    begun: Mapping[str, str],
) -> JobState:
    """The state of a job that begins now; ``saved``: what it has from earlier runs. ``begun``: see ``JobState``."""
    now = wall_ms()
    routes = {route.source: route.target for route in survey.routes}
    return JobState(
        job=name,
        run=os.urandom(8).hex(),
        source=survey.source_cluster,
        target=survey.target_cluster,
        source_servers=servers,
        delivery=EXACTLY_ONCE if exactly_once else AT_LEAST_ONCE,
        partitions=_mode(by_key=by_key),
        topics={**({} if saved is None else saved.state.topics), **routes},
        started_ms=now,
        updated_ms=now,
        host=os.uname().nodename,
        headers=headers,
        pid=os.getpid(),
        selectors=list(selectors),
        selected=list(routes),
        begun=dict(begun),
    )


def promoted(state: JobState) -> ConflictError:
    """A job that was promoted copies nothing any more: others write to its target."""
    return ConflictError(
        f"mirror job {state.job} was promoted",
        why=f"since {time_text(state.promoted_ms)} its target is written by others, and is no copy any more",
        do=f"`kcli mirror reverse --from HOST:PORT --to HOST:PORT --job {state.job}` copies back what was written there "
        "since; a new --job NAME makes another copy",
    )


def source_partitions(survey: Survey) -> list[TopicPartition]:
    """All partitions to be copied, in order."""
    return [
        TopicPartition(route.source, number)
        for route in survey.routes
        for number in range(survey.sources[route.source].partitions)
    ]


def partition_copies(
    survey: Survey,
    saved: SavedJob | None,
    spans: Mapping[TopicPartition, Span],
    source_ends: Mapping[TopicPartition, int],
    target: Ends,
    *,
    by_key: bool,
    on_recreate: str,
) -> list[PartitionCopy]:
    """Where each partition of ``spans`` begins: at the position of an earlier run, else at its span.

    A partition whose earlier copy no longer fits has an error: the source topic was recreated (unless ``on_recreate`` is
    ``restart``), its log ends before the position, the target topic was recreated, or the target lost records.
    """
    found = []
    for route in survey.routes:
        facts = survey.sources[route.source]
        for number in range(facts.partitions):
            tp, copy = TopicPartition(route.source, number), TopicPartition(route.target, number)
            if tp not in spans:
                continue
            old = saved.partitions.get(tp) if saved is not None else None
            span, end = spans[tp], target.ends.get(copy, 0)
            ids = TopicIds(facts.topic_id)
            if old is None:
                start = span.start or 0
                offsets = None if by_key else OffsetMap(start, end)
                found.append(PartitionCopy(tp, copy, offsets, position=start, stop=span.stop, topic_ids=ids))
                continue
            error = _lost_target(route, copy, survey.targets.get(route.target), old, end, by_key=by_key)
            recreated = bool(old.progress.topic_id) and old.progress.topic_id != facts.topic_id
            if recreated and on_recreate == "restart":
                offsets = None if by_key else OffsetMap(0, end)
                made = PartitionCopy(tp, copy, offsets, position=0, stop=span.stop, topic_ids=ids)
            else:
                made = PartitionCopy(
                    tp,
                    copy,
                    None if by_key else old.offsets,
                    position=old.progress.position,
                    leader_epoch=old.progress.leader_epoch,
                    stop=span.stop,
                    topic_ids=ids,
                    target_end=end,
                )
                if recreated:
                    error = recreated_source(tp, old.progress.position)
                elif old.progress.position > source_ends[tp]:
                    error = truncated_source(tp, source_ends[tp], old.progress.position)
            if error is not None:
                made.fail(error)
            found.append(made)
    return found


def finish_attempt(old: PartitionCopy, new: PartitionCopy) -> Attempt:
    """What ``old`` has copied, which ``new`` continues; its last transaction counts if ``new`` begins after it."""
    found = _attempt(old)
    old.rollback()
    return found if old.position < new.position else _attempt(old)


def _attempt(copy: PartitionCopy) -> Attempt:
    return Attempt(
        copy.source,
        copy.started_at,
        copy.records,
        copy.bytes,
        copy.untouched_batches,
        copy.encoded_batches,
        copy.control_batches,
        list(copy.gaps),
    )


def add_attempts(copies: Iterable[PartitionCopy], attempts: Sequence[Attempt]) -> None:
    """Adds what earlier attempts of this run have copied to the counts and gaps of ``copies``."""
    last = {copy.source: copy for copy in copies}
    for old in reversed(attempts):
        copy = last[old.source]
        copy.started_at = old.started_at
        copy.records += old.records
        copy.bytes += old.bytes
        copy.untouched_batches += old.untouched_batches
        copy.encoded_batches += old.encoded_batches
        copy.control_batches += old.control_batches
        copy.gaps[:0] = old.gaps


def _lost_target(
    route: Route,
    copy: TopicPartition,
    facts: TopicFacts | None,
    old: SavedPartition,
    end: int,
    *,
    by_key: bool,
) -> KcliError | None:
    """Why the copy of an earlier run is not there any more. To continue would leave a hole that nothing shows: the target
    would have later records, and not those before them.

    By the topic id where brokers have one, else (and for a log that was truncated) by its end: an earlier run reached
    ``target_end``, so a log that ends before lost records. ``end``: of the target's partition, which says nothing where
    partitions are chosen by key.
    """
    topic_id, reached = old.progress.target_topic_id, old.offsets.target_end
    if facts is None and not topic_id and not reached and old.progress.position == old.progress.start:
        return None  # nothing was copied to it: a position that was moved before the topic exists
    if facts is None or (topic_id and facts.topic_id != topic_id):
        up_to = f"offset {old.progress.position} of the source" if by_key else f"offset {reached} of {copy}"
        why = f"an earlier run copied {route.source} to it up to {up_to}"
        return lost_topic(route.source, route.target, why, created_again=facts is not None)
    if end < reached and not by_key:
        return DataLossError(
            f"{copy} of the target ends at offset {end}",
            why=f"an earlier run copied up to offset {reached}: the target lost records",
            do=copy_again(route.source),
        )
    return None


def check_continues(saved: SavedJob | None, *, by_key: bool) -> None:
    """ConflictError if an earlier run of the job chose partitions the other way: its offset maps would be wrong."""
    wanted = _mode(by_key=by_key)
    if saved is not None and saved.state.partitions != wanted:
        raise ConflictError(
            f"mirror job {saved.state.job} was begun with --partitions {saved.state.partitions}",
            why=f"with --partitions {wanted} it cannot continue: which offsets correspond would not be known",
            do=f"--partitions {saved.state.partitions}, or a new --job NAME for a new copy",
        )


def check_routes_continue(saved: SavedJob | None, routes: Iterable[Route]) -> None:
    """ConflictError for a topic that the job copies to another target."""
    for source, target in routes:
        before = target if saved is None else saved.state.topics.get(source, target)
        if before != target:
            assert saved is not None
            raise ConflictError(
                f"topic {source} would be copied to {target}",
                why=f"mirror job {saved.state.job} copies it to {before}, and a job has one target for each topic",
                do=f"--map-topic {source}={before} to continue, or a new --job NAME for a second copy",
            )


def check_begins(saved: SavedJob | None, routes: Iterable[Route], begin: str) -> None:
    """ConflictError where ``--offset`` contradicts a position. ``begin``: its ``begin_text``.

    The same option as at the beginning contradicts nothing: a job is started again by the same command. Of what version
    1 has begun it is not known.
    """
    if saved is None or not begin:
        return
    positions = {
        tp.topic: one.progress.position for tp, one in sorted(saved.partitions.items(), reverse=True)
    }
    for source, _ in routes:
        before = saved.state.begun.get(source, begin)
        if source in positions and before != begin:
            raise ConflictError(
                f"--offset does not apply to topic {source}",
                why=f"mirror job {saved.state.job} has copied it up to offset {positions[source]} "
                f"({TopicPartition(source, 0)}) and continues there",
                do=moved_by(source),
            )


def begun_later(
    partitions: Iterable[TopicPartition], saved: SavedJob | None, *, begins: bool = False
) -> set[TopicPartition]:
    """Those of ``partitions`` that appeared after the last run of the job, and are copied from their start.

    A partition without a position that is not the last one of its topic could not begin, or had no time to.
    With ``begins`` (``--offset`` is given), a topic that the job has not copied begins there if its selectors of then
    did not select it: it has not appeared, but was added to ``-t``.
    """
    if saved is None:
        return set()
    state = saved.state
    counts: dict[str, int] = {}
    for topic, number in saved.partitions:
        counts[topic] = max(counts.get(topic, 0), number + 1)

    def is_new(topic: str) -> bool:
        return topic not in state.topics and not (begins and not selects(state.selectors, topic))

    return {tp for tp in partitions if is_new(tp.topic) or 0 < counts.get(tp.topic, 0) <= tp.partition}


def _mode(*, by_key: bool) -> str:
    return "by-key" if by_key else "keep"
