"""``kcli users list``: list users with SCRAM credentials."""

import click

from kcli.commands.shared.cluster import connect, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.users._types import NAME, mechanism_option
from kcli.core.admin.admin import Admin
from kcli.core.admin.users import mechanism_name
from kcli.core.classes import replace
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.users.credentials import (
    ITERATIONS,
    MECHANISM,
    USER,
    Iterations,
    in_order,
    mechanisms_of,
    without_credentials,
)

COLUMNS = (
    USER,
    replace(
        MECHANISM,
        values="string",
        meaning="SCRAM-SHA-256 or SCRAM-SHA-512; unknown (N) for one that this version does not know.",
    ),
    ITERATIONS,
)


@command(
    "list",
    examples=(
        ("kcli users list", "all users with SCRAM credentials"),
        ("kcli users list alice bob", "these users"),
        ("kcli users list --mechanism SCRAM-SHA-256 -o name", "who still has a credential of this mechanism"),
        ("kcli users list -o json", "for scripts"),
    ),
)
@click.argument("names", nargs=-1, type=NAME, metavar="NAME…")
@mechanism_option("only credentials of this mechanism; repeatable")
@pass_invocation
def list_users(inv: Invocation, names: tuple[str, ...], mechanisms: tuple[str, ...]) -> int:
    """List users with SCRAM credentials: a line for each mechanism.

    Only what brokers store themselves: users of PLAIN, OAUTHBEARER, certificates or Kerberos are configured elsewhere.
    Passwords, salts and keys are never returned by brokers. This needs DESCRIBE on the cluster.
    """
    wanted = mechanisms_of(mechanisms)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = _described(inv, admin, names)
    rows = [
        {"user": user, "mechanism": mechanism_name(mechanism), "iterations": found[user][mechanism]}
        for user in sorted(found)
        for mechanism in in_order(found[user])
        if not wanted or mechanism in wanted
    ]
    if not rows and (found or not names):
        inv.talk.note(
            "no credential is of this mechanism" if found else "the cluster has no SCRAM credentials"
        )
    print_rows(inv, "UserList", COLUMNS, rows, cluster, item="User")
    return inv.finish(done=bool(found))


def _described(inv: Invocation, admin: Admin, names: tuple[str, ...]) -> dict[str, Iterations]:
    """The users that have credentials; errors of the others are reported."""
    described = admin.describe_scram_credentials(unique(names) if names else None)
    found: dict[str, Iterations] = {}
    known: list[str] | None = None
    for user, credentials in described.items():
        if isinstance(credentials, NotFoundError):
            if known is None:
                known = list(admin.describe_scram_credentials())
            inv.failed(without_credentials(user, known))
        elif isinstance(credentials, KcliError):
            inv.failed(credentials)
        else:
            found[user] = credentials
    return found
