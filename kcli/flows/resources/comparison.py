"""Compares what files describe with what a cluster has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.account.survey import Missing, Survey
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.flows.resources.differences import Difference, differences, is_of_kafka
from kcli.flows.resources.names import is_selected
from kcli.flows.resources.resource import Kind, Ref, Resource
from kcli.flows.resources.state import read_named, read_state, sort_key

CONFIGURED = (Kind.TOPIC, Kind.BROKER_CONFIG, Kind.GROUP_CONFIG)
PRUNED = tuple(kind for kind in Kind if kind is not Kind.GROUP_OFFSETS)
"""The kinds that can be pruned. The offsets of a group say where its application goes on: they are never left over."""

_REPLICAS = ("assignment", "replication_factor")
"""What a topic's specification may say of its replicas."""
_EXIST = (Kind.TOPIC, Kind.ACL_BINDING)
"""The kinds that exist by themselves. Others are nothing but what is set: a user its credentials, a quota its limits."""


class Compared(NamedTuple):
    """A resource as it is and as files want it; None where it does not exist, or no file has it."""

    ref: Ref
    now: Resource | None
    wanted: Resource | None
    differences: Sequence[Difference]

    @property
    def is_equal(self) -> bool:
        """Whether there is nothing to be done: also where a document asks for nothing of what does not exist, as a quota
        without limits.
        """
        exists = self.now is not None or self.ref.kind not in _EXIST
        return self.wanted is not None and exists and not self.differences


def compare(
    admin: Admin,
    wanted: Collection[Resource],
    *,
    exact: bool = False,
    prune: Collection[Kind] = (),
    match: str | None = None,
) -> Survey[list[Compared]]:
    """Each wanted resource, and of the kinds ``prune`` those that ``match`` selects and no file has; by kind and name.
    ``exact``: see ``differences``.
    """
    by_ref = {resource.ref: resource for resource in wanted}
    found = read_named(admin, by_ref, keys=None if exact else named_keys(wanted))
    rows = [
        Compared(ref, now, by_ref[ref], differences(now, by_ref[ref], exact=exact))
        for ref, now in found.items.items()
    ]
    missing = list(found.missing)
    if prune:
        here = read_state(admin, prune, match=match)
        rows += [
            Compared(ref, now, None, differences(now, None))
            for ref, now in here.items.items()
            if ref not in by_ref and not _is_of_kafka(now)
        ]
        missing += _further(here.missing, missing)
    rows.sort(key=lambda row: (_ORDER[row.ref.kind], sort_key(row.ref)))
    return Survey(rows, missing)


def as_copied(admin: Admin, found: Survey[list[Compared]]) -> Survey[list[Compared]]:
    """The same, where a replica that is still being copied to does not count as one that the topic has."""
    if not any(row.now is not None and is_placed(row.wanted) for row in found.items):
        return found
    try:
        ongoing = admin.list_reassignments()
    except KcliError as error:
        if isinstance(error, UnsupportedError) or error.exit_code == ExitCode.DENIED:
            return found  # then nothing is known of moves
        return Survey(found.items, [*found.missing, Missing.of(error, "the replicas that are being moved")])
    copying: dict[str, dict[int, list[int]]] = {}
    for tp, move in ongoing.items():
        if move.adding:
            copying.setdefault(tp.topic, {})[tp.partition] = list(move.before)
    rows = [
        _without(row, copying.get(row.ref.name, {})) if is_placed(row.wanted) else row for row in found.items
    ]
    return Survey(rows, found.missing)


def is_placed(wanted: Resource | None) -> bool:
    """Whether it is a topic whose replicas are wanted somewhere."""
    return (
        wanted is not None and wanted.ref.kind is Kind.TOPIC and not wanted.spec.keys().isdisjoint(_REPLICAS)
    )


def _without(row: Compared, before: Mapping[int, list[int]]) -> Compared:
    """The row with the replicas of ``before``, in which those that are being added are missing."""
    if not before or row.now is None:
        return row
    spec = dict(row.now.spec)
    if "assignment" in spec:
        spec["assignment"] = {**spec["assignment"], **before}
    if "replication_factor" in spec:
        spec["replication_factor"] = min(spec["replication_factor"], *map(len, before.values()))
    now = replace(row.now, spec=spec)
    extra = [one for one in differences(now, row.wanted) if one.path[0] in _REPLICAS]
    others = [one for one in row.differences if one.path[0] not in _REPLICAS]
    return row._replace(now=now, differences=[*extra, *others])


def _is_of_kafka(now: Resource) -> bool:
    """Whether nothing is set but what Kafka sets itself."""
    own = [key for key, entry in now.entries.items() if not entry.is_default]
    return bool(own) and all(is_of_kafka(now.ref, key) for key in own)


_ORDER = {kind: at for at, kind in enumerate(Kind)}


def named_keys(wanted: Collection[Resource]) -> Mapping[Kind, set[str]]:
    """The keys of configurations that resources name, by kind: others need not be read."""
    found: dict[Kind, set[str]] = {kind: set() for kind in CONFIGURED}
    for resource in wanted:
        if resource.ref.kind in found:
            found[resource.ref.kind].update(resource.spec.get("config", {}))
    return found


def chosen(resources: Collection[Resource], kinds: Collection[Kind], match: str | None) -> list[Resource]:
    """Those of these kinds (none: of all) that ``match`` selects."""
    return [one for one in resources if (not kinds or one.ref.kind in kinds) and is_selected(one, match)]


def _further(missing: Sequence[Missing], known: Sequence[Missing]) -> Iterator[Missing]:
    """What is not missing already."""
    names = {part.what for part in known}
    return (part for part in missing if part.what not in names)
