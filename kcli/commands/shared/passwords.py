"""Passwords that are typed at the terminal: the one that a SASL mechanism needs and that no source gives; and what any
command with a secret does first.
"""

import os
from collections.abc import Mapping
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.output.sanitise import visible
from kcli.output.talk import Talk


def asked_password(values: Mapping[str, Any], talk: Talk, *, no_input: bool) -> Secret:
    """The password that is typed; ConfigError without a terminal, with ``--no-input``, or without an answer."""
    user, brokers = values["sasl_username"], values.get("bootstrap_servers", "")
    if no_input or not talk.isatty or not has_terminal():
        raise ConfigError(
            f"there is no password for user {user}",
            why=f"sasl.mechanism is {values['sasl_mechanism']}, and "
            + ("--no-input was given" if no_input else "there is no terminal to ask at"),
            do="set sasl.password_file or sasl.password_command, sasl.password=keyring:SERVICE/USER, "
            "or the variable KCLI_X_SASL_PASSWORD",
        )
    from getpass import getpass  # only where a password is asked for

    try:
        text = getpass(visible(f"Password of {user} at {brokers}: "))
    except EOFError:
        text = ""
    if not text:
        raise ConfigError(f"there is no password for user {user}", why="none was typed", do="try again")
    return Secret(text)


def has_terminal() -> bool:
    """Whether the process has a terminal, even if stdin is something else."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def leave_no_core() -> None:
    """A crash writes no core file from now on: it would contain the secrets."""
    import resource  # only where there are secrets

    _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
