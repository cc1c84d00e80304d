"""The options that hold secrets, and the keys that say where such a secret is read from. Pure.

For a secret K: ``K_file`` names a file, ``K_command`` a command that prints it, and the value ``keyring:SERVICE/USER``
an entry of the system's keyring. Nothing is read here (``secrets.py``). Keys of the schema registry are known here, too.
"""

import os
from collections.abc import Mapping
from typing import Any

from kcli.core import classes
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.options import is_option, option_field

_OF_REGISTRY = ("schema.registry.", "basic.auth.", "bearer.auth.", "proxy.host", "proxy.port")


def is_registry_key(key: str) -> bool:
    """Whether ``key`` is a key of the registry, even if misspelled."""
    return key.startswith(_OF_REGISTRY)


PROXY = "proxy.url"


FILE, COMMAND, KEYRING = "file", "command", "keyring"
KEYRING_PREFIX = "keyring:"
JAAS = "sasl.jaas.config"
TOKEN_COMMAND = "sasl.oauthbearer.token.command"  # noqa: S105 - an option's name
_WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LIMIT = 64 << 10
"""Bytes of a secret that is read: a private key with its chain is less."""


class SecretSource(NamedTuple):
    """Where a secret is read from when a client needs it. ``text``: path, command line, or SERVICE/USER."""

    key: str
    kind: str
    text: str
    origin: str

    def __str__(self) -> str:
        """The source of the secret, without the arguments of a command, which may contain anything."""
        if self.kind == COMMAND:
            return f"(the output of {self.text.split()[0] if self.text.split() else 'a command'})"
        return f"(the file {self.text})" if self.kind == FILE else f"({KEYRING_PREFIX}{self.text})"


def is_secret_key(key: str) -> bool:
    """Whether ``key`` is an option whose value is a secret, or contains one."""
    found = _field(key)
    return key == JAAS or (found is not None and bool(found.metadata["secret"]))


def holds_pem(key: str) -> bool:
    """Whether the value of a secret is PEM text, which has several lines."""
    found = _field(key)
    return found is not None and found.name.endswith("_pem")


def source_key(key: str) -> tuple[str, str] | None:
    """(option, kind) for ``K_file`` and ``K_command``; None for any other key."""
    for kind in (FILE, COMMAND):
        stem = key.removesuffix(f"_{kind}")
        if stem not in (key, JAAS) and not is_option(key) and is_secret_key(stem):
            return stem, kind
    return None


def runs_command(key: str) -> bool:
    """Whether the value of ``key`` is a command that kcli runs."""
    named = source_key(key)
    return key == TOKEN_COMMAND or (named is not None and named[1] == COMMAND)


def names_file(key: str) -> bool:
    """Whether the value of ``key`` is the path of a file."""
    named = source_key(key)
    found = _field(key)
    return (named is not None and named[1] == FILE) or (found is not None and bool(found.metadata["path"]))


def absolute(key: str, text: str, folder: str) -> str:
    """The value of ``key``, its path made absolute if it names a file or runs one: relative ones are to ``folder``.

    A profile is used in any folder, where a relative path would lead to another file or to none.
    """
    if text and names_file(key):
        found = _field(key)
        several = found is not None and found.name == "log_dirs"
        paths = [path.strip() for path in text.split(",")] if several else [text]
        return ",".join(_absolute(path, folder) for path in paths)
    if not runs_command(key):
        return text
    from shlex import join, split  # few runs need it

    try:
        program, *arguments = split(text)
    except ValueError:  # open quotes, or nothing: its use is an error that says so
        return text
    if "/" not in program or program.startswith("/"):
        return text
    return join([_absolute(program, folder), *arguments])


def _absolute(path: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(path.removeprefix("./")))


def secret_source(key: str, text: str, origin: str) -> SecretSource | None:
    """The source that a pair names; None for a pair that is the value itself, or no secret at all."""
    named = source_key(key)
    if named is not None:
        if not text.strip():
            raise ConfigError(
                f"{key} is empty (from {origin})",
                why=f"it names the {named[1]} that {named[0]} is read from",
                do="complete it, or take it out",
            )
        return SecretSource(named[0], named[1], text, origin)
    if not text.startswith(KEYRING_PREFIX) or key == JAAS or not is_secret_key(key):
        return None
    entry = text.removeprefix(KEYRING_PREFIX)
    service, _, user = entry.rpartition("/")
    if not service or not user:
        raise ConfigError(
            f"{key} names no entry of the keyring (from {origin})",
            why="an entry is named by a service and a user",
            do=f"write {KEYRING_PREFIX}SERVICE/USER",
        )
    return SecretSource(key, KEYRING, entry, origin)


def holds_secret(key: str, text: str) -> bool:
    """Whether a pair contains a secret in plain text."""
    if key == PROXY:
        return "@" in text
    return bool(text) and is_secret_key(key) and not text.startswith(KEYRING_PREFIX)


def unreadable(source: SecretSource, why: str, do: str) -> ConfigError:
    """The error for a secret that cannot be read."""
    return ConfigError(
        f"cannot read {source.key} from {str(source)[1:-1]} (from {source.origin})", why=why, do=do
    )


def _field(key: str) -> classes.Field[Any] | None:
    if is_registry_key(key):
        from kcli.serde.registry.options import registry_option  # rare: most runs name no registry

        return registry_option(key)
    return option_field(key)


JAVA_SASL_KEYS = frozenset((
    JAAS, "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
    "sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.method", "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type",
))  # fmt: skip
"""The keys by which other clients configure SASL: ``java_sasl.py``, which few starts need, translates them."""


def lacks_password(values: Mapping[str, Any]) -> bool:
    """Whether the options name a user, but no password."""
    return (
        str(values.get("security_protocol", "")).startswith("SASL_")
        and values.get("sasl_mechanism") in _WITH_PASSWORD
        and bool(values.get("sasl_username"))
        and not values.get("sasl_password")
    )
