"""A partition of a coordinator's topic, replayed as its coordinator loads it: the newest value of each key. Pure.

What was written in a transaction, such as the offsets that a producer commits with its records, waits for its end (as in
Kafka's OffsetMetadataManager): committed, it replaces only what was written before it; aborted, it never was.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ProtocolError
from kcli.core.offline.stored_values import control_type, keys_and_values
from kcli.core.protocol.stored.kinds import KINDS, RecordKind
from kcli.core.protocol.stored.reading import NEVER, struct_of, type_number
from kcli.core.records.view import BatchView

_COMMIT = 1


class StoredValue(NamedTuple):
    """A value, and the offset of its record in the log."""

    offset: int
    value: bytes


class CoordinatorLog:
    """``values`` by key; ``pending`` has what open transactions wrote, by producer id."""

    def __init__(self) -> None:
        self.values: dict[bytes, StoredValue] = {}
        self.pending: dict[int, dict[bytes, StoredValue]] = {}

    def replay(self, batches: Iterable[BatchView]) -> None:
        """Adds what these batches say, which follow those before."""
        for batch in batches:
            if batch.is_control:
                self._end_transaction(batch)
            else:
                self._add(batch)

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


def stored_records(log: CoordinatorLog, topic: str, unknown: Counter[str]) -> Iterator[tuple[Any, Any]]:
    """Keys and values as structs, in log order: of two types that a group has had, the later one counts.

    A type or version that is not known is from a newer broker: it is counted by name in ``unknown``.
    """
    kinds = KINDS[topic.strip("_")]
    for key, (offset, value) in sorted(log.values.items(), key=lambda item: item[1].offset):
        try:
            number, version = type_number(key), type_number(value)
            kind = kinds.get(number)
            cls: Any = kind.value if kind is not None else None
            if kind is None or not cls.versions[0] <= version <= cls.versions[1]:
                unknown[f"{kind.name if kind is not None else f'type {number}'} version {version}"] += 1
                continue
            yield key_struct(kind, key), struct_of(cls, value, 2, version, cls.flexible)
        except ProtocolError as error:
            where = f"the record of {topic} at offset {offset} cannot be read"
            raise ProtocolError(where, why=str(error)) from None


def key_struct(kind: RecordKind, key: bytes) -> Any:
    """A key as a struct."""
    return struct_of(kind.key, key, 2, 0, NEVER)
