"""The stages of a connection before its handshake, for an observer that reports them: ``Channel.on_stage``."""

import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple


class Stage(Enum):
    """What a channel has completed."""

    RESOLVED = "resolved"
    CONNECTED = "connected"
    SECURED = "secured"


class TlsSession(NamedTuple):
    """What both sides agreed on. ``not_after``: when the broker's certificate expires, in seconds since the epoch."""

    version: str
    cipher: str
    not_after: int | None
    subject: str


def session_of(
    version: str | None, cipher: str | None, certificates: Sequence[Mapping[str, Any]]
) -> TlsSession:
    """The session from what ``ssl`` reports; ``certificates`` are those that the broker has sent, its own first."""
    own = certificates[0] if certificates else {}
    names = [value for part in own.get("subject", ()) for key, value in part if key == "commonName"]
    alternatives = [value for _kind, value in own.get("subjectAltName", ())]
    subject = ", ".join(dict.fromkeys([*alternatives, *names]))
    return TlsSession(version or "TLS", cipher or "", _seconds(own.get("notAfter")), subject)


def _seconds(text: object) -> int | None:
    """``Jun 21 12:00:00 2027 GMT``, as OpenSSL writes times."""
    from calendar import timegm  # loads locale: only for certificates

    try:
        return timegm(time.strptime(str(text), "%b %d %H:%M:%S %Y GMT"))
    except ValueError:
        return None
