"""From the request to the plan: reads everything needed of groups, commits and logs, and changes nothing.

Never joins a group. Log ends are read before the times: a record that arrives in between can only cause a partition
that has nothing newer to be read again, never to be skipped.
"""

from collections.abc import Callable, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import dataclass, field, replace
from kcli.core.cluster.metadata import ELECTION_PATIENCE, no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.names import group_argument
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.stored_offsets import acknowledged
from kcli.flows.rewind.mark import marked
from kcli.flows.rewind.plan import (
    BY_REWIND,
    GroupPlan,
    NotPossibleError,
    Remedies,
    RewindItem,
    RewindPlan,
    plan_item,
    refused_item,
)
from kcli.flows.rewind.planning import (
    Spans,
    committed_groups,
    described_topics,
    group_plan,
    spanned,
    value_or_raise,
    with_internal_topics,
)
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.targets import PartitionState, Target, check_topic
from kcli.flows.time_limits import TimeLimit
from kcli.output.progress import counted


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """``targets`` by group, ``to`` in words. ``undoes``: the journal to restore, by group. ``act`` is that of the plan.
    ``makes``: the first commit creates a group that does not exist; ``only_new`` refuses groups with commits. ``types``:
    those of groups that must be share groups, or must not (``classic``). ``absent``: the type of those that do not exist,
    without one of ``types``. ``live``: groups with members are rewound as they run; ``resets``: internal topics of Kafka
    Streams are deleted, too; ``hold``: each must be held while the plan is reviewed; ``held`` are the
    groups that are, with their descriptions from before that (None in a dry run, which holds no group).
    """

    targets: Mapping[str, Target]
    to: str
    scope: Scope = field(default_factory=Scope)
    undoes: Mapping[str, str] = field(default_factory=dict)
    act: str = "Rewind group"
    makes: bool = False
    only_new: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    absent: str = "classic"
    live: bool = False
    resets: bool = False
    hold: bool = False
    held: Mapping[str, GroupDescription] | None = None
    remedies: Remedies = BY_REWIND


Disorders = Callable[[Sequence[TimeLimit]], Mapping[TopicPartition, str]]
"""What is to be said of records that follow the offset at a time and are older: they are read again, too."""


def survey(
    admin: Admin,
    cluster: str,
    request: RewindRequest,
    now_ms: int,
    spans: Spans,
    disorders: Disorders | None = None,
) -> RewindPlan:
    """The plan of the groups that can be read, with the errors of those that cannot. ConfigError for an unclear scope."""
    absent = {
        name: request.types.get(name, request.absent)
        for name in (request.targets if request.makes else request.undoes)
    }
    groups, commits, failures = committed_groups(
        admin, list(request.targets), may_be_absent=absent, held=request.held
    )
    shares = [name for name in commits if groups[name].type == SHARE]
    known = {name: [tp for tp, commit in commits[name].items() if commit is not None] for name in commits}
    read = {name: list(commits[name]) if name in shares else known[name] for name in commits}
    given = {name: list(request.targets[name].offsets) for name in commits}
    if not failures:  # a group that could not be read may have it
        request.scope.check_excluded([tp for name in commits for tp in (*read[name], *given[name])])
    topics = {name: request.scope.names(name, read[name], given[name]) for name in commits}
    described, missing = described_topics(admin, {name for names in topics.values() for name in names})
    present = {name: [part.partition for part in topic.partitions] for name, topic in described.items()}
    chosen = {
        name: [
            tp
            for topic in topics[name]
            for tp in request.scope.partitions(
                topic,
                present.get(topic) or [tp.partition for tp in known[name] if tp.topic == topic],
                known[name],
                given=given[name],
                committed_only=request.targets[name].is_relative,
            )
        ]
        for name in commits
    }
    targets = {name: _target_for(groups[name], request.targets[name]) for name in commits}
    logs = _Logs(admin, request, {(name, tp) for name in chosen for tp in chosen[name]}, present, disorders)
    logs.read_acknowledged(admin, shares)
    unheld, undeletable = admin.lacks("hold_group") if request.live else None, admin.lacks("delete_offsets")
    unset = admin.lacks("alter_share_offsets") if shares else None
    plans = []
    for name, partitions in chosen.items():
        found = [
            _item(targets[name], groups[name], tp, commits[name].get(tp), logs, described, missing)
            for tp in partitions
        ]
        if undeletable is not None and name not in shares:
            found = [_undeletable(item, undeletable) if item.action == "delete" else item for item in found]
        there = {tp.topic for tp in partitions}
        failures |= {
            (name, topic): missing[topic] for topic in topics[name] if topic in missing and topic not in there
        }
        plan = group_plan(
            groups[name],
            commits[name],
            found,
            request.to,
            now_ms,
            described,
            live=request.live,
            remedies=request.remedies,
            unheld=unheld,
        )
        plans.append(
            replace(
                plan,
                items=plan.items
                if request.targets[name].exact or plan.live or plan.is_share
                else _marked(plan),
                undoes=request.undoes.get(name),
                counts_offsets=request.targets[name].kind == "shift",
                refusal=(None if request.resets else with_internal_topics(admin, groups[name]))
                or plan.refusal
                or (unset if plan.is_share else None)
                or _not_requested(request, plan, commits[name]),
            )
        )
    return RewindPlan(cluster, tuple(spanned(plans, spans)), request.act, tuple(request.targets), failures)


