"""ACLs as rows: of the list, of plans and of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.core.admin.acls import AclBinding, word
from kcli.output.tables import Column, indented_table

ACL = (
    Column("principal", "prose"),
    Column("permission"),
    Column("operation"),
    Column("resource_type"),
    Column("resource_name", "prose"),
    Column("pattern"),
    Column("host", spare=1),
)
CHANGE = (*ACL, Column("status"))


def in_order(bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """Without repeats, sorted by principal, then by resource."""
    return sorted(set(bindings), key=lambda binding: (binding.principal, binding))


def acl_row(binding: AclBinding) -> dict[str, Any]:
    """A row of the list."""
    return {
        "principal": binding.principal,
        "permission": word(binding.permission),
        "operation": word(binding.operation),
        "resource_type": word(binding.resource),
        "resource_name": binding.name,
        "pattern": word(binding.pattern),
        "host": binding.host,
    }


def change_rows(status: Mapping[AclBinding, str]) -> list[dict[str, Any]]:
    """The rows of a plan or report."""
    return [acl_row(binding) | {"status": state} for binding, state in status.items()]


def plan_lines(title: str, status: Mapping[AclBinding, str]) -> str:
    """The plan: the exact ACLs; their status only where some are not to be changed."""
    rows = change_rows(status)
    columns = CHANGE if len(set(status.values())) > 1 else ACL
    return "\n".join((title, *indented_table(columns, rows)))
