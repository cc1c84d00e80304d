"""A partition of a coordinator's topic, replayed as its coordinator loads it: the newest value of each key. Pure.

What was written in a transaction, such as the offsets that a producer commits with its records, waits for the marker at its
end (as in Kafka's OffsetMetadataManager): committed, it replaces only what was written before it; aborted, it never was.
"""

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from kcli.core.errors import ProtocolError
from kcli.core.offline.stored_values import control_type, keys_and_values
from kcli.core.records.view import BatchView

_COMMIT = 1


class StoredValue(NamedTuple):
    """A value, and the offset of its record in the log."""

    offset: int
    value: bytes


class CoordinatorLog:
    """``values`` by key; ``pending`` has what open transactions wrote, by producer id. ``end_offset`` is where it ends."""

    def __init__(self) -> None:
        self.end_offset = 0
        self.values: dict[bytes, StoredValue] = {}
        self.pending: dict[int, dict[bytes, StoredValue]] = {}

    def replay(self, batches: Iterable[BatchView]) -> None:
        """Adds what these batches say, which follow those before."""
        for batch in batches:
            if batch.is_control:
                self._end_transaction(batch)
            else:
                self._add(batch)
            self.end_offset = batch.next_offset

    def end_transactions(self, committing: Container[int]) -> None:
        """As if its coordinator had ended the transactions that are open: those of these producers are committed."""
        for producer_id, written in self.pending.items():
            if producer_id in committing:
                self._commit(written)
        self.pending.clear()

    def _add(self, batch: BatchView) -> None:
        written = self.pending.setdefault(batch.producer_id, {}) if batch.is_transactional else self.values
        for offset, key, value in keys_and_values(batch):
            if key is None:
                raise ProtocolError(
                    "no record of a coordinator", why=f"the one at offset {offset} has no key"
                )
            if value is not None:
                written[bytes(key)] = StoredValue(offset, bytes(value))
                continue
            gone = bytes(key)
            self.values.pop(gone, None)
            for others in self.pending.values():
                others.pop(gone, None)

    def _end_transaction(self, batch: BatchView) -> None:
        if not batch.is_transactional:
            return
        written = self.pending.pop(batch.producer_id, {})
        if control_type(batch) == _COMMIT:
            self._commit(written)

    def _commit(self, written: Mapping[bytes, StoredValue]) -> None:
        for key, stored in written.items():
            known = self.values.get(key)
            if known is None or stored.offset > known.offset:
                self.values[key] = stored
