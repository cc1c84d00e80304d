"""From a file of offsets to the plan of an import: reads everything needed of the cluster, and changes nothing.

As for a rewind commits are read before ends, and ends before times. Groups need not exist: the first commit creates
them.
"""

from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import ELECTION_PATIENCE
from kcli.flows.rewind.plan import RewindItem, RewindPlan, refused_item, with_records
from kcli.flows.rewind.planning import Spans, committed_groups, described_topics, group_plan, value_or_raise
from kcli.flows.transfer.importing import Aim, Here, ImportItem, Log, Moment, Wish, plan_import, times

ACT = "Import into group"


def survey_import(
    admin: Admin, cluster: str, chosen: Sequence[Aim], wish: Wish, to: str, now_ms: int, spans: Spans
) -> tuple[RewindPlan, list[KcliError]]:
    """The plan of the groups that can be read, and the errors of the others. ``to`` describes the import in words."""
    names = list(dict.fromkeys(aim.group for aim in chosen))
    groups, commits, failures = committed_groups(admin, names, may_be_absent=names)
    chosen = [aim for aim in chosen if aim.group in commits]
    here = _here(admin, cluster, chosen, wish, commits)
    items: dict[str, list[RewindItem]] = {}
    for aim, item in zip(chosen, plan_import(chosen, here, wish), strict=True):
        items.setdefault(aim.group, []).append(_item(aim, item, here))
    plans = [
        group_plan(groups[name], commits[name], found, to, now_ms, spans) for name, found in items.items()
    ]
    return RewindPlan(cluster, tuple(plans), ACT), failures


def _here(
    admin: Admin, cluster: str, chosen: Sequence[Aim], wish: Wish, commits: Mapping[str, Committed]
) -> Here:
    topics, missing = described_topics(admin, {aim.tp.topic for aim in chosen})
    logs = _logs(admin, {aim.tp for aim in chosen}, topics, missing)
    there = [aim for aim in chosen if isinstance(logs[aim.tp], Log)]
    return Here(
        cluster,
        {name: info.topic_id for name, info in topics.items()},
        logs,
        commits,
        at_times(admin, times(there)) if wish.by_time else {},
    )


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
    there = [tp for tp in partitions if tp not in found]
    starts = (
        admin.list_offsets(dict.fromkeys(there, EARLIEST), leader_patience=ELECTION_PATIENCE) if there else {}
    )
    ends = (
        admin.list_offsets(dict.fromkeys(there, LATEST), leader_patience=ELECTION_PATIENCE) if there else {}
    )
    for tp in there:
        try:
            found[tp] = Log(value_or_raise(starts[tp]), value_or_raise(ends[tp]))
        except KcliError as error:
            found[tp] = error
    return found


def at_times(admin: Admin, moments: Collection[Moment]) -> dict[Moment, OffsetInfo | KcliError]:
    """The first record of each partition that is not older than each time.

    A request has one time per partition: several groups at different times need as many requests.
    """
    left: dict[TopicPartition, list[int]] = {}
    for tp, ms in moments:
        left.setdefault(tp, []).append(ms)
    found: dict[Moment, OffsetInfo | KcliError] = {}
    while left:
        asked = {tp: waiting.pop() for tp, waiting in left.items()}
        for tp, told in admin.list_offsets(asked, leader_patience=ELECTION_PATIENCE).items():
            found[tp, asked[tp]] = told
        left = {tp: waiting for tp, waiting in left.items() if waiting}
    return found


def _item(aim: Aim, item: ImportItem, here: Here) -> RewindItem:
    log = here.logs[aim.tp]
    before = here.committed[aim.group].get(aim.tp)
    if isinstance(before, KcliError):
        return refused_item(aim.tp, before)
    if item.refusal is not None:
        return refused_item(aim.tp, item.refusal, item.committed)
    assert isinstance(log, Log)  # without a log there is a refusal
    return with_records(
        RewindItem(aim.tp, item.committed, item.new, item.note), log.start.offset, log.end.offset
    )
