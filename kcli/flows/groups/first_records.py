"""The first records at many offsets, also several in one partition; some thousands per request to all leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from kcli.core.types import TopicPartition

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.admin.first_records import FirstRecord
    from kcli.core.errors import KcliError
    from kcli.flows.groups.offsets import LogEnds

Place = tuple[TopicPartition, int]
"""A partition and an offset in it."""
MOST, MOST_OF_PARTITION = 4096, 32
"""The most offsets per request; those of one partition are requests in flight on a connection at the same time."""


def first_records_at(
    admin: Admin, places: Iterable[Place], *, committed_only: bool = True, timeout: float | None = None
) -> dict[Place, FirstRecord | KcliError | None]:
    """See ``Admin.first_records``; ``timeout`` is per request."""
    found: dict[Place, FirstRecord | KcliError | None] = {}
    for some in questions(places):
        found |= admin.first_records(some, committed_only=committed_only, timeout=timeout)
    return found


def first_unread_records(
    admin: Admin, places: Collection[Place], logs: Mapping[TopicPartition, LogEnds]
) -> dict[Place, FirstRecord | KcliError | None]:
    """The first record that a read_committed reader gets; None where none is left.

    Where an open transaction blocks the reader, the first record that it waits for: such a partition is not drained.
    """
    found = first_records_at(admin, places)
    waiting = {
        (tp, at): (tp, max(at, stable))
        for (tp, at), record in found.items()
        if record is None and (stable := logs[tp].held_at) is not None
    }
    held = first_records_at(admin, waiting.values(), committed_only=False)
    return found | {place: held[begin] for place, begin in waiting.items()}


def questions(places: Iterable[Place]) -> Iterator[list[Place]]:
    """The distinct places, in requests of bounded size."""
    turns = Counter[TopicPartition]()
    found: list[list[Place]] = []
    for place in dict.fromkeys(places):
        question = turns[place[0]] // MOST_OF_PARTITION
        turns[place[0]] += 1
        if question == len(found):
            found.append([])
        found[question].append(place)
    for some in found:
        yield from (some[begin : begin + MOST] for begin in range(0, len(some), MOST))
