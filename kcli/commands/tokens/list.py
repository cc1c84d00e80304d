"""``kcli tokens list``: list delegation tokens."""

from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.row_output import print_rows
from kcli.commands.tokens._types import PRINCIPAL
from kcli.core.admin.delegation_tokens import Principal
from kcli.core.clock import wall_ms
from kcli.flows.tokens.rows import COLUMNS, token_row


@command(
    "list",
    examples=(
        ("kcli tokens list", "all that this client may see, the first to expire first"),
        ("kcli tokens list --owner User:etl", "of a user"),
        ("kcli tokens list -o json", "for scripts"),
    ),
)
@option(
    "--owner",
    "owners",
    type=PRINCIPAL,
    multiple=True,
    metavar="User:NAME",
    help="only of this user; repeatable",
)
@pass_invocation
def list_tokens(inv: Invocation, owners: tuple[Principal, ...]) -> int:
    """List delegation tokens, with the time left until they expire. Never their HMACs.

    A client sees the tokens that it owns or may renew; others with DESCRIBE_TOKENS on their owner, or DESCRIBE on the
    token. Brokers leave out the rest without saying so. Brokers return HMACs with every list, so it is refused over a
    connection without encryption unless --allow-plaintext-secrets is given.
    """
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = admin.describe_tokens(owners or None)
    now = wall_ms()
    rows = [token_row(token, now) for token in sorted(found, key=lambda one: (one.expires_at, one.id))]
    if not rows:
        inv.talk.note("no delegation tokens, or none that this client may see")
    print_rows(inv, "TokenList", COLUMNS, rows, cluster, item="Token")
    return inv.finish(done=True)
