"""What ``kcli acls create`` does: shows the exact ACLs, asks, creates those that are missing, and reads them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.commands import _acl_rows as rows
from kcli.commands._acl_selection import selection
from kcli.commands._acls_list import matching
from kcli.commands._read_back import wait_until_empty
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_report
from kcli.core.admin.acls import AclBinding, AclPermission
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.read_back import ReadBackError
from kcli.output.progress import counted

_EXISTS, _PLANNED, _CREATED, _FAILED, _UNKNOWN = "exists", "planned", "created", "failed", "unknown"


class NotCreatedError(KcliError):
    """ACLs that brokers confirmed are not there."""

    exit_code = ExitCode.REFUSED


def create(inv: Invocation, **flags: Any) -> int:
    """Creates ACLs. Returns the exit status."""
    wanted = rows.in_order(selection("create", **flags).bindings())
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        existing = matching(admin, [binding.filter for binding in wanted])
        status = {binding: _EXISTS if binding in existing else _PLANNED for binding in wanted}
        missing = [binding for binding in wanted if binding not in existing]
        text = rows.plan_lines(f"Create {counted(len(missing), 'ACL')}:", status)
        if inv.dry_run or not missing:
            show_plan_only(inv, text, rows.CHANGE, rows.change_rows(status), cluster, kind="AclCreatePlan")
        else:
            confirm(inv, text, f"Create {counted(len(missing), 'ACL')}?", remarks=lambda: _warn(inv, missing))
            status |= _created(inv, admin, missing)
    if not missing:
        inv.talk.note(f"nothing is to be created: {_they(len(wanted))} already")
    if not inv.dry_run:
        print_report(inv, "AclCreateReport", rows.CHANGE, rows.change_rows(status), cluster)
    return inv.finish(done=_CREATED in status.values())


def _they(count: int) -> str:
    return "the ACL exists" if count == 1 else f"all {count} ACLs exist"


def _warn(inv: Invocation, missing: Sequence[AclBinding]) -> None:
    """What is easily overlooked in a plan."""
    for name in sorted({binding.name for binding in missing if binding.name[1:].endswith("*")}):
        inv.talk.warn(f"{name} is taken literally: ACLs for names that begin alike need --pattern prefixed")
    if any(b.principal == "User:*" and b.permission is AclPermission.ALLOW for b in missing):
        inv.talk.warn("User:* is every user, with PLAINTEXT and SSL listeners also clients without a name")


def _created(inv: Invocation, admin: Admin, missing: Sequence[AclBinding]) -> dict[AclBinding, str]:
    """The status of each; errors are reported."""
    status: dict[AclBinding, str] = {}
    for binding, error in admin.create_acls(missing).items():
        status[binding] = _CREATED if error is None else _FAILED
        if error is not None:
            inv.failed(error)
    made = [binding for binding, state in status.items() if state == _CREATED]
    if not made:
        return status
    try:
        absent = wait_until_empty(
            inv, admin, lambda: set(made) - matching(admin, [binding.filter for binding in made])
        )
    except KcliError as error:
        inv.failed(
            ReadBackError(f"{counted(len(made), 'ACL')} created, but not read back", why=str(error), do=_SEE)
        )
        return status | dict.fromkeys(made, _UNKNOWN)
    for binding in absent:
        inv.failed(
            NotCreatedError(
                f"ACL {binding} was created, and is not there",
                why="another client has deleted it since, or the broker has not received it yet",
                do=_SEE,
            )
        )
    done = len(made) - len(absent)
    if done:
        inv.talk.note(f"created {counted(done, 'ACL')}, read back")
    return status | dict.fromkeys(absent, _FAILED)


_SEE = "`kcli acls list` shows the ACLs"
