"""Topics with the records of performance tests, as they are and with faults. Not a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcli.core.types import Record
from kcli.flows.perf.marks import mark
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch

SIZE = 40
"""Bytes of a value."""
WALL = 1_700_000_000.0
_RUN = 7


def value(number: int | None, producer: int = 0) -> bytes:
    """Of the record with this number; None: one of somebody else."""
    return (
        b"nothing to do with it".ljust(SIZE) if number is None else mark(_RUN, producer, number) + b"x" * 11
    )


def record(offset: int, number: int | None) -> Record:
    return Record("t", 0, offset, 1, 0, None, value(number))


def fill(
    cluster: FakeCluster, numbers: Mapping[int, Sequence[int | None]], *, producer: int = 0, size: int = 5
) -> None:
    """Appends the records with these numbers to the partitions of topic ``t``, in batches of ``size``."""
    for partition, some in numbers.items():
        for first in range(0, len(some), size):
            values = [value(number, producer) for number in some[first : first + size]]
            cluster.append("t", partition, batch(*values))
