"""``render_records`` once more, record by record and as plainly as it can be written."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from kcli.core.kernels import render_ops as op

Bytes = bytes | None


class Row(NamedTuple):
    """A record: offset and timestamp are the absolute ones."""

    offset: int
    timestamp: int
    key: Bytes
    value: Bytes
    headers: tuple[tuple[bytes, Bytes], ...]


def render(rows: Sequence[Row], program: Any, facts: Any, extras: Sequence[Sequence[Bytes]]) -> list[bytes]:
    """What the program writes for each record."""
    return [
        b"".join(write(one, row, facts, [extra[i] for extra in extras]) for one in program)
        for i, row in enumerate(rows)
    ]


def write(one: Any, row: Row, facts: Any, extras: Sequence[Bytes]) -> bytes:
    code, *rest = one
    if code == op.LITERAL:
        return bytes(rest[0])
    if code == op.NUMBER:
        number = numbers(row, facts)[rest[0]]
        return rest[1] if len(rest) > 1 and number < 0 else str(number).encode()  # type: ignore[no-any-return]
    if code == op.TIME:
        before, after, otherwise = rest
        if not 0 <= row.timestamp < 253_402_300_800_000:
            return bytes(otherwise)
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=row.timestamp)
        text = when.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
        return bytes(before + text.encode() + after)
    if code == op.TIMESTAMP_TYPE:
        return bytes({-1: rest[0], 0: rest[1], 1: rest[2]}[facts[3]])
    if code == op.BYTES:
        which, form, null, suffix = rest
        data = (row.key, row.value)[which]
        return bytes(null) if data is None else formed(data, form, suffix)
    if code == op.LENGTH:
        data = (row.key, row.value)[rest[0]]
        return (-1 if data is None else len(data)).to_bytes(4, "big", signed=True)
    if code == op.HEADERS:
        return headers(row, facts, *rest)
    if code == op.EXTRA:
        entry = extras[rest[0]]
        return write(rest[1], row, facts, extras) if entry is None else entry
    raise AssertionError(one)


def numbers(row: Row, facts: Any) -> list[int]:
    lengths = [-1 if data is None else len(data) for data in (row.key, row.value)]
    return [row.offset, row.timestamp, *facts[4:7], len(row.headers), *lengths]


def headers(row: Row, facts: Any, form: int, *rest: Any) -> bytes:
    if form == op.HEADERS_TEXT:
        return b",".join(n + b"=" + (b"NULL" if v is None else v) for n, v in row.headers)
    if form == op.HEADERS_FLAT:
        cells = [cell for header in row.headers for cell in header]
        inner = b",".join(b"null" if cell is None else as_is(cell) for cell in cells)
        return bytes(rest[0] + b"[" + inner + b"]" + rest[1]) if cells else b""
    if form == op.HEADERS_EACH:
        inside = [row._replace(key=name, value=value, headers=()) for name, value in row.headers]
        return b"".join(write(one, each, facts, ()) for each in inside for one in rest[0])
    pairs = json_text([pair(*header) for header in row.headers])
    return quoted(pairs) if form == op.HEADERS_CSV and row.headers else pairs


def pair(name: bytes, value: Bytes) -> list[str | None]:
    label, told = text_or_64(name)
    text, encoding = (None, None) if value is None else text_or_64(value)
    return [label, text, encoding, told] if told else [label, text, encoding] if encoding else [label, text]


def text_or_64(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def formed(data: bytes, form: int, suffix: bytes) -> bytes:
    text, encoding = text_or_64(data)
    simple = {op.RAW: data, op.HEX: data.hex().encode(), op.BASE64: base64.b64encode(data)}
    if form in simple:
        return simple[form]
    if form == op.JSON:
        return json_text(text) + (suffix if encoding else b"")
    if form == op.JSON_ESCAPED:
        return json_text(data.decode("utf-8", "backslashreplace"))
    if form == op.JSON_AS_IS:
        return as_is(data)
    if form == op.NOT_TEXT:
        return suffix if encoding else b""
    assert form == op.CSV
    plain = text.encode()
    return quoted(plain) if not plain or set(plain) & set(b',"\r\n') else plain


def json_text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def as_is(data: bytes) -> bytes:
    """Byte by byte; digits are upper-case, as yajl has them."""
    short = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r", 0x22: b'\\"', 0x5C: b"\\\\"}
    out = [short.get(b) or (b"\\u%04X" % b if b < 0x20 else bytes([b])) for b in data]
    return b'"' + b"".join(out) + b'"'


def quoted(data: bytes) -> bytes:
    return b'"' + data.replace(b'"', b'""') + b'"'
