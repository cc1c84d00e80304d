"""From what is asked to the plan: everything that has to be known of groups, commits and logs is read, nothing changed.

Never joins a group. The ends of logs are read before the times: a record that comes in between can only make a
partition that has nothing newer be read again, never be skipped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.cluster.metadata import no_partition
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.journal import new_id
from kcli.flows.rewind.plan import (
    GroupPlan,
    NotPossibleError,
    RewindItem,
    RewindPlan,
    not_possible,
    plan_item,
    refused_item,
    with_spans,
)
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.targets import Seen, Target

Range = tuple[int, int]
Spans = Callable[[Mapping[TopicPartition, Range]], Mapping[TopicPartition, int]]
"""The time (ms) between the first and the last record of each range of offsets, where it can be known."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``targets`` by group, ``to`` in words. ``undoes``: the journal that is put back, by group."""

    targets: Mapping[str, Target]
    to: str
    scope: Scope = field(default_factory=Scope)
    undoes: Mapping[str, str] = field(default_factory=dict)


def survey(
    admin: Admin, cluster: str, asked: Asked, now_ms: int, spans: Spans
) -> tuple[RewindPlan, list[KcliError]]:
    """The plan of the groups that can be looked at, and why the others cannot. ConfigError for an unclear scope."""
    groups, failures = _groups(admin, asked)
    commits: dict[str, Committed] = {}
    for name, told in admin.fetch_offsets(dict.fromkeys(groups)).items() if groups else ():
        if isinstance(told, KcliError):
            failures.append(told)
        else:
            commits[name] = told
    topics = {name: _topic_names(asked, name, commits[name]) for name in commits}
    present, missing = _partitions(admin, {name for names in topics.values() for name in names})
    places = {name: _places(asked, name, commits[name], topics[name], present) for name in commits}
    logs = _Logs(admin, asked, {(g, w) for g, wheres in places.items() for w in wheres}, present)
    plans = []
    for name, wheres in places.items():
        found = [
            _item(asked.targets[name], where, commits[name].get(where), logs, missing) for where in wheres
        ]
        failures += [missing[topic] for topic in topics[name] if topic in missing and not _has(wheres, topic)]
        plans.append(_plan(asked, groups[name], commits[name], found, now_ms, spans))
    return RewindPlan(cluster, tuple(plans)), failures


def _groups(admin: Admin, asked: Asked) -> tuple[dict[str, GroupDescription], list[KcliError]]:
    """An undo may find its group gone: coordinators before 4.0 drop one with its last offset."""
    found: dict[str, GroupDescription] = {}
    failures: list[KcliError] = []
    for name, told in admin.describe_groups(list(asked.targets)).items():
        if isinstance(told, NotFoundError) and name in asked.undoes:
            found[name] = GroupDescription(name, "classic", "Dead", "", "", -1)
        elif isinstance(told, KcliError):
            failures.append(_explained(told, name))
        else:
            found[name] = told
    return found, failures


def _explained(error: KcliError, group: str) -> KcliError:
    if isinstance(error, NotFoundError):
        error.do = f"`kcli groups list` shows the groups, `kcli groups create {group}` makes one"
    if isinstance(error, UnsupportedError):
        return NotPossibleError(
            f"group {group} cannot be rewound",
            why=error.why,
            do="only consumers commit offsets that can be set like this",
        )
    return error


def _topic_names(asked: Asked, group: str, committed: Committed) -> list[str]:
    given = asked.targets[group].offsets
    return asked.scope.names(
        group, [where for where, told in committed.items() if told is not None], list(given)
    )


def _partitions(admin: Admin, names: set[str]) -> tuple[dict[str, list[int]], dict[str, KcliError]]:
    present: dict[str, list[int]] = {}
    missing: dict[str, KcliError] = {}
    for name, told in admin.describe_topics(sorted(names)).items() if names else ():
        if isinstance(told, KcliError):
            missing[name] = told
        else:
            present[name] = [part.partition for part in told.partitions]
    return present, missing


def _places(
    asked: Asked, group: str, committed: Committed, topics: Sequence[str], present: Mapping[str, list[int]]
) -> list[TopicPartition]:
    target = asked.targets[group]
    known = [where for where, told in committed.items() if told is not None]
    return [
        where
        for topic in topics
        for where in asked.scope.places(
            topic,
            present.get(topic) or [where.partition for where in known if where.topic == topic],
            known,
            given=list(target.offsets),
            committed_only=target.is_relative,
        )
    ]


def _has(wheres: Sequence[TopicPartition], topic: str) -> bool:
    return any(where.topic == topic for where in wheres)


class _Logs:
    """Bounds and offsets by time of all partitions, asked for at once."""

    def __init__(
        self,
        admin: Admin,
        asked: Asked,
        pairs: set[tuple[str, TopicPartition]],
        present: Mapping[str, list[int]],
    ) -> None:
        self.present = present
        there = {where for _, where in pairs if where.partition in present.get(where.topic, ())}
        self.starts = self._list(admin, dict.fromkeys(there, EARLIEST))
        self.ends = self._list(admin, dict.fromkeys(there, LATEST))
        times = {  # one time for all groups, where it is a time
            where: target.value
            for group, where in pairs
            if (target := asked.targets[group]).kind == "time" and where in there
        }
        self.at_times = self._list(admin, times)

    def _list(
        self, admin: Admin, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, OffsetInfo | KcliError]:
        return admin.list_offsets(wanted) if wanted else {}

    def seen(self, where: TopicPartition, committed: OffsetAndMetadata | None) -> Seen:
        """Raises the error of what could not be read."""
        if where.topic in self.present and where.partition not in self.present[where.topic]:
            raise no_partition(where, len(self.present[where.topic]))
        at_time = self.at_times.get(where)
        return Seen(
            committed,
            _good(self.starts[where]),
            _good(self.ends[where]),
            None if at_time is None else _good(at_time),
        )


def _good(told: OffsetInfo | KcliError) -> OffsetInfo:
    if isinstance(told, KcliError):
        raise told
    return told


def _item(
    target: Target,
    where: TopicPartition,
    committed: OffsetAndMetadata | KcliError | None,
    logs: _Logs,
    missing: Mapping[str, KcliError],
) -> RewindItem:
    try:
        if isinstance(committed, KcliError):
            raise committed
        if where.topic in missing:
            return refused_item(where, missing[where.topic], committed)
        return plan_item(where, target, logs.seen(where, committed))
    except KcliError as error:
        return refused_item(where, error, committed if isinstance(committed, OffsetAndMetadata) else None)


def _plan(
    asked: Asked,
    group: GroupDescription,
    committed: Committed,
    items: Sequence[RewindItem],
    now_ms: int,
    spans: Spans,
) -> GroupPlan:
    name = group.group_id
    ranges = {item.where: (item.low, item.low + item.records) for item in items if item.records}
    topics = {item.where.topic for item in items}
    others = {where.topic for where, told in committed.items() if told is not None} - topics
    plan = GroupPlan(
        name,
        new_id(now_ms),
        asked.to,
        group.state,
        tuple(items),
        members=group.members,
        untouched=len(others),
        undoes=asked.undoes.get(name),
        counts_offsets=asked.targets[name].kind == "shift",
        refusal=not_possible(group),
    )
    return replace(plan, items=with_spans(items, spans(ranges) if ranges else {}))