def _marked(plan: GroupPlan) -> tuple[RewindItem, ...]:
    """Marks the changed commits with the id of the plan's journal."""
    return tuple(
        replace(item, new=marked(item.new, plan.id))
        if item.new is not None and item.new != item.committed
        else item
        for item in plan.items
    )


class _Logs:
    """Log bounds and offsets by time of all partitions, requested together."""

    def __init__(
        self,
        admin: Admin,
        request: RewindRequest,
        pairs: set[tuple[str, TopicPartition]],
        present: Mapping[str, list[int]],
        disorders: Disorders | None,
    ) -> None:
        self.present = present
        there = {tp for _, tp in pairs if tp.partition in present.get(tp.topic, ())}
        wanted = {  # such a target is the same for all groups
            tp: time
            for group, tp in pairs
            if (time := request.targets[group].listed) is not None and tp in there
        }
        starts = self._begin(admin, dict.fromkeys(there, EARLIEST))
        ends = self._begin(admin, dict.fromkeys(there, LATEST))
        self.starts, self.ends = starts(), ends()
        # Not together with them: an end that has to be asked for again would be behind records that no time counts.
        self.at_times = self._begin(admin, wanted)()
        times = {tp: time for tp, time in wanted.items() if time >= 0}
        self.disorder = {} if disorders is None else disorders(self._limits(times))
        self.acknowledged: dict[str, Mapping[TopicPartition, int]] = {}

    def read_acknowledged(self, admin: Admin, shares: Sequence[str]) -> None:
        """Of share groups; after the ends, so that no record counts that has arrived since. What cannot be read is not
        known to be acknowledged.
        """
        ends = {tp: end.offset for tp, end in self.ends.items() if isinstance(end, OffsetInfo)}
        for name, starts in (admin.share_offsets(shares) if shares else {}).items():
            self.acknowledged[name] = {} if isinstance(starts, KcliError) else acknowledged(starts, ends)

    def _begin(
        self, admin: Admin, wanted: Mapping[TopicPartition, int]
    ) -> Callable[[], Mapping[TopicPartition, OffsetInfo | KcliError]]:
        return admin.begin_list_offsets(wanted, leader_patience=ELECTION_PATIENCE) if wanted else dict

    def _limits(self, times: Mapping[TopicPartition, int]) -> list[TimeLimit]:
        """The offsets at a time that records follow."""
        return [
            TimeLimit(tp, time, info.offset, end.offset)
            for tp, time in times.items()
            if isinstance(info := self.at_times[tp], OffsetInfo)
            and isinstance(end := self.ends[tp], OffsetInfo)
            and 0 <= info.offset < end.offset
        ]

    def state(
        self, group: GroupDescription, tp: TopicPartition, committed: OffsetAndMetadata | None
    ) -> PartitionState:
        """Raises the error of what could not be read."""
        if tp.topic in self.present and tp.partition not in self.present[tp.topic]:
            raise no_partition(tp, len(self.present[tp.topic]))
        at_time = self.at_times.get(tp)
        return PartitionState(
            committed,
            value_or_raise(self.starts[tp]),
            value_or_raise(self.ends[tp]),
            None if at_time is None else value_or_raise(at_time),
            self.disorder.get(tp, ""),
            shared=group.type == SHARE,
            acknowledged=self.acknowledged.get(group.group_id, {}).get(tp, 0),
        )


