"""``kcli users``: its verbs and options. What a verb does is in ``_users_VERB.py``."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import Command, group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import Word, is_text
from kcli.commands.shared.types import CountType
from kcli.commands.shared.usage import usage

F = TypeVar("F", bound=Callable[..., Any])

_SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")
_FEWEST, _MOST, _ITERATIONS = 4_096, 16_384, 8_192
_BEFORE_A_PASSWORD = ("--pass", "--pw", "--secret", "--salted", "--cred", "--add-config")


def _user_name(text: str) -> str:
    if not text:
        raise ValueError("the user name is empty; perhaps a variable is not set")
    if not is_text(text):
        raise ValueError("the user name is not UTF-8")
    return text


def _mechanism_name(text: str) -> str:
    if text.upper() not in _SCRAM:
        raise ValueError(f"{text!r} is not {' or '.join(_SCRAM)}")
    return text.upper()


_NAME = Word("user", _user_name)
_MECHANISM = Word("mechanism", _mechanism_name, _SCRAM)


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


def _mechanism(help_text: str) -> Callable[[F], F]:
    return click.option(
        "--mechanism", "mechanisms", type=_MECHANISM, multiple=True, metavar="NAME", help=help_text
    )


@group(
    "users",
    examples=(
        ("kcli users list", "who can authenticate with SCRAM"),
        ("kcli users set alice", "a new user, or a new password; asks for it"),
    ),
)
def users() -> None:
    """List, set and delete users: their SCRAM credentials."""


@users.command(
    "list",
    changes=False,
    examples=(
        ("kcli users list", "all users with SCRAM credentials"),
        ("kcli users list alice bob", "these users"),
        ("kcli users list --mechanism SCRAM-SHA-256 -o name", "who still has a credential of this mechanism"),
        ("kcli users list -o json", "for scripts"),
    ),
)
@click.argument("names", nargs=-1, type=_NAME, metavar="NAME…")
@_mechanism("only credentials of this mechanism; repeatable")
@pass_invocation
def list_users(inv: Invocation, /, **flags: Any) -> int:
    """List users with SCRAM credentials: a line for each mechanism.

    Only what brokers store themselves: users of PLAIN, OAUTHBEARER, certificates or Kerberos are configured elsewhere.
    Passwords, salts and keys are never returned by brokers. This needs DESCRIBE on the cluster.
    """
    from kcli.commands._users_list import list_selected  # clients are loaded when the command runs

    return list_selected(inv, **flags)


@users.command(
    "set",
    cls=WithoutPassword,
    changes=True,
    examples=(
        ("kcli users set alice", "shows the plan, then asks for the password, twice"),
        ("kcli users set alice --password-file alice.secret --yes", "in a script; the file has mode 0600"),
        ("kcli users set alice --password-command 'pass show kafka/alice' --yes", "from a password manager"),
        ("kcli users set alice --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512", "for both mechanisms"),
        ("kcli users set alice --dry-run", "only show the plan"),
    ),
)
@click.argument("name", type=_NAME, metavar="NAME")
@_mechanism("of the credential (default: SCRAM-SHA-512); repeatable")
@click.option(
    "--iterations",
    type=CountType(_FEWEST, _MOST),
    default=_ITERATIONS,
    metavar="N",
    help=f"{_FEWEST} to {_MOST} (default: {_ITERATIONS}); more take longer to guess, and to authenticate",
)
@click.option("--password-file", metavar="FILE", help="read the password from a file; - is stdin")
@click.option("--password-command", metavar="COMMAND", help="read the password from what a command prints")
@pass_invocation
def set_user(inv: Invocation, /, **flags: Any) -> int:
    """Set the password of a user: makes SCRAM credentials, or replaces them.

    The password comes from a prompt, a file or a command, and never from the command line.

    The password is not sent: brokers receive what is derived from it with a random salt. Since that is sufficient to
    authenticate as the user, an unencrypted connection is refused unless --allow-plaintext-secrets is given. A line
    end after the password in a file is not part of it. Credentials of mechanisms that are not named stay as they are,
    with their password. Afterwards the credentials are read back; brokers return their mechanism and iterations only.
    Connections that are authenticated stay. What the user may do is decided by ACLs: `kcli acls create --principal
    User:NAME`. This needs ALTER and DESCRIBE on the cluster.
    """
    from kcli.commands._users_set import set_credentials  # clients are loaded when the command runs

    return set_credentials(inv, **flags)


@users.command(
    "delete",
    changes=True,
    examples=(
        ("kcli users delete alice", "shows the credentials, asks for the name to be typed"),
        ("kcli users delete alice --mechanism SCRAM-SHA-256 --yes", "only this one, in a script"),
        ("kcli users delete alice --dry-run", "only show what would be deleted"),
    ),
)
@click.argument("name", type=_NAME, metavar="NAME")
@_mechanism("only the credential of this mechanism; repeatable")
@pass_invocation
def delete_user(inv: Invocation, /, **flags: Any) -> int:
    """Delete SCRAM credentials of a user: all of them, unless --mechanism is given.

    The name has to be typed, or given with --confirm; --yes answers, too. Connections that are authenticated stay until
    they are closed or have to authenticate again. ACLs and quotas of the user stay. This needs ALTER and DESCRIBE on the
    cluster.
    """
    from kcli.commands._users_delete import delete_credentials  # clients are loaded when the command runs

    return delete_credentials(inv, **flags)
