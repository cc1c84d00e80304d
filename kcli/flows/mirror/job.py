"""A mirror job: its name, and where each partition begins. Decisions about what an earlier run left are pure."""

import secrets
import socket
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kcli.core.clock import wall_ms
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.errors import COPY_AGAIN, recreated_source, truncated_source
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.partition_copy import Gap, PartitionCopy, TopicIds
from kcli.flows.mirror.preflight import ConflictError, TopicFacts
from kcli.flows.mirror.routes import Route
from kcli.flows.mirror.state import JobState, SavedJob, SavedPartition
from kcli.flows.mirror.survey import Survey

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
    """The name of a job without ``--job``: the same for the same source, selectors and rename rules."""
    words = "\n".join([source_cluster, *sorted(selectors), "", *renames])
    return f"{source_cluster[:8] or 'source'}-{zlib.crc32(words.encode()):08x}"


def job_state(
    name: str, survey: Survey, servers: str, *, exactly_once: bool, by_key: bool, headers: bool
) -> JobState:
    """The state of a job that begins now."""
    now = wall_ms()
    return JobState(
        job=name,
        run=secrets.token_hex(8),
        source=survey.source_cluster,
        target=survey.target_cluster,
        source_servers=servers,
        delivery=EXACTLY_ONCE if exactly_once else AT_LEAST_ONCE,
        partitions=_mode(by_key=by_key),
        topics={route.source: route.target for route in survey.routes},
        started_ms=now,
        updated_ms=now,
        host=socket.gethostname(),
        headers=headers,
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
    if facts is None or (topic_id and facts.topic_id != topic_id):
        up_to = f"offset {old.progress.position} of the source" if by_key else f"offset {reached} of {copy}"
        return DataLossError(
            f"topic {route.target} of the target was deleted"
            + ("" if facts is None else " and created again"),
            why=f"an earlier run copied {route.source} to it up to {up_to}",
            do="a new --job NAME begins a new copy" if facts is None or by_key else COPY_AGAIN,
        )
    if end < reached and not by_key:
        return DataLossError(
            f"{copy} of the target ends at offset {end}",
            why=f"an earlier run copied up to offset {reached}: the target lost records",
            do=COPY_AGAIN,
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


def begun_later(partitions: Iterable[TopicPartition], saved: SavedJob | None) -> set[TopicPartition]:
    """Those of ``partitions`` that appeared after the last run of the job.

    A partition without a position that is not the last one of its topic could not begin, or had no time to.
    """
    if saved is None:
        return set()
    counts: dict[str, int] = {}
    for topic, number in saved.partitions:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    return {
        tp
        for tp in partitions
        if tp.topic not in saved.state.topics or 0 < counts.get(tp.topic, 0) <= tp.partition
    }


def _mode(*, by_key: bool) -> str:
    return "by-key" if by_key else "keep"
