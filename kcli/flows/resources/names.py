"""Names of resources, and which of them a shell pattern selects. Pure.

An ACL and the entity of a quota have no name of their own in Kafka: theirs are made of all that identifies them, so that
two are equal exactly where the names are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from kcli.core.admin.acls import AclBinding
from kcli.core.admin.quotas import CLIENT_ID, IP, USER, QuotaEntity
from kcli.flows.acls.rows import acl_row
from kcli.flows.quotas.values import spelling
from kcli.flows.resources.resource import Kind, Ref, Resource

_PLAIN = re.compile(r"[^\s\"\\,=]+")


def acl_ref(spec: Mapping[str, Any]) -> Ref:
    """Of the spec of an AclBinding: ``allow User:alice read topic orders (literal) from *``."""
    said = {key: _word(str(value)) for key, value in spec.items()}
    what = f"{said['principal']} {said['operation']} {said['resource_type']} {said['resource_name']}"
    return Ref(Kind.ACL_BINDING, f"{said['permission']} {what} ({said['pattern']}) from {said['host']}")


def acl_spec(binding: AclBinding) -> dict[str, Any]:
    """The spec of an ACL."""
    return acl_row(binding)


def quota_ref(entity: Mapping[str, str | None]) -> Ref:
    """Of the ``entity`` of a quota: ``user=alice, client-id=<default>``."""
    kinds = [kind for kind in (USER, CLIENT_ID, IP) if kind in entity]
    return Ref(Kind.QUOTA, ", ".join(f"{kind}={_word(spelling(entity[kind]))}" for kind in kinds))


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


def _word(text: str) -> str:
    """The text, in quotation marks where it would not be one word."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
