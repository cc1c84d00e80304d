"""The render kernel in Python: a program of simple operations converts the records of a payload to output.

The specification of the C twin. Operations are evaluated column by column, which is fastest in Python. See
``render_ops`` for the constants of a program.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

from kcli.core.kernels import render_ops as op
from kcli.core.kernels.pure.decode import decode_columns
from kcli.core.kernels.pure.headers import decode_headers
from kcli.core.kernels.render_ops import Facts, Program
from kcli.core.kernels.shapes import Columns
from kcli.core.kernels.varint import INT64_MAX, INT64_MIN, Buffer, corrupt

Piece = Callable[[int], bytes]
"""What an operation writes for the record of this index."""

_DAY_MS = 86_400_000
_LAST_TIME = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_EPOCH_DAY = date(1970, 1, 1).toordinal()


def render_records(
    payload: Buffer,
    count: int,
    program: Program,
    facts: Facts,
    first_delta: int,
    last_delta: int,
    limit: int,
    selected: bytes | bytearray,
    extras: Sequence[Sequence[bytes | None]],
) -> tuple[bytes, int, int]:
    r"""The output of ``program`` for the records with offset deltas in ``[first_delta, last_delta]``.

    ``payload`` must hold exactly ``count`` records; all are validated as in ``decode_columns``, written or not.
    ``limit`` is the maximum number written, −1 for all. ``selected`` has a byte per record of the payload, 0 for those
    to be left out; if empty, none is. ``extras`` are columns of the caller's, an entry per record of the payload;
    entries of records that are not written are ignored. Returns the output, how many records are in it, and the offset
    delta of the last one (−1 for none).

    A record's timestamp is the batch's maximum one for LogAppendTime, else base timestamp + delta; one that is no
    int64 is a CorruptRecordsError. An undefined operation or number is a ValueError. Operations:

    ``(LITERAL, bytes)``
        these bytes.
    ``(NUMBER, which)`` or ``(NUMBER, which, otherwise)``
        the number in decimal; with ``otherwise`` these bytes for a negative one. Lengths are −1 for a null.
    ``(TIME, before, after, otherwise)``
        the timestamp as ``2026-11-21T10:00:00.123Z`` between ``before`` and ``after``; ``otherwise`` if it is
        negative or after the year 9999.
    ``(TIMESTAMP_TYPE, none, create, append)``
        one of these, for the batch's type −1, 0, 1.
    ``(BYTES, field, form, null, suffix)``
        the key or value; ``null`` for a null. Forms: RAW unchanged; HEX lower-case digits; BASE64 (RFC 4648, padded);
        JSON a string with quotes if it is UTF-8, else its base64 in quotes followed by ``suffix``; JSON_ESCAPED a
        string in which each byte that is not part of well-formed UTF-8 is ``\\xNN``; JSON_AS_IS a string whose bytes
        from 0x20 on are unchanged; CSV a field of RFC 4180, base64 if it is not UTF-8; NOT_TEXT writes
        ``suffix`` if it is not UTF-8, and nothing if it is.
    ``(LENGTH, field)``
        the length in 4 bytes, big-endian; −1 for a null.
    ``(HEADERS, HEADERS_TEXT)``
        ``n=v`` separated by commas, ``NULL`` for a null.
    ``(HEADERS, HEADERS_JSON)``
        ``[["n","v"],["n",null],["n","/w==","base64"],["/w==","v",null,"base64"]]``: a third element gives the
        encoding of the value, a fourth that of the name.
    ``(HEADERS, HEADERS_FLAT, before, after)``
        ``before``, then ``["n","v","n",null]`` in the form JSON_AS_IS, then ``after``; nothing without headers.
    ``(HEADERS, HEADERS_CSV)``
        HEADERS_JSON as a field of CSV.
    ``(HEADERS, HEADERS_EACH, program)``
        the program for each header, whose name is its key; it may hold LITERAL, BYTES, LENGTH, and NUMBER of
        KEY_LENGTH and VALUE_LENGTH.
    ``(EXTRA, index)`` or ``(EXTRA, index, operation)``
        the record's entry in that column; if it is None, the output of the operation.

    JSON strings: ``\" \\ \b \f \n \r \t`` and ``\u00XX`` for other bytes below 0x20, lower-case digits (upper-case for
    JSON_AS_IS, like yajl); everything else is unchanged. A CSV field is quoted, with quotes doubled, if it is empty or
    holds a comma, a quote, CR or LF.
    """
    columns = decode_columns(payload, count)
    if len(selected) not in (0, count) or any(len(extra) != count for extra in extras):
        raise ValueError("a selection or a column of extras is not as long as the batch")
    deltas = columns.offset_deltas
    wanted = [
        index
        for index, delta in enumerate(deltas)
        if first_delta <= delta <= last_delta and (not selected or selected[index])
    ]
    if limit >= 0:
        del wanted[limit:]
    batch = _Batch(bytes(payload), columns, facts, extras)
    pieces = [
        repeat(one[1], len(wanted)) if one[0] == op.LITERAL else map(_piece(batch, one), wanted)
        for one in program
    ]
    output: list[bytes] = list(chain.from_iterable(zip(*pieces, strict=True)))
    return b"".join(output), len(wanted), deltas[wanted[-1]] if wanted else -1


class _Batch:
    """The fields of a batch by index of the record."""

    def __init__(
        self, data: bytes, columns: Columns, facts: Facts, extras: Sequence[Sequence[bytes | None]]
    ) -> None:
        base_offset, base_timestamp, max_timestamp, kind, *_ = facts
        self.data = data
        self.columns = columns
        self.facts = facts
        self.extras = extras
        self.offsets = [base_offset + delta for delta in columns.offset_deltas]
        if kind == 1:
            self.timestamps = [max_timestamp] * len(self.offsets)
        else:
            self.timestamps = [base_timestamp + delta for delta in columns.timestamp_deltas]
            for stamp in (min(self.timestamps, default=0), max(self.timestamps, default=0)):
                if not INT64_MIN <= stamp <= INT64_MAX:
                    corrupt(0, f"timestamp {stamp} is not an int64")

    def fields(self, which: object) -> Callable[[int], bytes | None]:
        """The key or the value of each record."""
        data, columns = self.data, self.columns
        if which == op.KEY:
            starts, ends = columns.key_starts, columns.key_ends
        elif which == op.VALUE:
            starts, ends = columns.value_starts, columns.value_ends
        else:
            raise ValueError(f"there is no field {which!r}")
        return lambda i: data[starts[i] : ends[i]] if starts[i] >= 0 else None

    def headers(self, index: int) -> list[tuple[bytes, bytes | None]]:
        """The headers of a record; names as bytes."""
        columns = self.columns
        if not columns.header_counts[index]:
            return []
        found = decode_headers(self.data, columns.header_starts[index], columns.header_ends[index])
        return [(name.encode() if isinstance(name, str) else name, value) for name, value in found]


# --- operations --------------------------------------------------------------------------------------


def _piece(batch: _Batch, one: Sequence[Any]) -> Piece:
    code = one[0]
    if code == op.LITERAL:
        return lambda _: one[1]
    if code == op.NUMBER:
        return _number(_numbers(batch, one[1]), one[2] if len(one) > 2 else None)
    if code == op.TIME:
        return _time(batch.timestamps, *one[1:])
    if code == op.TIMESTAMP_TYPE:
        chosen: bytes = one[2 + batch.facts[3]]
        return lambda _: chosen
    if code == op.BYTES:
        return _bytes(batch.fields(one[1]), *one[2:])
    if code == op.LENGTH:
        return _length(batch.fields(one[1]))
    if code == op.HEADERS:
        return _headers(batch, *one[1:])
    if code == op.EXTRA:
        return _extra(batch, *one[1:])
    raise ValueError(f"there is no operation {code!r}")


def _numbers(batch: _Batch, which: int) -> Callable[[int], int]:
    if which == op.OFFSET:
        return batch.offsets.__getitem__
    if which == op.TIMESTAMP:
        return batch.timestamps.__getitem__
    if which in (op.LEADER_EPOCH, op.PRODUCER_ID, op.PRODUCER_EPOCH):
        fact = batch.facts[4 + which - op.LEADER_EPOCH]
        return lambda _: fact
    if which == op.HEADER_COUNT:
        return batch.columns.header_counts.__getitem__
    if which in (op.KEY_LENGTH, op.VALUE_LENGTH):
        return _lengths(batch.fields(op.KEY if which == op.KEY_LENGTH else op.VALUE))
    raise ValueError(f"there is no number {which!r}")


def _lengths(field: Callable[[int], bytes | None]) -> Callable[[int], int]:
    return lambda i: -1 if (data := field(i)) is None else len(data)


def _number(number: Callable[[int], int], otherwise: bytes | None) -> Piece:
    if otherwise is None:
        return lambda i: b"%d" % number(i)
    return lambda i: b"%d" % found if (found := number(i)) >= 0 else otherwise


def _time(timestamps: Sequence[int], before: bytes, after: bytes, otherwise: bytes) -> Piece:
    @lru_cache(1024)  # records of a batch share many timestamps
    def text(stamp: int) -> bytes:
        if not 0 <= stamp <= _LAST_TIME:
            return otherwise
        days, rest = divmod(stamp, _DAY_MS)
        minutes, ms = divmod(rest, 60_000)
        return b"%b%bT%02d:%02d:%02d.%03dZ%b" % (
            before,
            _day(days),
            minutes // 60,
            minutes % 60,
            ms // 1000,
            ms % 1000,
            after,
        )

    return lambda i: text(timestamps[i])


@lru_cache(64)
def _day(days: int) -> bytes:
    return date.fromordinal(_EPOCH_DAY + days).isoformat().encode()


def _bytes(field: Callable[[int], bytes | None], form: int, null: bytes, suffix: bytes) -> Piece:
    write = _form(form, suffix)
    if write is None:
        return lambda i: null if (data := field(i)) is None else data
    return lambda i: null if (data := field(i)) is None else write(data)


def _length(field: Callable[[int], bytes | None]) -> Piece:
    length = _lengths(field)
    return lambda i: length(i).to_bytes(4, "big", signed=True)


def _headers(batch: _Batch, form: int, *arguments: Any) -> Piece:
    headers = batch.headers
    if form == op.HEADERS_TEXT:
        return lambda i: b",".join([n + b"=" + (b"NULL" if v is None else v) for n, v in headers(i)])
    if form == op.HEADERS_JSON:
        return lambda i: _json_pairs(headers(i))
    if form == op.HEADERS_CSV:
        return lambda i: _csv_quoted(_json_pairs(headers(i)))
    if form == op.HEADERS_FLAT:
        before, after = arguments
        return lambda i: before + _json_flat(found) + after if (found := headers(i)) else b""
    if form == op.HEADERS_EACH:
        _check_each(arguments[0])
        return lambda i: b"".join([_each(arguments[0], *header) for header in headers(i)])
    raise ValueError(f"there is no form of headers {form!r}")


def _check_each(program: Sequence[Sequence[Any]]) -> None:
    for one in program:
        code = one[0]
        if code in (op.BYTES, op.LENGTH):
            if one[1] not in (op.KEY, op.VALUE):
                raise ValueError(f"there is no field {one[1]!r}")
            if code == op.BYTES:
                _form(one[2], one[4])
        elif code != op.LITERAL and (code != op.NUMBER or one[1] not in (op.KEY_LENGTH, op.VALUE_LENGTH)):
            raise ValueError(f"{one!r} is not for headers")


def _each(program: Sequence[Sequence[Any]], name: bytes, value: bytes | None) -> bytes:
    """Runs the program for one header, using only its name and value."""
    fields = (name, value)
    out = []
    for one in program:
        code = one[0]
        if code == op.LITERAL:
            out.append(one[1])
        elif code == op.BYTES:
            out.append(_bytes(lambda _, data=fields[one[1]]: data, *one[2:])(0))  # type: ignore[misc]
        elif code == op.LENGTH:
            out.append(_length(lambda _, data=fields[one[1]]: data)(0))  # type: ignore[misc]
        else:
            data = fields[one[1] - op.KEY_LENGTH]
            out.append(b"%d" % (-1 if data is None else len(data)))
    return b"".join(out)


def _extra(batch: _Batch, index: int, otherwise: Sequence[Any] | None = None) -> Piece:
    column = batch.extras[index]
    if otherwise is None:
        return column.__getitem__  # type: ignore[return-value]
    other = _piece(batch, otherwise)
    return lambda i: other(i) if (entry := column[i]) is None else entry


# --- forms of bytes ------------------------------------------------------------------------------------


def _form(form: int, suffix: bytes) -> Callable[[bytes], bytes] | None:
    """The function that writes bytes in a form; None for RAW, which writes them as they are."""
    if form == op.RAW:
        return None
    if form == op.HEX:
        return lambda data: data.hex().encode()
    if form == op.BASE64:
        return b64encode
    if form == op.JSON:
        return lambda data: _json_text(data) if _is_text(data) else _json64(data) + suffix
    if form == op.JSON_ESCAPED:
        return lambda data: _json_text(data.decode("utf-8", "backslashreplace").encode())
    if form == op.JSON_AS_IS:
        return _json_as_is
    if form == op.CSV:
        return lambda data: _csv(data if _is_text(data) else b64encode(data))
    if form == op.NOT_TEXT:
        return lambda data: b"" if _is_text(data) else suffix
    raise ValueError(f"there is no form of bytes {form!r}")


def _is_text(data: bytes) -> bool:
    """Whether it is valid UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_SHORT = {0x22: b'\\"', 0x5C: b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r"}
_LOWER = {bytes([code]): _SHORT.get(code, b"\\u%04x" % code) for code in (*range(32), 0x22, 0x5C)}
_UPPER = {bytes([code]): _SHORT.get(code, b"\\u%04X" % code) for code in (*range(32), 0x22, 0x5C)}
_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def _json_text(data: bytes) -> bytes:
    """A JSON string of valid UTF-8."""
    return b'"%b"' % _ESCAPED.sub(lambda match: _LOWER[match[0]], data)


def _json_as_is(data: bytes) -> bytes:
    return b'"%b"' % _ESCAPED.sub(lambda match: _UPPER[match[0]], data)


def _json64(data: bytes) -> bytes:
    return b'"%b"' % b64encode(data)


def _json_pairs(headers: Sequence[tuple[bytes, bytes | None]]) -> bytes:
    return b"[%b]" % b",".join([_json_pair(name, value) for name, value in headers])


def _json_pair(name: bytes, value: bytes | None) -> bytes:
    named = _is_text(name)
    first = _json_text(name) if named else _json64(name)
    second, third = b"null", b""
    if value is not None and _is_text(value):
        second = _json_text(value)
    elif value is not None:
        second, third = _json64(value), b',"base64"'
    fourth = b"" if named else b',"base64"' if third else b',null,"base64"'
    return b"[%b,%b%b%b]" % (first, second, third, fourth)


def _json_flat(headers: Sequence[tuple[bytes, bytes | None]]) -> bytes:
    cells = chain.from_iterable(headers)
    return b"[%b]" % b",".join([b"null" if cell is None else _json_as_is(cell) for cell in cells])


_CSV_SPECIAL = re.compile(rb'[,"\r\n]')


def _csv(data: bytes) -> bytes:
    return _csv_quoted(data) if not data or _CSV_SPECIAL.search(data) else data


def _csv_quoted(data: bytes) -> bytes:
    if data == b"[]":
        return data
    return b'"%b"' % data.replace(b'"', b'""')
