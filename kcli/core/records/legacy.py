"""Messages of magic 0 and 1, as returned by brokers before 0.11 (and for topics kept in their format).

A message set is a sequence of messages; a compressed set is the value of a wrapper message. Each uncompressed message,
and each wrapper, is one batch here. Wrappers are opened one level deep: a nested wrapper is rejected.
"""

import zlib
from struct import Struct
from typing import Any, NoReturn

from kcli.core.classes import NamedTuple
from kcli.core.codecs.codec import DEFAULT_LIMIT, codec_name
from kcli.core.codecs.compression import decompress
from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels.active import encode_record
from kcli.core.kernels.shapes import NO_HEADERS, Columns
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.records.view import BatchView
from kcli.core.types import Codec

_FRAME = Struct(">qiIbb")  # offset, size of what follows, CRC-32, magic, attributes
_TIMESTAMP = Struct(">q")
_LENGTH = Struct(">i")
_CRC_START = 16
_LARGEST_DELTA = 0x7FFF_FFFF  # of the offsets of one batch, in any format
_SMALLEST = {0: 26, 1: 34}  # a message with null key and null value, including its offset and size fields
_LEGACY_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
_LZ4_MAGIC = b"\x04\x22\x4d\x18"


class _Message(NamedTuple):
    """A message; positions are in the buffer it was parsed from, −1 for a null."""

    offset: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    crc_start: int
    key: int
    key_end: int
    value: int
    value_end: int


class LegacyBatch(BatchView):
    """A message, or a wrapper and the messages in it.

    Fields that depend on the content of a wrapper (``base_offset``, ``count``, ...) are read from it on first use,
    with the default limit if :meth:`payload` was not called before; ``last_offset`` is known without that.
    """

    __slots__ = ("_columns", "_last_offset", "_message", "_payload")

    def __init__(self, raw: memoryview) -> None:
        message = _parse(raw, 0, len(raw))
        self.raw = raw
        self.size = len(raw)
        self.magic = message.magic
        self.crc = message.crc
        self.attributes = message.attributes & 0x0F
        self.leader_epoch = self.producer_id = self.producer_epoch = self.base_sequence = -1
        self._message = message
        self._last_offset = message.offset
        self.limit = DEFAULT_LIMIT
        self._payload: memoryview | None = None
        self._columns: Columns | None = None
        if self.attributes & 0x07 == Codec.NONE:
            self._payload = raw
            self._columns = _columns([message], message.offset, message.timestamp)
            self.base_offset = message.offset
            self.base_timestamp = self.max_timestamp = message.timestamp
            self.last_offset_delta = 0
            self.count = 1

    def __repr__(self) -> str:
        return f"LegacyBatch(last_offset={self._last_offset}, magic={self.magic}, size={self.size})"

    def __getattr__(self, name: str) -> Any:
        # An unset slot: a field that only the content of a wrapper determines. The content is not kept, as all
        # wrappers of a response are asked for their offsets before the first one is read.
        if name not in BatchView.__slots__ or self._payload is not None:
            raise AttributeError(name)
        self.payload()
        self.forget_payload()
        return getattr(self, name)

    @property
    def last_offset(self) -> int:
        """The offset of the message; a wrapper has that of its last message."""
        return self._last_offset

    @property
    def extent(self) -> str:
        """See BatchView; a wrapper's header says only where it ends."""
        if self.codec == Codec.NONE:
            return super().extent
        return f"the messages of a compressed set up to offset {self._last_offset}"

    def verify_crc(self) -> None:
        """See BatchView; the checksum is zlib's CRC-32."""
        _verify(self.raw, self._message, self.size)
        self.check()

    def check(self) -> None:
        """See BatchView."""
        if self._last_offset < 0:
            _refuse(self._last_offset, "the offset is negative")
        if self.codec not in _LEGACY_CODECS:
            _refuse(self._last_offset, f"{codec_name(self.codec)}, which magic {self.magic} does not have")

    def payload(self, limit: int | None = None) -> memoryview:
        """The message, or the decompressed content of a wrapper; see BatchView."""
        if self._payload is None:
            self.check()
            self._open(limit)
        assert self._payload is not None
        return self._payload

    def forget_payload(self) -> None:
        """See BatchView. The fields read from a wrapper's content stay known."""
        if self.codec != Codec.NONE:
            self._payload = self._columns = None

    def _decode(self, limit: int | None) -> Columns:
        self.payload(limit)
        assert self._columns is not None
        return self._columns

    def _plain_payload(self) -> bytes:
        data, rows = self.payload(), zip(*self.columns(), strict=True)
        return b"".join(
            encode_record(
                None if key < 0 else bytes(data[key:key_end]),
                None if value < 0 else bytes(data[value:value_end]),
                NO_HEADERS,
                delta,
                time,
            )
            for delta, time, key, key_end, value, value_end, *_ in rows
        )

    def _open(self, limit: int | None) -> None:
        wrapper = self._message
        if wrapper.value < 0:
            _refuse(wrapper.offset, "a compressed message without value")
        packed: bytes | memoryview = self.raw[wrapper.value : wrapper.value_end]
        if self.codec == Codec.LZ4 and not self.magic:
            packed = _mend_lz4_header(bytes(packed))
        data = memoryview(decompress(self.codec, packed, self.limit if limit is None else limit))
        messages = _parse_set(data, wrapper)
        # Magic 1 counts offsets from the start of the set (KIP-31); the wrapper has the offset of the last.
        base = wrapper.offset - messages[-1].offset if self.magic else 0
        first = base + messages[0].offset
        if min(first, messages[0].offset) < 0 or base + messages[-1].offset != wrapper.offset:
            _refuse(wrapper.offset, f"its messages end at offset {base + messages[-1].offset}")
        if max(message.offset for message in messages) - messages[0].offset > _LARGEST_DELTA:
            _refuse(wrapper.offset, "its offsets are too far apart for one batch")
        stamps = [message.timestamp for message in messages]
        if max(stamps) - min(stamps) > INT64_MAX:
            _refuse(wrapper.offset, "its timestamps are too far apart for one batch")
        self._columns = _columns(messages, first - base, messages[0].timestamp)
        self.base_offset = first
        self.last_offset_delta = wrapper.offset - first
        self.base_timestamp = messages[0].timestamp
        append_time = self.timestamp_type == 1
        self.max_timestamp = (
            wrapper.timestamp if append_time else max(message.timestamp for message in messages)
        )
        self.count = len(messages)
        self._payload = data


