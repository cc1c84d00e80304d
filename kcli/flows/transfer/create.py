"""``kcli groups create`` and ``kcli groups copy``: offsets are set for a group that need not exist;
and what is advised where a group has members, which can neither be waited for nor held.
"""

from collections.abc import Callable, Iterable
from functools import partial
from shlex import join

from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.rewind.change import OffsetsChange
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.plan import GroupPlan, NotPossibleError, Remedies, RewindPlan, remedy_for_members
from kcli.flows.rewind.requests import group_target, request_of_undo
from kcli.flows.rewind.scope import Scope, parse_topics
from kcli.flows.rewind.spans import time_disorders, time_spans
from kcli.flows.rewind.survey import RewindRequest, survey
from kcli.flows.rewind.targets import Target
from kcli.flows.rewind.text import Where


def advise_stopping(plan: RewindPlan, instead: Callable[[str], str]) -> RewindPlan:
    """The plan with a remedy for each running group: stop it, or, where there is one, the command ``instead``."""

    def with_remedies(group: GroupPlan) -> GroupPlan:
        command = instead(group.group)
        other = f"; or set them while it runs: `{command}`" if command else ""
        remedies = Remedies(f"stop its members and try again{other}", "end its application and try again")
        if group.type in (SHARE, STREAMS):
            remedies, other = Remedies("stop its members and try again"), ""
        refusal: KcliError | None = group.refusal
        if refusal is not None and refusal.do == remedy_for_members(group.type, group.remedies):
            refusal = NotPossibleError(refusal.what, why=refusal.why, do=remedies.members)
        return replace(group, remedies=remedies, refusal=refusal)

    return replace(plan, groups=tuple(map(with_remedies, plan.groups)))


def group_creation(
    name: str,
    kind: str,
    target: Target,
    words: str,
    topics: Iterable[str],
    where: Where,
    *,
    again: bool,
    dry: bool,
) -> OffsetsChange:
    """A new group, ``share`` or ``classic``, that starts at the target, in ``topics`` as of ``parse_topics``."""
    asked = RewindRequest(
        {name: target},
        words,
        Scope(parse_topics(topics)),
        act="Create share group" if kind == SHARE else "Create group",
        makes=True,
        only_new=True,
        types={name: kind},
    )
    return OffsetsChange(partial(_planned, asked), where, again=again, dry=dry, lookups=[[name]])


def group_copy(source: str, name: str, where: Where, *, again: bool, dry: bool) -> OffsetsChange:
    """The group ``name`` gets the offsets of ``source``."""
    planned = partial(_copied, source, name)
    return OffsetsChange(planned, where, again=again, dry=dry, lookups=[[source], [name]])


def offsets_undo(group: str, journal_id: str, where: Where, *, dry: bool) -> OffsetsChange:
    """The group gets the offsets before a rewind, or an import, of this id."""

    def planned(admin: Admin) -> RewindPlan:
        journals = Journals(admin.cluster_id())
        return _planned(request_of_undo(journals, [group], journal_id, Scope()), admin)

    return OffsetsChange(planned, where, again=False, dry=dry)


def _copied(source: str, name: str, admin: Admin) -> RewindPlan:
    target, kind = group_target(admin, source, exact=True)
    words = f"the {'start' if kind == SHARE else 'committed'} offsets of group {source}"
    asked = RewindRequest(
        {name: target},
        words,
        act="Copy into group",
        makes=True,
        absent="share" if kind == SHARE else "classic",
    )
    command = join(["kcli", "groups", "rewind", name, "--to-group", source, "--live"])
    return _planned(asked, admin, command if admin.lacks("hold_group") is None else "")


def _planned(asked: RewindRequest, admin: Admin, live_command: str = "") -> RewindPlan:
    """``live_command`` does the same to a group with members; empty where there is none."""
    plan = survey(
        admin,
        admin.cluster_id(),
        asked,
        wall_ms(),
        partial(time_spans, admin),
        partial(time_disorders, admin),
    )
    return advise_stopping(plan, lambda _group: live_command)
