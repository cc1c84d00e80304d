"""The first unread record of a group, by partition and offset: one small read each, all partitions at once.

This is the record that a read_committed reader would get first: records of aborted transactions, markers and compacted
offsets are skipped. A partition with an open transaction is not drained: the first record of the transaction counts.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.flows.groups.first_records import PartitionOffset, first_unread_records
from kcli.flows.groups.offsets import log_ends


@dataclass(frozen=True, slots=True)
class Unread:
    """``timestamp`` in ms, None where there is no record, or one of a format without timestamps.

    ``drained``: there is no record to read now, also where the offset is beyond the end of the log.
    """

    timestamp: int | None
    drained: bool


DRAINED = Unread(None, drained=True)


def first_unread(
    admin: Admin, offsets: Collection[PartitionOffset]
) -> dict[PartitionOffset, Unread | KcliError]:
    """The first record from each offset on, or why it is not known."""
    found: dict[PartitionOffset, Unread | KcliError] = {}
    logs = log_ends(admin, {tp for tp, _offset in offsets}, stable=True)
    begins: dict[PartitionOffset, PartitionOffset] = {}
    for tp, offset in offsets:
        log = logs[tp]
        if log.start is None or log.end is None:
            found[tp, offset] = KcliError(f"the records of {tp} cannot be read", why=log.note or "")
        elif max(offset, log.start) >= log.end:
            found[tp, offset] = DRAINED
        else:
            begins[tp, offset] = (tp, max(offset, log.start))
    records = first_unread_records(admin, set(begins.values()), logs)
    for asked, begin in begins.items():
        record = records[begin]
        if record is None:
            found[asked] = DRAINED
        elif isinstance(record, KcliError):
            found[asked] = record
        else:
            found[asked] = Unread(record.timestamp if record.timestamp >= 0 else None, drained=False)
    return found
