"""One record as lines of text, JSON or hex. Pure."""

from __future__ import annotations

from kcli.flows.groups.record_pages import Part, ShownRecord
from kcli.output.record_dumps import dump_rows
from kcli.output.template import rfc3339
from kcli.tui.cells import Cell, Line, fitted, wrapped

TEXT, JSON, HEX = "text", "JSON", "hex"
VIEWS = (TEXT, JSON, HEX)
_FRAMED = 5
"""Bytes before the data of the registry's serializers: a zero, and the schema's id."""


def record_lines(record: ShownRecord, view: str, width: int) -> list[Line]:
    """The whole record; what is not shown of it is said."""
    when = rfc3339(record.timestamp) or str(record.timestamp)
    lines: list[Line] = [_line(f"offset {record.offset:,}   {when}", width, "title")]
    lines += _part("key", record.key, view, width)
    for name, value in record.headers:
        lines += _part(f"header {name}", value, view, width)
    if record.more_headers:
        lines.append(_line(f"{record.more_headers:,} more headers are not shown", width, "warn"))
    return lines + _part("value", record.value, view, width)


def schema_id(part: Part) -> int | None:
    """Of a value in the registry's frame."""
    if part.data is None or len(part.data) < _FRAMED or part.data[0] != 0:
        return None
    return int.from_bytes(part.data[1:_FRAMED], "big")


def _part(title: str, part: Part, view: str, width: int) -> list[Line]:
    if part.data is None:
        return [_line(f"{title}: null", width, "head")]
    if not part.size:
        return [_line(f"{title}: empty", width, "head")]
    number = schema_id(part)
    frame = f", perhaps of schema {number} in a registry" if number is not None else ""
    text = _json_of(part) if view == JSON else None
    remark = ", not shown as JSON" if view == JSON and text is None else ""
    size = f"{part.size:,} byte{'s' if part.size > 1 else ''}"
    lines = [_line(f"{title}: {size}{frame}{remark}", width, "head")]
    lines += [(Cell(fitted(row, width)),) for row in _rows(part.data, text, view, width)]
    if part.hidden:
        lines.append(_line(f"{part.hidden:,} of {part.size:,} bytes are not shown", width, "warn"))
    return lines


def _rows(data: bytes, text: str | None, view: str, width: int) -> list[str]:
    if view == HEX:
        return [f"  {row}" for row in dump_rows(data)]
    shown = data.decode("utf-8", "backslashreplace") if text is None else text
    return [row for line in shown.split("\n") for row in wrapped(f"  {line}", width, "  ")]


def _json_of(part: Part) -> str | None:
    """None for what is no JSON, or not all here; a value in the registry's frame may be JSON behind it."""
    if part.data is None or part.hidden:
        return None
    text = _json(part.data)
    return _json(part.data[_FRAMED:]) if text is None and schema_id(part) is not None else text


def _json(data: bytes) -> str | None:
    """The same JSON on several lines: its digits and repeated members stay as they are."""
    import msgspec  # only for the screen of a record

    try:
        return msgspec.json.format(data, indent=2).decode()
    except (ValueError, RecursionError):
        return None


def _line(text: str, width: int, style: str) -> Line:
    return (Cell(fitted(text, width), style),)
