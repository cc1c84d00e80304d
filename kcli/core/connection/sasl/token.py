"""A bearer token, as a provider of tokens returns it."""

from collections.abc import Mapping

from kcli.core.classes import dataclass, field
from kcli.core.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """``value`` is sent to the brokers; ``expires_at`` in seconds since the epoch, None if unknown.

    ``extensions`` are sent beside it (RFC 7628, KIP-342); ``principal`` is only shown.
    """

    value: Secret
    expires_at: float | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    principal: str = ""
