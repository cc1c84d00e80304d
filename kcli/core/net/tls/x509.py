"""The little that is read from a certificate itself: how long it is valid. Pure.

Python's ``ssl`` decodes only certificates of a peer, and only those that it has verified. Source: RFC 5280, 4.1.
"""

import calendar
import time
from datetime import UTC, datetime

from kcli.core.classes import NamedTuple

_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _VERSION = 0x30, 0x17, 0x18, 0xA0


class Validity(NamedTuple):
    """Seconds since the epoch."""

    not_before: int
    not_after: int


def validity(der: bytes) -> Validity | None:
    """The validity of a certificate in DER; None if it cannot be read."""
    try:
        tag, certificate, _ = _element(der)
        _expect(tag, _SEQUENCE)
        tag, fields, _ = _element(certificate)
        _expect(tag, _SEQUENCE)
        tag, _, rest = _element(fields)
        if tag == _VERSION:
            _, _, rest = _element(rest)  # the serial number; v1 certificates begin with it
        _, _, rest = _element(rest)  # signature algorithm
        _, _, rest = _element(rest)  # issuer
        tag, times, _ = _element(rest)
        _expect(tag, _SEQUENCE)
        first, last = _element(times), _element(_element(times)[2])
        return Validity(_seconds(first[0], first[1]), _seconds(last[0], last[1]))
    except (ValueError, IndexError):
        return None


def date_text(seconds: float) -> str:
    """``2026-11-23T10:00:00Z``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag, content and what follows."""
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[2:start], "big")
    if start + size > len(data):
        raise ValueError("an element is longer than what contains it")
    return data[0], data[start : start + size], data[start + size :]


def _expect(tag: int, wanted: int) -> None:
    if tag != wanted:
        raise ValueError(f"tag {tag} instead of {wanted}")


def _seconds(tag: int, text: bytes) -> int:
    layout = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}.get(tag)
    if layout is None:
        raise ValueError(f"tag {tag} is not a time")
    found = time.strptime(text.decode("ascii"), layout)
    century_fix = found.tm_year - 100 if tag == _UTC_TIME and found.tm_year >= 2050 else found.tm_year
    return calendar.timegm((century_fix, *found[1:6], 0, 0, 0))
