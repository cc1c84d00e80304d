"""A complete lag measurement of groups, for command and screen: the sample, the times, and open transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.core.errors import KcliError
from kcli.flows.lag.lag_columns import ColumnsOf
from kcli.flows.lag.partition_lag import Moments, PartitionLag, Retention, group_lags
from kcli.flows.lag.sample import LagSample, Wanted, take_sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.core.admin.admin import Admin
    from kcli.core.types import TopicPartition

_NOTHING: Mapping[Any, Any] = MappingProxyType({})
EXACT, ESTIMATE, OFF = "exact", "estimate", "off"


class LagLook(NamedTuple):
    """The sample, and the rows of each of its groups."""

    sample: LagSample
    rows: dict[str, Sequence[PartitionLag]]


def look(admin: Admin, wanted: Wanted, time: str) -> LagLook:
    """``time`` is how lag in time is determined: EXACT reads records, ESTIMATE uses offsets by time, OFF skips it."""
    sample = take_sample(admin, wanted)
    return LagLook(sample, lags_of(sample) if time == OFF else _with_times(admin, sample, time))


def _with_times(admin: Admin, sample: LagSample, time: str) -> dict[str, Sequence[PartitionLag]]:
    from kcli.flows.lag.held_back import held_back
    from kcli.flows.lag.moments import estimate_moments, read_moments

    moments = read_moments(admin, sample) if time == EXACT else estimate_moments(admin, sample)
    topics = dict.fromkeys(tp.topic for tp, _ in moments)
    return lags_of(sample, moments, retention(admin, topics), held_back(admin, sample))


def lags_of(
    sample: LagSample,
    moments: Moments = _NOTHING,
    retention: Retention = _NOTHING,
    notes: Mapping[TopicPartition, str] = _NOTHING,
) -> dict[str, Sequence[PartitionLag]]:
    """The rows of each group, by column where that is enough; see ``partition_lags``."""
    plain = ColumnsOf(sample.bounds)
    special = bool(moments or notes)
    rows: dict[str, Sequence[PartitionLag]] = {}
    for one in sample.groups:
        columns = None if special else plain.group(one)
        rows[one.group] = (
            list(group_lags(sample, one, moments, retention, notes)) if columns is None else columns
        )
    return rows


def retention(admin: Admin, topics: Iterable[str]) -> dict[str, int]:
    """``retention.ms`` of the topics that delete by time; topics that cannot be described or keep indefinitely are
    omitted.
    """
    from kcli.core.admin.configs import ConfigKind, ConfigResource

    resources = {ConfigResource(ConfigKind.TOPIC, topic): topic for topic in topics}
    if not resources:
        return {}
    kept = {}
    for resource, entries in admin.describe_configs(
        list(resources), keys=["retention.ms", "cleanup.policy"]
    ).items():
        if isinstance(entries, KcliError):
            continue
        values = {entry.name: entry.value or "" for entry in entries}
        if "delete" in values.get("cleanup.policy", "") and int(values.get("retention.ms", "-1")) >= 0:
            kept[resources[resource]] = int(values["retention.ms"])
    return kept
