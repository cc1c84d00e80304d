"""What of a resource is not as it is wanted. Pure.

What the wanted spec does not have is left as it is; with ``exact`` what is set and is not wanted is a difference, too.
Values of a configuration are compared as brokers read them, by the value in effect: a key that is not set on the resource
itself, and whose default is what is wanted, needs no change, unless it is to be ``exact``. Passwords cannot be read, so
they are never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.core.admin.configs import ConfigEntry
from kcli.core.classes import NamedTuple
from kcli.flows.configs.key_changes import HIDDEN
from kcli.flows.configs.resources import ALL_BROKERS
from kcli.flows.configs.values import is_written_alike, same_value
from kcli.flows.resources.resource import Kind, Ref, Resource

Path = tuple[str, ...]

_NOT_COMPARED = {
    Kind.QUOTA: ("entity",),
    Kind.USER: ("password_file", "password_command", "password_env"),
}
"""What of a spec says for whom it is, or where a password is."""


class Difference(NamedTuple):
    """``path`` in the spec, such as ``("config", "retention.ms")``. None is what is not set, or not to be; secrets are
    ``HIDDEN``.
    """

    path: Path
    now: Any
    wanted: Any


def differences(now: Resource | None, wanted: Resource | None, *, exact: bool = False) -> list[Difference]:
    """All differences, in the order of the spec. ``now`` is None for a resource that does not exist, ``wanted`` for one
    that is to be deleted: then each value is a difference.
    """
    if now is None and wanted is None:
        return []
    if now is None or wanted is None:
        return list(_all_of(now, wanted))
    return list(_COMPARED[wanted.ref.kind](now, wanted, exact))


def _all_of(now: Resource | None, wanted: Resource | None) -> Iterator[Difference]:
    if now is not None:
        for path, value in _leaves(now.spec):
            if not is_of_kafka(now.ref, path[-1]):
                yield Difference(path, value, None)
    elif wanted is not None:
        for path, value in _leaves(wanted.spec):
            if path[0] not in _NOT_COMPARED.get(wanted.ref.kind, ()):
                yield Difference(path, None, value)


def _leaves(value: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(inner, (*path, str(key)))
        elif inner != {} or path == ("mechanisms",):  # a credential of any number of iterations
            yield (*path, str(key)), inner


def _topic(now: Resource, wanted: Resource, exact: bool) -> Iterator[Difference]:
    if "partitions" in wanted.spec and wanted.spec["partitions"] != now.spec["partitions"]:
        yield Difference(("partitions",), now.spec["partitions"], wanted.spec["partitions"])
    if "replication_factor" in wanted.spec:
        factor = now.spec.get("replication_factor") or replica_counts(now)
        if factor != wanted.spec["replication_factor"]:
            yield Difference(("replication_factor",), factor, wanted.spec["replication_factor"])
    placed = now.spec.get("assignment", {})
    for partition, replicas in wanted.spec.get("assignment", {}).items():
        if placed.get(partition) != replicas:
            yield Difference(("assignment", str(partition)), placed.get(partition), replicas)
    yield from _config(now, wanted, exact)


def replica_counts(topic: Resource) -> str:
    """``2 or 3``: the numbers of replicas of a topic whose partitions do not have the same, as while they are moved."""
    return " or ".join(map(str, sorted({len(replicas) for replicas in topic.spec["assignment"].values()})))


def _config(now: Resource, wanted: Resource, exact: bool) -> Iterator[Difference]:
    keys: Mapping[str, str | None] = wanted.spec.get("config", {})
    for key, value in keys.items():
        entry = now.entries.get(key)
        if entry is None:
            # Brokers treat a key of theirs that they do not know, such as that of a plug-in, as a secret.
            yield Difference(
                ("config", key), None, HIDDEN if wanted.ref.kind is Kind.BROKER_CONFIG else value
            )
        elif _is_secret(entry):
            if entry.is_default and value is not None:
                yield Difference(("config", key), None, HIDDEN)
        elif value is None:
            if not entry.is_default:
                yield Difference(("config", key), entry.value, None)
        elif not is_in_effect(entry, value):
            yield Difference(("config", key), entry.value, value)
        elif exact and entry.is_default:
            yield Difference(("config", key), None, value)
    if exact:
        for key in sorted(now.entries.keys() - keys.keys()):
            entry = now.entries[key]
            if not entry.is_default and not is_of_kafka(now.ref, key):
                yield Difference(("config", key), HIDDEN if _is_secret(entry) else entry.value, None)


def is_of_kafka(ref: Ref, key: str) -> bool:
    """Whether Kafka itself sets the key, and does not let it be removed: the cluster's min.insync.replicas, while
    eligible leader replicas are enabled (KIP-966).
    """
    return ref == Ref(Kind.BROKER_CONFIG, ALL_BROKERS) and key == "min.insync.replicas"


def is_in_effect(entry: ConfigEntry, value: str) -> bool:
    """Whether a key has this value, wherever it is set."""
    if entry.value is None:
        return False
    return same_value(entry.type, entry.value, value) or is_written_alike(entry.value, value)


def _is_secret(entry: ConfigEntry) -> bool:
    return entry.is_sensitive or entry.type == "password"


def _acl(_now: Resource, _wanted: Resource, _exact: bool) -> Iterator[Difference]:
    """An ACL has nothing but what identifies it."""
    return iter(())


def _user(now: Resource, wanted: Resource, exact: bool) -> Iterator[Difference]:
    has, named = now.spec["mechanisms"], wanted.spec.get("mechanisms", {})
    for mechanism, settings in named.items():
        iterations = (settings or {}).get("iterations")
        found = has.get(mechanism, {}).get("iterations")
        if mechanism not in has and iterations is None:
            yield Difference(("mechanisms", mechanism), None, {})
        elif mechanism not in has or iterations not in (None, found):
            yield Difference(("mechanisms", mechanism, "iterations"), found, iterations)
    if exact:
        for mechanism in has.keys() - named.keys():
            yield Difference(("mechanisms", mechanism, "iterations"), has[mechanism]["iterations"], None)


def _quota(now: Resource, wanted: Resource, exact: bool) -> Iterator[Difference]:
    has, limits = now.spec["limits"], wanted.spec["limits"]
    for key, value in limits.items():
        if has.get(key) != value:
            yield Difference(("limits", key), has.get(key), value)
    if exact:
        for key in sorted(has.keys() - limits.keys()):
            yield Difference(("limits", key), has[key], None)


def _offsets(now: Resource, wanted: Resource, exact: bool) -> Iterator[Difference]:
    has = dict(_leaves(now.spec["offsets"]))
    named = dict(_leaves(wanted.spec["offsets"]))
    for path, offset in named.items():
        if has.get(path) != offset:
            yield Difference(("offsets", *path), has.get(path), offset)
    if exact:
        for path in has.keys() - named.keys():
            yield Difference(("offsets", *path), has[path], None)


_COMPARED: Mapping[Kind, Callable[[Resource, Resource, bool], Iterator[Difference]]] = {
    Kind.TOPIC: _topic,
    Kind.ACL_BINDING: _acl,
    Kind.USER: _user,
    Kind.QUOTA: _quota,
    Kind.BROKER_CONFIG: _config,
    Kind.GROUP_CONFIG: _config,
    Kind.GROUP_OFFSETS: _offsets,
}
