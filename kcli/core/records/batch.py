"""Batches of magic 2 as views of the received bytes, and the splitter of fetched bytes into batches.

The header has 61 bytes (KIP-98): base offset, length, leader epoch, magic, CRC; then, covered by the CRC, attributes,
last offset delta, base and maximum timestamp, producer id and epoch, base sequence, record count. Records follow.
"""

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING

from kcli.core import records as parts
from kcli.core.codecs.codec import CODECS, DEFAULT_LIMIT, codec_name
from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import crc32c, decode_columns, decode_values, find_in_records
from kcli.core.kernels.shapes import SMALLEST_RECORD, Columns
from kcli.core.kernels.varint import INT64_MAX, Buffer
from kcli.core.records.view import BatchView
from kcli.core.types import Codec

if TYPE_CHECKING:
    from kcli.core.records.legacy import LegacyBatch

HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
CRC_START = 21  # the CRC covers everything from the attributes on
MAGIC = 2

LENGTH_END = 12  # base offset and length: the length counts the bytes after them
_MAGIC_AT = 16
_SMALLEST = {0: 14, 1: 22, MAGIC: HEADER_SIZE - LENGTH_END}
_FRAME = Struct(">qi")


class RecordBatch(BatchView):
    """A batch of magic 2. The constructor parses the header without validation: see :meth:`verify` and :meth:`check`."""

    __slots__ = ("_payload",)

    def __init__(self, raw: memoryview) -> None:
        self.raw = raw
        self.size = len(raw)
        (
            self.base_offset,
            _,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = HEADER.unpack_from(raw)
        self.limit = DEFAULT_LIMIT
        self._payload: memoryview | None = None

    def __repr__(self) -> str:
        return f"RecordBatch(base_offset={self.base_offset}, count={self.count}, size={self.size})"

    def verify_crc(self) -> None:
        """See BatchView."""
        actual = crc32c(self.raw[CRC_START:])
        if actual != self.crc:
            raise CorruptRecordsError(
                f"record batch at offsets {self.base_offset} to {self.last_offset}",
                why=f"its checksum is {actual:08x}, its header says {self.crc:08x}",
            )
        self.check()

    def check(self) -> None:
        """See BatchView."""
        count, last = self.count, self.last_offset_delta
        room = self.size - HEADER_SIZE
        if self.base_offset < 0 or self.base_offset + last > INT64_MAX:
            self._refuse(f"offsets {self.base_offset} to {self.last_offset} cannot be")
        if count < 0 or last < 0 or count > last + 1:
            self._refuse(f"record count {count} and last offset delta {last} contradict each other")
        codec = self.codec
        if codec not in CODECS:
            self._refuse(f"{codec_name(codec)}: Kafka knows 0 to {max(Codec):d}")
        if codec == Codec.NONE and count > room // SMALLEST_RECORD:
            self._refuse(f"{count} records do not fit into {room} bytes")

    def payload(self, limit: int | None = None) -> memoryview:
        """See BatchView."""
        if self._payload is None:
            self.check()
            body = self.raw[HEADER_SIZE:]
            if not self.count and self.codec:
                body = body[:0]  # an empty batch that was kept for its sequence numbers
            self._payload = self._decompressed(body, limit) if self.codec and body else body
        return self._payload

    def _decompressed(self, body: memoryview, limit: int | None) -> memoryview:
        from kcli.core.codecs.compression import decompress  # many topics have no compressed batches

        try:
            return memoryview(decompress(self.codec, body, self.limit if limit is None else limit))
        except CorruptRecordsError as error:
            raise self._about(error) from error

    def forget_payload(self) -> None:
        """See BatchView."""
        self._payload = None

    def values(
        self,
        first_offset: int,
        last_offset: int,
        delimiter: bytes,
        null: bytes,
        limit: int | None = None,
    ) -> tuple[bytes, int]:
        """See BatchView; directly in the kernel, without columns."""
        first, last = first_offset - self.base_offset, last_offset - self.base_offset
        payload = self.payload(limit)
        try:
            return decode_values(payload, self.count, first, last, delimiter, null)
        except CorruptRecordsError as error:
            raise self._about(error) from error

    def holding(self, needle: bytes, *, in_key: bool, at: int = 0) -> tuple[bytes, bytes]:
        """See BatchView; directly in the kernel, without columns."""
        payload = self.payload()
        try:
            return find_in_records(payload, self.count, in_key, needle, at)
        except CorruptRecordsError as error:
            raise self._about(error) from error

    def _decode(self, limit: int | None) -> Columns:
        payload = self.payload(limit)
        try:
            return decode_columns(payload, self.count)
        except CorruptRecordsError as error:
            raise self._about(error) from error

    def _about(self, error: CorruptRecordsError) -> CorruptRecordsError:
        """The same error, prefixed with the batch's offsets."""
        what = f"record batch at offsets {self.base_offset} to {self.last_offset}"
        return CorruptRecordsError(what, why=str(error), do=error.do)


class BatchSplitter(Iterator["RecordBatch | LegacyBatch"]):
    """Iterates over the whole batches of fetched bytes; a truncated last batch is normal and left out.

    ``position`` is where the next batch begins. After the iteration, ``needed`` is the size of the truncated batch (61
    while unknown), 0 if there was none: a fetch that returned no batch at all and has ``needed`` set must be repeated
    with a larger limit. The size is reported by the peer, up to 2 GiB: callers must apply their own limit.
    """

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.position = 0
        self.needed = 0

    def __next__(self) -> "RecordBatch | LegacyBatch":
        at = self.position
        left = len(self._data) - at
        if left < LENGTH_END:
            self.needed = HEADER_SIZE if left else 0
            raise StopIteration
        offset, length = _FRAME.unpack_from(self._data, at)
        magic = self._data[at + _MAGIC_AT] if left > _MAGIC_AT else 0
        if magic > MAGIC or length < _SMALLEST[magic]:
            raise CorruptRecordsError(
                f"fetched bytes at {at} of {len(self._data)}",
                why=f"no batch has magic {magic} and length {length} (offset {offset})",
            )
        if left < LENGTH_END + length:
            self.needed = LENGTH_END + length
            raise StopIteration
        raw = self._data[at : at + LENGTH_END + length]
        self.position = at + len(raw)
        if magic == MAGIC:
            return RecordBatch(raw)
        return parts.legacy.LegacyBatch(raw)  # formats of before Kafka 0.11


def split_batches(data: Buffer) -> BatchSplitter:
    """Iterates over the whole batches in ``data``; invalid data is a CorruptRecordsError with its position."""
    return BatchSplitter(data)
