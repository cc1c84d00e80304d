"""``kcli tokens renew``: renew delegation tokens."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import POSITIVE_DURATION, option
from kcli.commands.tokens._types import TOKEN_ID
from kcli.core.admin.delegation_tokens import period_ms


@command(
    "renew",
    examples=(
        ("kcli tokens renew kNv8-JkQQd6vEzuVIYGoug", "for the period of the brokers, by default a day"),
        ("kcli tokens renew kNv8-JkQQd6vEzuVIYGoug --for 12h --yes", "in a script"),
    ),
)
@click.argument("ids", nargs=-1, required=True, type=TOKEN_ID, metavar="ID…")
@option(
    "--for",
    "period",
    type=POSITIVE_DURATION,
    metavar="DUR",
    help="time from now (default: the brokers' delegation.token.expiry.time.ms, 1d)",
)
@pass_invocation
def renew_tokens(inv: Invocation, ids: tuple[str, ...], period: float | None) -> int:
    """Renew delegation tokens: they expire later, at most at the end of their longest life.

    The owner of a token and its renewers may do so. The new time is read back. Since KRaft, brokers renew for their
    delegation.token.expiry.time.ms at most: a longer --for is refused, exit code 7. `kcli tokens list` shows the ids; of
    one that begins with a dash, write -- before it.
    """
    from kcli.flows.tokens.expiry import TokenRenewal  # clients are loaded when the command runs

    return run_change(inv, TokenRenewal(ids, period_ms(period), dry=inv.dry_run))
