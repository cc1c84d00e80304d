"""The first record that a group has not read, by partition and offset: one small read each, all partitions at once.

What a read_committed reader would get first counts: records of aborted transactions, markers and offsets that were
compacted away are passed over. Behind an open transaction nothing is drained: its first record counts.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kcli.core.dataclass import dataclass
from kcli.core.errors import KcliError
from kcli.flows.groups.first_records import Place, first_unread_records
from kcli.flows.groups.offsets import log_ends

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class Unread:
    """``timestamp`` in ms, None where there is no record, or one of a format without timestamps.

    ``drained``: no record is there for a reader now, also where the place is behind the end of the log.
    """

    timestamp: int | None
    drained: bool


DRAINED = Unread(None, drained=True)

Found = dict[Place, Unread | KcliError]


def first_unread(admin: Admin, places: Collection[Place]) -> Found:
    """For each place the first record from there on, or why it cannot be told."""
    found: Found = {}
    logs = log_ends(admin, {tp for tp, _offset in places}, stable=True)
    begins: dict[Place, Place] = {}
    for tp, offset in places:
        log = logs[tp]
        if log.start is None or log.end is None:
            found[tp, offset] = KcliError(f"the records of {tp} cannot be read", why=log.note or "")
        elif max(offset, log.start) >= log.end:
            found[tp, offset] = DRAINED
        else:
            begins[tp, offset] = (tp, max(offset, log.start))
    records = first_unread_records(admin, set(begins.values()), logs)
    for place, begin in begins.items():
        record = records[begin]
        if record is None:
            found[place] = DRAINED
        elif isinstance(record, KcliError):
            found[place] = record
        else:
            found[place] = Unread(record.timestamp if record.timestamp >= 0 else None, drained=False)
    return found
