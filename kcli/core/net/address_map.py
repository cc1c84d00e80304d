"""Where a client connects to instead of the addresses that brokers advertise: ``map.address``. Pure.

``b-1:9092=localhost:19092``; several separated by commas, the first that matches counts. A host before the sign may be a
pattern (``*.internal``), and without a port any port is meant; a port that is missing after it is the broker's. Only the
connection is led elsewhere: certificates, SNI and SASL have the broker's own name. Loaded by clients that map addresses.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s:=,/@\[\]]*)(?::(\d{1,5}|\*))?")


class _Entry(NamedTuple):
    """Ports are 0 where any is meant, or the broker's own."""

    host: str
    port: int
    to_host: str
    to_port: int


class AddressMap:
    """``AddressMap("b-1:9092=localhost:19092").target("b-1", 9092)`` is ``("localhost", 19092)``."""

    def __init__(self, text: str) -> None:
        """ConfigError for what is no list of mapped addresses."""
        self._entries = [_entry(part.strip()) for part in text.split(",") if part.strip()]

    def target(self, host: str, port: int) -> tuple[str, int] | None:
        """Where to connect to for a broker; None where no entry is for it."""
        for entry in self._entries:
            if entry.port in (0, port) and fnmatchcase(host.lower(), entry.host):
                return entry.to_host or host, entry.to_port or port
        return None


def _entry(text: str) -> _Entry:
    left, sign, right = text.partition("=")
    if not sign:
        raise _malformed(text, "there is no = in it")
    host, port = _side(text, left, "*")
    to_host, to_port = _side(text, right, "")
    if "*" in to_host or right.endswith(":*"):
        raise _malformed(text, "what is connected to is one address, and no pattern")
    return _Entry(host.lower(), port, to_host, to_port)


def _side(text: str, side: str, default: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(side.strip())
    if found is None:
        raise _malformed(text, f"{side!r} is no address")
    port = int(found[2]) if found[2] not in (None, "*") else 0
    host = found[1].strip("[]") or default
    if port > 65_535 or (found[2] is not None and found[2] != "*" and port == 0):
        raise _malformed(text, "a port is a number from 1 to 65535")
    if not host and not port:
        raise _malformed(text, "it does not say where to connect to")
    return host, port


def _malformed(text: str, why: str) -> ConfigError:
    return ConfigError(
        f"map.address: {text!r} maps no address",
        why=why,
        do="write HOST:PORT=HOST:PORT, as in b-1:9092=localhost:19092",
    )
