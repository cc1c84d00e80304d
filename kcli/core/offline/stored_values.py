"""The keys and values of batches that a broker wrote to one of its own topics. Pure."""

from collections.abc import Iterator

from kcli.core.errors import ProtocolError
from kcli.core.records.view import BatchView


def keys_and_values(batch: BatchView) -> Iterator[tuple[int, memoryview | None, memoryview | None]]:
    """Offset, key and value of each record, as views of the batch."""
    columns = batch.columns()
    data = batch.payload()
    base = batch.base_offset
    for delta, key, key_end, value, value_end in zip(
        columns.offset_deltas,
        columns.key_starts,
        columns.key_ends,
        columns.value_starts,
        columns.value_ends,
        strict=True,
    ):
        yield (
            base + delta,
            data[key:key_end] if key >= 0 else None,
            data[value:value_end] if value >= 0 else None,
        )


def control_type(batch: BatchView) -> int:
    """The type of a control batch: the key of its record is a version and a type (KIP-98, KIP-595)."""
    for offset, key, _value in keys_and_values(batch):
        if key is not None and len(key) >= 4:
            return int.from_bytes(key[2:4], "big", signed=True)
        raise ProtocolError("no control record", why=f"the key of the record at offset {offset} is too short")
    return -1
