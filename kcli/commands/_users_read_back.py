"""Reading back the credentials that ``kcli users`` has set or deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kcli.commands import _user_rows as rows
from kcli.commands._read_back import wait_until_empty
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import SEE, ScramCredential, mechanism_name
from kcli.core.errors import KcliError
from kcli.flows.read_back import ReadBackError
from kcli.output.progress import counted

FAILED, UNKNOWN = "failed", "unknown"


def read_back(
    inv: Invocation,
    admin: Admin,
    status: Mapping[ScramCredential, str],
    changed: Sequence[ScramCredential],
    done: str,
    is_wrong: Callable[[ScramCredential, rows.Iterations], bool],
    error_of: Callable[[ScramCredential], KcliError],
) -> dict[ScramCredential, str]:
    """The statuses, of all credentials of one user, with what reading the ``changed`` ones shows.

    ``done`` is the status of one that this client has changed: "set" or "deleted".
    """
    if not changed:
        return dict(status)
    user = changed[0].user

    def wrong() -> list[ScramCredential]:
        found = rows.credentials_of(admin, user)
        return [key for key in changed if is_wrong(key, found)]

    try:
        bad = wait_until_empty(inv, admin, wrong)
    except KcliError as error:
        what = f"{counted(len(changed), 'credential')} of user {user} {done}, but not read back"
        inv.failed(ReadBackError(what, why=str(error), do=SEE))
        return {**status, **dict.fromkeys(changed, UNKNOWN)}
    for key in bad:
        inv.failed(error_of(key))
    good = [mechanism_name(key.mechanism) for key in changed if key not in bad and status[key] == done]
    if good:
        inv.talk.note(f"{done} {' and '.join(good)} of user {user}, read back")
    return {**status, **dict.fromkeys(bad, FAILED)}
