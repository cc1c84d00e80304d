"""A job in one line: the worst of what its partitions do, how far they are behind, and who runs it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple
from kcli.flows.mirror.copy.partition_state import State
from kcli.output.progress import counted

if TYPE_CHECKING:  # it comes with the clients
    from kcli.flows.mirror.job.status import KnownJob

STOPPED, SILENT, UNKNOWN, NEW = "stopped", "silent", "unknown", "new"
"""Besides the states of partitions: no process runs it, and its last one did not end in order; a process has it, and
saves nothing; it is not known whether one has it; it has no partition yet.
"""
WRONG = (STOPPED, SILENT, State.ENDED.value)
"""An ended partition is one that failed; a job that has ended in order is ``done``."""
DONE = "done"
_WORST = (State.ENDED, State.WAITING, State.COPYING, State.CAUGHT_UP)
_LATEST_MS = 4_102_444_800_000  # the year 2100
_NAMED = 12
"""Partitions that are named, at most."""


class JobPartition(NamedTuple):
    """A partition of a job, as ``mirror status`` has it. ``lag`` is None where the source's end is not known."""

    topic: str
    partition: int
    state: str
    lag: int | None
    why: str


class JobLine(NamedTuple):
    """``source`` and ``target`` are cluster ids, ``servers`` the brokers of the source. Times are in ms, 0 is unknown.

    ``state``: see above; ``why`` is the reason of most partitions that are in it. ``states`` counts partitions. ``lag``
    is the sum of those that are selected; None where one is not known. ``seen_ms``: when the end of the source was read
    last, of the partition where that is the longest ago. ``worst``: the partitions that are the furthest from caught up.
    """

    job: str
    source: str
    servers: str
    target: str
    state: str
    why: str
    states: Mapping[str, int]
    topics: int
    lag: int | None
    gaps: int
    running: bool | None
    host: str
    pid: int
    since_ms: int
    standbys: int
    delivery: str
    updated_ms: int
    seen_ms: int
    worst: Sequence[JobPartition]

    @property
    def partitions(self) -> int:
        """How many it has."""
        return sum(self.states.values())


def job_line(job: KnownJob, now: int) -> JobLine:
    """``now``: milliseconds since the epoch."""
    saved, holder = job.saved.state, job.instances.holder
    rows = [row for row in job.rows() if row["state"] != State.NOT_SELECTED]
    states = Counter(str(row["state"]) for row in rows)
    state, why = _state(job, states, rows, now)
    lags = [row["lag_records"] for row in rows]
    return JobLine(
        job.id.job,
        job.id.source,
        saved.source_servers,
        saved.target,
        state,
        why,
        dict(states),
        len({row["topic"] for row in rows}),
        sum(lags) if all(lag is not None for lag in lags) else None,
        sum(len(row["gaps"]) for row in rows),
        job.runs,
        saved.host if holder is None else holder.host,
        saved.pid if holder is None else holder.pid,
        0 if holder is None else _moment(holder.since_ms),
        len(job.instances.standbys),
        saved.delivery,
        _moment(saved.updated_ms),
        _moment(min((row["end_seen_at"] or 0 for row in rows), default=0)),
        _worst(rows),
    )


def _moment(at_ms: int) -> int:
    """A time that the clock of another machine may have had; 0 for anything else that was saved."""
    return at_ms if 0 < at_ms < _LATEST_MS else 0


def _state(
    job: KnownJob, states: Mapping[str, int], rows: Sequence[Mapping[str, Any]], now: int
) -> tuple[str, str]:
    saved = job.saved.state
    if saved.promoted_ms:
        return State.PROMOTED.value, ""
    if job.runs is None:
        return UNKNOWN, "it is not known whether a process runs it"
    if not job.runs:
        if saved.ended:
            return _ended(job)
        return STOPPED, "its last run was killed, or lost the target"
    from kcli.flows.mirror.job.state import RUNNING_MS  # with the records' structs, which screens do not need

    if now - saved.updated_ms >= RUNNING_MS:
        return SILENT, "a process has the job, and saves nothing"
    worst = next((one.value for one in _WORST if states.get(one)), NEW)
    reasons = Counter(str(row["why"]) for row in rows if row["state"] == worst and row["why"])
    if not reasons:
        gaps = sum(len(row["gaps"]) for row in rows)
        return worst, f"{counted(gaps, 'gap')} not acknowledged" if gaps else ""
    (reason, number), *_ = reasons.most_common(1)
    return worst, f"{reason} ({counted(number, 'partition')})"


def _ended(job: KnownJob) -> tuple[str, str]:
    """Of a job whose last run ended by itself: in order, unless partitions ended before it."""
    if not job.saved.partitions:
        return NEW, "its last run has begun with no partition"
    failed = Counter(
        one.progress.why
        for tp, one in job.saved.partitions.items()
        if one.progress.state == State.ENDED and job.saved.state.selects(tp.topic)
    )
    if not failed:
        return DONE, ""
    (reason, number), *_ = failed.most_common(1)
    return State.ENDED.value, f"{reason} ({counted(number, 'partition')})"


def _worst(rows: Sequence[Mapping[str, Any]]) -> tuple[JobPartition, ...]:
    ranks = {one.value: rank for rank, one in enumerate(_WORST)}
    in_order = sorted(
        rows,
        key=lambda row: (
            ranks.get(row["state"], len(ranks)),
            -(row["lag_records"] or 0),
            row["topic"],
            row["partition"],
        ),
    )
    return tuple(
        JobPartition(row["topic"], row["partition"], str(row["state"]), row["lag_records"], row["why"] or "")
        for row in in_order[:_NAMED]
    )
