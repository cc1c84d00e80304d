"""The mark at the beginning of a value that a performance test sends: which run, which producer, which record. Pure.

``kperf``, the run in 8 hexadecimal digits, the producer in 3, the sequence number in 12, and a blank: 29 bytes of ASCII,
the same size for every record, so that they can be written in place.
"""

from __future__ import annotations

import secrets

MARK_SIZE = 29
MAGIC = b"kperf"
"""What every mark begins with, of any run."""
_RUN, _PRODUCER, _SEQUENCE = 8, 3, 12
PREFIX_SIZE = len(MAGIC) + _RUN + _PRODUCER
"""Bytes of a mark before the sequence number: the same for all records of a producer."""


def new_run() -> int:
    """The number of a run: records of earlier runs in the same topic are told apart by it."""
    return secrets.randbits(4 * _RUN)


def prefix(run: int, producer: int) -> bytes:
    """What the marks of a producer begin with."""
    return b"%s%08x%03x" % (MAGIC, run, producer)


def mark(run: int, producer: int, sequence: int) -> bytes:
    """The mark of one record."""
    return b"%s%012x " % (prefix(run, producer), sequence)
