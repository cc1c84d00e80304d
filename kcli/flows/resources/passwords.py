"""The passwords of users in files: where a document says that one is. It is read only where a credential is to be set.

Errors name where it comes from, never what was read.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.secret import Secret
from kcli.flows.resources.resource import Resource
from kcli.flows.users.password import checked
from kcli.profiles.secret_keys import COMMAND, FILE, SecretSource
from kcli.profiles.secrets import SecretReader

KEYS = ("password_file", "password_command", "password_env")


class NoPasswordError(KcliError):
    """A credential is to be set, and nothing says with which password."""

    exit_code = ExitCode.REFUSED

    def __init__(self, user: Resource) -> None:
        super().__init__(
            f"there is no password for user {user.ref.name}",
            why=f"{user.place} has none of {', '.join(f'spec.{key}' for key in KEYS)}, and Kafka returns no passwords",
            do=f"add one of them, or set the password yourself: `kcli users set {user.ref.name}`",
        )


class Passwords:
    """Reads them. ``begin`` is called before the first one is read."""

    def __init__(
        self,
        environ: Mapping[str, str],
        warn: Callable[[str], None],
        seconds: float | None,
        begin: Callable[[], object],
    ) -> None:
        self._environ, self._begin = environ, begin
        self._reader = SecretReader(environ, warn, seconds)

    def of(self, user: Resource) -> Secret:
        """The password of a document; NoPasswordError where it says none, ConfigError where it cannot be read."""
        for key in KEYS:
            if (text := user.spec.get(key)) is not None:
                self._begin()
                what = f"spec.{key} of user {user.ref.name}"
                return checked(self._read(user, key, text), f"the password of {what} ({user.place})")
        raise NoPasswordError(user)

    def _read(self, user: Resource, key: str, text: Any) -> Secret:
        what, place = f"the password of {user.ref.name}", f"spec.{key} in {user.place}"
        if key != "password_env":
            kind = FILE if key == "password_file" else COMMAND
            path = _beside(user, str(text)) if kind == FILE else str(text)
            return self._reader.read(SecretSource(what, kind, path, place))
        found = self._environ.get(str(text))
        if not found:
            raise ConfigError(
                f"{what} is not there: the variable {text} is {'not set' if found is None else 'empty'}",
                why=f"{place} names it; nothing was done",
                do=f"set {text} in the environment of kcli",
            )
        return Secret(found)


def _beside(user: Resource, path: str) -> str:
    """The path as it is meant in the file of the document: from its folder on."""
    return path if path.startswith("~") else str(Path(user.place.file).parent / path)
