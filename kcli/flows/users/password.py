"""A new password: what it has to be."""

from kcli.core.errors import ConfigError
from kcli.core.secret import Secret


def checked(password: Secret, what: str) -> Secret:
    """The password; ConfigError for what no client could authenticate with, or what is hardly meant."""
    text = password.reveal()
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ConfigError(f"{what} is not UTF-8", why="nothing was done", do="check the terminal's locale")
    if any(sign < " " or sign == "\x7f" for sign in text):
        raise ConfigError(
            f"{what} has a control character, such as a line end",
            why="it is hardly part of the password; nothing was done",
            do="the password has to be the only line",
        )
    return password
