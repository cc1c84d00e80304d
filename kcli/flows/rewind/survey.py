"""From the request to the plan: reads everything needed of groups, commits and logs, and changes nothing.

Never joins a group. Log ends are read before the times: a record that arrives in between can only cause a partition
that has nothing newer to be read again, never to be skipped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import ELECTION_PATIENCE
from kcli.flows.rewind.looks import Spans, committed_groups, described_topics, good, group_plan
from kcli.flows.rewind.mark import marked
from kcli.flows.rewind.plan import (
    GroupPlan,
    NotPossibleError,
    RewindItem,
    RewindPlan,
    plan_item,
    refused_item,
)
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.targets import Seen, Target


@dataclass(frozen=True, slots=True)
class Asked:
    """``targets`` by group, ``to`` in words. ``undoes``: the journal to restore, by group. ``act`` is that of the plan.
    ``makes``: the first commit creates a group that does not exist; ``only_new`` refuses groups with commits. ``live``:
    groups with members are rewound as they run; ``held`` are held already, with their descriptions from before that.
    """

    targets: Mapping[str, Target]
    to: str
    scope: Scope = field(default_factory=Scope)
    undoes: Mapping[str, str] = field(default_factory=dict)
    act: str = "Rewind group"
    makes: bool = False
    only_new: bool = False
    live: bool = False
    held: Mapping[str, GroupDescription] = field(default_factory=dict)


def survey(
    admin: Admin, cluster: str, asked: Asked, now_ms: int, spans: Spans
) -> tuple[RewindPlan, list[KcliError]]:
    """The plan of the groups that can be read, and the errors of the others. ConfigError for an unclear scope."""
    absent = asked.targets if asked.makes else asked.undoes
    groups, commits, failures = committed_groups(
        admin, list(asked.targets), may_be_absent=absent, held=asked.held
    )
    if not failures:  # a group that could not be read may have it
        asked.scope.check_excluded([tp for name in commits for tp in _known(asked, name, commits[name])])
    topics = {name: _topic_names(asked, name, commits[name]) for name in commits}
    described, missing = described_topics(admin, {name for names in topics.values() for name in names})
    present = {name: [part.partition for part in told.partitions] for name, told in described.items()}
    places = {name: _places(asked, name, commits[name], topics[name], present) for name in commits}
    logs = _Logs(admin, asked, {(g, w) for g, partitions in places.items() for w in partitions}, present)
    plans = []
    for name, partitions in places.items():
        found = [_item(asked.targets[name], tp, commits[name].get(tp), logs, missing) for tp in partitions]
        failures += [
            missing[topic] for topic in topics[name] if topic in missing and not _has(partitions, topic)
        ]
        plan = group_plan(groups[name], commits[name], found, asked.to, now_ms, spans, live=asked.live)
        plans.append(
            replace(
                plan,
                items=plan.items if asked.targets[name].exact or plan.live else _marked(plan),
                undoes=asked.undoes.get(name),
                counts_offsets=asked.targets[name].kind == "shift",
                refusal=plan.refusal or (_exists(name, commits[name]) if asked.only_new else None),
            )
        )
    return RewindPlan(cluster, tuple(plans), asked.act), failures


def _marked(plan: GroupPlan) -> tuple[RewindItem, ...]:
    """Marks the changed commits with the id of the plan's journal."""
    return tuple(
        replace(item, new=marked(item.new, plan.id))
        if item.new is not None and item.new != item.committed
        else item
        for item in plan.items
    )


def _known(asked: Asked, group: str, committed: Committed) -> list[TopicPartition]:
    """The partitions that the group has committed, or for which offsets are given."""
    return [*(tp for tp, told in committed.items() if told is not None), *asked.targets[group].offsets]


def _topic_names(asked: Asked, group: str, committed: Committed) -> list[str]:
    given = asked.targets[group].offsets
    return asked.scope.names(group, [tp for tp, told in committed.items() if told is not None], list(given))


def _places(
    asked: Asked, group: str, committed: Committed, topics: Sequence[str], present: Mapping[str, list[int]]
) -> list[TopicPartition]:
    target = asked.targets[group]
    known = [tp for tp, told in committed.items() if told is not None]
    return [
        tp
        for topic in topics
        for tp in asked.scope.places(
            topic,
            present.get(topic) or [tp.partition for tp in known if tp.topic == topic],
            known,
            given=list(target.offsets),
            committed_only=target.is_relative,
        )
    ]


def _has(partitions: Sequence[TopicPartition], topic: str) -> bool:
    return any(tp.topic == topic for tp in partitions)


class _Logs:
    """Log bounds and offsets by time of all partitions, requested together."""

    def __init__(
        self,
        admin: Admin,
        asked: Asked,
        pairs: set[tuple[str, TopicPartition]],
        present: Mapping[str, list[int]],
    ) -> None:
        self.present = present
        there = {tp for _, tp in pairs if tp.partition in present.get(tp.topic, ())}
        self.starts = self._list(admin, dict.fromkeys(there, EARLIEST))
        self.ends = self._list(admin, dict.fromkeys(there, LATEST))
        times = {  # a target in time is the same for all groups
            tp: target.value
            for group, tp in pairs
            if (target := asked.targets[group]).kind == "time" and tp in there
        }
        self.at_times = self._list(admin, times)

    def _list(
        self, admin: Admin, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, OffsetInfo | KcliError]:
        return admin.list_offsets(wanted, leader_patience=ELECTION_PATIENCE) if wanted else {}

    def seen(self, tp: TopicPartition, committed: OffsetAndMetadata | None) -> Seen:
        """Raises the error of what could not be read."""
        if tp.topic in self.present and tp.partition not in self.present[tp.topic]:
            raise no_partition(tp, len(self.present[tp.topic]))
        at_time = self.at_times.get(tp)
        return Seen(
            committed,
            good(self.starts[tp]),
            good(self.ends[tp]),
            None if at_time is None else good(at_time),
        )


def _item(
    target: Target,
    tp: TopicPartition,
    committed: OffsetAndMetadata | KcliError | None,
    logs: _Logs,
    missing: Mapping[str, KcliError],
) -> RewindItem:
    try:
        if isinstance(committed, KcliError):
            raise committed
        if tp.topic in missing:
            return refused_item(tp, missing[tp.topic], committed)
        return plan_item(tp, target, logs.seen(tp, committed))
    except KcliError as error:
        return refused_item(tp, error, committed if isinstance(committed, OffsetAndMetadata) else None)


def _exists(group: str, committed: Committed) -> KcliError | None:
    told = [tp for tp, commit in committed.items() if commit is not None]
    if not told:
        return None
    return NotPossibleError(
        f"group {group} already exists",
        why=f"it has committed offsets of {len(told)} partition{'s' if len(told) > 1 else ''}",
        do=f"`kcli groups rewind {quote(group)}` moves them",
    )
