"""What ``kcli users set`` does: a plan, a question, a password, the change, and the credentials read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands import _user_rows as rows
from kcli.commands._users_password import check_can_be_typed, password_source, read_password, typed_password
from kcli.commands._users_read_back import FAILED, UNKNOWN, read_back
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.plan_output import show_plan_only
from kcli.commands.shared.row_output import print_report
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import (
    SEE,
    ScramCredential,
    ScramMechanism,
    check_encrypted,
    mechanism_name,
    upsertion,
)
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.secret import Secret
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

_COLUMNS = (
    rows.USER,
    rows.MECHANISM,
    Column("old_iterations", "number"),
    Column("iterations", "number"),
    Column("status"),
)
_PLANNED, _SET = "planned", "set"


class NotSetError(KcliError):
    """A credential that brokers confirmed is not there, or is another one."""

    exit_code = ExitCode.REFUSED


def set_credentials(
    inv: Invocation,
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int,
    password_file: str | None,
    password_command: str | None,
) -> int:
    """Sets the credentials of a user. Returns the exit status."""
    chosen = rows.mechanisms_of(mechanisms) or (ScramMechanism.SCRAM_SHA_512,)
    source = password_source(name, password_file, password_command)
    with open_admin(inv) as admin:
        check_encrypted(admin.cluster.options)
        if source is None and not inv.dry_run:
            check_can_be_typed(inv, name)
        password = None if source is None else read_password(inv, source)
        cluster = connect(inv, admin)
        before = rows.credentials_of(admin, name)
        status = dict.fromkeys((ScramCredential(name, mechanism) for mechanism in chosen), _PLANNED)
        text = _text(name, before, chosen, iterations)
        if inv.dry_run:
            plan = _rows(status, before, iterations)
            _warn(inv, admin, name, before, chosen)  # first: the plan as a document has the warnings
            show_plan_only(inv, text, _COLUMNS, plan, cluster, kind="UserSetPlan")
        else:
            confirm(
                inv,
                text,
                f"Set the password of user {name}?",
                subject=name,
                remarks=lambda: _warn(inv, admin, name, before, chosen),
            )
            status = _set(inv, admin, list(status), password or typed_password(inv, name), iterations)
    if not inv.dry_run:
        print_report(inv, "UserSetReport", _COLUMNS, _rows(status, before, iterations), cluster)
    return inv.finish(done=_SET in status.values())


def _text(
    name: str,
    before: rows.Iterations,
    chosen: Sequence[ScramMechanism],
    iterations: int,
) -> str:
    lines = [f"Set SCRAM credentials of user {visible_line(name)}:"]
    for mechanism in rows.in_order({*before, *chosen}):
        old = f"{before[mechanism]} iterations" if mechanism in before else "not set"
        change = f"{old} → {iterations} iterations, new password" if mechanism in chosen else f"{old}, stays"
        lines.append(f"  {mechanism_name(mechanism)}: {change}")
    return "\n".join(lines)


def _warn(
    inv: Invocation,
    admin: Admin,
    name: str,
    before: rows.Iterations,
    chosen: Sequence[ScramMechanism],
) -> None:
    """What is easily overlooked in a plan."""
    own = rows.own_mechanism(admin, name)
    if own in map(mechanism_name, chosen):
        inv.talk.warn(
            f"this connection authenticates as {name} with {own}: new connections, of kcli too, need the new password"
        )
    others = [mechanism_name(mechanism) for mechanism in rows.in_order(before) if mechanism not in chosen]
    if others:
        inv.talk.warn(f"{' and '.join(others)} of user {name} keeps its present password")
    if name.startswith("User:"):
        inv.talk.warn(f"the name is taken literally: in ACLs, the principal of this user is User:{name}")
    if not name.isascii():
        inv.talk.warn(
            f"Apache Kafka's brokers refuse SCRAM logins of names that are not ASCII, such as {name}"
        )
    if name != name.strip():
        inv.talk.warn("the name begins or ends with a blank")


def _set(
    inv: Invocation, admin: Admin, keys: Sequence[ScramCredential], password: Secret, iterations: int
) -> dict[ScramCredential, str]:
    """The status of each; errors are reported."""
    changes = {key: upsertion(password, ScramMechanism(key.mechanism), iterations) for key in keys}
    status: dict[ScramCredential, str] = {}
    for key, error in rows.alter(admin, changes).items():
        if error is None:
            status[key] = _SET
        else:
            status[key] = UNKNOWN if isinstance(error, rows.UnknownChangeError) else FAILED
            inv.failed(error)
    made = [key for key, state in status.items() if state == _SET]

    def is_wrong(key: ScramCredential, found: rows.Iterations) -> bool:
        return found.get(key.mechanism) != iterations

    def not_set(key: ScramCredential) -> NotSetError:
        return NotSetError(
            f"{key} was set, and is not there with {iterations} iterations",
            why="another client has changed it since, or the broker has not received it yet",
            do=SEE,
        )

    return read_back(inv, admin, status, made, _SET, is_wrong, not_set)


def _rows(
    status: Mapping[ScramCredential, str], before: rows.Iterations, iterations: int
) -> list[dict[str, Any]]:
    return [
        {
            "user": key.user,
            "mechanism": mechanism_name(key.mechanism),
            "old_iterations": before.get(key.mechanism),
            "iterations": iterations,
            "status": state,
        }
        for key, state in status.items()
    ]
