"""What every plan needs to know of a cluster, and the plan of one group from it. Changes nothing and joins no group."""

from collections.abc import Callable, Collection, Mapping, Sequence
from shlex import quote
from typing import TypeVar

from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import replace
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.types import TopicPartition
from kcli.files.journal_folder import new_id
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.internal_topics import internal_topics
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.stored_offsets import partly_kept, read_offsets
from kcli.flows.permitted import denied_groups, denied_of
from kcli.flows.rewind.plan import (
    ABSENT,
    BY_REWIND,
    GroupPlan,
    GroupTopic,
    NotPossibleError,
    Remedies,
    RewindItem,
    not_possible,
    refused_item,
    with_spans,
)

_SHOWN = 3
Range = tuple[int, int]
Spans = Callable[[Sequence[Mapping[TopicPartition, Range]]], Sequence[Mapping[TopicPartition, int]]]
"""The time (ms) between the first and the last record of each range of offsets, where it can be known."""

T = TypeVar("T")


def committed_groups(
    admin: Admin,
    names: Sequence[str],
    *,
    may_be_absent: Mapping[str, str],
    held: Mapping[str, GroupDescription] | None = None,
) -> tuple[dict[str, GroupDescription], dict[str, Committed], dict[GroupTopic, KcliError]]:
    """The groups, their offsets, and the errors of those that cannot be read. ``held`` were described before.

    ``may_be_absent``: these need not exist, and would be of this type. An undo may find its group gone, since
    coordinators before 4.0 remove a group with its last offset; an import creates it.
    """
    found: dict[str, GroupDescription] = dict(held or {})
    failures: dict[GroupTopic, KcliError] = {}
    left = [name for name in names if name not in found]
    if not found:
        admin.begin_fetch_offsets(left)
    described = admin.describe_groups(left, include_operations=True, all_types=True) if left else {}
    name_nearest(admin, {name: group for name, group in described.items() if name not in may_be_absent})
    for name, group in described.items():
        if isinstance(group, NotFoundError) and name in may_be_absent:
            found[name] = GroupDescription(name, may_be_absent[name], ABSENT, "", "", -1)
        elif isinstance(group, KcliError):
            failures[name, None] = _explained(group, name)
        else:
            found[name] = group
    shares = {name for name, group in found.items() if group.type == SHARE}
    fetched = read_offsets(admin, dict.fromkeys(found), shares) if found else {}
    commits: dict[str, Committed] = {}
    for name, offsets in fetched.items():
        if isinstance(offsets, KcliError):
            failures[name, None] = offsets
        else:
            commits[name] = offsets
    return found, commits, failures


def described_topics(
    admin: Admin, names: Collection[str]
) -> tuple[dict[str, TopicInfo], dict[str, KcliError]]:
    """The topics that exist, and the errors of those that cannot be described, or whose offsets may not be committed."""
    if not names:
        return {}, {}
    permitted, described = admin.together(
        lambda: admin.topic_operations(sorted(names)), lambda: admin.describe_topics(sorted(names))
    )
    there = {
        name: operations for name, operations in permitted.items() if isinstance(described[name], TopicInfo)
    }
    denied = denied_of(there, "READ", "committing offsets of topic {}")
    present = {
        name: topic
        for name, topic in described.items()
        if isinstance(topic, TopicInfo) and name not in denied
    }
    missing = {name: topic for name, topic in described.items() if isinstance(topic, KcliError)}
    return present, missing | denied


def value_or_raise(result: T | KcliError) -> T:
    """The value; raises the error that was returned instead."""
    if isinstance(result, KcliError):
        raise result
    return result


def with_internal_topics(
    admin: Admin, group: GroupDescription, what: str = "the offsets of group {} cannot be set alone"
) -> KcliError | None:
    """Why the offsets of a Kafka Streams application cannot be changed alone: what it has made of its input would stay.
    None for other groups, and for applications that have no such topics. ``what`` has ``{}`` in the place of its name.
    """
    if group.type != STREAMS:
        return None
    found = internal_topics(admin, group.group_id, group)
    if not (there := (*found.own, *found.unsure)):
        return None
    shown = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
    return NotPossibleError(
        what.format(group.group_id),
        why=f"it is a Kafka Streams application with internal topics, whose content would not fit: {shown}",
        do=f"`kcli groups reset-app {quote(group.group_id)}` sets the offsets of its inputs, and deletes these topics",
    )


