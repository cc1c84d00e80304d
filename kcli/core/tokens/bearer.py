"""Reads an access token: its characters (RFC 6750), and of a JWT the expiry and the subject (RFC 7519).

The signature is not verified, as it is for the broker to judge: the claims only say when to fetch the next token, and
whom ``--debug=auth`` names.
"""

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError
from kcli.core.secret import Secret

LONGEST = 65_536
_B64TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*\Z")


def token_of(
    text: str, origin: str, extensions: Mapping[str, str], *, expires_at: float | None = None
) -> Token:
    """The token in ``text``, which came from ``origin``; AuthError if it cannot be sent, without showing it.

    ``expires_at``: seconds since the epoch, for a token that does not say so itself.
    """
    text = text.strip()
    if not text:
        raise AuthError(
            f"{origin} gave no token", why="it is empty", do="check that it writes an access token"
        )
    if len(text) > LONGEST or not _B64TOKEN.match(text):
        raise AuthError(
            f"{origin} gave no access token",
            why=f"a token has up to {LONGEST:,} letters, digits and -._~+/= (RFC 6750)",
            do="check that it writes the token and nothing else",
        )
    claims = _claims(text)
    expiry = claims.get("exp")
    if isinstance(expiry, (int, float)) and not isinstance(expiry, bool) and math.isfinite(expiry):
        expires_at = float(expiry)
    subject = claims.get("sub")
    return Token(
        value=Secret(text),
        expires_at=expires_at,
        extensions=extensions,
        principal=subject if isinstance(subject, str) else "",
    )


def expiry_of(seconds: Any, now: float) -> float | None:
    """When a token expires whose ``expires_in`` (RFC 6749) this is; None if that is no number."""
    if isinstance(seconds, str) and seconds.isascii() and seconds.isdigit():
        seconds = float(seconds)  # some identity providers send it as text
    usable = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and math.isfinite(seconds)
    return now + seconds if usable else None


def _claims(text: str) -> dict[str, Any]:
    """The claims of a signed JWT; empty for a token of another form, which only the broker can read."""
    parts = text.split(".")
    if len(parts) != 3:
        return {}
    payload = parts[1].rstrip("=")
    try:
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
