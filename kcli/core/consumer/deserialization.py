"""Deserializes keys and values of records."""

from collections.abc import Callable
from typing import Any

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import Record

Deserializer = Callable[[str, bytes | None], Any]
"""Receives the topic and the bytes of a key or value (None for null)."""


class DeserializationError(KcliError):
    """A deserializer failed; ``record`` has the bytes. The next poll continues after it."""

    exit_code = ExitCode.DATA

    def __init__(self, record: Record, part: str, error: Exception) -> None:
        position = f"{record.topic}-{record.partition}, offset {record.offset}"
        super().__init__(
            f"{position}: the {part} cannot be deserialized", why=f"{type(error).__name__}: {error}"
        )
        self.record = record


def deserialized(
    record: Record, key_deserializer: Deserializer | None, value_deserializer: Deserializer | None
) -> Record:
    """The record with its key and value deserialized; DeserializationError names the record."""
    key = _apply(record, "key", record.key, key_deserializer)
    value = _apply(record, "value", record.value, value_deserializer)
    return record._replace(key=key, value=value)


def _apply(record: Record, part: str, data: bytes | None, deserializer: Deserializer | None) -> Any:
    if deserializer is None:
        return data
    try:
        return deserializer(record.topic, data)
    except Exception as error:
        raise DeserializationError(record, part, error) from error
