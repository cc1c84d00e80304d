"""The ACLs that are named by who, what and with what: exact ones to create, filters for the rest."""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import TypeVar

from kcli.core.admin.acls import AclBinding, AclFilter, AclPattern, AclPermission, AclResource
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, dataclass, replace
from kcli.core.errors import KcliError
from kcli.core.near_names import near_names
from kcli.core.permissions import AclOperation
from kcli.flows.acls.presets import Preset

K = TypeVar("K", bound=Hashable)

SEE = "`kcli acls list` shows the ACLs"
"""The remedy where it is not known which there are."""

_FEW = 4


class Resource(NamedTuple):
    """A type and a name."""

    kind: AclResource
    name: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Empty tuples and None: any. ``presets`` say which operations are meant, instead of ``operations``."""

    principals: tuple[str, ...]
    operations: tuple[AclOperation, ...]
    resources: tuple[Resource, ...]
    hosts: tuple[str, ...]
    pattern: AclPattern | None
    permission: AclPermission | None
    presets: tuple[Preset, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether a principal or a resource is named: the rest could match every ACL."""
        return bool(self.principals or self.resources)

    def filters(self) -> list[AclFilter]:
        """What to list: any ACL that one of them matches."""
        combinations = product(
            self.principals or (None,),
            self.operations or (None,),
            self.resources or (None,),
            dict.fromkeys(form for host in self.hosts for form in (host, java_form(host))) or (None,),
        )
        return [
            AclFilter(
                resource=resource.kind if resource else None,
                name=resource.name if resource else None,
                pattern=self.pattern,
                principal=principal,
                permission=self.permission,
                operation=operation,
                host=host,
            )
            for principal, operation, resource, host in combinations
        ]

    def bindings(self) -> list[AclBinding]:
        """What to create."""
        if self.presets:
            parts = [part for preset in self.presets for part in self._parts(preset)]
            return list(dict.fromkeys(binding for part in parts for binding in part.bindings()))
        combinations = product(
            self.principals, self.resources, self.operations, map(java_form, self.hosts or ("*",))
        )
        return [
            AclBinding(
                resource=resource.kind,
                name=resource.name,
                pattern=AclPattern.LITERAL
                if resource.kind is AclResource.CLUSTER
                else self.pattern or AclPattern.LITERAL,
                principal=principal,
                permission=self.permission or AclPermission.ALLOW,
                operation=operation,
                host=host,
            )
            for principal, resource, operation, host in combinations
        ]

    def _parts(self, preset: Preset) -> Iterator[Selection]:
        """What it needs of each kind of resource, each a selection of its own."""
        for kind, operations in preset.operations.items():
            named = tuple(one for one in self.resources if one.kind is kind)
            yield replace(self, presets=(), operations=operations, resources=named)
        for own in preset.own:
            pattern = AclPattern.PREFIXED if own.prefixed else AclPattern.LITERAL
            name = (Resource(own.kind, own.name),)
            yield replace(self, presets=(), operations=own.operations, resources=name, pattern=pattern)


def in_order(bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """Without repeats, sorted by principal, then by resource."""
    return sorted(set(bindings), key=lambda binding: (binding.principal, binding))


def selected_acls(admin: Admin, selected: Selection) -> list[AclBinding]:
    """The ACLs that any of the filters matches, in order; the first error if there is one."""
    return in_order(matching(admin, selected.filters()))


def matching(admin: Admin, filters: Iterable[AclFilter]) -> set[AclBinding]:
    """The ACLs that any of the filters matches; the first error if there is one."""
    return set().union(*matching_each(admin, {one: one for one in filters}).values())


def matching_each(admin: Admin, filters: Mapping[K, AclFilter]) -> dict[K, list[AclBinding]]:
    """Those that each filter matches, by its key; the first error if there is one."""
    answers = admin.describe_acls(list(dict.fromkeys(filters.values())))
    found: dict[K, list[AclBinding]] = {}
    for key, one in filters.items():
        bindings = answers[one]
        if isinstance(bindings, KcliError):
            raise bindings
        found[key] = bindings
    return found


def existing(admin: Admin, bindings: Iterable[AclBinding]) -> set[AclBinding]:
    """Those of the ACLs that the cluster has; the first error if there is one.

    A few are listed one by one, many with all of their types of resources: a request for each would take long.
    """
    wanted = set(bindings)
    filters = (
        [one.filter for one in wanted]
        if len(wanted) <= _FEW
        else [AclFilter(resource=kind) for kind in {one.resource for one in wanted}]
    )
    return wanted & matching(admin, filters)


def nothing_selected(admin: Admin, selected: Selection) -> str:
    """The note where nothing is selected; with the most similar principal or name that has ACLs."""
    every = matching(admin, [AclFilter()])
    principals = {binding.principal for binding in every}
    names = {binding.name for binding in every}
    near = [
        name for one in selected.principals if one not in principals for name in near_names(one, principals)
    ]
    near += [
        name for one in selected.resources if one.name not in names for name in near_names(one.name, names)
    ]
    hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    return f"no ACL matches{hint}" if every else "the cluster has no ACLs"


def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is; None if it is none."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def java_form(host: str) -> str:
    """An IPv6 address as brokers write that of a client, with which they compare: ``::1`` is ``0:0:0:0:0:0:0:1``."""
    address = address_of(host)
    if not isinstance(address, ipaddress.IPv6Address) or address.scope_id:
        return host
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))
