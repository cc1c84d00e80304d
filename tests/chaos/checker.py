"""The judge: compares what was said with what can be read, and counts every way in which they differ.

``lost``: acked and not there. ``duplicate``: one record at two offsets. ``reorder``: a sender's numbers fall within
a partition. ``misrouted``: stands elsewhere than it says. ``corrupt``: its checksum is wrong. ``phantom``: nobody of
this run sent it. ``aborted_read``: its transaction was to be aborted. ``ack_mismatch``: at the acked offset stands
another record. ``unknown``: neither acked nor failed in the end.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tests.chaos.ledger import Ledger
from tests.chaos.payload import WILL_ABORT, RecordId, decode

VERDICTS = (
    "lost",
    "duplicate",
    "reorder",
    "misrouted",
    "corrupt",
    "phantom",
    "aborted_read",
    "ack_mismatch",
    "unknown",
)


@dataclass(frozen=True, slots=True)
class Read:
    """A record as an independent reader saw it."""

    topic: str
    partition: int
    offset: int
    value: bytes


def check(ledger: Ledger, run: bytes, reads: Iterable[Read]) -> Counter[str]:
    """How often each verdict was reached; empty when nothing is wrong. ``reads`` are in order of offset."""
    found: Counter[str] = Counter()
    seen: dict[RecordId, int] = {}
    last: dict[tuple[int, str, int], int] = {}
    for read in reads:
        payload = decode(read.value)
        if payload is None:
            found["corrupt"] += 1
            continue
        one = payload.id
        if payload.run != run or one not in ledger.sent:
            found["phantom"] += 1
            continue
        if payload.intent == WILL_ABORT:
            found["aborted_read"] += 1
        if (one.topic, one.partition) != (read.topic, read.partition):
            found["misrouted"] += 1
            seen.setdefault(one, -1)
            continue
        if one in seen:
            found["duplicate"] += 1
            continue
        seen[one] = read.offset
        sender = (one.producer, one.topic, one.partition)
        if one.sequence < last.get(sender, -1):
            found["reorder"] += 1
        last[sender] = max(one.sequence, last.get(sender, -1))
        if ledger.acked.get(one, -1) not in (-1, read.offset):
            found["ack_mismatch"] += 1
    found["lost"] += sum(1 for one in ledger.acked if one not in seen)
    found["unknown"] += len(ledger.unknown)
    return +found
