"""What identifies resources that have no name in Kafka, and which resources a shell pattern selects. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from kcli.core.admin.acls import AclBinding
from kcli.core.admin.quotas import QuotaEntity
from kcli.flows.acls.rows import acl_row
from kcli.flows.quotas.values import spelling
from kcli.flows.resources.resource import Kind, Ref, Resource, acl_name, quota_name


def acl_ref(spec: Mapping[str, Any]) -> Ref:
    """Of the spec of an AclBinding."""
    return Ref(Kind.ACL_BINDING, acl_name(spec))


def acl_spec(binding: AclBinding) -> dict[str, Any]:
    """The spec of an ACL."""
    return acl_row(binding)


def quota_ref(entity: Mapping[str, str | None]) -> Ref:
    """Of the ``entity`` of a quota."""
    return Ref(Kind.QUOTA, quota_name(entity))


def quota_entity(spec: Mapping[str, Any]) -> QuotaEntity:
    """What the spec of a Quota is for."""
    return QuotaEntity.of(spec["entity"].items())


def is_selected(resource: Resource, glob: str | None) -> bool:
    """Whether a shell pattern selects the resource: by its name, an ACL by the name of the resource that it is on, a
    quota by the user, client id or address.
    """
    return glob is None or any(fnmatchcase(name, glob) for name in _names(resource))


def _names(resource: Resource) -> Iterator[str]:
    if resource.ref.kind is Kind.ACL_BINDING:
        yield resource.spec["resource_name"]
    elif resource.ref.kind is Kind.QUOTA:
        yield from map(spelling, resource.spec["entity"].values())
    else:
        yield resource.ref.name
