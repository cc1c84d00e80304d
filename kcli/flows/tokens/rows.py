"""A delegation token as a row, and how its expiry is said. Never its HMAC."""

from __future__ import annotations

from typing import Any

from kcli.core.admin.delegation_tokens import SEE, DelegationToken
from kcli.core.errors import NotFoundError
from kcli.core.near_names import near_names
from kcli.output.progress import duration_text
from kcli.output.tables import Column, time_text

TOKEN_ID = Column(
    "token_id",
    meaning="Id of the token, the user of clients that authenticate with it; null before it is created.",
)
OWNER = Column(
    "owner",
    meaning="Principal that clients with the token are, as User:alice; null in a plan for this client.",
)
EXPIRES_AT = Column("expires_at", "time", spare=2, meaning="When it expires; null if unknown or removed.")
EXPIRES_IN = Column(
    "expires_in_seconds", "duration", meaning="Time left until then; null if unknown or removed."
)
LATEST = Column(
    "latest_expiry_at",
    "time",
    spare=1,
    meaning="Until when it can be renewed; null if unknown.",
)
REQUESTER = Column(
    "requester",
    spare=4,
    meaning="Principal that created it; null where brokers do not report it, before Kafka 3.3.",
)
RENEWERS = Column(
    "renewers", "prose", values="strings", meaning="Principals that may renew it, besides its owner."
)
ISSUED_AT = Column("issued_at", "time", spare=3, meaning="When it was created; null before.")
COLUMNS = (TOKEN_ID, OWNER, REQUESTER, RENEWERS, ISSUED_AT, EXPIRES_AT, EXPIRES_IN, LATEST)


def token_row(token: DelegationToken, now: int) -> dict[str, Any]:
    """The values of ``COLUMNS``; ``now`` in ms since the epoch."""
    return {
        "token_id": token.id,
        "owner": str(token.owner),
        "requester": token.requester and str(token.requester),
        "renewers": [str(one) for one in token.renewers],
        "issued_at": token.issued_at,
        "expires_at": token.expires_at,
        "expires_in_seconds": seconds_left(token.expires_at, now),
        "latest_expiry_at": token.max_at,
    }


def seconds_left(at: int, now: int) -> float:
    """From ``now`` to ``at``, both in ms; 0 for what is past."""
    return max(0, at - now) / 1000


def when(at: int, now: int) -> str:
    """``2026-11-29T09:00:00.000Z, in 1h``."""
    return f"{time_text(at)}, " + (f"in {duration_text((at - now) / 1000)}" if at > now else "which is past")


def argument(token_id: str) -> str:
    """The id on a command line: one that begins with a dash is no option."""
    return f"-- {token_id}" if token_id.startswith("-") else token_id


def no_token(token_id: str, known: list[str]) -> NotFoundError:
    """The error for an id of which this client sees no token."""
    near = near_names(token_id, known)
    return NotFoundError(
        f"there is no token {token_id}",
        why="it has expired or was removed, or this client may not see it",
        do=f"did you mean {near[0]}?" if near else SEE,
    )
