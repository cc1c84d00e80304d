"""The new password of ``kcli users set``: from a file, a command, or the terminal. Never from the command line.

Errors name where it comes from, never what was read or typed.
"""

from __future__ import annotations

import os

from kcli.commands.shared.configuration import has_terminal, leave_no_core
from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.usage import usage
from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.flows.users.password import checked
from kcli.output.sanitise import visible
from kcli.profiles.secret_keys import COMMAND, FILE, SecretSource
from kcli.profiles.secrets import SecretReader

_ATTEMPTS = 3
_STDIN = "/dev/stdin"
_WAYS = "give --password-file FILE or --password-command COMMAND"


class NewPassword:
    """The password that the options name, or else that is typed; a usage error for options that cannot be meant."""

    def __init__(self, inv: Invocation, user: str, file: str | None, command: str | None) -> None:
        self._inv, self._user = inv, user
        self._source = _source(user, file, command)

    def given(self) -> Secret | None:
        """That of the options; None: it is to be typed. ConfigError where it cannot be."""
        if self._source is not None:
            return _read(self._inv, self._source)
        if not self._inv.dry_run:
            _check_can_be_typed(self._inv, self._user)
        return None

    def typed(self) -> Secret:
        """As it is typed twice; ConfigError without one."""
        return _typed_twice(self._inv, self._user)


def _source(user: str, file: str | None, command: str | None) -> SecretSource | None:
    """Where the options say that the password is; None: it is to be typed."""
    if file is not None and command is not None:
        raise usage(
            "users set: --password-file together with --password-command",
            why="there is one password",
            do="leave one of them out",
        )
    for option, kind, text in (
        ("--password-file", FILE, file),
        ("--password-command", COMMAND, command),
    ):
        if text is not None:
            if not text.strip():
                raise usage(
                    f"users set: {option} is empty", why="perhaps a variable is not set", do="complete it"
                )
            if kind == FILE and text == "-" and stdin_is_terminal():
                raise usage(
                    "users set: --password-file - reads stdin, which is a terminal",
                    why="what is typed would be shown",
                    do="leave it out: the password is asked for, and not shown",
                )
            place = _STDIN if kind == FILE and text == "-" else text
            return SecretSource(f"the password of {user}", kind, place, option)
    return None


def _read(inv: Invocation, source: SecretSource) -> Secret:
    """The password that the file contains or the command prints."""
    leave_no_core()
    reader = SecretReader(os.environ, inv.talk.warn, inv.given_timeout)
    return checked(reader.read(source), f"the password in {str(source)[1:-1]}")


def _check_can_be_typed(inv: Invocation, user: str) -> None:
    """ConfigError where no password can be asked for."""
    if inv.no_input or not inv.talk.isatty or not has_terminal():
        why = "--no-input was given" if inv.no_input else "there is no terminal to ask at"
        raise ConfigError(f"there is no password for user {user}", why=f"{why}; nothing was done", do=_WAYS)


def _typed_twice(inv: Invocation, user: str) -> Secret:
    """The password as it is typed twice; ConfigError without one."""
    leave_no_core()
    for attempt in range(_ATTEMPTS):
        first = _typed(user, "")
        if not first:
            raise _none_typed(user)
        password = checked(first, "the password")
        if _typed(user, " again") == password:
            return password
        if attempt + 1 < _ATTEMPTS:
            inv.talk.note("the two passwords differ; try again")
    raise ConfigError(
        f"there is no password for user {user}",
        why="the two passwords differ; nothing was done",
        do=f"try again, or {_WAYS}",
    )


def _typed(user: str, again: str) -> Secret:
    from getpass import getpass  # only where a password is asked for

    try:
        return Secret(getpass(visible(f"New password of {user}{again}: ")))
    except EOFError:  # Ctrl-D
        raise _none_typed(user) from None


def _none_typed(user: str) -> ConfigError:
    return ConfigError(
        f"there is no password for user {user}", why="none was typed; nothing was done", do="try again"
    )
