"""A complete measurement of the lag of groups: the sample, the times of records, and open transactions."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kcli.account.survey import Survey
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.lag.lag_columns import ColumnsOf
from kcli.flows.lag.partition_lag import PartitionLag, RecordTimes, Retention, partition_lags
from kcli.flows.lag.sample import LagSample, Wanted, sample_of, take_sample
from kcli.flows.lag.summary import summary

_NOTHING: Mapping[Any, Any] = MappingProxyType({})
EXACT, ESTIMATE, OFF = "exact", "estimate", "off"


class Times(NamedTuple):
    """What lag in time is made of: times of records, ``retention.ms``, and notes on open transactions."""

    records: RecordTimes
    retention: Retention
    notes: Mapping[TopicPartition, str]


class Measurement(NamedTuple):
    """The sample, and the rows of each of its groups. ``times`` None: lag in time was not measured."""

    sample: LagSample
    rows: dict[str, Collection[PartitionLag]]
    times: Times | None = None


def measure_lag(admin: Admin, wanted: Wanted, time: str, known: Collection[str] = ()) -> Measurement:
    """``time``: ``exact`` reads records, ``estimate`` uses offsets by time, ``off`` leaves lag in time unknown.

    ``known``: see ``take_sample``.
    """
    sample = take_sample(admin, wanted, known)
    if time == OFF:
        return Measurement(sample, lags_of(sample))
    # One record per partition is read only where lag in time is shown.
    from kcli.flows.lag.record_times import (
        estimate_record_times,
        open_transactions,
        read_record_times,
        unread_offsets,
    )

    find = read_record_times if time == EXACT else estimate_record_times
    unread = unread_offsets(sample.groups, sample)
    kept = begin_retention(admin, dict.fromkeys(tp.topic for tp, _ in unread))
    records = find(admin, unread, sample)
    times = Times(records, kept(), open_transactions(admin, sample))
    return Measurement(sample, lags_of(sample, *times), times)


def lags_of(
    sample: LagSample,
    times: RecordTimes = _NOTHING,
    retention: Retention = _NOTHING,
    notes: Mapping[TopicPartition, str] = _NOTHING,
    *,
    timed: Container[str] | None = None,
) -> dict[str, Collection[PartitionLag]]:
    """The rows of each group, by column where that is enough; see ``partition_lags``.

    ``timed``: the groups that the times and notes are for; None is all.
    """
    columns = ColumnsOf(sample.bounds)
    special = bool(times or notes)
    found: dict[str, Collection[PartitionLag]] = {}
    for one in sample.groups:
        rows = None if special and (timed is None or one.group in timed) else columns.group(one)
        found[one.group] = (
            list(partition_lags(sample, one, times, retention, notes)) if rows is None else rows
        )
    return found


def total_lags(
    admin: Admin, states: Mapping[str, str], types: Mapping[str, str]
) -> Survey[dict[str, int | None]]:
    """The lag in records of groups whose states and types are known, None where no lag is known; groups, or partitions of
    them, are missing.
    """
    sample = sample_of(admin, states, {}, types=types)
    return Survey({name: summary(rows).lag for name, rows in lags_of(sample).items()}, sample.missing)


def retention(admin: Admin, topics: Iterable[str]) -> dict[str, int]:
    """``retention.ms`` of the topics that delete by time, where it is known."""
    return begin_retention(admin, topics)()


def begin_retention(admin: Admin, topics: Iterable[str]) -> Callable[[], dict[str, int]]:
    """The same in two steps: what it returns waits for the responses."""
    names = list(topics)
    if not names:
        return dict
    configs = admin.begin_topic_configs(names, keys=["retention.ms", "cleanup.policy"])

    def kept() -> dict[str, int]:
        found = {}
        for topic, entries in configs().items():
            if isinstance(entries, KcliError):
                continue
            values = {entry.name: entry.value or "" for entry in entries}
            if "delete" in values.get("cleanup.policy", "") and int(values.get("retention.ms", "-1")) >= 0:
                found[topic] = int(values["retention.ms"])
        return found

    return kept
