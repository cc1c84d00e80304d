"""The first records at many places, several of one partition too: a question to all leaders for each of these."""

from __future__ import annotations

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


def first_records_at(
    admin: Admin, places: Iterable[Place], *, committed_only: bool = True, timeout: float | None = None
) -> dict[Place, FirstRecord | KcliError | None]:
    """See ``Admin.first_records``; ``timeout`` is that of each question."""
    found: dict[Place, FirstRecord | KcliError | None] = {}
    for some in _rounds(places):
        for where, record in admin.first_records(
            some, committed_only=committed_only, timeout=timeout
        ).items():
            found[where, some[where]] = record
    return found


def first_unread_records(
    admin: Admin, places: Collection[Place], logs: Mapping[TopicPartition, LogEnds]
) -> dict[Place, FirstRecord | KcliError | None]:
    """The first record that a read_committed reader gets; None where none is left.

    Where it gets none because a transaction is open, the first record of what it waits for: nothing is drained there.
    """
    found = first_records_at(admin, places)
    waiting = {
        (where, at): (where, max(at, stable))
        for (where, at), record in found.items()
        if record is None and (stable := logs[where].held_at) is not None
    }
    held = first_records_at(admin, waiting.values(), committed_only=False)
    return found | {place: held[begin] for place, begin in waiting.items()}


def _rounds(places: Iterable[Place]) -> Iterator[dict[TopicPartition, int]]:
    """The places so that each partition is at most once among some."""
    left = dict.fromkeys(places)
    while left:
        some: dict[TopicPartition, int] = {}
        for where, at in left:
            some.setdefault(where, at)
        yield some
        left = dict.fromkeys(place for place in left if some[place[0]] != place[1])
