"""What the target would refuse of the records to be copied, or delete soon after they are copied: for their times, or
because it keeps less of a partition.

Brokers find the first record at or after a time in their index (ListOffsets): no record is read, and partitions of one
leader are asked about together. A new copy that would lose records in this way is refused; a job that continues only
warns, since its other topics should not stop.
"""

import math
from collections.abc import Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.finer_times import MICROSECONDS, in_ms
from kcli.flows.mirror.plan.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.topics.configs import (
    AHEAD,
    BEHIND,
    EITHER_WAY,
    RETENTION_BYTES,
    RETENTION_MS,
    ConfigSync,
    Values,
    kept,
    limit,
    number,
    time_text,
)
from kcli.flows.mirror.topics.preflight import Finding
from kcli.flows.mirror.topics.routes import Route
from kcli.output.progress import counted, size_text
from kcli.output.tables import time_text as instant_text

_UNLIMITED = "9223372036854775807"
_KEEPS_ALL = {RETENTION_MS: "-1", RETENTION_BYTES: "-1"}
"""In place of the configuration of a source that deletes nothing any more, and that none can be synchronised with."""

Found = Mapping[TopicPartition, OffsetInfo | KcliError]


class _Bounds(NamedTuple):
    """What the target does with the records of a topic: it deletes those that are older than ``expired``, which the
    source keeps, and refuses times before ``early`` and from ``late`` on (ms since the epoch). ``size``: how many bytes
    of a partition it keeps, where the source keeps more. None where there is no such limit.
    """

    expired: int | None
    early: int | None
    late: int | None
    size: float | None


def check_losses(
    source: Admin, plan: CopyPlan, sync: ConfigSync, *, to_ms: bool, now: int, keeps_all: bool = False
) -> None:
    """Adds conflicts and warnings to the findings of the plan. ``to_ms``: times in µs are converted; ``now`` in ms.
    ``keeps_all``: the source deletes nothing any more, whatever its topics are configured to.
    """
    findings = plan.found.findings
    items: dict[str, list[PlannedPartition]] = {}
    for one in plan.items:
        if one.error is None and not one.is_idle:
            items.setdefault(one.source.topic, []).append(one)
    sources = {topic: _KEEPS_ALL if keeps_all else plan.found.sources[topic].configs for topic in items}
    bounds = {
        route.source: _bounds(
            findings.in_force[route.target],
            sources[route.source],
            sync,
            to_ms=to_ms,
            now=now,
        )
        for route in plan.found.routes
        if route.source in items and route.target in findings.in_force
    }

    def ask(times: Mapping[str, int | None]) -> Found:
        """The first records at or after a time of each topic."""
        wanted = {
            one.source: time for topic, time in times.items() if time is not None for one in items[topic]
        }
        return source.list_offsets(wanted) if wanted else {}

    expired = ask({topic: own.expired for topic, own in bounds.items()})
    early = ask({topic: own.early for topic, own in bounds.items()})
    late = ask({topic: own.late for topic, own in bounds.items()})
    whole = [tp for found in (expired, early) for tp, one in found.items() if _is_nowhere(one)]
    ends = source.list_offsets(dict.fromkeys(whole, LATEST)) if whole else {}
    large = [one for topic, own in bounds.items() if own.size is not None for one in items[topic]]
    sizes = _bytes_left(source, large) if large else {}
    for route in plan.found.routes:
        if route.source not in bounds:
            continue
        values, own = findings.in_force[route.target], items[route.source]
        here = sources[route.source]
        found = [
            _expired(route, values, here, *_older(own, expired, ends)),
            _too_early(route, values, *_older(own, early, ends)),
            _too_late(route, values, here, own, late, sync, to_ms=to_ms, now=now),
            _too_large(route, values, here, [one for one in own if sizes.get(one.source, 0) > _room(values)]),
        ]
        continues = plan.own.get(route.source) == route.target
        (findings.warnings if continues else findings.conflicts).extend(
            one for one in found if one is not None
        )
        answers = [answer.get(one.source) for answer in (expired, early, late) for one in own]
        if error := next((one for one in answers if isinstance(one, KcliError)), None):
            what = f"the times of some records to be copied are not known: {error}"
            findings.warnings.append(Finding(route, what))


def _bounds(values: Values, source: Values, sync: ConfigSync, *, to_ms: bool, now: int) -> _Bounds:
    """``values`` are those in force on the target. A value that was given is accepted, with what it deletes."""
    there, late = kept(values, RETENTION_MS), now + limit(values, AHEAD) + 1
    shorter = there < kept(source, RETENTION_MS) and RETENTION_MS not in sync.given
    size = kept(values, RETENTION_BYTES)
    smaller = size < kept(source, RETENTION_BYTES) and RETENTION_BYTES not in sync.given
    return _Bounds(
        max(0, now - int(there)) if shorter else None,
        _moment(now - limit(values, BEHIND)),
        _moment(min(late, MICROSECONDS) if to_ms else late),
        size if smaller else None,
    )


def _moment(ms: float) -> int | None:
    return None if math.isinf(ms) or ms <= 0 else int(ms)


def _is_nowhere(answer: OffsetInfo | KcliError) -> bool:
    """Whether no record is that new: all are older."""
    return isinstance(answer, OffsetInfo) and answer.offset < 0


def _room(values: Values) -> float:
    """The size of a partition from which on a broker deletes: a whole segment, if what it keeps is left."""
    return kept(values, RETENTION_BYTES) + number(values, "segment.bytes", 1 << 30)


