"""A single record copied out of its batch, to be kept after the batch's buffer is reused.

It behaves as a batch of one record, with its original offset, timestamps and producer.
"""

from kcli.core.kernels.active import decode_columns, encode_record
from kcli.core.kernels.shapes import NO_HEADERS, Columns
from kcli.core.records.view import BatchView


class RecordSlice(BatchView):
    """Created by ``cut_record``; verified together with its batch."""

    __slots__ = ()

    def __init__(self, batch: BatchView, data: bytes) -> None:
        self.base_offset, self.base_timestamp = batch.base_offset, batch.base_timestamp
        self.max_timestamp, self.attributes, self.magic = batch.max_timestamp, batch.attributes, batch.magic
        self.leader_epoch, self.last_offset_delta = batch.leader_epoch, batch.last_offset_delta
        self.producer_id, self.producer_epoch = batch.producer_id, batch.producer_epoch
        self.base_sequence, self.crc, self.limit = batch.base_sequence, batch.crc, batch.limit
        self.count, self.raw, self.size = 1, memoryview(data), len(data)

    def verify_crc(self) -> None:
        """See BatchView; its batch was verified."""

    def check(self) -> None:
        """See BatchView; its batch was checked."""

    def payload(self, limit: int | None = None) -> memoryview:  # noqa: ARG002 - it is open already
        """See BatchView; it is already decompressed."""
        return self.raw

    def forget_payload(self) -> None:
        """See BatchView; there is nothing to release."""

    def _decode(self, limit: int | None) -> Columns:  # noqa: ARG002
        return decode_columns(self.raw, 1)


def cut_record(batch: BatchView, columns: Columns, index: int) -> RecordSlice:
    """The record at ``index`` of the batch with these columns."""
    data = batch.payload()
    if batch.magic == 2:
        start = columns.header_ends[index - 1] if index else 0
        return RecordSlice(batch, bytes(data[start : columns.header_ends[index]]))
    key, value = columns.key_starts[index], columns.value_starts[index]
    return RecordSlice(
        batch,
        encode_record(
            None if key < 0 else bytes(data[key : columns.key_ends[index]]),
            None if value < 0 else bytes(data[value : columns.value_ends[index]]),
            NO_HEADERS,
            columns.offset_deltas[index],
            columns.timestamp_deltas[index],
        ),
    )
