"""One look at the lag of groups, complete: the sample, the times, what holds partitions back. For command and screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.core.errors import KcliError
from kcli.flows.lag.held_back import held_back
from kcli.flows.lag.moments import estimate_moments, read_moments
from kcli.flows.lag.partition_lag import PartitionLag, partition_lags
from kcli.flows.lag.sample import LagSample, Wanted, take_sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.core.admin.admin import Admin

EXACT, ESTIMATE, OFF = "exact", "estimate", "off"


@dataclass(frozen=True, slots=True)
class LagLook:
    """The sample, and the rows of each of its groups."""

    sample: LagSample
    rows: dict[str, list[PartitionLag]]


def look(admin: Admin, wanted: Wanted, time: str) -> LagLook:
    """``time`` is how lag in time is found out: EXACT reads records, ESTIMATE asks for offsets by time, or OFF."""
    sample = take_sample(admin, wanted)
    if time == OFF:
        found = partition_lags(sample, {}, {}, {})
    else:
        moments = read_moments(admin, sample) if time == EXACT else estimate_moments(admin, sample)
        topics = dict.fromkeys(where.topic for where, _ in moments)
        found = partition_lags(sample, moments, retention(admin, topics), held_back(admin, sample))
    rows: dict[str, list[PartitionLag]] = {one.group: [] for one in sample.groups}
    for row in found:
        rows[row.group].append(row)
    return LagLook(sample, rows)


def retention(admin: Admin, topics: Iterable[str]) -> dict[str, int]:
    """``retention.ms`` of the topics that delete by time; without those that may not be read, or keep for ever."""
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
