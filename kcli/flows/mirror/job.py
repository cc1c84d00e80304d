"""A mirror job: its name, and where each partition begins. Decisions about what an earlier run left are pure."""

import secrets
import socket
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kcli.core.clock import wall_ms
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.errors import COPY_AGAIN, recreated_source, truncated_source
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.partition_copy import PartitionCopy, TopicIds
from kcli.flows.mirror.preflight import TopicFacts
from kcli.flows.mirror.routes import Route
from kcli.flows.mirror.state import JobState, SavedJob
from kcli.flows.mirror.survey import Survey

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"


class Ends(NamedTuple):
    """Log start and end of partitions."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


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
        partitions="by-key" if by_key else "keep",
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
    """Where each partition begins: at the position of an earlier run, else at its span.

    A partition whose earlier copy no longer fits has an error: the source topic was recreated (unless ``on_recreate`` is
    ``restart``), its log ends before the position, the target topic was recreated, or the target lost records.
    """
    found = []
    for route in survey.routes:
        facts = survey.sources[route.source]
        for number in range(facts.partitions):
            tp, copy = TopicPartition(route.source, number), TopicPartition(route.target, number)
            old = saved.partitions.get(tp) if saved is not None else None
            span, end = spans[tp], target.ends.get(copy, 0)
            ids = TopicIds(facts.topic_id)
            if old is None:
                start = span.start or 0
                offsets = None if by_key else OffsetMap(start, end)
                found.append(PartitionCopy(tp, copy, offsets, position=start, stop=span.stop, topic_ids=ids))
                continue
            error = (
                None
                if by_key
                else _lost_target(
                    route,
                    copy,
                    survey.targets.get(route.target),
                    old.progress.target_topic_id,
                    old.offsets,
                    end,
                )
            )
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


def _lost_target(
    route: Route,
    copy: TopicPartition,
    facts: TopicFacts | None,
    topic_id: str,
    offsets: OffsetMap,
    end: int,
) -> KcliError | None:
    if facts is None or (topic_id and facts.topic_id != topic_id):
        return DataLossError(
            f"topic {route.target} of the target was deleted"
            + ("" if facts is None else " and created again"),
            why=f"an earlier run copied {route.source} to it up to offset {offsets.target_end} of {copy}",
            do="a new --job NAME begins a new copy" if facts is None else COPY_AGAIN,
        )
    if end < offsets.target_end:
        return DataLossError(
            f"{copy} of the target ends at offset {end}",
            why=f"an earlier run copied up to offset {offsets.target_end}: the target lost records",
            do=COPY_AGAIN,
        )
    return None
