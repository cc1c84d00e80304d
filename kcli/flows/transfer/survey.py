"""From a file of offsets to the plan of an import: reads everything needed of the cluster, and changes nothing.

As for a rewind commits are read before ends, and ends before times. Groups need not exist: the first commit creates
them.
"""

from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import ELECTION_PATIENCE, no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import list_offsets
from kcli.flows.rewind.plan import RewindItem, RewindPlan
from kcli.flows.rewind.planning import Spans, committed_groups, described_topics, group_plan, value_or_raise
from kcli.flows.transfer.importing import (
    ClusterState,
    ImportRequest,
    ImportTarget,
    Log,
    PartitionTime,
    plan_item,
    unread_times,
)

ACT = "Import into group"


def survey_import(
    admin: Admin,
    cluster: str,
    targets: Sequence[ImportTarget],
    request: ImportRequest,
    to: str,
    now_ms: int,
    spans: Spans,
) -> RewindPlan:
    """The plan of the groups that can be read, with the errors of the others. ``to`` describes the import in words."""
    names = list(dict.fromkeys(target.group for target in targets))
    groups, commits, failures = committed_groups(admin, names, may_be_absent=names)
    targets = [target for target in targets if target.group in commits]
    topics, missing = described_topics(admin, {target.tp.topic for target in targets})
    logs = _logs(admin, {target.tp for target in targets}, topics, missing)
    readable = [target for target in targets if isinstance(logs[target.tp], Log)]
    state = ClusterState(
        cluster,
        {name: info.topic_id for name, info in topics.items()},
        logs,
        commits,
        at_times(admin, unread_times(readable)) if request.by_time else {},
    )
    items: dict[str, list[RewindItem]] = {}
    for target in targets:
        items.setdefault(target.group, []).append(plan_item(target, state, request))
    plans = [
        group_plan(groups[name], commits[name], found, to, now_ms, spans, topics)
        for name, found in items.items()
    ]
    return RewindPlan(cluster, tuple(plans), ACT, tuple(names), failures)


def _logs(
    admin: Admin,
    partitions: Collection[TopicPartition],
    topics: Mapping[str, TopicInfo],
    missing: Mapping[str, KcliError],
) -> dict[TopicPartition, Log | KcliError]:
    found: dict[TopicPartition, Log | KcliError] = {}
    for tp in partitions:
        info = topics.get(tp.topic)
        if info is None:
            found[tp] = missing[tp.topic]
        elif tp.partition not in {part.partition for part in info.partitions}:
            found[tp] = no_partition(tp, len(info.partitions))
    existing = [tp for tp in partitions if tp not in found]
    starts = list_offsets(admin, existing, EARLIEST)
    ends = list_offsets(admin, existing, LATEST)
    for tp in existing:
        try:
            found[tp] = Log(value_or_raise(starts[tp]), value_or_raise(ends[tp]))
        except KcliError as error:
            found[tp] = error
    return found


def at_times(admin: Admin, times: Collection[PartitionTime]) -> dict[PartitionTime, OffsetInfo | KcliError]:
    """The first record of each partition that is not older than each time.

    A request has one time per partition: several groups at different times need as many requests.
    """
    left: dict[TopicPartition, list[int]] = {}
    for tp, ms in times:
        left.setdefault(tp, []).append(ms)
    found: dict[PartitionTime, OffsetInfo | KcliError] = {}
    while left:
        asked = {tp: waiting.pop() for tp, waiting in left.items()}
        for tp, first in admin.list_offsets(asked, leader_patience=ELECTION_PATIENCE).items():
            found[tp, asked[tp]] = first
        left = {tp: waiting for tp, waiting in left.items() if waiting}
    return found
