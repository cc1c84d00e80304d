"""Reads secrets from where the configuration says: a file, a command, the system's keyring. Only when a client is about
to be made, and each once.

Errors name the source, never what was read. Files with private keys and tokens that options name are checked here, too:
refused if other users can change them, like a password file, and used with a warning if other users can read them.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError
from kcli.core.secret import Secret
from kcli.profiles.profile import Report, raise_error
from kcli.profiles.resolve import Resolved
from kcli.profiles.secret_keys import COMMAND, FILE, LIMIT, SecretSource, holds_pem, unreadable

if TYPE_CHECKING:
    from kcli.files.user_file import FileState

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

    def again(self, source: SecretSource) -> Secret:
        """The secret as it is now: a token that is renewed where it is kept."""
        self._known.pop((source.kind, source.text), None)
        return self.read(source)

    def _file(self, source: SecretSource) -> str:
        return read_secret_file(source, self._warn)

    def _command(self, source: SecretSource) -> str:
        # subprocess: only where a command is configured
        from kcli.profiles.secret_command import command_output

        return first_text(command_output(source, self._environ, self._seconds), source)


def registry_values(
    reader: SecretReader, found: Mapping[str, Any], login: Callable[[], tuple[str, Secret | None]]
) -> dict[str, Any]:
    """The values of the registry's options, by field name, with their secrets. A token that a file or a command gives can
    be read again. ``login`` returns name and password for brokers, where the registry inherits them.
    """
    values = {
        name: reader.read(value) if isinstance(value, SecretSource) else value
        for name, value in found.items()
    }
    token = found.get("bearer_auth_token")
    if isinstance(token, SecretSource):
        values["bearer_auth_token_reader"] = lambda: reader.again(token)
    if inherits(found):
        name, password = login()
        if name and password:
            values["basic_auth_user_info"] = Secret(f"{name}:{password.reveal()}")
    return values


def inherits(found: Mapping[str, Any]) -> bool:
    """Whether name and password for the registry are those for brokers."""
    return found.get("basic_auth_credentials_source") == "SASL_INHERIT"


def read_secret_file(source: SecretSource, warn: Callable[[str], None]) -> str:
    """The content of the file, without the line end."""
    from kcli.files.user_file import read_bounded  # few runs need it
    from kcli.profiles.file_safety import refusal, warning

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
        from shlex import quote  # few runs need it

        raise unreadable(
            source,
            "there is no such entry",
            f"store it: keyring set {quote(service)} {quote(user)}",
        )
    return found


def no_keyring(source: SecretSource) -> ConfigError:
    """The error for a secret in the keyring, where nothing reads that."""
    from kcli.core.extras import installation  # few runs need it

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


_KEY, _TOKEN = "a private key", "a token"
_CONTENT = {
    "ssl_key_location": _KEY,
    "ssl_keystore_location": _KEY,
    "sasl_kerberos_keytab": _KEY,
    "sasl_oauthbearer_token_file": _TOKEN,
    "schema_registry_ssl_key_location": _KEY,
    "schema_registry_ssl_keystore_location": _KEY,
}
_BOTH = {
    "ssl_certificate_location": ("ssl_key_location", "ssl_key_pem"),
    "schema_registry_ssl_certificate_location": (
        "schema_registry_ssl_key_location",
        "schema_registry_ssl_key_pem",
    ),
}
"""Certificates with their key in the same file, as OpenSSL's tools write them, unless one of these options names it."""


def check_private_files(resolved: Resolved, report: Report = raise_error) -> Iterator[str]:
    """A warning for each file that is used and that others can read; a file that they can change is reported as an error,
    as a password file is. The group counts where the file is the user's own: groups such as Debian's ssl-cert are there
    to read keys of root.
    """
    values = {**resolved.values, **resolved.registry}
    both = {name: _KEY for name, keys in _BOTH.items() if not any(map(values.get, keys))}
    content = {**_CONTENT, **both}
    for name, held in content.items():
        path = os.path.expanduser(str(values.get(name, "")))
        if not path or not (name in resolved.registry or resolved.uses(name)):
            continue
        from kcli.files.user_file import file_state  # few runs need it
        from kcli.profiles.file_safety import refusal

        try:
            state = file_state(path)
        except OSError:
            continue  # its use is an error that says why
        if (error := refusal(path, state, os.getuid(), held)) is not None:
            report(error)
        elif _others_can_read(state):
            from shlex import quote  # few runs need it

            what = f"{path} ({resolved.spelled(name)}) holds {held}"
            yield f"{what}, and other users can read it: chmod 600 {quote(path)}"


def _others_can_read(state: "FileState") -> bool:
    own = state.owner == os.getuid()
    return state.is_file and bool(state.mode & (stat.S_IRWXO | (stat.S_IRWXG if own else 0)))
