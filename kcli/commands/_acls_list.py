"""What ``kcli acls list`` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.commands import _acl_rows as rows
from kcli.commands._acl_selection import Selection, selection
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import nearest
from kcli.core.admin.acls import AclBinding, AclFilter
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError


def list_selected(inv: Invocation, **flags: Any) -> int:
    """Lists the selected ACLs. Returns the exit status."""
    selected = selection("list", **flags)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = selected_acls(admin, selected)
        if not found:
            note_none(inv, admin, selected)
    print_rows(inv, "AclList", rows.ACL, map(rows.acl_row, found), cluster, item="Acl")
    return inv.finish(done=True)


def selected_acls(admin: Admin, selected: Selection) -> list[AclBinding]:
    """The ACLs that any of the filters matches, in order; the first error if there is one."""
    return rows.in_order(matching(admin, selected.filters()))


def matching(admin: Admin, filters: Iterable[AclFilter]) -> set[AclBinding]:
    """The ACLs that any of the filters matches; the first error if there is one."""
    found: set[AclBinding] = set()
    for bindings in admin.describe_acls(list(filters)).values():
        if isinstance(bindings, KcliError):
            raise bindings
        found.update(bindings)
    return found


def note_none(inv: Invocation, admin: Admin, selected: Selection) -> None:
    """Says that nothing is selected; with the most similar principal or name that has ACLs."""
    every = matching(admin, [AclFilter()])
    principals = {binding.principal for binding in every}
    names = {binding.name for binding in every}
    near = [nearest(one, principals) for one in selected.principals if one not in principals]
    near += [nearest(one.name, names) for one in selected.resources if one.name not in names]
    similar = ", ".join(dict.fromkeys(filter(None, near)))
    hint = f"; did you mean {similar}?" if similar else ""
    inv.talk.note(f"no ACL matches{hint}" if every else "the cluster has no ACLs")
