"""What ``mirror check`` demands of a job, and whether it holds. Pure.

What cannot be known does not hold: a lag that nobody can read is no small lag.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from kcli.core.classes import NamedTuple
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.job.state import RUNNING_MS
from kcli.flows.mirror.job.status import KnownJob, saved_state
from kcli.output.progress import counted, duration_text
from kcli.output.tables import time_text

_LEAST_SILENCE = 120.0
"""Seconds: an idle job writes its record once a minute."""


class Demand(StrEnum):
    """The conditions, in the order in which they are reported."""

    RUNNING = "running"
    SOURCE = "source"
    PARTITIONS = "partitions"
    GAPS = "gaps"
    LAG = "lag"
    LAG_TIME = "lag_time"


class Limits(NamedTuple):
    """``records``: that the job may be behind, in all; ``seconds``: the age that a record which is not copied may reach.
    None: no such condition.
    """

    records: int | None = None
    seconds: float | None = None

    @property
    def silence(self) -> float:
        """Seconds that the job may go without saving anything."""
        return RUNNING_MS / 1000 if self.seconds is None else max(self.seconds, _LEAST_SILENCE)


class Reading(NamedTuple):
    """What the source says of a partition. ``unknown``: why its end is not known; ``broken``: why what it has is not what
    was copied. ``oldest_ms``: the time of the first record that is not copied, −1 where there is none, None where it is
    not known.
    """

    end: int | None = None
    oldest_ms: int | None = None
    unknown: str = ""
    broken: str = ""


class CheckedPartition(NamedTuple):
    """A partition of the job. ``state`` is None for one that the source has and the job has not begun with."""

    tp: TopicPartition
    target: str | None
    state: str | None
    position: int | None
    end: int | None
    lag: int | None
    seconds: float | None
    gaps: int
    failed: Mapping[Demand, str]
    """The conditions of a single partition that do not hold, and why."""

    @property
    def ok(self) -> bool:
        """Whether all of them hold."""
        return not self.failed


class Condition(NamedTuple):
    """``measured``: seconds since the job was saved, partitions that are concerned, gaps, records, or seconds;
    None where that is not known. ``limit``: what it may be at most, None where it has to be 0.
    """

    demand: Demand
    measured: float | None
    limit: float | None
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return not self.why


def checked_partition(
    tp: TopicPartition, job: KnownJob, reading: Reading, limits: Limits, now: int
) -> CheckedPartition:
    """A partition, and which conditions do not hold for it. ``now``: milliseconds since the epoch."""
    failed: dict[Demand, str] = {}
    saved = job.saved.partitions.get(tp)
    target = state = position = lag = seconds = None
    gaps = 0
    if reading.unknown:
        failed[Demand.SOURCE] = reading.unknown
    if saved is None:
        failed[Demand.PARTITIONS] = "the job has not begun with it"
    else:
        progress = saved.progress
        target, position, gaps = progress.target, progress.position, len(progress.gaps)
        state, _, why = saved_state(saved)  # that nobody runs the job is a condition of its own
        if state not in (State.COPYING, State.CAUGHT_UP):
            failed[Demand.PARTITIONS] = f"{state}: {why}" if why else state
        elif reading.broken:
            failed[Demand.PARTITIONS] = reading.broken
        if gaps:
            failed[Demand.GAPS] = f"{counted(gaps, 'gap')} not acknowledged"
        if reading.end is not None and not reading.broken:
            lag = max(0, reading.end - position)
            seconds = _age(lag, reading, now)
    if limits.records is not None and lag is None:
        failed[Demand.LAG] = "its lag is not known"
    if limits.seconds is not None and (seconds is None or seconds > limits.seconds):
        failed[Demand.LAG_TIME] = (
            "the age of its oldest record that is not copied is not known"
            if seconds is None
            else f"its oldest record that is not copied is {duration_text(seconds)} old"
        )
    return CheckedPartition(tp, target, state, position, reading.end, lag, seconds, gaps, failed)


def _age(lag: int, reading: Reading, now: int) -> float | None:
    if lag == 0 or reading.oldest_ms == -1:
        return 0.0
    return None if reading.oldest_ms is None else max(0, now - reading.oldest_ms) / 1000


def conditions(
    job: KnownJob, partitions: Sequence[CheckedPartition], limits: Limits, now: int
) -> list[Condition]:
    """All conditions of the job. ``now``: milliseconds since the epoch."""
    known = [one.lag for one in partitions if one.lag is not None]
    ages = [one.seconds for one in partitions if one.seconds is not None]
    found = [
        _running(job, limits, now),
        _of_partitions(Demand.SOURCE, partitions, _count(partitions, Demand.SOURCE)),
        _of_partitions(Demand.PARTITIONS, partitions, _count(partitions, Demand.PARTITIONS)),
        _of_partitions(Demand.GAPS, partitions, sum(one.gaps for one in partitions)),
    ]
    if not partitions:
        found[2] = Condition(Demand.PARTITIONS, None, None, "the job has no partitions yet")
    if limits.records is not None:
        lag = sum(known) if len(known) == len(partitions) else None
        one = _of_partitions(Demand.LAG, partitions, lag)._replace(limit=limits.records)
        if one.ok and lag is not None and lag > limits.records:
            one = one._replace(why=f"{counted(lag, 'record')} behind, and {limits.records:,} are allowed")
        found.append(one)
    if limits.seconds is not None:
        age = max(ages, default=0.0) if len(ages) == len(partitions) else None
        found.append(_of_partitions(Demand.LAG_TIME, partitions, age)._replace(limit=limits.seconds))
    return found


def _running(job: KnownJob, limits: Limits, now: int) -> Condition:
    """A process has the job, and has saved not long ago. While nobody has it, as between two runs, the age of the record
    alone decides, if the user has said how old that may be.
    """
    state, holder, limit = job.saved.state, job.instances.holder, limits.silence
    silence = max(0, now - state.updated_ms) / 1000
    saved = f"its record is of {time_text(state.updated_ms)}, {duration_text(silence)} ago"
    why = ""
    if silence > limit:
        who = f"{holder} runs it, and does not save" if holder else "no process runs it"
        why = f"{who if job.runs is not None else 'it is not known whether a process runs it'}; {saved}"
    elif job.runs is None:
        why = f"it is not known whether a process runs it; {saved}"
    elif holder is None and limits.seconds is None:
        why = f"no process runs it; {saved}"
    return Condition(Demand.RUNNING, silence, limit, why)


def _of_partitions(
    demand: Demand, partitions: Iterable[CheckedPartition], measured: float | None
) -> Condition:
    """Of a condition that each partition has to meet: the reasons of those that do not, by reason."""
    why: dict[str, list[TopicPartition]] = {}
    for one in partitions:
        if demand in one.failed:
            why.setdefault(one.failed[demand], []).append(one.tp)
    return Condition(demand, measured, None, _reasons(why))


def _reasons(why: Mapping[str, Sequence[TopicPartition]]) -> str:
    """The reason that most partitions have, with one of them, and how many more there are."""
    if not why:
        return ""
    first, some = max(why.items(), key=lambda one: len(one[1]))
    left = sum(map(len, why.values())) - 1
    more = f" (and {counted(left, 'more partition')})" if left else ""
    return f"{some[0]}: {first}{more}"


def _count(partitions: Iterable[CheckedPartition], demand: Demand) -> int:
    return sum(demand in one.failed for one in partitions)
