"""The offsets that a reset of a Kafka Streams application sets: those of its inputs, and of its intermediate topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.classes import dataclass, replace
from kcli.core.errors import KcliError
from kcli.flows.groups.internal_topics import may_be_internal
from kcli.flows.rewind.plan import Remedies, RewindPlan
from kcli.flows.rewind.preparing import survey_when_ready
from kcli.flows.rewind.scope import Numbers, Scope
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.targets import Target

ACT = "Reset application"
Committed = Mapping[str, Collection[int]]
"""The partitions that have a commit, by topic."""


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """``to`` are words for the target. ``inputs`` and their partitions: without any they are those of the topology, or
    what the group has committed for. ``intermediate``: topics that the application writes and reads, whose records it
    will write again. ``internal``: those of its internal topics that are deleted; without any all.
    """

    application: str
    target: Target
    to: str
    inputs: Mapping[str, Numbers]
    intermediate: Sequence[str] = ()
    internal: Sequence[str] = ()


def offsets_plan(
    admin: Admin, request: ResetRequest, group: GroupDescription | None, deleted: Collection[str]
) -> RewindPlan:
    """One plan, with one journal. ``group`` is None where the application has none; the topics that are ``deleted`` take
    their commits with them.
    """
    committed = {} if group is None else _committed(admin, request.application)
    scope = _scope(request, group, committed)
    plans = (
        [_plan(admin, request, scope, replace(request.target, keeps_metadata=False))] if scope.topics else []
    )
    if request.intermediate:
        ends = Scope(dict.fromkeys(request.intermediate))
        plans.append(_skipping(_plan(admin, request, ends, Target("latest", keeps_metadata=False))))
    if not plans:
        return RewindPlan(admin.cluster_id(), (), ACT)
    groups = [found for plan in plans for found in plan.groups]
    unplanned = {key: error for plan in plans for key, error in plan.unplanned.items()}
    if groups:
        items = tuple(item for found in groups for item in found.items)
        refusal = next((found.refusal for found in groups if found.refusal is not None), None)
        untouched = len(committed.keys() - {item.tp.topic for item in items} - set(deleted))
        groups = [replace(groups[0], items=items, untouched=untouched, refusal=refusal)]
    return replace(plans[0], groups=tuple(groups), unplanned=unplanned)


def app_remedies(application: str) -> Remedies:
    """What can be done about an application that runs."""
    return Remedies(
        f"stop all its instances and try again; `kcli groups remove-members {quote(application)}` removes members that "
        "have died",
        "end its application and try again",
    )


def _plan(admin: Admin, request: ResetRequest, scope: Scope, target: Target) -> RewindPlan:
    name = request.application
    asked = RewindRequest(
        {name: target}, request.to, scope, act=ACT, makes=True, resets=True, remedies=app_remedies(name)
    )
    return survey_when_ready(admin, admin.cluster_id(), asked, None)


def _skipping(plan: RewindPlan) -> RewindPlan:
    groups = (
        replace(
            group,
            items=tuple(
                replace(item, note="; ".join(filter(None, (item.note, "intermediate topic"))))
                for item in group.items
            ),
        )
        for group in plan.groups
    )
    return replace(plan, groups=tuple(groups))


def _scope(request: ResetRequest, group: GroupDescription | None, committed: Committed) -> Scope:
    """What was named; else all inputs. An offset that counts from a commit needs a commit."""
    if request.inputs:
        return Scope(request.inputs)
    given = {tp.topic for tp in request.target.offsets}
    names: Iterable[str] = sorted(given) or _inputs(request.application, group, committed)
    names = [name for name in names if name not in request.intermediate]
    if request.target.is_relative:
        return Scope({name: frozenset(committed[name]) for name in names if name in committed})
    return Scope(dict.fromkeys(names))


def _inputs(application: str, group: GroupDescription | None, committed: Committed) -> list[str]:
    if group is not None and group.subtopologies is not None:
        return sorted({topic for part in group.subtopologies for topic in part.sources})
    return sorted(name for name in committed if not may_be_internal(name, application))


def _committed(admin: Admin, group: str) -> Committed:
    offsets = admin.fetch_offsets({group: None})[group]
    if isinstance(offsets, KcliError):
        raise offsets
    found: dict[str, list[int]] = {}
    for tp, offset in offsets.items():
        if offset is not None:
            found.setdefault(tp.topic, []).append(tp.partition)
    return found
