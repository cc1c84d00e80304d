"""Builds a batch of magic 2: open (records are added), sealed (compressed once), written any number of times.

Used by one thread at a time: appending threads hold the accumulator's lock, then the sender thread owns it. Encoded
records are kept as the kernels returned them and are sent without another copy.
"""

from collections.abc import Sequence
from struct import Struct

from kcli.core.codecs.codec import CODECS, check_level, codec_name
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import (
    crc32c,
    crc32c_patch,
    decode_columns,
    encode_columns,
    encode_headers,
    encode_keyed,
    encode_lines,
    encode_record,
    encode_rows,
    encode_slices,
    encode_text,
)
from kcli.core.kernels.shapes import NO_HEADERS, SLICE_BYTES, RecordColumns, Row, Text
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN, Buffer
from kcli.core.records.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END, MAGIC
from kcli.core.records.text_cut import line_length
from kcli.core.types import Codec, Header

_TRANSACTIONAL = 0x10
_MOST_CHUNKS = 64  # beyond that, one copy is cheaper than a long list for sendmsg
_NO_LIMIT = 1 << 62
_CRC = Struct(">I")
_NO_FIELDS = bytes(HEADER_SIZE - CRC_START)
_CRC_OF_NO_FIELDS = crc32c(_NO_FIELDS)
_HOT = 1 << 14  # bytes of records


