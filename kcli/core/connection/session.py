"""Until when a broker accepts requests on a connection without a new authentication (KIP-368). Pure: given ``now``."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcli.core.connection.sasl.login import Login

NEVER = float("inf")
_EARLIEST, _LATEST = 0.85, 0.95
"""The part of a session after which it is renewed, as in Java's client: at random, so that connections take turns."""


class Session:
    """``lifetime`` in seconds; from ``renew_at`` on, the next request is preceded by an authentication."""

    __slots__ = ("lifetime", "login", "renew_at")

    def __init__(self, login: Login | None) -> None:
        self.login = login
        self.renew_at = NEVER
        self.lifetime = NEVER

    def begin(self, now: float, lifetime: float) -> None:
        """A broker accepted the client for ``lifetime`` seconds."""
        self.lifetime = lifetime
        part = random.uniform(_EARLIEST, _LATEST)
        self.renew_at = now + lifetime * part
