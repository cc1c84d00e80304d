"""The SCRAM credentials of a fake cluster: the users of its ``Sasl``, and what clients have set or deleted since.

A broker stores no password, but two keys that are derived from it; they are derived here anew, not by ``kcli``.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fake.settings import Settings

DIGESTS = {1: "sha256", 2: "sha512"}
"""hashlib's name by the number of the mechanism."""

Key = tuple[str, int]
"""User, and number of the mechanism."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a broker stores."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of_salted(cls, digest: str, salt: bytes, iterations: int, salted: bytes) -> "Credential":
        """As a controller makes it of the salted password that a client sends."""
        client_key = hmac.new(salted, b"Client Key", digest).digest()
        server_key = hmac.new(salted, b"Server Key", digest).digest()
        return cls(salt, iterations, hashlib.new(digest, client_key).digest(), server_key)

    @classmethod
    def of_password(cls, digest: str, salt: bytes, iterations: int, password: str) -> "Credential":
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
        return cls.of_salted(digest, salt, iterations, salted)


class ScramStore:
    """``changed`` has what clients have set, None for what they have deleted. ``losses``: those that are acknowledged
    when they are set, and lost.
    """

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self.changed: dict[Key, Credential | None] = {}
        self.losses: set[Key] = set()

    def find(self, user: str, mechanism: int) -> Credential | None:
        """The credential with which a user may authenticate."""
        if (user, mechanism) in self.changed:
            return self.changed[user, mechanism]
        sasl = self._settings.sasl
        if sasl is None or user not in sasl.users:
            return None
        salt = b"salt of " + user.encode()
        return Credential.of_password(DIGESTS[mechanism], salt, sasl.iterations, sasl.users[user])

    def all(self) -> dict[Key, int]:
        """The iterations of each credential."""
        sasl = self._settings.sasl
        found = {(user, number): sasl.iterations for user in sasl.users for number in DIGESTS} if sasl else {}
        for key, credential in self.changed.items():
            found.pop(key, None)
            if credential is not None:
                found[key] = credential.iterations
        return found
