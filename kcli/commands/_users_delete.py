"""What ``kcli users delete`` does: shows the credentials, asks for the name, deletes them, and reads again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands import _user_rows as rows
from kcli.commands._users_read_back import FAILED, UNKNOWN, read_back
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_report
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, ScramMechanism, mechanism_name
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

_COLUMNS = (*rows.CREDENTIAL, Column("status"))
_PLANNED, _DELETED, _GONE = "planned", "deleted", "gone"


class NotDeletedError(KcliError):
    """A credential that brokers confirmed as deleted is there."""

    exit_code = ExitCode.REFUSED


def delete_credentials(inv: Invocation, name: str, mechanisms: tuple[str, ...]) -> int:
    """Deletes credentials of a user. Returns the exit status."""
    wanted = rows.mechanisms_of(mechanisms)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        before = _existing(admin, name, wanted)
        chosen = rows.in_order(wanted or before)
        status = dict.fromkeys((ScramCredential(name, mechanism) for mechanism in chosen), _PLANNED)
        text = _text(name, before, chosen)
        if inv.dry_run:
            _warn(inv, admin, name, chosen)  # first: the plan as a document has the warnings
            show_plan_only(inv, text, _COLUMNS, _rows(status, before), cluster, kind="UserDeletePlan")
        else:
            confirm(
                inv,
                text,
                f"Delete {counted(len(chosen), 'credential')}?",
                name=name,
                remarks=lambda: _warn(inv, admin, name, chosen),
            )
            status = _deleted(inv, admin, list(status))
    if not inv.dry_run:
        print_report(inv, "UserDeleteReport", _COLUMNS, _rows(status, before), cluster)
    return inv.finish(done=_DELETED in status.values())


def _existing(admin: Admin, name: str, wanted: Sequence[ScramMechanism]) -> rows.Iterations:
    """What the user has; NotFoundError if any credential that is to be deleted is not among it."""
    found = rows.credentials_of(admin, name)
    if not found:
        raise rows.without_credentials(name, list(admin.describe_scram_credentials()))
    missing = [mechanism_name(mechanism) for mechanism in wanted if mechanism not in found]
    if missing:
        raise NotFoundError(
            f"user {name} has no {' and no '.join(missing)} credential",
            why=f"there is {' and '.join(map(mechanism_name, rows.in_order(found)))}; nothing was done",
            do=SEE,
        )
    return found


def _text(name: str, before: rows.Iterations, chosen: Sequence[ScramMechanism | int]) -> str:
    count = counted(len(chosen), "SCRAM credential")
    lines = [f"Delete {count} of user {visible_line(name)}:"]
    for mechanism in rows.in_order(before):
        stays = "" if mechanism in chosen else ", stays"
        lines.append(f"  {mechanism_name(mechanism)}: {before[mechanism]} iterations{stays}")
    return "\n".join(lines)


def _warn(inv: Invocation, admin: Admin, name: str, chosen: Sequence[ScramMechanism | int]) -> None:
    own = rows.own_mechanism(admin, name)
    if own in map(mechanism_name, chosen):
        inv.talk.warn(
            f"this connection authenticates as {name} with {own}: new connections, of kcli too, will be refused"
        )


def _deleted(inv: Invocation, admin: Admin, keys: Sequence[ScramCredential]) -> dict[ScramCredential, str]:
    """The status of each; errors and what changed meanwhile are reported."""
    status: dict[ScramCredential, str] = {}
    for key, error in rows.alter(admin, dict.fromkeys(keys)).items():
        if error is None:
            status[key] = _DELETED
        elif isinstance(error, NotFoundError):
            status[key] = _GONE
            inv.talk.note(f"{key} was deleted by another client meanwhile")
        else:
            status[key] = UNKNOWN if isinstance(error, rows.UnknownChangeError) else FAILED
            inv.failed(error)
    away = [key for key, state in status.items() if state in (_DELETED, _GONE)]

    def is_there(key: ScramCredential, found: rows.Iterations) -> bool:
        return key.mechanism in found

    def not_deleted(key: ScramCredential) -> NotDeletedError:
        return NotDeletedError(
            f"{key} was deleted, and is there again",
            why="another client has set it since, or the broker has not received the deletion yet",
            do=SEE,
        )

    return read_back(inv, admin, status, away, _DELETED, is_there, not_deleted)


def _rows(status: Mapping[ScramCredential, str], before: rows.Iterations) -> list[dict[str, Any]]:
    return [
        {
            "user": key.user,
            "mechanism": mechanism_name(key.mechanism),
            "iterations": before.get(key.mechanism),
            "status": state,
        }
        for key, state in status.items()
    ]
