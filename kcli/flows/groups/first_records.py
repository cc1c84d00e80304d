"""The first records at many offsets, also several in one partition; some thousands per request to all leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds

if TYPE_CHECKING:  # loaded by the first request
    from kcli.core.admin.first_records import FirstRecord

PartitionOffset = tuple[TopicPartition, int]
"""A partition and an offset in it."""
MOST, MOST_OF_PARTITION = 4096, 32
"""The most offsets per request; those of one partition are requests in flight on a connection at the same time."""


def first_records_at(
    admin: Admin,
    offsets: Iterable[PartitionOffset],
    *,
    committed_only: bool = True,
    timeout: float | None = None,
) -> dict[PartitionOffset, FirstRecord | KcliError | None]:
    """See ``Admin.first_records``; ``timeout`` is per request."""
    found: dict[PartitionOffset, FirstRecord | KcliError | None] = {}
    for some in request_batches(offsets):
        found |= admin.first_records(some, committed_only=committed_only, timeout=timeout)
    return found


def first_unread_records(
    admin: Admin, offsets: Collection[PartitionOffset], logs: Mapping[TopicPartition, LogEnds]
) -> dict[PartitionOffset, FirstRecord | KcliError | None]:
    """The first record that a read_committed reader gets; None where none is left.

    Where an open transaction blocks the reader, the first record that it waits for: such a partition is not drained.
    """
    found = first_records_at(admin, offsets)
    waiting = {
        (tp, at): (tp, max(at, stable))
        for (tp, at), record in found.items()
        if record is None and (stable := logs[tp].stable_below_end) is not None
    }
    blocked = first_records_at(admin, waiting.values(), committed_only=False)
    return found | {asked: blocked[begin] for asked, begin in waiting.items()}


def request_batches(offsets: Iterable[PartitionOffset]) -> Iterator[list[PartitionOffset]]:
    """The distinct offsets, in requests of bounded size."""
    counts = Counter[TopicPartition]()
    found: list[list[PartitionOffset]] = []
    for tp, offset in dict.fromkeys(offsets):
        batch = counts[tp] // MOST_OF_PARTITION
        counts[tp] += 1
        if batch == len(found):
            found.append([])
        found[batch].append((tp, offset))
    for some in found:
        yield from (some[begin : begin + MOST] for begin in range(0, len(some), MOST))
