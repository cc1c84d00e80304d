"""``kcli tokens expire``: have delegation tokens expire."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import POSITIVE_DURATION, option
from kcli.commands.tokens._types import TOKEN_ID
from kcli.core.admin.delegation_tokens import period_ms


@command(
    "expire",
    examples=(
        ("kcli tokens expire kNv8-JkQQd6vEzuVIYGoug", "at once: it is removed"),
        ("kcli tokens expire kNv8-JkQQd6vEzuVIYGoug --in 1h --yes", "in an hour"),
    ),
)
@click.argument("ids", nargs=-1, required=True, type=TOKEN_ID, metavar="ID…")
@option("--in", "period", type=POSITIVE_DURATION, metavar="DUR", help="time from now (default: at once)")
@pass_invocation
def expire_tokens(inv: Invocation, ids: tuple[str, ...], period: float | None) -> int:
    """Have delegation tokens expire: at once, or in a while. One that has expired cannot be made again.

    The owner of a token and its renewers may do so. It is read back that the token is gone, or when it expires.
    Connections that are authenticated with it stay until they are closed or have to authenticate again. `kcli tokens
    list` shows the ids; of one that begins with a dash, write -- before it.
    """
    from kcli.flows.tokens.expiry import TokenEnd  # clients are loaded when the command runs

    return run_change(inv, TokenEnd(ids, period_ms(period), dry=inv.dry_run))
