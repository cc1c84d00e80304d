"""Which record of a dead-letter topic goes where, and what it carries then. Pure.

The loop guard is a header that counts replays: consumers that fail again with a record keep its headers, so that the
count comes back with it.
"""

import re
from array import array
from collections.abc import Iterable
from datetime import UTC, datetime
from zlib import compress, decompress

from kcli.core.classes import NamedTuple
from kcli.core.types import Header, ProducerRecord, Record

REPLAYS = "kcli-replays"
"""How often a record was replayed, in digits."""
ORIGIN = "kcli-replayed-from"
"""``TOPIC/PARTITION/OFFSET`` of the record that was replayed last."""
REASONS = (
    "__connect.errors.exception.class.name",
    "kafka_dlt-exception-cause-fqcn",
    "kafka_dlt-exception-fqcn",
    "exception.class",
    "error.class",
    "reason",
    "error",
)
"""Headers in which frameworks say why a record is a dead letter, the first that is there counts."""

NO_TARGET, TOO_OFTEN = "no target", "replayed too often"
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_LONGEST = 80


class Routing(NamedTuple):
    """Where records go: to ``topic``, or to the topic that the header ``header`` names."""

    topic: str
    header: str
    max_replays: int
    keep_timestamps: bool = True


class Decision(NamedTuple):
    """``target`` is empty if the record is skipped; ``why`` then is NO_TARGET or TOO_OFTEN. ``replays``: so far."""

    target: str
    why: str
    replays: int


def parse_target(text: str) -> tuple[str, str]:
    """Topic and header of ``--to TOPIC|header:NAME``, one of them empty."""
    head, colon, name = text.partition(":")
    return ("", name) if colon and head == "header" else (text, "")


def decide(record: Record, routing: Routing) -> Decision:
    """What becomes of a record."""
    replays = _replays(record.headers)
    if replays >= routing.max_replays:
        return Decision("", TOO_OFTEN, replays)
    target = routing.topic or _text(record.headers, routing.header)
    if not _TOPIC.fullmatch(target) or target in (".", ".."):
        return Decision("", NO_TARGET, replays)
    return Decision(target, "", replays)


def replayed(record: Record, decision: Decision, routing: Routing) -> ProducerRecord:
    """The record as it is sent: the same, and one more in the count of replays."""
    headers = tuple(header for header in record.headers if header[0] not in (REPLAYS, ORIGIN))
    origin = f"{record.topic}/{record.partition}/{record.offset}"
    own: tuple[Header, ...] = (
        (REPLAYS, str(decision.replays + 1).encode()),
        (ORIGIN, origin.encode()),
    )
    timestamp = record.timestamp if routing.keep_timestamps else None
    return ProducerRecord(decision.target, record.value, record.key, headers + own, None, timestamp)


def reason(record: Record) -> str:
    """Why it is a dead letter, as far as a header says it."""
    for name in REASONS:
        found = _text(record.headers, name)
        if found:
            return found.rpartition(".")[2][:_LONGEST] if " " not in found else found[:_LONGEST]
    return "-"


def hour(timestamp: int) -> str:
    """The hour of a timestamp in UTC."""
    if timestamp < 0:
        return "-"
    try:
        return datetime.fromtimestamp(timestamp // 1000, UTC).strftime("%Y-%m-%dT%H:00Z")
    except (OverflowError, ValueError, OSError):
        return "-"


def packed(offsets: Iterable[int]) -> bytes:
    """A set of offsets in a form that travels with a task."""
    return compress(array("q", sorted(offsets)).tobytes(), 1)


def unpacked(data: bytes) -> frozenset[int]:
    """The inverse."""
    found = array("q")
    found.frombytes(decompress(data))
    return frozenset(found)


def _replays(headers: Iterable[Header]) -> int:
    """The last count; one that is no number counts as none."""
    text = _text(headers, REPLAYS)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _text(headers: Iterable[Header], name: str) -> str:
    """The last header of this name as text."""
    found = ""
    for own, data in headers:
        if own == name and data is not None:
            found = data.decode("utf-8", "replace")
    return found