def _parse_set(data: memoryview, wrapper: _Message) -> list[_Message]:
    """The messages inside a wrapper, each with its checksum verified."""
    messages = []
    at = 0
    while at < len(data):
        if len(data) - at < _SMALLEST[wrapper.magic]:
            _refuse(wrapper.offset, f"{len(data) - at} bytes are left behind its last message")
        end = at + 12 + _LENGTH.unpack_from(data, at + 8)[0]
        if not at + _SMALLEST[wrapper.magic] <= end <= len(data):
            _refuse(wrapper.offset, f"the message at byte {at} ends at {end} of {len(data)}")
        message = _parse(data, at, end)
        if message.magic != wrapper.magic or message.attributes & 0x07:
            _refuse(
                wrapper.offset,
                f"the message at byte {at} has magic {message.magic} and "
                f"{codec_name(message.attributes & 0x07)} inside magic {wrapper.magic}",
            )
        _verify(data, message, end)
        messages.append(message)
        at = end
    if not messages:
        _refuse(wrapper.offset, "a compressed message set without messages")
    return messages


def _parse(data: memoryview, at: int, end: int) -> _Message:
    """The message in ``data[at:end]``, which its length field has been compared with."""
    offset, _, crc, magic, attributes = _FRAME.unpack_from(data, at)
    if magic not in _SMALLEST or end - at < _SMALLEST[magic]:
        _refuse(offset, f"no message has magic {magic} and {end - at} bytes")
    position = at + _FRAME.size
    timestamp = -1
    if magic:
        timestamp = _TIMESTAMP.unpack_from(data, position)[0]
        position += 8
    key, key_end, position = _parse_bytes(data, position, end, offset)
    value, value_end, position = _parse_bytes(data, position, end, offset)
    if position != end:
        _refuse(offset, f"the message ends at byte {end}, its fields at {position}")
    return _Message(
        offset, crc, magic, attributes, timestamp, at + _CRC_START, key, key_end, value, value_end
    )


def _parse_bytes(data: memoryview, at: int, end: int, offset: int) -> tuple[int, int, int]:
    """Start and end of a key or value (−1 for a null) and the position after it."""
    start = at + 4
    length = _LENGTH.unpack_from(data, at)[0] if start <= end else -2
    if length == -1:
        return -1, -1, start
    if not 0 <= length <= end - start:
        _refuse(offset, f"a length of {length} at byte {at}, {end - start} bytes are left")
    return start, start + length, start + length


def _verify(data: memoryview, message: _Message, end: int) -> None:
    actual = zlib.crc32(data[message.crc_start : end])
    if actual != message.crc:
        _refuse(message.offset, f"its checksum is {actual:08x}, its header says {message.crc:08x}")


def _columns(messages: list[_Message], first: int, base_timestamp: int) -> Columns:
    behind = [message.value_end for message in messages]
    return Columns(
        [message.offset - first for message in messages],
        [message.timestamp - base_timestamp for message in messages],
        [message.key for message in messages],
        [message.key_end for message in messages],
        [message.value for message in messages],
        behind,
        behind,
        behind,
        [0] * len(messages),
    )


def _mend_lz4_header(frame: bytes) -> bytes:
    """The frame with the header checksum as lz4 specifies it: that of magic 0 includes the magic number."""
    if frame[:4] != _LZ4_MAGIC or len(frame) < 7:
        return frame
    size = 2 + (8 if frame[4] & 0x08 else 0)  # flags, block size, content size
    descriptor = frame[4 : 4 + size]
    return frame[: 4 + size] + bytes((_xxh32_short(descriptor) >> 8 & 0xFF,)) + frame[5 + size :]


def _xxh32_short(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes."""
    digest = 374761393 + len(data)
    at = 0
    while at + 4 <= len(data):
        digest += int.from_bytes(data[at : at + 4], "little") * 3266489917
        digest = _rotate(digest & 0xFFFFFFFF, 17) * 668265263
        at += 4
    for byte in data[at:]:
        digest = _rotate(digest + byte * 374761393 & 0xFFFFFFFF, 11) * 2654435761
    digest &= 0xFFFFFFFF
    digest = (digest ^ digest >> 15) * 2246822519 & 0xFFFFFFFF
    digest = (digest ^ digest >> 13) * 3266489917 & 0xFFFFFFFF
    return digest ^ digest >> 16


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & 0xFFFFFFFF


def _refuse(offset: int, why: str) -> NoReturn:
    raise CorruptRecordsError(f"message at offset {offset}", why=why)
