"""``kcli groups import``: the offsets of a file are committed, or set as start offsets of share groups, with the plan and
the undo of a rewind.

As for a rewind commits are read before ends, and ends before times. Groups need not exist: the first commit creates
them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from shlex import join
from types import MappingProxyType

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple, replace
from kcli.core.clock import wall_ms
from kcli.core.cluster.metadata import ELECTION_PATIENCE, no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.offsets import list_offsets
from kcli.flows.groups.stored_offsets import acknowledged
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.outcomes import rewind_command
from kcli.flows.rewind.plan import RewindItem, RewindPlan
from kcli.flows.rewind.planning import (
    Spans,
    committed_groups,
    described_topics,
    group_plan,
    spanned,
    value_or_raise,
    with_internal_topics,
)
from kcli.flows.rewind.spans import time_spans
from kcli.flows.rewind.text import Where
from kcli.flows.transfer.create import advise_stopping
from kcli.flows.transfer.file import STDIN, file_name, read_file
from kcli.flows.transfer.importing import (
    ClusterState,
    ImportRequest,
    ImportTarget,
    Log,
    PartitionTime,
    import_targets,
    plan_item,
    unread_times,
)
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.output.tables import Column

ACT = "Import into group"


def survey_import(
    admin: Admin,
    cluster: str,
    targets: Sequence[ImportTarget],
    request: ImportRequest,
    to: str,
    now_ms: int,
    spans: Spans,
    to_be: Mapping[str, int] = MappingProxyType({}),
    act: str = ACT,
) -> RewindPlan:
    """The plan of the groups that can be read, with the errors of the others. ``to`` describes the import in words.
    ``to_be`` and ``act``: see ``FileOffsets``.
    """
    types = dict.fromkeys((target.group for target in targets), "classic")
    types |= {target.group: SHARE for target in targets if target.saved.group_type == SHARE}
    names = list(types)
    groups, commits, failures = committed_groups(admin, names, may_be_absent=types)
    targets = [target for target in targets if target.group in commits]
    topics, missing = described_topics(admin, {target.tp.topic for target in targets})
    logs = _logs(admin, {target.tp for target in targets}, topics, missing, to_be)
    readable = [target for target in targets if isinstance(logs[target.tp], Log)]
    state = ClusterState(
        cluster,
        {name: info.topic_id for name, info in topics.items()},
        logs,
        commits,
        at_times(admin, unread_times(readable)) if request.by_time else {},
        _acknowledged(admin, [name for name in commits if groups[name].type == SHARE], logs),
    )
    unset = admin.lacks("alter_share_offsets") if state.acknowledged else None
    items: dict[str, list[RewindItem]] = {}
    for target in targets:
        items.setdefault(target.group, []).append(plan_item(target, state, request))
    plans = [
        group_plan(groups[name], commits[name], found, to, now_ms, topics) for name, found in items.items()
    ]
    alone = {
        plan.group: unset if plan.is_share else with_internal_topics(admin, groups[plan.group])
        for plan in plans
    }
    plans = [replace(plan, refusal=alone[plan.group] or plan.refusal) for plan in plans]
    return RewindPlan(cluster, tuple(spanned(plans, spans)), act, tuple(names), failures)


def _acknowledged(
    admin: Admin, shares: Sequence[str], logs: Mapping[TopicPartition, Log | KcliError]
) -> dict[str, Mapping[TopicPartition, int]]:
    """Of share groups, after the ends of the logs were read."""
    ends = {tp: log.end.offset for tp, log in logs.items() if isinstance(log, Log)}
    return {
        name: {} if isinstance(starts, KcliError) else acknowledged(starts, ends)
        for name, starts in (admin.share_offsets(shares) if shares else {}).items()
    }


_EMPTY = Log(OffsetInfo(0, -1), OffsetInfo(0, -1))


def _logs(
    admin: Admin,
    partitions: Collection[TopicPartition],
    topics: Mapping[str, TopicInfo],
    missing: Mapping[str, KcliError],
    to_be: Mapping[str, int],
) -> dict[TopicPartition, Log | KcliError]:
    found: dict[TopicPartition, Log | KcliError] = {}
    there = {
        TopicPartition(topic, part.partition) for topic, info in topics.items() for part in info.partitions
    }
    for tp in partitions:
        info = topics.get(tp.topic)
        if info is None and not (tp.topic in to_be and isinstance(missing[tp.topic], NotFoundError)):
            found[tp] = missing[tp.topic]
        elif info is None or tp not in there:
            count = max(to_be.get(tp.topic, 0), 0 if info is None else len(info.partitions))
            found[tp] = no_partition(tp, count) if tp.partition >= count else _EMPTY
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


class OffsetImport(OffsetsChange):
    """The offsets of a file. Those in ZooKeeper, which has one more column, print the same kinds."""

    kind = "OffsetImport"
    printed_by = "groups import"
    report_keys = (
        Column(
            "broker",
            "id",
            meaning="Of an offset in ZooKeeper: the broker of Kafka 0.7, which numbers partitions.",
        ),
        *OffsetsChange.report_keys[:3],
    )
    plan_keys = (report_keys[0], *OffsetsChange.plan_keys)


class FileOffsets(NamedTuple):
    """What is imported of a file. ``words`` describe it. ``to_be``: how many partitions topics will have that do not have
    them yet: those are created before the act. ``act``: what plans say before the name of a group.
    """

    path: str
    offsets: Sequence[SavedOffset]
    targets: Sequence[ImportTarget]
    request: ImportRequest
    words: str
    to_be: Callable[[], Mapping[str, int]] = dict
    act: str = ACT


def read_import(
    path: str,
    group: str | None,
    topics: Mapping[str, str],
    named: Mapping[str, Callable[[TopicPartition], bool]],
    *,
    of_brokers: bool,
    by_time: bool,
    clamp: bool,
    force: bool,
) -> FileOffsets:
    """What is selected of the file, as of ``ImportRequest``: all of it, or what is ``named``; ConfigError if it has
    nothing of one of these.
    """

    def wanted(tp: TopicPartition) -> bool:
        return not named or any(has(tp) for has in named.values())

    asked = ImportRequest(group, topics, wanted, by_time, clamp, force)
    offsets, name = read_file(path, of_brokers=of_brokers), file_name(path)
    for part, has in named.items():
        if not any(has(saved.tp) for saved in offsets):
            raise ConfigError(
                f"{name} has no offset of {part}", why="--topic names it", do="correct --topic, see the file"
            )
    words = f"the {'times' if asked.by_time else 'offsets'} in {name}"
    return FileOffsets(path, offsets, import_targets(offsets, asked), asked, words)


def offset_import(
    file: FileOffsets,
    where: Where,
    *,
    partial_file: bool,
    again: bool,
    dry: bool,
    kind: type[OffsetImport] = OffsetImport,
) -> OffsetImport:
    """``partial_file``: not all of it is imported."""
    planned = partial(_planned, file, not partial_file)
    groups = list(dict.fromkeys(target.group for target in file.targets))
    return kind(planned, where, again=again, dry=dry, lookups=[groups])


def _planned(file: FileOffsets, whole: bool, admin: Admin) -> RewindPlan:
    spans = partial(time_spans, admin)
    cluster, now, to_be = admin.cluster_id(), wall_ms(), file.to_be()
    plan = survey_import(admin, cluster, file.targets, file.request, file.words, now, spans, to_be, file.act)
    live = whole and file.path != STDIN and admin.lacks("hold_group") is None
    return advise_stopping(plan, lambda one: _live_command(file, one) if live else "")


def _live_command(file: FileOffsets, group: str) -> str:
    """The rewind that does the same to a group with members; empty where there is none."""
    request = file.request
    renamed = request.group is not None and any(saved.group not in (None, group) for saved in file.offsets)
    if renamed or request.topics or request.by_time or request.clamp or request.force:
        return ""
    return rewind_command(group, join(["--from-file", file.path, "--live"]))
