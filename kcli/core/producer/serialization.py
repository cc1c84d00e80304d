"""From the application's objects to the bytes of a record, and how large that is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kcli.core.errors import KcliError
from kcli.core.types import ProducerRecord

Serializer = Callable[[str, Any], bytes | None]
"""Given a topic and a key or value; what it returns is stored. Runs in the sender's thread."""

_BYTES = (bytes, bytearray, memoryview, type(None))
_OBJECT_SIZE = 256  # what an object counts for until it is serialized


class SerializationError(KcliError):
    """A serializer failed, or a record holds something that is not bytes and there is no serializer for it."""


class RecordTooLargeError(KcliError):
    """A record above ``max.request.size``: it was not sent."""


def serialized(
    record: ProducerRecord, key_serializer: Serializer | None, value_serializer: Serializer | None
) -> ProducerRecord:
    """The record with bytes for key and value."""
    key = _apply("key", record.topic, record.key, key_serializer)
    value = _apply("value", record.topic, record.value, value_serializer)
    return replace(record, key=key, value=value)


def record_size(record: ProducerRecord) -> int:
    """About how many bytes a record takes in a batch; a guess while it is not serialized."""
    headers = sum(len(name) + len(value or b"") + 4 for name, value in record.headers)
    return _size(record.value) + _size(record.key) + headers + 32


def check_size(record: ProducerRecord, size: int, largest: int) -> None:
    """Refuses a record above ``max.request.size``."""
    if size > largest:
        raise RecordTooLargeError(
            f"a record of {size:,} bytes for {record.topic} is too large",
            why=f"max.request.size is {largest:,}",
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
        what = f"the {part} of a record for {topic} is of type {type(value).__name__}, not bytes"
        raise SerializationError(what, do=f"encode it, or give the producer a {part}_serializer")
    return value if value is None or isinstance(value, bytes) else bytes(value)