def _item(
    target: Target,
    group: GroupDescription,
    tp: TopicPartition,
    committed: OffsetAndMetadata | KcliError | None,
    logs: _Logs,
    described: Mapping[str, TopicInfo],
    missing: Mapping[str, KcliError],
) -> RewindItem:
    try:
        if isinstance(committed, KcliError):
            raise committed
        if committed is None and target.exact and tp in target.offsets and target.offsets[tp] is None:
            what = "start offset" if group.type == SHARE else "commit"
            return RewindItem(tp, None, None, f"had no {what}")  # whatever has become of the topic
        if tp.topic in missing:
            return refused_item(tp, missing[tp.topic], committed)
        if tp.topic in described:
            check_topic(target, tp, described[tp.topic].topic_id)
        return plan_item(tp, target, logs.state(group, tp, committed))
    except KcliError as error:
        return refused_item(tp, error, committed if isinstance(committed, OffsetAndMetadata) else None)


def _undeletable(item: RewindItem, error: KcliError) -> RewindItem:
    refusal = NotPossibleError(
        f"the commit of {item.tp} cannot be deleted",
        why=str(error),
        do="set it to an offset, as with --to earliest",
    )
    return refused_item(item.tp, refusal, item.committed)


def _target_for(group: GroupDescription, target: Target) -> Target:
    """The stream time that an application had reached says nothing at another offset."""
    return replace(target, keeps_metadata=False) if group.type == STREAMS else target


def _not_requested(request: RewindRequest, plan: GroupPlan, committed: Committed) -> KcliError | None:
    """Why the request excludes a group whose state would allow the rewind."""
    wanted = request.types.get(plan.group)
    if wanted and (wanted == SHARE) != plan.is_share:
        return NotPossibleError(
            f"group {plan.group} is a {plan.type} group",
            why=f"a {wanted} group is meant, and share groups have start offsets in the place of committed ones",
            do="choose another name" if request.makes else "nothing was done to it",
        )
    count = sum(commit is not None for commit in committed.values())
    if request.only_new and count:
        return NotPossibleError(
            f"group {plan.group} already exists",
            why=f"it has {_noun(plan)} of {counted(count, 'partition')}",
            do=f"`kcli groups rewind {group_argument(plan.group)} --to SPEC` moves them",
        )
    if not request.hold or (plan.live and (request.held is None or plan.group in request.held)):
        return None
    if plan.live:
        return NotPossibleError(
            f"group {plan.group} is not held",
            why="it had no members at first; members have joined since",
            do="nothing was done; run it again",
        )
    return NotPossibleError(
        f"group {plan.group} has no members to hold",
        why=f"--hold keeps members out while the plan is reviewed; the group is {plan.state}",
        do="nothing was done; leave --hold out",
    )


def _noun(plan: GroupPlan) -> str:
    return "start offsets" if plan.is_share else "committed offsets"