def group_plan(
    group: GroupDescription,
    committed: Committed,
    items: Sequence[RewindItem],
    to: str,
    now_ms: int,
    described: Mapping[str, TopicInfo],
    *,
    live: bool = False,
    remedies: Remedies = BY_REWIND,
    unheld: KcliError | None = None,
) -> GroupPlan:
    """The plan of one group, with a new id for its journal; refused where its state does not allow a rewind.

    ``live``: a group with members is rewound as it runs, unless brokers cannot do that: ``unheld`` says why.
    """
    items = [
        replace(item, topic_id=described[item.tp.topic].topic_id) if item.tp.topic in described else item
        for item in items
    ]
    runs = live and bool(group.members)
    if group.type == SHARE:
        items = _whole_topics(items, committed)
    elif runs or not group.group_id:
        items = [_kept(item, live=runs) if item.action == "delete" else item for item in items]
    if denied := denied_groups({group.group_id: group}, "DELETE", "deleting offsets of group {}"):
        error = denied[group.group_id]
        items = [
            refused_item(item.tp, error, item.committed) if item.action == "delete" else item
            for item in items
        ]
    topics = {item.tp.topic for item in items}
    others = {tp.topic for tp, commit in committed.items() if commit is not None} - topics
    return GroupPlan(
        group.group_id,
        new_id(now_ms),
        to,
        group.state,
        tuple(items),
        members=group.members,
        untouched=len(others),
        refusal=denied_groups({group.group_id: group}, "READ", "committing offsets of group {}").get(
            group.group_id
        )
        or not_possible(group, live=live, remedies=remedies, unheld=unheld),
        type=group.type,
        assignor=group.assignor,
        live=runs,
        remedies=remedies,
    )


def spanned(plans: Sequence[GroupPlan], spans: Spans) -> list[GroupPlan]:
    """The plans with the time that lies between the records of their ranges, which are read for all groups together."""
    ranges = [
        {item.tp: (item.low, item.low + item.records) for item in plan.items if item.records}
        for plan in plans
    ]
    found = spans(ranges) if any(ranges) else [{} for _ in plans]
    return [
        replace(plan, items=with_spans(plan.items, of_group))
        for plan, of_group in zip(plans, found, strict=True)
    ]


def _kept(item: RewindItem, *, live: bool) -> RewindItem:
    why, do = (
        (
            "brokers keep the commits of topics that a group reads",
            "stop its members first, or set it to an offset",
        )
        if live
        else (
            "brokers delete no single offset of the group whose name is empty",
            "set it to an offset, or delete the group with all its offsets",
        )
    )
    error = NotPossibleError(f"the commit of {item.tp} cannot be deleted", why=why, do=do)
    return refused_item(item.tp, error, item.committed)


def _whole_topics(items: Sequence[RewindItem], committed: Committed) -> list[RewindItem]:
    """Refuses to delete a start offset where others of the topic are to stay."""
    removed = {item.tp for item in items if item.action == "delete"}
    present = {tp for tp, offset in committed.items() if offset is not None}
    present |= {item.tp for item in items if item.action == "commit"}
    kept = partly_kept(removed, present)

    def checked(item: RewindItem) -> RewindItem:
        if item.action != "delete" or item.tp.topic not in kept:
            return item
        error = NotPossibleError(
            f"the start offset of {item.tp} cannot be deleted",
            why="brokers delete the start offsets of a share group by topic, and others of it are to stay",
            do="set it to an offset, or delete those of the whole topic",
        )
        return refused_item(item.tp, error, item.committed)

    return [checked(item) for item in items]


def _explained(error: KcliError, group: str) -> KcliError:
    if isinstance(error, UnsupportedError):
        return NotPossibleError(
            f"the offsets of group {group} cannot be set",
            why=error.why,
            do="only consumers commit offsets that can be set like this",
        )
    return error