class BatchBuilder:
    """An open batch of at most ``room`` bytes before compression, including its header.

    The first record always fits, so that no record waits indefinitely; callers that limit record sizes check before.
    ``wire_size`` is that of the batch as sent; before it is sealed, its uncompressed ``size``.
    """

    __slots__ = (
        "_checked",
        "_chunks",
        "_crc",
        "_limit",
        "_produced",
        "_sealed",
        "_summed",
        "_wire",
        "base_timestamp",
        "codec",
        "count",
        "level",
        "max_timestamp",
        "room",
        "size",
        "wire_size",
    )

    def __init__(self, room: int, *, codec: int = Codec.NONE, level: int | None = None) -> None:
        if codec not in CODECS:
            raise ConfigError("compression", why=f"{codec_name(codec)}: Kafka knows 0 to {max(Codec)}")
        if level is not None:
            check_level(codec, level)
        self.room = room
        self.codec = codec
        self.level = level
        self.count = 0
        self.size = self.wire_size = HEADER_SIZE
        self.base_timestamp = -1
        self.max_timestamp = -1
        self._chunks: list[Buffer] = []
        self._checked: tuple[int, Buffer] | None = None
        self._crc, self._summed = (
            _CRC_OF_NO_FIELDS,
            0,
        )  # of the first chunks, behind fields that are not known yet
        self._sealed = False
        self._limit = 0
        self._produced: tuple[int, int, int, bool] | None = None
        self._wire: list[Buffer] = []

    @classmethod
    def sealed(
        cls,
        payload: Buffer,
        *,
        codec: int,
        count: int,
        base_timestamp: int,
        max_timestamp: int,
        limit: int,
        checked: tuple[int, Buffer] | None = None,
    ) -> "BatchBuilder":
        """A batch of ``count`` records that are already encoded and compressed, with consecutive offsets.

        ``limit`` caps the decompressed size of the payload, should the batch have to be split. ``checked``: the checksum
        of another batch with this payload, which was compared, and the fields of its header that it covers.
        """
        builder = cls(room=0, codec=codec)
        builder.count, builder.size = count, HEADER_SIZE + len(payload)
        builder.base_timestamp, builder.max_timestamp = base_timestamp, max_timestamp
        builder._chunks, builder._sealed, builder._limit = [payload], True, limit
        builder.wire_size = builder.size
        builder._checked = checked
        return builder

    def __repr__(self) -> str:
        state = "sealed" if self._sealed else "open"
        return f"BatchBuilder({self.count} records, {self.size} bytes, {state})"

    def append(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp_ms: int
    ) -> bool:
        """Adds one record; False if it does not fit."""
        block = encode_headers(headers) if headers else NO_HEADERS
        delta = self._delta(timestamp_ms)
        if delta is None:
            return False
        record = encode_record(key, value, block, self.count, delta)
        if len(record) > self.room - self.size and self.count:
            return False
        self._add(record, 1, len(record), timestamp_ms, timestamp_ms)
        return True

    def append_lines(
        self,
        lines: Sequence[bytes],
        start: int,
        timestamp_ms: int,
        key: bytes | None = None,
        headers: bytes = NO_HEADERS,
    ) -> int:
        """Adds ``lines[start:]`` with one key and one header block; returns how many fitted."""
        delta = self._delta(timestamp_ms)
        if delta is None:
            return 0
        encoded = encode_lines(lines, start, self.count, delta, key, headers, self.room - self.size)
        if not encoded[1] and not self.count and start < len(lines):
            encoded = encode_lines(lines[start : start + 1], 0, 0, 0, key, headers, _NO_LIMIT)
        return self._add(*encoded, timestamp_ms, timestamp_ms)

    def append_keyed(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        start: int,
        timestamp_ms: int,
        headers: bytes = NO_HEADERS,
    ) -> int:
        """Like :meth:`append_lines`, with a key for each value; both may hold nulls."""
        delta = self._delta(timestamp_ms)
        if delta is None:
            return 0
        encoded = encode_keyed(keys, values, start, self.count, delta, headers, self.room - self.size)
        if not encoded[1] and not self.count and start < min(len(keys), len(values)):
            one = slice(start, start + 1)
            encoded = encode_keyed(keys[one], values[one], 0, 0, 0, headers, _NO_LIMIT)
        return self._add(*encoded, timestamp_ms, timestamp_ms)

    def append_text(
        self,
        text: Text,
        start: int,
        end: int,
        timestamp_ms: int,
        *,
        delimiter: bytes,
        longest: int,
        key_delimiter: bytes | None = None,
        key: bytes | None = None,
        headers: bytes = NO_HEADERS,
        null_marker: bytes | None = None,
        empty_is_null: bool = False,
    ) -> tuple[int, int]:
        """Adds lines of the region ``text[start:end]`` (see ``encode_text``); returns their number and where it
        stopped.
        """
        delta = self._delta(timestamp_ms)
        if delta is None:
            return 0, start
        how = (delimiter, key_delimiter, key, headers, null_marker, empty_is_null)
        records, taken, position = encode_text(
            text, start, end, *how, self.count, delta, self.room - self.size, longest
        )
        if not taken and not self.count:
            stop = min(end, start + line_length(text, start, end, delimiter) + len(delimiter))
            records, taken, position = encode_text(text, start, stop, *how, 0, 0, _NO_LIMIT, longest)
        return self._add(records, taken, len(records), timestamp_ms, timestamp_ms), position

    def append_slices(
        self, text: Text, slices: bytes, start: int, timestamp_ms: int, headers: bytes = NO_HEADERS
    ) -> int:
        """Adds the slices of ``text`` from index ``start`` on (see ``index_text``); returns how many fitted."""
        delta = self._delta(timestamp_ms)
        if delta is None:
            return 0
        encoded = encode_slices(text, slices, start, headers, self.count, delta, self.room - self.size)
        if not encoded[1] and not self.count and start * SLICE_BYTES < len(slices):
            one = slices[start * SLICE_BYTES : (start + 1) * SLICE_BYTES]
            encoded = encode_slices(text, one, 0, headers, 0, 0, _NO_LIMIT)
        return self._add(*encoded, timestamp_ms, timestamp_ms)

    def append_rows(self, rows: Sequence[Row], start: int = 0) -> int:
        """Adds ``rows[start:]``, each ``(key, value, header block, timestamp in ms)``; returns how many fitted."""
        if start >= len(rows):
            return 0
        base = self.base_timestamp if self.count else rows[start][3]
        encoded = encode_rows(rows, start, self.count, base, self.room - self.size)
        if not encoded[1] and not self.count:
            encoded = encode_rows(rows[start : start + 1], 0, 0, base, _NO_LIMIT)
        times = [row[3] for row in rows[start : start + encoded[1]]] or [base]
        low, high = min(times), max(times)
        if low < INT64_MIN or high > INT64_MAX:
            raise ConfigError(f"timestamps {low} to {high}", why="not all are int64")
        return self._add(*encoded, base, high)

    def append_columns(
        self, columns: RecordColumns, rows: Buffer | None, start: int, stop: int, now: int
    ) -> int:
        """Adds the selected rows from ``start`` up to ``stop`` (see ``encode_columns``); returns how many fitted."""
        base = self.base_timestamp if self.count else None
        encoded = encode_columns(columns, rows, start, stop, self.count, base, now, self.room - self.size)
        if not encoded[1] and not self.count and start < stop:
            encoded = encode_columns(columns, rows, start, start + 1, 0, None, now, _NO_LIMIT)
        return self._add(*encoded)

    def seal(self) -> None:
        """Closes the batch and compresses it; nothing can be added any more. Further calls have no effect."""
        if self._sealed:
            return
        if self.codec != Codec.NONE:
            from kcli.core.codecs.compression import compress  # short runs of produce compress nothing

            self._chunks = [compress(self.codec, self._join(), self.level)]
            self.wire_size = HEADER_SIZE + len(self._chunks[0])
        elif len(self._chunks) > _MOST_CHUNKS:
            self._chunks, self._summed = [self._join()], 0
        self._sealed = True

    def wire(
        self,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
    ) -> list[Buffer]:
        """The bytes to send, as a header and chunks of records. Seals the batch; repeated calls return the same."""
        assert self.count, "a batch without records is refused by brokers"
        self.seal()
        produced = (producer_id, producer_epoch, base_sequence, transactional)
        if produced != self._produced:
            self._wire = [self._header(*produced), *self._chunks]
            self._produced = produced
        return self._wire

    def rows(self) -> list[Row]:
        """The records as rows, for a split or for per-record errors."""
        payload = self._join()
        if self._sealed and self.codec != Codec.NONE:
            from kcli.core.codecs.compression import decompress  # as above

            payload = bytes(decompress(self.codec, payload, self._limit or self.size))
        columns = decode_columns(payload, self.count)
        return [
            (
                None if key < 0 else payload[key:key_end],
                None if value < 0 else payload[value:value_end],
                payload[headers:end],
                self.base_timestamp + time,
            )
            for _, time, key, key_end, value, value_end, headers, end, _ in zip(*columns, strict=True)
        ]

    def split(self, room: int) -> "list[BatchBuilder]":
        """The same records in batches of ``room`` bytes, for a broker that rejected this one as too large.

        A batch of one record cannot be split: it is returned as it is.
        """
        return self.batches_of(self.rows(), room)

    def batches_of(self, rows: Sequence[Row], room: int) -> "list[BatchBuilder]":
        """These rows in batches of at most ``room`` bytes, or of one record, compressed as this one."""
        parts: list[BatchBuilder] = []
        done = 0
        while done < len(rows):
            part = BatchBuilder(room=room, codec=self.codec, level=self.level)
            done += part.append_rows(rows, done)
            parts.append(part)
        return parts

    def _delta(self, timestamp_ms: int) -> int | None:
        """The timestamp relative to the first record's; None if a batch cannot hold both."""
        if not INT64_MIN <= timestamp_ms <= INT64_MAX:
            raise ConfigError(f"timestamp {timestamp_ms}", why="it is not an int64")
        delta = timestamp_ms - self.base_timestamp if self.count else 0
        return delta if INT64_MIN <= delta <= INT64_MAX else None

    def _add(self, records: Buffer, count: int, size: int, first: int, latest: int) -> int:
        assert not self._sealed, "the batch is sealed"
        if not count:
            return 0
        if not self.count:
            self.base_timestamp = first
        if not self.count or latest > self.max_timestamp:
            self.max_timestamp = latest
        if size >= _HOT and self.codec == Codec.NONE and self._summed == len(self._chunks):
            # Here, while the processor has them in its cache: the thread that sends them reads them once less.
            self._crc = crc32c(records, self._crc)
            self._summed += 1
        self._chunks.append(records)
        self.count += count
        self.size += size
        self.wire_size = self.size
        return count

    def _join(self) -> bytes:
        return b"".join(self._chunks)

    def _header(self, producer_id: int, epoch: int, sequence: int, transactional: bool) -> bytes:
        header = bytearray(HEADER_SIZE)
        attributes = self.codec | (_TRANSACTIONAL if transactional else 0)
        fields = (attributes, self.count - 1, self.base_timestamp, self.max_timestamp)
        HEADER.pack_into(
            header,
            0,
            0,
            self.wire_size - LENGTH_END,
            -1,
            MAGIC,
            0,
            *fields,
            producer_id,
            epoch,
            sequence,
            self.count,
        )
        fields_covered = memoryview(header)[CRC_START:]
        if self._summed:
            for chunk in self._chunks[self._summed :]:
                self._crc = crc32c(chunk, self._crc)
            self._checked, self._summed = (self._crc, _NO_FIELDS), 0
        if self._checked is not None:
            crc = crc32c_patch(*self._checked, fields_covered, self.size - HEADER_SIZE)
        else:  # once per batch and set of producer fields
            crc = crc32c(fields_covered)
            for chunk in self._chunks:
                crc = crc32c(chunk, crc)
        _CRC.pack_into(header, CRC_START - _CRC.size, crc)
        return bytes(header)
