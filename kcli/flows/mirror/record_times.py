"""The times of the records to be copied, beside what the target does with such times: it refuses them, or deletes the
records soon after they were copied.

Brokers find the first record at or after a time in their index (ListOffsets): no record is read, and partitions of one
leader are asked about together. A new copy that would lose records in this way is refused; a job that continues only
warns, since its other topics should not stop.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.cluster.offsets import LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.finer_times import MICROSECONDS, in_ms
from kcli.flows.mirror.plan import CopyPlan, PlannedPartition
from kcli.flows.mirror.preflight import Finding
from kcli.flows.mirror.routes import Route
from kcli.flows.mirror.topic_configs import (
    AHEAD,
    BEHIND,
    EITHER_WAY,
    RETENTION_MS,
    ConfigSync,
    Values,
    kept,
    limit,
    time_text,
)
from kcli.output.progress import counted
from kcli.output.tables import time_text as instant_text

_UNLIMITED = "9223372036854775807"

Found = Mapping[TopicPartition, OffsetInfo | KcliError]


class _Bounds(NamedTuple):
    """What the target does with the times of a topic: ``expired`` ms ago and earlier: records are deleted, and the source
    keeps them; ``early`` and ``late``: refused. None where there is no such limit.
    """

    expired: int | None
    early: int | None
    late: int | None


def check_record_times(source: Admin, plan: CopyPlan, sync: ConfigSync, *, to_ms: bool, now: int) -> None:
    """Adds conflicts and warnings to the findings of the plan. ``to_ms``: times in µs are converted; ``now`` in ms."""
    items = [one for one in plan.items if one.error is None and not one.is_idle]
    bounds = _bounds_by_topic(plan, sync, to_ms=to_ms, now=now)
    errors: list[KcliError] = []

    def ask(pick: Callable[[_Bounds], int | None]) -> Found:
        wanted = {
            one.source: time
            for one in items
            if (found := bounds.get(one.source.topic)) is not None and (time := pick(found)) is not None
        }
        answers = source.list_offsets(wanted) if wanted else {}
        errors.extend(error for error in answers.values() if isinstance(error, KcliError))
        return answers

    expired, early, late = (
        ask(lambda found: found.expired),
        ask(lambda found: found.early),
        ask(lambda found: found.late),
    )
    whole = {
        tp: LATEST
        for answers in (expired, early)
        for tp, one in answers.items()
        if isinstance(one, OffsetInfo) and one.offset < 0
    }
    ends = source.list_offsets(whole) if whole else {}
    for route in plan.found.routes:
        own = [one for one in items if one.source.topic == route.source]
        values = plan.found.findings.in_force.get(route.target)
        if not own or values is None:
            continue
        given = plan.found.sources[route.source].configs
        found = [
            _deleted(route, values, given, *_older(own, expired, ends)),
            _too_early(route, values, *_older(own, early, ends)),
            _too_late(route, values, own, late, sync, to_ms=to_ms, now=now),
        ]
        where = (
            plan.found.findings.warnings
            if plan.own.get(route.source) == route.target
            else plan.found.findings.conflicts
        )
        where.extend(one for one in found if one is not None)
        if errors and own[0].source in expired.keys() | early.keys() | late.keys():
            what = f"the times of some records to be copied are not known: {errors[0]}"
            plan.found.findings.warnings.append(Finding(route, what))
            errors.clear()


def _bounds_by_topic(plan: CopyPlan, sync: ConfigSync, *, to_ms: bool, now: int) -> dict[str, _Bounds]:
    """By source topic, of those whose target is known."""
    found = {}
    for route in plan.found.routes:
        values = plan.found.findings.in_force.get(route.target)
        if values is None:
            continue
        here, there = kept(plan.found.sources[route.source].configs, RETENTION_MS), kept(values, RETENTION_MS)
        shorter = there < here and RETENTION_MS not in sync.given
        late = now + limit(values, AHEAD) + 1
        if to_ms:
            late = min(late, MICROSECONDS)
        found[route.source] = _Bounds(
            max(0, now - int(there)) if shorter else None, _moment(now - limit(values, BEHIND)), _moment(late)
        )
    return found


def _moment(ms: float) -> int | None:
    return None if math.isinf(ms) or ms <= 0 else int(ms)


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


def _deleted(route: Route, values: Values, source: Values, records: int, partitions: int) -> Finding | None:
    """The records that the target deletes and the source keeps."""
    if not records:
        return None
    there, here = (time_text(kept(one, RETENTION_MS)) for one in (values, source))
    return _would_delete(
        route,
        values,
        f"the target would delete up to {counted(records, 'record')} of {counted(partitions, 'partition')} soon after "
        f"they are copied: it keeps records for {there}, the source for {here}",
    )


def _would_delete(route: Route, values: Values, what: str) -> Finding:
    return Finding(
        route,
        f"{what} ({RETENTION_MS}={values[RETENTION_MS]})",
        f"--sync-configs effective keeps them as long as the source does, --config {RETENTION_MS}=-1 for ever; "
        f"--config {RETENTION_MS}={values[RETENTION_MS]} accepts that they are deleted",
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
                f"the target would delete records soon after they are copied with times in ms: that of {record} is "
                f"{instant_text(time)}",
            )
    return None
