"""Serializes the application's objects to the bytes of a record, and validates records before they are queued."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.kernels.shapes import Row
from kcli.core.types import ProducerRecord, TopicPartition

Serializer = Callable[[str, Any], bytes | None]
"""Given a topic and a key or value; what it returns is stored. Runs in the sender's thread."""

_BYTES = (bytes, bytearray, memoryview, type(None))
_BYTES_TYPES = frozenset(_BYTES)
_LAST_TIMESTAMP = (1 << 63) - 1
_OBJECT_SIZE = 256  # assumed size of an object until it is serialized


class SerializationError(KcliError):
    """A serializer failed, or a record holds something that is not bytes and there is no serializer for it."""


class RecordTooLargeError(KcliError):
    """A record larger than ``max.request.size``; it was not sent."""


def serialized(
    record: ProducerRecord, key_serializer: Serializer | None, value_serializer: Serializer | None
) -> ProducerRecord:
    """The record with its key and value as bytes."""
    key = _apply("key", record.topic, record.key, key_serializer)
    value = _apply("value", record.topic, record.value, value_serializer)
    return record._replace(key=key, value=value)


def record_size(record: ProducerRecord) -> int:
    """The approximate size of a record in a batch, in bytes; a guess while it is not serialized."""
    headers = sum(len(name) + len(value or b"") + 4 for name, value in record.headers)
    return _size(record.value) + _size(record.key) + headers + 32


def check_timestamp(timestamp: Any) -> None:
    """Rejects anything but whole milliseconds since 1970, and Kafka's −1: no timestamp."""
    if type(timestamp) is not int or not -1 <= timestamp <= _LAST_TIMESTAMP:
        raise ConfigError(
            f"{timestamp!r} is not the timestamp of a record",
            why="it is a whole number of milliseconds since 1970, or -1 for none",
            do="int(time.time() * 1000), for example",
        )


def check_values(part: str, values: Iterable[Any]) -> None:
    """Rejects keys or values (``part`` says which) that are not bytes, before any of them is queued."""
    for kind in set(map(type, values)) - _BYTES_TYPES:
        if not issubclass(kind, _BYTES):
            raise _not_bytes(part, "", kind)


def check_rows(rows: Sequence[Row]) -> int:
    """Rejects rows that cannot be encoded, before any of them is queued; returns their approximate size in bytes."""
    keys, values, blocks, times = zip(*rows, strict=True)
    check_values("key", keys)
    check_values("value", values)
    check_values("header block", blocks)
    if set(map(type, times)) != {int} or min(times) < -1 or max(times) > _LAST_TIMESTAMP:
        for timestamp in times:
            check_timestamp(timestamp)
    return bytes_of(keys) + bytes_of(values) + bytes_of(blocks) + 8 * len(rows)


def bytes_of(values: Iterable[bytes | None]) -> int:
    """The total length of ``values``; null counts as 0."""
    return sum(map(len, filter(None, values)))


def check_record(record: ProducerRecord, timestamp: int, *, serialized: bool) -> None:
    """Rejects a record that cannot be encoded; ``serialized``: no serializer will convert its key and value."""
    check_timestamp(timestamp)
    if serialized:
        if not isinstance(record.value, _BYTES):
            raise _not_bytes("value", f" of a record for {record.topic}", type(record.value))
        if not isinstance(record.key, _BYTES):
            raise _not_bytes("key", f" of a record for {record.topic}", type(record.key))


def check_size(record: ProducerRecord, size: int, largest: int) -> None:
    """Rejects a record larger than ``max.request.size``."""
    if size > largest:
        raise RecordTooLargeError(
            f"a record of {size:,} bytes for {record.topic} is too large",
            why=f"max.request.size is {largest:,}",
            do="raise max.request.size, and the topic's max.message.bytes with it",
        )


def request_too_large(tp: TopicPartition, number: int, size: int, largest: int) -> RecordTooLargeError:
    """The error for a record that does not fit a request, compressed and with all that a request has beside it."""
    return RecordTooLargeError(
        f"record {number:,} for {tp} is too large: alone it makes a request of {size:,} bytes",
        why=f"max.request.size is {largest:,}",
        do="raise max.request.size, if the brokers accept more; it does not change max.message.bytes of the topic",
    )


def line_too_long(topic: str, size: int, longest: int) -> RecordTooLargeError:
    """The error for a line that is too long for a record."""
    return RecordTooLargeError(
        f"a line of {size:,} bytes for {topic} is too long",
        why=f"it does not fit a record: max.request.size is {longest:,}",
        do="check the delimiter (-D), or raise -X max.request.size and the topic's max.message.bytes",
    )


def row_too_large(topic: str, row: int, size: int, longest: int) -> RecordTooLargeError:
    """The error for a row of a table that is too large for a record."""
    return RecordTooLargeError(
        f"row {row:,} for {topic} is too large: {size:,} bytes",
        why=f"max.request.size is {longest:,}",
        do="raise max.request.size, and the topic's max.message.bytes with it",
    )


def _size(value: Any) -> int:
    return len(value or b"") if isinstance(value, _BYTES) else _OBJECT_SIZE


def _apply(part: str, topic: str, value: Any, serializer: Serializer | None) -> bytes | None:
    if serializer is not None:
        try:
            value = serializer(topic, value)
        except Exception as error:
            what = f"the {part} of a record for {topic} cannot be serialized"
            raise SerializationError(what, why=f"{type(error).__name__}: {error}") from error
    if not isinstance(value, _BYTES):
        raise _not_bytes(part, f" of a record for {topic}", type(value))
    return value if value is None or isinstance(value, bytes) else bytes(value)


def _not_bytes(part: str, where: str, kind: type) -> SerializationError:
    what = f"a {part}{where} is of type {kind.__name__}, not bytes"
    return SerializationError(what, do=f"encode it, or give the producer a {part}_serializer and use send")
