"""Who may read the page: a file of names and SHA-crypt hashes, ``name:$6$…`` a line, read again when it changes."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from collections.abc import Callable
from threading import Lock

from kcli.core.errors import ConfigError
from kcli.exporter.sha_crypt import MOST_ROUNDS, is_hash, matches
from kcli.files.user_file import read_bounded, version_of
from kcli.profiles.file_safety import refusal

_NOBODY = "$6$" + "0" * 16 + "$" + "." * 86
_DO = "write NAME:HASH, a line for each user; `openssl passwd -6` asks for a password and prints its hash"


class Users:
    """Used by the threads of the server. ``warn`` is called when a new file cannot be used: the users remain.

    Raises ConfigError for a file that cannot be used at first.
    """

    def __init__(self, path: str, warn: Callable[[str], object]) -> None:
        self._path, self._warn = path, warn
        self._lock = Lock()
        self._key = secrets.token_bytes(32)
        self._good: dict[bytes, str] = {}
        self._seen = version_of(path)
        self._hashes = read_users(path)

    def admit(self, header: str) -> bool:
        """Whether the Authorization header names a user with the right password.

        A hash costs some ten milliseconds; a header that was right is recognised by a digest under a key of this
        process. A name that does not exist costs as much as one that does.
        """
        digest = hmac.digest(self._key, header.encode("utf-8", "replace"), "sha256")
        with self._lock:
            self._renew()
            if (name := self._good.get(digest)) is not None:
                return name in self._hashes
            hashes = self._hashes
        credentials = _basic(header)
        if credentials is None:
            return False
        name, password = credentials
        good = matches(password, hashes.get(name, _NOBODY)) and name in hashes
        if good:
            with self._lock:
                if self._hashes is hashes:
                    self._good[digest] = name
        return good

    def _renew(self) -> None:
        seen = version_of(self._path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._hashes, self._good = read_users(self._path), {}
        except ConfigError as error:
            self._warn(f"the users in use remain: {error}")


def read_users(path: str) -> dict[str, str]:
    """Names and hashes; ConfigError names the line that is none, without its text."""
    try:
        data, state = read_bounded(path)
        text = data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"cannot use the users in {path}", why="it is not UTF-8", do=_DO) from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise ConfigError(
            f"cannot read the users in {path}", why=why, do="--users must name a file that you may read"
        ) from None
    if (unsafe := refusal(path, state, os.getuid(), "hashes of passwords")) is not None:
        raise unsafe
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, known = line.strip().partition(":")
        if not (colon and name and is_hash(known)):
            raise ConfigError(f"line {number} of {path} is not a user", why=_why(known), do=_DO)
        if name in found:
            raise ConfigError(
                f"line {number} of {path} repeats a user", why="each name is given once", do=_DO
            )
        found[name] = known
    if not found:
        raise ConfigError(f"there is no user in {path}", why="nobody could read the page", do=_DO)
    return found


def _why(known: str) -> str:
    if known.startswith(("$2a$", "$2b$", "$2y$")):
        return "the hash is of bcrypt; SHA-crypt is needed: $6$… or $5$…"
    if known.startswith(("$5$", "$6$")):
        return f"the hash is not complete, or has more than {MOST_ROUNDS:,} rounds"
    return "after the name and a colon there is no hash of SHA-crypt: $6$… or $5$…"


def _basic(header: str) -> tuple[str, bytes] | None:
    scheme, _, text = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(text.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None
