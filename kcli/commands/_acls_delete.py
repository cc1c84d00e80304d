"""What ``kcli acls delete`` does: shows the selected ACLs, asks, deletes exactly those, and reads again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands import _acl_rows as rows
from kcli.commands._acl_selection import Selection, selection
from kcli.commands._acls_list import note_none, selected_acls
from kcli.commands._read_back import wait_until_empty
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_report
from kcli.core.admin.acls import AclBinding, AclFilter, AclPermission
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.read_back import ReadBackError
from kcli.output.progress import counted

_PLANNED, _DELETED, _GONE, _FAILED, _UNKNOWN = "planned", "deleted", "gone", "failed", "unknown"
_SEE = "`kcli acls list` shows the ACLs"


class NotDeletedError(KcliError):
    """ACLs that brokers confirmed as deleted are there."""

    exit_code = ExitCode.REFUSED


def delete(inv: Invocation, **flags: Any) -> int:
    """Deletes the selected ACLs. Returns the exit status."""
    selected = selection("delete", **flags)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        planned = selected_acls(admin, selected)
        status = dict.fromkeys(planned, _PLANNED)
        count = counted(len(planned), "ACL")
        text = rows.plan_lines(f"Delete {count}:", status)
        if not planned:
            note_none(inv, admin, selected)
        elif inv.dry_run:
            show_plan_only(inv, text, rows.CHANGE, rows.change_rows(status), cluster, kind="AclDeletePlan")
            _warn(inv, planned, selected)
        else:
            confirm(
                inv,
                text,
                f"Delete {count}?",
                name=_name(planned, cluster) if selected.is_narrow else cluster,
                danger=None if selected.is_narrow else _EVERYTHING,
                remarks=lambda: _warn(inv, planned, selected),
            )
            status = _deleted(inv, admin, planned, selected)
    if inv.dry_run and not planned:
        show_plan_only(inv, "Nothing is to be deleted.", rows.CHANGE, (), cluster, kind="AclDeletePlan")
    elif not inv.dry_run:
        print_report(inv, "AclDeleteReport", rows.CHANGE, rows.change_rows(status), cluster)
    return inv.finish(done=_DELETED in status.values())


_EVERYTHING = "Neither a principal nor a resource was given, so that every ACL of the cluster may be selected"


def _name(planned: Sequence[AclBinding], cluster: str) -> str:
    """What has to be typed: what all ACLs of the plan have in common."""
    principals = {binding.principal for binding in planned}
    resources = {(binding.resource, binding.name) for binding in planned}
    if len(principals) == 1:
        return principals.pop()
    return resources.pop()[1] if len(resources) == 1 else cluster


def _warn(inv: Invocation, planned: Sequence[AclBinding], selected: Selection) -> None:
    denials = sum(binding.permission is AclPermission.DENY for binding in planned)
    if denials and selected.permission is None:
        some = "one of them denies" if denials == 1 else f"{denials} of them deny"
        inv.talk.warn(f"{some}: without it, what it denies may be allowed by other ACLs")


def _deleted(
    inv: Invocation, admin: Admin, planned: Sequence[AclBinding], selected: Selection
) -> dict[AclBinding, str]:
    """The status of each; errors and what changed meanwhile are reported."""
    unsure: set[AclFilter] = set()
    outcome = admin.delete_acls([binding.filter for binding in planned], unsure=unsure)
    status: dict[AclBinding, str] = {}
    for binding in planned:
        answer = outcome[binding.filter]
        if isinstance(answer, KcliError):
            inv.failed(answer)
            status[binding] = _FAILED
        else:
            status[binding] = _DELETED if answer or binding.filter in unsure else _GONE
    gone = [binding for binding, state in status.items() if state == _GONE]
    for binding in gone:
        inv.talk.note(f"ACL {binding} was deleted by another client meanwhile")
    return status | _read_again(inv, admin, status, selected)


def _read_again(
    inv: Invocation, admin: Admin, status: Mapping[AclBinding, str], selected: Selection
) -> dict[AclBinding, str]:
    """The ACLs whose status the read changes."""
    away = {binding for binding, state in status.items() if state in (_DELETED, _GONE)}
    if not away:
        return {}
    found: set[AclBinding] = set()

    def left() -> set[AclBinding]:
        found.clear()
        found.update(selected_acls(admin, selected))
        return away & found

    try:
        again = wait_until_empty(inv, admin, left)
    except KcliError as error:
        inv.failed(
            ReadBackError(f"{counted(len(away), 'ACL')} deleted, but not read back", why=str(error), do=_SEE)
        )
        return dict.fromkeys(away, _UNKNOWN)
    for binding in rows.in_order(again):
        inv.failed(
            NotDeletedError(
                f"ACL {binding} was deleted, and is there again",
                why="another client has created it since, or the broker has not received the deletion yet",
                do=_SEE,
            )
        )
    for binding in rows.in_order(found - status.keys()):
        inv.talk.warn(f"ACL {binding} was created meanwhile; it was not in the plan and was not deleted")
    done = sum(state == _DELETED for binding, state in status.items() if binding not in again)
    if done:
        inv.talk.note(f"deleted {counted(done, 'ACL')}, read back")
    return dict.fromkeys(again, _FAILED)
