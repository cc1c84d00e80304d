"""Requests for the offsets of another group, and for those before a rewind."""

from collections.abc import Sequence

from kcli.core.admin.admin import Admin
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.nearest import without_commits
from kcli.flows.groups.stored_offsets import offsets_and_type
from kcli.flows.rewind.journal import Journals
from kcli.flows.rewind.mark import own_metadata
from kcli.flows.rewind.planning import value_or_raise
from kcli.flows.rewind.scope import Scope
from kcli.flows.rewind.survey import RewindRequest
from kcli.flows.rewind.targets import Target


def group_target(admin: Admin, group: str, *, exact: bool = False) -> tuple[Target, str]:
    """The offsets of another group, of any type, and that type; KcliError if there are none, or some of them cannot be
    read.
    """
    committed, kind = offsets_and_type(admin, group)
    commits = {tp: value_or_raise(one) for tp, one in committed.items() if one is not None}
    if not commits:
        raise without_commits(admin, group)
    offsets = {tp: one._replace(metadata=own_metadata(one)) for tp, one in commits.items()}
    return Target("given", offsets=offsets, exact=exact), kind


def request_of_group(admin: Admin, names: Sequence[str], other: str, scope: Scope) -> RewindRequest:
    """To what another group has committed."""
    target, kind = group_target(admin, other)
    words = f"where group {other} starts" if kind == SHARE else f"what group {other} has committed"
    return RewindRequest(dict.fromkeys(names, target), words, scope)


def request_of_undo(
    journals: Journals, names: Sequence[str], journal_id: str | None, scope: Scope
) -> RewindRequest:
    """To what was committed before a rewind, the latest one unless it is named; KcliError if there is none."""
    found = [journals.of(name, journal_id or None) for name in names]
    return RewindRequest(
        {
            one.group: Target("given", offsets=one.before, exact=True, topic_ids=one.topic_ids)
            for one in found
        },
        f"what was committed before {', '.join(one.id for one in found)}",
        scope,
        undoes={one.group: one.id for one in found},
        types={one.group: one.type for one in found if one.type},
    )
