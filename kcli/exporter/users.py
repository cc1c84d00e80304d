"""Who may read the page: the users of the web configuration."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable, Mapping
from threading import Lock

from kcli.exporter.bcrypt_hash import matches, of_nobody


class Users:
    """Used by the threads of the server. ``current``: the hashes now, by name.

    Raises ConfigError where the library of the hashes is missing.
    """

    def __init__(self, current: Callable[[], Mapping[str, str]]) -> None:
        self._current = current
        self._lock = Lock()
        self._key = secrets.token_bytes(32)
        self._good: dict[bytes, str] = {}
        self._hashes = current()
        matches(b"", of_nobody(["$2b$04"]))  # now, not at the first request

    def admit(self, header: str) -> bool:
        """Whether the Authorization header names a user with the right password.

        A hash costs some ten milliseconds; a header that was right is recognised by a digest under a key of this
        process. A name that does not exist costs as much as one that does.
        """
        digest = hmac.digest(self._key, header.encode("utf-8", "replace"), "sha256")
        with self._lock:
            if (hashes := self._current()) is not self._hashes:
                self._hashes, self._good = hashes, {}
            if self._good.get(digest) is not None:
                return True
        credentials = _basic(header)
        if credentials is None:
            return False
        name, password = credentials
        known = hashes.get(name)
        good = matches(password, known or of_nobody(hashes.values())) and known is not None
        if good:
            with self._lock:
                if self._hashes is hashes:
                    self._good[digest] = name
        return good


def _basic(header: str) -> tuple[str, bytes] | None:
    scheme, _, text = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(text.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None
