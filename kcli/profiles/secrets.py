"""Reads secrets from where the configuration says: a file, a command, the system's keyring. Only when a client is about
to be made, and each once.

Errors name the source, never what was read.
"""

import os
import shlex
from collections.abc import Callable, Mapping

from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.core.secret import Secret
from kcli.files.user_file import read_bounded
from kcli.profiles.file_safety import refusal, warning
from kcli.profiles.secret_keys import COMMAND, FILE, LIMIT, SecretSource, holds_pem, unreadable

COMMAND_SECONDS = 30.0
"""The time of a command, which may ask somebody, unless the user gives a time."""


class SecretReader:
    """``warn`` is called with what is to be said about a file that others can read. ``seconds``: for each command."""

    def __init__(
        self, environ: Mapping[str, str], warn: Callable[[str], None], seconds: float | None = None
    ) -> None:
        self._seconds = COMMAND_SECONDS if seconds is None else seconds
        self._environ = environ
        self._warn = warn
        self._known: dict[tuple[str, str], Secret] = {}

    def read(self, source: SecretSource) -> Secret:
        """The secret; ConfigError if it cannot be read or is empty."""
        place = source.kind, source.text
        if place not in self._known:
            readers = {FILE: self._file, COMMAND: self._command}
            text = readers.get(source.kind, _keyring)(source)
            if not text:
                raise empty(source)
            self._known[place] = Secret(text)
        return self._known[place]

    def _file(self, source: SecretSource) -> str:
        return read_secret_file(source, self._warn)

    def _command(self, source: SecretSource) -> str:
        # subprocess: only where a command is configured
        from kcli.profiles.secret_command import command_output

        return first_text(command_output(source, self._environ, self._seconds), source)


def read_secret_file(source: SecretSource, warn: Callable[[str], None]) -> str:
    """The content of the file, without the line end."""
    path = os.path.expanduser(source.text)
    try:
        data, state = read_bounded(path, LIMIT)
    except OSError as error:
        raise unreadable(
            source, error.strerror or str(error), "write the secret into a file with mode 0600"
        ) from None
    refused = refusal(path, state, os.getuid())
    if refused is not None:
        raise refused
    if (text := warning(path, state, os.getuid())) is not None:
        warn(text)
    return first_text(data, source)


def empty(source: SecretSource) -> ConfigError:
    """The error for a source that has no text."""
    if source.kind == COMMAND:
        return unreadable(
            source, "it printed nothing", "run it by hand; it has to print the secret on stdout"
        )
    return unreadable(source, "it is empty", "write the secret into it, as one line")


def _keyring(source: SecretSource) -> str:
    try:
        import keyring  # an extra; it looks for the system's services, which takes time
    except ImportError:
        raise no_keyring(source) from None
    service, _, user = source.text.rpartition("/")
    try:
        found: str | None = keyring.get_password(service, user)
    except keyring.errors.KeyringError as error:
        raise unreadable(source, str(error) or type(error).__name__, "unlock the keyring") from None
    if found is None:
        raise unreadable(
            source,
            "there is no such entry",
            f"store it: keyring set {shlex.quote(service)} {shlex.quote(user)}",
        )
    return found


def no_keyring(source: SecretSource) -> ConfigError:
    """The error for a secret in the keyring, where nothing reads that."""
    return ConfigError(
        f"{source.key} is in the keyring, and the package keyring is missing (from {source.origin})",
        why="it is an extra of kcli",
        do=installation("keyring"),
    )


def first_text(data: bytes, source: SecretSource) -> str:
    """The secret without the line end and without a byte order mark, which some editors write; ConfigError for several
    lines, of which nothing says which is meant, except in PEM text.
    """
    try:
        text = data.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise unreadable(source, "it is not UTF-8 text", "write the secret as text") from None
    if ("\n" in text or "\r" in text) and not holds_pem(source.key):
        lines = text.count("\n") + 1
        why = f"it has {lines} lines" if lines > 1 else "it has a carriage return"
        raise unreadable(source, f"{why}, and a secret is one line", "leave only the secret in it")
    return text
