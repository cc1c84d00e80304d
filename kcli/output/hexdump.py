"""``-o hex``: key, value and headers of a record as ``hexdump -C`` shows bytes, below a line that names the record."""

from collections.abc import Iterator

from kcli.core.types import Record
from kcli.output.record_json import rfc3339

_WIDTH = 16
_MARGIN = 8


def dump_record(record: Record, marker: str | None = None) -> bytes:
    """The record, followed by an empty line; ``marker`` is COMMIT or ABORT of a transaction."""
    when = rfc3339(record.timestamp) or str(record.timestamp)
    title = f"{record.topic}-{record.partition}@{record.offset}  {when}" + (f"  {marker}" if marker else "")
    lines = [title, *_field("key", record.key), *_field("value", record.value)]
    for name, value in record.headers:
        shown = name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
        lines += [f"header  {shown!r}", *_field("", value)]
    return "\n".join([*lines, "", ""]).encode("utf-8", "backslashreplace")


def _field(label: str, data: bytes | None) -> list[str]:
    if not data:
        return [f"{label:{_MARGIN}}{'null' if data is None else 'empty'}"]
    return [f"{label if not number else '':{_MARGIN}}{row}" for number, row in enumerate(dump_rows(data))]


def dump_rows(data: bytes) -> Iterator[str]:
    """Offset, bytes and ASCII of 16 bytes a row."""
    return (_row(data[at : at + _WIDTH], at) for at in range(0, len(data), _WIDTH))


def _row(data: bytes, at: int) -> str:
    halves = "  ".join(half.hex(" ").ljust(23) for half in (data[:8], data[8:]))
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
    return f"{at:08x}  {halves}  |{text}|"
