"""What all mechanisms have in common: their credentials, and the conversation as a generator."""

from collections.abc import Callable, Generator, Iterable
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.connection.steps import Compute
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, key_of
from kcli.core.secret import Secret

LARGEST_MESSAGE = 4_096
"""Bytes of a broker's message; those of all mechanisms are far smaller."""


class First(bytes):
    """A first message without a secret: it may be sent before the broker has accepted the mechanism."""


class Last(bytes):
    """A message after which only the broker speaks, or closes the connection: requests may follow it."""


Exchange = Generator[bytes | Compute, Any, None]
"""Yields messages for the broker, and is sent the broker's; or yields ``Compute`` and is sent the result.

It returns when the broker is authenticated as far as the mechanism does that, and raises ``ExchangeError``. If the
broker reports an error, that is thrown in as ``ExchangeError``.
"""


class ExchangeError(Exception):
    """Why the authentication failed, and what to do about it. Neither contains a secret."""

    def __init__(self, why: str, do: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.do = do


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Credentials:
    """``begin(host)`` starts the conversation with a broker on that host. ``user`` returns the name to show, or ``""``.

    ``secrets`` are the texts that no message may contain; ``remedy`` is the next step when the broker refuses them.
    """

    user: Callable[[], str]
    begin: Callable[[str], Exchange]
    secrets: Callable[[], Iterable[Secret]]
    remedy: str


def user_and_password(options: ClientOptions) -> tuple[str, Secret]:
    """The options of mechanisms with a password; ConfigError names the one that is missing."""
    for name in ("sasl_username", "sasl_password"):
        if not getattr(options, name):
            raise ConfigError(
                f"{key_of(name)} is not set",
                why=f"sasl.mechanism={options.sasl_mechanism} authenticates with a user name and a password",
                do=f"set {key_of(name)} in a file given with -F FILE",
            )
    for name, text in (
        ("sasl_username", options.sasl_username),
        ("sasl_password", options.sasl_password.reveal()),
    ):
        if "\0" in text or not _is_utf8(text):
            raise ConfigError(
                f"{key_of(name)} has a character that cannot be sent",
                why="it must be UTF-8 without NUL",
                do="check where it is read from",
            )
    return options.sasl_username, options.sasl_password


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


CHECK_PASSWORD = "check sasl.username and sasl.password, and that the broker has this user for this mechanism"  # noqa: S105 - no password
