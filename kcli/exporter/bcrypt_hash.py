"""Passwords by bcrypt, in the form of ``htpasswd -B``."""

import re
from collections.abc import Iterable

from kcli.core.extras import library

# Of the last character of the salt only two bits count; the library refuses others.
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}")
_LEAST_COST, _MOST_COST = 4, 16
"""Each more doubles the work: 16 is some four seconds."""
_LONGEST = 72
"""Bytes of a password that bcrypt takes."""


def is_hash(text: str) -> bool:
    """Whether it has the form, with a cost that can be paid at each request."""
    found = _HASH.fullmatch(text)
    return found is not None and _LEAST_COST <= int(found[1]) <= _MOST_COST


def matches(password: bytes, known: str) -> bool:
    """Whether ``known``, which ``is_hash``, is that of the password; ConfigError without the library."""
    bcrypt = library("bcrypt", extra="exporter", wanted_by="basic_auth_users")
    return len(password) <= _LONGEST and bool(bcrypt.checkpw(password, known.encode()))


def of_nobody(hashes: Iterable[str]) -> str:
    """A hash of no password that costs as much as the dearest of these."""
    return f"$2b${max(known[4:6] for known in hashes)}${'.' * 53}"
