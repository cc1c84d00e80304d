"""``kcli users set``: set the password of a user."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import Command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import CountType, option
from kcli.commands.shared.usage import usage
from kcli.commands.users._password import NewPassword
from kcli.commands.users._types import NAME, mechanism_option
from kcli.flows.users import DEFAULT_ITERATIONS, DEFAULT_MECHANISM

_FEWEST, _MOST = 4_096, 16_384
_BEFORE_A_PASSWORD = ("--pass", "--pw", "--secret", "--salted", "--cred", "--add-config")


class WithoutPassword(Command):
    """A command that needs a password, but not on its command line, where every user of the machine can read it.

    What looks like one is refused, and not repeated in the message.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replaces the errors that would show what was given."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if name.startswith("--") and not name.startswith(_BEFORE_A_PASSWORD):
                raise
            if not name.startswith("--") and len(name) == len("-x") and name != "-p":
                raise
            raise _refused(ctx) from None
        except click.UsageError as error:
            if type(error) is click.UsageError and "extra argument" in error.message:
                raise _refused(ctx) from None
            raise


def _refused(ctx: click.Context) -> click.UsageError:
    return usage(
        "users set: one of the arguments may be a password",
        why="a password on the command line can be read by other users (ps) and stays in the shell's history; "
        "nothing was done",
        do="only name the user: the password is asked for, or give --password-file FILE or --password-command COMMAND; "
        "if a real password was given, choose another",
        ctx=ctx,
    )


@click.command(
    "set",
    cls=WithoutPassword,
    examples=(
        ("kcli users set alice", "after a plan; the password is typed, twice"),
        ("kcli users set alice --password-file alice.secret --yes", "in a script; the file has mode 0600"),
        ("kcli users set alice --password-command 'pass show kafka/alice' --yes", "from a password manager"),
        ("kcli users set alice --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512", "for both mechanisms"),
        ("kcli users set alice --dry-run", "only show the plan"),
    ),
)
@click.argument("name", type=NAME, metavar="NAME")
@mechanism_option(f"of the credential (default: {DEFAULT_MECHANISM}); repeatable")
@option(
    "--iterations",
    type=CountType(_FEWEST, _MOST),
    default=DEFAULT_ITERATIONS,
    metavar="N",
    help=f"{_FEWEST} to {_MOST} (default: {DEFAULT_ITERATIONS}); more take longer to guess, and to authenticate",
)
@option("--password-file", metavar="FILE", help="read the password from a file; - is stdin")
@option("--password-command", metavar="COMMAND", help="read the password from what a command prints")
@pass_invocation
def set_user(
    inv: Invocation,
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int,
    password_file: str | None,
    password_command: str | None,
) -> int:
    """Set the password of a user: makes SCRAM credentials, or replaces them.

    The password comes from a prompt, a file or a command, and never from the command line.

    The password is not sent: brokers receive what is derived from it with a random salt. Since that is sufficient to
    authenticate as the user, an unencrypted connection is refused unless --allow-plaintext-secrets is given. A line
    end after the password in a file is not part of it. Credentials of mechanisms that are not named stay as they are,
    with their password. Afterwards the credentials are read back; brokers return their mechanism and iterations only.
    Connections that are authenticated stay. What the user may do is decided by ACLs: `kcli acls create --principal
    User:NAME`. This needs ALTER and DESCRIBE on the cluster.
    """
    from kcli.flows.users.set import UserSetting  # clients are loaded when the command runs

    password = NewPassword(inv, name, password_file, password_command)
    return run_change(
        inv,
        UserSetting(
            {name: dict.fromkeys(mechanisms or (DEFAULT_MECHANISM,), iterations)},
            given=lambda _user: password.given(),
            typed=password.typed,
        ),
    )
