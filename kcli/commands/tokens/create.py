"""``kcli tokens create``: create a delegation token."""

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import POSITIVE_DURATION, option
from kcli.commands.shared.usage import usage
from kcli.commands.tokens._hmac import HmacFile, HmacOnStdout
from kcli.commands.tokens._types import PRINCIPAL
from kcli.core.admin.delegation_tokens import Principal, period_ms


@command(
    "create",
    exits={
        6: "the token was created, but its HMAC could not be written, or it was not read back",
        7: "the file exists already, the brokers have no delegation.token.secret.key, or this client may have none",
    },
    examples=(
        ("kcli tokens create --hmac-file token.secret", "of this client; the file is new, with mode 0600"),
        (
            "kcli tokens create --renewer User:scheduler --max-lifetime 1d --hmac-file token.secret",
            "for a day",
        ),
        (
            "kcli tokens create --owner User:etl --hmac-file token.secret --yes",
            "of another user, in a script",
        ),
        ("kcli tokens create --show-hmac --yes | keep-secret kafka/token", "into a password manager"),
    ),
)
@option("--owner", type=PRINCIPAL, metavar="User:NAME", help="whose token (default: this client's)")
@option(
    "--renewer",
    "renewers",
    type=PRINCIPAL,
    multiple=True,
    metavar="User:NAME",
    help="who may renew it besides its owner; repeatable",
)
@option(
    "--max-lifetime",
    type=POSITIVE_DURATION,
    metavar="DUR",
    help="until when it can be renewed (default: the brokers' delegation.token.max.lifetime.ms, 7d)",
)
@option("--hmac-file", metavar="FILE", help="write its HMAC to a new file that only you can read")
@option("--show-hmac", is_flag=True, help="print its HMAC on stdout, and nothing else there")
@pass_invocation
def create_token(
    inv: Invocation,
    owner: Principal | None,
    renewers: tuple[Principal, ...],
    max_lifetime: float | None,
    hmac_file: str | None,
    show_hmac: bool,
) -> int:
    """Create a delegation token: a client that has it authenticates as its owner, by SCRAM, until it expires.

    The HMAC is its password, and leaves kcli once: to --hmac-file, or to stdout with --show-hmac. It is in no list,
    report, log or journal. A client logs in with sasl.mechanism=SCRAM-SHA-512 (or 256), sasl.tokenauth=true,
    sasl.username=ID and sasl.password_file=FILE.

    A token expires after the brokers' delegation.token.expiry.time.ms, by default a day, unless it is renewed. Brokers
    give tokens to clients that authenticate by SASL or a certificate, not to those that use a token. --owner needs
    CREATE_TOKENS on that user; such a token is renewed, or expired, by its owner and its --renewers only.

    A token that may have been created without an answer is reported as unknown, and not tried again.
    """
    from kcli.flows.tokens.create import TokenCreation  # clients are loaded when the command runs

    if show_hmac == (hmac_file is not None):
        raise usage(
            "tokens create: "
            + ("--hmac-file together with --show-hmac" if show_hmac else "where to put the HMAC?"),
            why="the HMAC of a token is its password, and leaves kcli once",
            do="give one of --hmac-file FILE and --show-hmac",
        )
    if hmac_file is not None and not hmac_file.strip():
        raise usage(
            "tokens create: --hmac-file is empty", why="perhaps a variable is not set", do="complete it"
        )
    if show_hmac and inv.out.kind is not None and not inv.dry_run:
        raise usage(
            f"tokens create: --show-hmac together with -o {inv.out.kind}",
            why="--show-hmac prints the HMAC, and nothing else, on stdout",
            do="leave -o out, or give --hmac-file FILE in place of --show-hmac",
        )
    place = HmacOnStdout(inv.out) if hmac_file is None else HmacFile(hmac_file)
    takes_stdout = show_hmac and not inv.dry_run
    lifetime = period_ms(max_lifetime)
    return run_change(inv, TokenCreation(owner, renewers, lifetime, place, takes_stdout=takes_stdout))
