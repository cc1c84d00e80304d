"""Reads what a cluster has: all of some kinds, or what files name.

A kind takes a request or two however many resources there are, but for configurations, which are described a thousand a
request, five requests at a time. What could not be read is missing by its name, or, where names could not be listed, by
its kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from kcli.account.survey import Missing, Survey
from kcli.core.admin.acls import AclFilter, NoAuthorizerError
from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.admin.groups import ListedGroup
from kcli.core.admin.topics import TopicInfo
from kcli.core.admin.users import mechanism_name
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.names import is_own_group
from kcli.flows.configs.resources import ALL_BROKERS, NO_SUCH_KIND, explained, shown_name
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.stored_offsets import read_offsets
from kcli.flows.quotas.values import shown_number
from kcli.flows.resources.names import acl_ref, acl_spec, is_selected, quota_ref
from kcli.flows.resources.resource import Kind, Ref, Resource

State = dict[Ref, Resource]
_Configs = Mapping[ConfigResource, list[ConfigEntry] | KcliError]

_AT_ONCE = 5_000
_CONFIG_KINDS = {
    Kind.TOPIC: ConfigKind.TOPIC,
    Kind.BROKER_CONFIG: ConfigKind.BROKER,
    Kind.GROUP_CONFIG: ConfigKind.GROUP,
}


class Everything(NamedTuple):
    """``items`` could be read, ``missing`` could not. ``shares`` are the share groups whose start offsets were not read:
    a document has no type of a group, and would make a classic one of their name.
    """

    items: State
    missing: Sequence[Missing] = ()
    shares: Sequence[str] = ()


def read_state(
    admin: Admin,
    kinds: Collection[Kind],
    *,
    match: str | None = None,
    internal: bool = False,
    every_setting: bool = False,
) -> Everything:
    """All resources of these kinds, ordered by kind and name; ``match`` is a shell pattern, see ``is_selected``.

    Internal topics, and topics and groups of kcli's own, are left out but with ``internal``. A spec has the configuration
    that is set on the resource itself, and no resource of a kind that is only a configuration where nothing is set;
    with ``every_setting`` it has all keys with the values in effect, and of topics where their replicas are.
    """
    readings = [
        (kind, _Reading(admin, None, every_setting=every_setting, placed=every_setting))
        for kind in Kind
        if kind in kinds
    ]
    chosen = _Chosen(match, internal)
    admin.together(*(partial(reading.read_all, kind, chosen) for kind, reading in readings))
    resources = [resource for _, reading in readings for resource in reading.found]
    found = {
        resource.ref: resource
        for resource in sorted(resources, key=lambda one: (_ORDER[one.ref.kind], sort_key(one.ref)))
        if is_selected(resource, match)
    }
    return Everything(
        found,
        [part for _, reading in readings for part in reading.missing],
        [group for _, reading in readings for group in reading.shares],
    )


def read_named(
    admin: Admin, refs: Collection[Ref], *, keys: Mapping[Kind, Collection[str]] | None = None
) -> Survey[dict[Ref, Resource | None]]:
    """The resources that these name, in their order; None for one that does not exist.

    Topics have their assignment. A broker, and a group, has a configuration always, whether anything is set in it or not.
    ``keys``: the only keys of
    configurations to be read, by kind, which is less work; all keys of kinds that it lacks.
    """
    named: dict[Kind, list[str]] = {}
    for ref in refs:
        named.setdefault(ref.kind, []).append(ref.name)
    readings = {kind: _Reading(admin, keys or {}, every_setting=False, placed=True) for kind in named}
    admin.together(
        *(partial(readings[kind].read_some, kind, list(dict.fromkeys(named[kind]))) for kind in named)
    )
    found = {resource.ref: resource for reading in readings.values() for resource in reading.found}
    missing = [part for reading in readings.values() for part in reading.missing]
    lost = {part.what for part in missing}
    unread = {kind for reading in readings.values() for kind in reading.unread}
    return Survey(
        {ref: found.get(ref) for ref in refs if str(ref) not in lost and ref.kind not in unread}, missing
    )


def sort_key(ref: Ref) -> tuple[bool, int, str]:
    """The order of the names of a kind: brokers by number, the rest by name."""
    number = int(ref.name) if ref.kind is Kind.BROKER_CONFIG and ref.name.isdecimal() else -1
    return number < 0, number, ref.name


_ORDER = {kind: at for at, kind in enumerate(Kind)}


class _Chosen(NamedTuple):
    """Which topics and groups are read at all; what has other names is chosen among what was read."""

    match: str | None
    internal: bool

    def has_topic(self, topic: TopicInfo) -> bool:
        """Whether a topic is read."""
        return self._has(topic.name) and (self.internal or not topic.internal)

    def has_group(self, name: str) -> bool:
        """Whether a group is read."""
        return self._has(name) and (self.internal or not is_own_group(name))

    def _has(self, name: str) -> bool:
        return self.match is None or fnmatchcase(name, self.match)


class _Reading:
    """The survey of a kind. ``unread``: the kinds of which nothing could be read; ``shares``: share groups left out."""

    def __init__(
        self,
        admin: Admin,
        keys: Mapping[Kind, Collection[str]] | None,
        *,
        every_setting: bool,
        placed: bool,
    ) -> None:
        self._admin, self._keys, self._every_setting, self._placed = admin, keys, every_setting, placed
        self.found: list[Resource] = []
        self.missing: list[Missing] = []
        self.unread: set[Kind] = set()
        self.shares: list[str] = []

    def read_all(self, kind: Kind, chosen: _Chosen) -> None:
        """All resources of a kind."""
        with_names = {
            Kind.TOPIC: self._all_topics,
            Kind.GROUP_CONFIG: self._all_group_configs,
            Kind.GROUP_OFFSETS: self._all_group_offsets,
        }
        without = {
            Kind.ACL_BINDING: self._acls,
            Kind.USER: self._users,
            Kind.QUOTA: self._quotas,
            Kind.BROKER_CONFIG: self._all_broker_configs,
        }
        try:
            if kind in with_names:
                with_names[kind](chosen)
            else:
                without[kind]()
        except (BrokerError, UnsupportedError) as error:
            self._lack_kind(kind, error)

    def read_some(self, kind: Kind, names: list[str]) -> None:
        """The resources of a kind that these name."""
        try:
            if kind is Kind.TOPIC:
                self._some_topics(names)
            elif kind is Kind.ACL_BINDING:
                self._acls(set(names))
            elif kind is Kind.USER:
                self._users(names)
            elif kind is Kind.QUOTA:
                self._quotas(set(names))
            elif kind is Kind.GROUP_OFFSETS:
                self._some_group_offsets(names)
            else:
                self._configs_of(kind, names)
        except (BrokerError, UnsupportedError) as error:
            self._lack_kind(kind, error)

    def _lack_kind(self, kind: Kind, error: KcliError) -> None:
        self.unread.add(kind)
        self.missing.append(Missing(f"all {PLURALS[kind]}", error.place, error))

    def _lack(self, ref: Ref, error: KcliError) -> None:
        self.missing.append(Missing(str(ref), error.place, error))

    # topics

    def _all_topics(self, chosen: _Chosen) -> None:
        self._topics([topic for topic in self._admin.list_topics() if chosen.has_topic(topic)])

    def _some_topics(self, names: list[str]) -> None:
        listed = {topic.name: topic for topic in self._admin.list_topics()}
        # A list leaves out the topics that this client may not see; a request by name says so.
        for name, answer in self._admin.topic_operations(
            [name for name in names if name not in listed], missing_too=True
        ).items():
            if isinstance(answer, KcliError):
                self._lack(Ref(Kind.TOPIC, name), answer)
        self._topics([listed[name] for name in names if name in listed])

    def _topics(self, topics: list[TopicInfo]) -> None:
        configs = self._configs(Kind.TOPIC, [topic.name for topic in topics])
        for topic in topics:
            ref = Ref(Kind.TOPIC, topic.name)
            entries = configs[ConfigResource(ConfigKind.TOPIC, topic.name)]
            if isinstance(entries, NotFoundError):
                continue  # it was deleted meanwhile
            error = topic.error if topic.error is not None else entries
            if isinstance(error, KcliError):
                self._lack(ref, error)
            elif not isinstance(entries, KcliError):
                spec = _placement(topic, placed=self._placed)
                self._keep(ref, spec, entries)

    # configurations

    def _configs(self, kind: Kind, names: Iterable[str]) -> _Configs:
        wanted = [
            ConfigResource(_CONFIG_KINDS[kind], "" if _is_default(kind, name) else name) for name in names
        ]
        keys = None if self._keys is None else self._keys.get(kind)
        found: dict[ConfigResource, list[ConfigEntry] | KcliError] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            found |= self._admin.describe_configs(some, keys=None if keys is None else sorted(keys))
        return found

    def _configs_of(self, kind: Kind, names: Collection[str], *, set_only: bool = False) -> None:
        """``set_only``: leaves out those in which nothing is set."""
        for resource, entries in self._configs(kind, names).items():
            ref = Ref(kind, shown_name(resource))
            if isinstance(entries, KcliError):
                self._lack(ref, explained(self._admin, resource, entries))
                continue
            others = (
                self._of_any_broker({entry.name for entry in entries}) if _is_default(kind, ref.name) else ()
            )
            if not set_only or any(not entry.is_default for entry in entries):
                self._keep(ref, {}, [*entries, *others])

    def _of_any_broker(self, known: Collection[str]) -> list[ConfigEntry]:
        """The keys that brokers have, without values: the default of all brokers is described without them."""
        number = min(self._admin.cluster.view.nodes, default=None)
        if number is None:
            return []
        (entries,) = self._configs(Kind.BROKER_CONFIG, [str(number)]).values()
        if isinstance(entries, KcliError):
            return []
        own = ConfigResource(ConfigKind.BROKER, "").own_source
        return [
            replace(entry, value=None, source="default", own_source=own)
            for entry in entries
            if entry.name not in known
        ]

    def _all_broker_configs(self) -> None:
        try:
            found = self._admin.describe_cluster(include_fenced=True)
        except UnsupportedError:
            found = self._admin.describe_cluster()
        names = [ALL_BROKERS, *(str(broker.node.id) for broker in found.brokers)]
        self._configs_of(Kind.BROKER_CONFIG, names, set_only=not self._every_setting)

    def _all_group_configs(self, chosen: _Chosen) -> None:
        try:
            names = self._admin.list_config_resources(ConfigKind.GROUP)
        except UnsupportedError as error:
            names = [row.group_id for row in self._listed_groups(chosen)]
            if not self._have_groups_configs(names):
                return
            self.missing.append(Missing("GroupConfig of groups that do not exist yet", "", error))
        names = [name for name in names if chosen.has_group(name)]
        self._configs_of(Kind.GROUP_CONFIG, names, set_only=not self._every_setting)

    def _have_groups_configs(self, names: list[str]) -> bool:
        """Whether the brokers know configurations of groups at all (KIP-848)."""
        (found,) = self._configs(Kind.GROUP_CONFIG, names[:1] or ["kcli"]).values()
        return not (isinstance(found, BrokerError) and found.code in NO_SUCH_KIND)

    def _keep(self, ref: Ref, spec: dict[str, Any], entries: Iterable[ConfigEntry]) -> None:
        known = {entry.name: entry for entry in entries}
        spec["config"] = {
            name: known[name].value
            for name in sorted(known)
            if known[name].value is not None and (self._every_setting or not known[name].is_default)
        }
        self.found.append(Resource(ref, spec, entries=known))

    # access

    def _acls(self, names: Collection[str] | None = None) -> None:
        every = AclFilter()
        found = self._admin.describe_acls([every])[every]
        if isinstance(found, NoAuthorizerError):
            return
        if isinstance(found, KcliError):
            raise found
        for binding in found:
            spec = acl_spec(binding)
            self._add(acl_ref(spec), spec, names)

    def _users(self, names: list[str] | None = None) -> None:
        for user, found in self._admin.describe_scram_credentials(names).items():
            ref = Ref(Kind.USER, user)
            if isinstance(found, NotFoundError):
                continue
            if isinstance(found, KcliError):
                self._lack(ref, found)
                continue
            rows = {mechanism_name(key): {"iterations": found[key]} for key in sorted(found, key=int)}
            self._add(ref, {"mechanisms": rows})

    def _quotas(self, names: Collection[str] | None = None) -> None:
        for entity, limits in self._admin.describe_quotas().items():
            parts = dict(reversed(entity.parts))  # user, then client-id
            spec = {"entity": parts, "limits": {key: shown_number(limits[key]) for key in sorted(limits)}}
            self._add(quota_ref(parts), spec, names)

    def _add(self, ref: Ref, spec: Mapping[str, Any], names: Collection[str] | None = None) -> None:
        if names is None or ref.name in names:
            self.found.append(Resource(ref, spec))

    # offsets

    def _listed_groups(self, chosen: _Chosen) -> list[ListedGroup]:
        listing = self._admin.list_groups()
        self.missing += [Missing.of(error, "groups") for error in listing.missing]
        return [row for row in listing.groups if chosen.has_group(row.group_id)]

    def _all_group_offsets(self, chosen: _Chosen) -> None:
        rows = self._listed_groups(chosen)
        self.shares = [row.group_id for row in rows if row.type == SHARE]
        self._offsets([row.group_id for row in rows if row.is_of_consumers or row.type == STREAMS])

    def _some_group_offsets(self, groups: Collection[str]) -> None:
        described = self._admin.describe_groups(list(groups), all_types=True)
        types = {name: group.type for name, group in described.items() if not isinstance(group, KcliError)}
        self._offsets(groups, [name for name in groups if types.get(name) == SHARE])

    def _offsets(self, groups: Collection[str], shares: Collection[str] = ()) -> None:
        for group, found in read_offsets(self._admin, dict.fromkeys(groups), shares).items():
            ref = Ref(Kind.GROUP_OFFSETS, group)
            if isinstance(found, KcliError):
                self._lack(ref, found)
                continue
            failed = [error for error in found.values() if isinstance(error, KcliError)]
            if failed:
                self._lack(ref, failed[0])
            elif spec := _offsets_of(found):
                self._add(ref, {"offsets": spec})


def _is_default(kind: Kind, name: str) -> bool:
    return kind is Kind.BROKER_CONFIG and name == ALL_BROKERS


def _placement(topic: TopicInfo, *, placed: bool) -> dict[str, Any]:
    """The number of partitions and replicas. Where the partitions do not have the same number, as while replicas are
    moved, their assignment has it.
    """
    spec: dict[str, Any] = {"partitions": len(topic.partitions)}
    factors = {len(part.replicas) for part in topic.partitions}
    if len(factors) == 1:
        (spec["replication_factor"],) = factors
    if placed or len(factors) != 1:
        spec["assignment"] = {part.partition: list(part.replicas) for part in topic.partitions}
    return spec


def _offsets_of(found: Committed) -> dict[str, dict[int, int]]:
    offsets: dict[str, dict[int, int]] = {}
    for tp, position in _committed(found):
        offsets.setdefault(tp[0], {})[tp[1]] = position
    return offsets


def _committed(found: Committed) -> Iterator[tuple[tuple[str, int], int]]:
    for tp in sorted(found):
        position = found[tp]
        if position is not None and not isinstance(position, KcliError):
            yield (tp.topic, tp.partition), position.offset


PLURALS = {
    Kind.TOPIC: "topics",
    Kind.ACL_BINDING: "ACLs",
    Kind.USER: "users",
    Kind.QUOTA: "quotas",
    Kind.BROKER_CONFIG: "configurations of brokers",
    Kind.GROUP_CONFIG: "configurations of groups",
    Kind.GROUP_OFFSETS: "offsets of groups",
}
"""How messages name the kinds."""
