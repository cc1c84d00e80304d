"""The JSON form of a record once more, as plainly as it can be written: what the render program is compared with.

Not a test.
"""

from typing import Any

from kcli.core.types import Record
from kcli.output.template import rfc3339


def record_dict(record: Record) -> dict[str, Any]:
    """The record in the JSON form of the contract: bytes that are not UTF-8 are base64 and say so."""
    found: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp if record.timestamp >= 0 else None,
        "timestamp_type": _TIMESTAMP_TYPES.get(record.timestamp_type),
        "time": rfc3339(record.timestamp),
    }
    for field, data in (("key", record.key), ("value", record.value)):
        text, encoding = _text(data)
        found[field] = text
        if encoding:
            found[f"{field}_encoding"] = encoding
    found["headers"] = [_header(name, value) for name, value in record.headers]
    found["leader_epoch"] = record.leader_epoch if record.leader_epoch >= 0 else None
    return found


_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}


def _text(data: bytes | None) -> tuple[str | None, str]:
    if data is None:
        return None, ""
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        import base64

        return base64.b64encode(data).decode(), "base64"


def _header(name: str | bytes, value: bytes | None) -> list[str | None]:
    """``[name, value]``; a third element says how the value is encoded, a fourth how the name is."""
    text, encoding = _text(value)
    label, name_encoding = _text(name.encode() if isinstance(name, str) else name)
    row: list[str | None] = [label, text]
    if encoding or name_encoding:
        row.append(encoding or None)
    if name_encoding:
        row.append(name_encoding)
    return row
