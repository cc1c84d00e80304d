"""The interface of a batch of any format: fields, columns, values, records. Parsed lazily.

``RecordBatch`` (magic 2) and ``LegacyBatch`` (magic 0 and 1) implement it; readers need not distinguish them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import lt
from typing import TYPE_CHECKING, NoReturn

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import decode_headers, digest_records, mark_runs, render_records
from kcli.core.kernels.shapes import Columns, DigestPiece, MarkedRecords, find_in_columns
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN, Buffer
from kcli.core.types import Record

if TYPE_CHECKING:
    from kcli.core.kernels.arrow_ops import ArrowPart
    from kcli.core.kernels.render_ops import Facts, Program

_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20


class BatchView(ABC):
    """A batch in a buffer that must live as long as the view does.

    ``size`` is that of the whole batch in bytes, ``raw`` are these bytes. Offsets and timestamps in columns are
    relative to ``base_offset`` and ``base_timestamp``. Undefined attribute bits are ignored, as in Java. ``limit``
    caps the decompressed size.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "count",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "limit",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "raw",
        "size",
    )

    limit: int
    raw: memoryview
    base_offset: int
    size: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def last_offset(self) -> int:
        """The highest offset of the batch; its record may have been compacted away."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset to continue reading at. Always after ``base_offset``, even for a batch without records."""
        return self.last_offset + 1

    @property
    def extent(self) -> str:
        """Records and offsets as the header gives them, in words."""
        return f"{self.count} records at offsets {self.base_offset} to {self.last_offset}"

    @property
    def codec(self) -> int:
        """The number of the codec, see ``codec.Codec``; 5 to 7 are undefined."""
        return self.attributes & _CODEC

    @property
    def timestamp_type(self) -> int:
        """0 CreateTime, 1 LogAppendTime, −1 for magic 0, which has no timestamps."""
        if not self.magic:
            return -1
        return 1 if self.attributes & _LOG_APPEND_TIME else 0

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether it is a control batch, with a transaction marker as its first record and no application records."""
        return bool(self.attributes & _CONTROL)

    @abstractmethod
    def verify_crc(self) -> None:
        """Compares the checksum, then calls :meth:`check`; raises CorruptRecordsError with offsets and both checksums."""

    @abstractmethod
    def check(self) -> None:
        """Raises CorruptRecordsError if header fields contradict each other or the actual size."""

    @abstractmethod
    def payload(self, limit: int | None = None) -> memoryview:
        """The records, decompressed under ``limit`` bytes (default: the view's own limit). Cached."""

    @abstractmethod
    def forget_payload(self) -> None:
        """Releases the decompressed records: many batches may wait in one response, but few need to be open."""

    @abstractmethod
    def _decode(self, limit: int | None) -> Columns: ...

    def columns(self, limit: int | None = None) -> Columns:
        """Positions of all fields in :meth:`payload`, validated against it and against the header."""
        columns = self._decode(limit)
        deltas = columns.offset_deltas
        if deltas:
            if deltas[0] < 0 or deltas[-1] > self.last_offset_delta:
                self._refuse(
                    f"offset deltas from {deltas[0]} to {deltas[-1]}, the last should be {self.last_offset_delta}"
                )
            if not all(map(lt, deltas, deltas[1:])):
                self._refuse("its offsets do not increase")
            times = columns.timestamp_deltas
            for delta in (min(times), max(times)):
                if not INT64_MIN <= self.base_timestamp + delta <= INT64_MAX:
                    self._refuse(f"timestamp {self.base_timestamp + delta} is not an int64")
        return columns

    def values(
        self,
        first_offset: int,
        last_offset: int,
        delimiter: bytes,
        null: bytes,
        limit: int | None = None,
    ) -> tuple[bytes, int]:
        """Values of the records at ``first_offset`` to ``last_offset``, each followed by ``delimiter``, and the count.

        A null value is written as ``null``.
        """
        columns = self.columns(limit)
        data = self.payload(limit)
        pieces: list[bytes] = []
        low, high = first_offset - self.base_offset, last_offset - self.base_offset
        for delta, start, end in zip(
            columns.offset_deltas, columns.value_starts, columns.value_ends, strict=True
        ):
            if low <= delta <= high:
                pieces.append(null if start < 0 else bytes(data[start:end]))
        count = len(pieces)
        pieces.append(b"")
        return (delimiter.join(pieces), count) if count else (b"", 0)

    def holding(self, needle: bytes, *, in_key: bool, at: int = 0) -> tuple[bytes, bytes]:
        """Which records contain ``needle`` in their key or value, and where that key or value is.

        Like ``find_in_records``: a byte for each record, and pairs of native int64 for those that contain it, counted
        from ``at`` bytes before :meth:`payload`.
        """
        return find_in_columns(bytes(self.payload()), self.columns(), in_key, needle, at)

    @property
    def facts(self) -> Facts:
        """The batch fields available to a render program, see ``render_ops``."""
        return (
            self.base_offset,
            self.base_timestamp,
            self.max_timestamp,
            self.timestamp_type,
            self.leader_epoch,
            self.producer_id,
            self.producer_epoch,
        )

    def render(
        self,
        program: Program,
        first_offset: int,
        last_offset: int,
        *,
        limit: int = -1,
        selected: bytes | bytearray = b"",
        extras: Sequence[Sequence[bytes | None]] = (),
    ) -> tuple[bytes, int, int]:
        """The output of ``program`` for the records at ``first_offset`` to ``last_offset``, see ``render_records``.

        Returns the output, the number of records in it and the offset of the last one (−1 for none).
        """
        payload = self._plain_payload()
        base = self.base_offset
        first, last = first_offset - base, last_offset - base
        try:
            data, count, delta = render_records(
                payload, self.count, program, self.facts, first, last, limit, selected, extras
            )
        except CorruptRecordsError as error:
            self._refuse(str(error))
        return data, count, base + delta if count else -1

    def arrow_part(self, first: int, stop: int) -> ArrowPart:
        """Its records for ``arrow_columns`` and ``digest_records``; those at ``first`` up to, not including, ``stop``
        are wanted.
        """
        from kcli.core.kernels.arrow_ops import ArrowPart  # few runs need it

        payload = self._plain_payload()
        return ArrowPart(
            payload,
            self.count,
            self.base_offset,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.timestamp_type,
            self.leader_epoch,
            first,
            stop - 1,
        )

    def digest(
        self, first: int, stop: int, digest: bytes, *, room: int, chunk: int, timestamps: bool
    ) -> list[DigestPiece]:
        """Digests of the records at ``first`` up to, not including, ``stop``, see ``digest_records``."""
        try:
            return digest_records(self.arrow_part(first, stop), timestamps, digest, room, chunk)
        except CorruptRecordsError as error:
            if "record batch" in error.what:
                raise
            self._refuse(str(error))

    def marks(self, first: int, stop: int, magic: bytes, head: int) -> MarkedRecords:
        """Number, bytes and marks of the records at ``first`` up to, not including, ``stop``, see ``mark_runs``."""
        try:
            return mark_runs(self.arrow_part(first, stop), magic, head)
        except CorruptRecordsError as error:
            if "record batch" in error.what:
                raise
            self._refuse(str(error))

    def _plain_payload(self) -> Buffer:
        """The records in the format of magic 2, whatever the batch's own is."""
        return self.payload()

    def records(self, topic: str = "", partition: int = -1, limit: int | None = None) -> Iterator[Record]:
        """One object per record: convenient, but ten times slower than columns."""
        columns = self.columns(limit)
        data = self.payload(limit)
        kind = self.timestamp_type
        for delta, time, key, key_end, value, value_end, start, end, headers in zip(*columns, strict=True):
            yield Record(
                topic=topic,
                partition=partition,
                offset=self.base_offset + delta,
                timestamp=self.max_timestamp if kind == 1 else self.base_timestamp + time,
                timestamp_type=kind,
                key=None if key < 0 else bytes(data[key:key_end]),
                value=None if value < 0 else bytes(data[value:value_end]),
                headers=decode_headers(data, start, end) if headers else (),
                leader_epoch=self.leader_epoch,
            )

    def _refuse(self, why: str) -> NoReturn:
        raise CorruptRecordsError(f"record batch at offset {self.base_offset}", why=why)