def _bytes_left(source: Admin, items: Sequence[PlannedPartition]) -> dict[TopicPartition, float]:
    """About how many bytes of each partition are copied: its size on disk, by the share of its offsets. Without those
    that brokers do not describe.
    """
    partitions = [one.source for one in items]
    sizes: dict[TopicPartition, int] = {}
    for directories in source.describe_log_dirs(partitions=partitions).values():
        for directory in () if isinstance(directories, KcliError) else directories:
            for tp, replica in directory.replicas.items():
                sizes[tp] = max(sizes.get(tp, 0), replica.size)
    starts, ends = (source.list_offsets(dict.fromkeys(partitions, which)) for which in (EARLIEST, LATEST))
    found = {}
    for one in items:
        first, last = starts[one.source], ends[one.source]
        if one.source in sizes and isinstance(first, OffsetInfo) and isinstance(last, OffsetInfo):
            stop = last.offset if one.end is None else min(one.end, last.offset)
            share = (stop - max(one.start, first.offset)) / max(1, last.offset - first.offset)
            found[one.source] = sizes[one.source] * max(0.0, share)
    return found


def _older(items: Sequence[PlannedPartition], answers: Found, ends: Found) -> tuple[int, int]:
    """How many records, at most, are before the time that was asked for, and in how many partitions."""
    records = partitions = 0
    for one in items:
        answer = answers.get(one.source)
        if not isinstance(answer, OffsetInfo):
            continue
        reach = answer if answer.offset >= 0 else ends.get(one.source)
        if not isinstance(reach, OffsetInfo):
            continue
        count = (reach.offset if one.end is None else min(reach.offset, one.end)) - one.start
        if count > 0:
            records, partitions = records + count, partitions + 1
    return records, partitions


def _expired(route: Route, values: Values, source: Values, records: int, partitions: int) -> Finding | None:
    """The records that the target deletes for their age, and the source keeps."""
    if not records:
        return None
    there, here = (time_text(kept(one, RETENTION_MS)) for one in (values, source))
    return _would_delete(
        route,
        values,
        source,
        RETENTION_MS,
        f"the target would delete up to {counted(records, 'record')} of {counted(partitions, 'partition')} soon after "
        f"they are copied: it keeps records for {there}, the source for {here}",
    )


def _too_large(
    route: Route, values: Values, source: Values, large: Sequence[PlannedPartition]
) -> Finding | None:
    if not large:
        return None
    here = kept(source, RETENTION_BYTES)
    return _would_delete(
        route,
        values,
        source,
        RETENTION_BYTES,
        f"the target would delete the oldest records of {counted(len(large), 'partition')} soon after they are copied: "
        f"it keeps {size_text(kept(values, RETENTION_BYTES))} of each, the source "
        f"{'all' if math.isinf(here) else size_text(here)}",
    )


def _would_delete(route: Route, values: Values, source: Values, key: str, what: str) -> Finding:
    as_source = "" if source is _KEEPS_ALL else "--sync-configs effective keeps what the source keeps, "
    return Finding(
        route,
        f"{what} ({key}={values[key]})",
        f"{as_source}--config {key}=-1 {'everything' if as_source else 'keeps everything'}; "
        f"--config {key}={values[key]} accepts that they are deleted",
    )


def _too_early(route: Route, values: Values, records: int, partitions: int) -> Finding | None:
    if not records:
        return None
    key = BEHIND if BEHIND in values else EITHER_WAY
    return Finding(
        route,
        f"the target refuses up to {counted(records, 'record')} of {counted(partitions, 'partition')}: their times are "
        f"more than {time_text(limit(values, BEHIND))} before its own ({key}={values[key]})",
        f"--config {key}={_UNLIMITED}",
    )


def _too_late(
    route: Route,
    values: Values,
    source: Values,
    items: Sequence[PlannedPartition],
    answers: Found,
    sync: ConfigSync,
    *,
    to_ms: bool,
    now: int,
) -> Finding | None:
    """Of records whose time is in the future, or in a finer unit. What is before the start of the copy does not count."""
    for one in items:
        answer = answers.get(one.source)
        if not isinstance(answer, OffsetInfo) or answer.offset < one.start:
            continue
        if one.end is not None and answer.offset >= one.end:
            continue
        time = in_ms(answer.timestamp) if to_ms else answer.timestamp
        record = f"{one.source} at offset {answer.offset}"
        if time > now + limit(values, AHEAD):
            key = AHEAD if AHEAD in values else EITHER_WAY
            finer = time >= MICROSECONDS
            unit = "is no time in ms" if finer else f"is {instant_text(time)}"
            keep = f"--config {key}={_UNLIMITED} accepts {'them as they are' if finer else 'it'}"
            return Finding(
                route,
                f"the target refuses records whose times are more than {time_text(limit(values, AHEAD))} after its own "
                f"({key}={values[key]}): that of {record} {unit} ({time})",
                f"--timestamps ms copies times in µs and ns as ms, {keep}" if finer else keep,
            )
        if (
            time != answer.timestamp
            and time < now - kept(values, RETENTION_MS)
            and RETENTION_MS not in sync.given
        ):
            return _would_delete(
                route,
                values,
                source,
                RETENTION_MS,
                f"the target would delete records soon after they are copied with times in ms: that of {record} is "
                f"{instant_text(time)}",
            )
    return None
