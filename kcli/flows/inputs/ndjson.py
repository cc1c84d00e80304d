"""``-i ndjson``: one JSON object per line, the format that ``consume -o ndjson`` writes; restores it exactly.

It reads ``key``, ``value``, ``headers``, ``timestamp`` and ``partition`` and ignores other keys, but rejects transaction
markers (``control``). Binary data is marked as base64 (``output/template.py``); data that ``consume -s`` has decoded
names its serde (``input_format.py``), and is JSON that passes as it is. ``value`` is required, so that JSON of another
shape is not mistaken for a record with a null value. A member that is read and occurs twice makes its line bad input:
which of the two is meant is not known (``JsonLineParser``). Without ``timestamp`` a record gets the current time; null
and −1 are Kafka's "no timestamp".
"""

import json
import re
from collections.abc import Callable, Sequence
from itertools import count
from operator import methodcaller
from typing import Any

import msgspec

from kcli.core.types import Header
from kcli.flows.inputs.input_format import Encoding, HeaderBlocks, base64_bytes, text_bytes
from kcli.flows.inputs.item import BadLine, InputRow, Item, make_row
from kcli.flows.inputs.lines import LineParser, ParseLine

_ESCAPED_NAME = re.compile(rb"\\u00[567]")
"""A small letter or ``_``, which no writer escapes; other escapes are usual in values."""
_LINE_END = methodcaller("find", b"\n")


ReadAll = Callable[[bytes, Sequence[bytes], int], list[Item] | None]
"""The records of a text, which are also its lines, with the number of the first; None where each needs a look."""


class JsonLineParser(LineParser):
    """Looks for repeated members in a portion of lines at once: a name that occurs twice in a line may be one.

    ``read_all`` reads lines together that have nothing of that, and are not too long.
    """

    def __init__(
        self, parse: ParseLine, names: Sequence[str], *, longest: int, read_all: ReadAll | None = None
    ) -> None:
        super().__init__(parse, longest=longest)
        self._without_check = parse
        self._read_all = read_all
        self._names = frozenset(names)
        self._quoted = [b'"%b"' % name.encode() for name in names]

    def _items(self, lines: list[bytes | None]) -> list[Item]:
        whole = list(filter(None, lines))
        text = b"\n".join(whole)
        repeats = self._may_repeat(text)
        if self._read_all is not None and not repeats and len(whole) == len(lines) and whole:
            items = (
                self._read_all(text, whole, self._line + 1) if max(map(len, whole)) <= self._longest else None
            )
            if items is not None:
                self._line += len(whole)
                return items
        self._parse = self._checked if repeats else self._without_check
        return super()._items(lines)

    def _checked(self, line: bytes, number: int) -> InputRow | None:
        if self._may_repeat(line):
            self._refuse_repeated(line)
        return self._without_check(line, number)

    def _may_repeat(self, text: bytes) -> bool:
        """Whether a name occurs twice in a line of ``text``; most are in none of them."""
        return _ESCAPED_NAME.search(text) is not None or any(
            # what is between two of them, if that is not the end of a line
            min(map(_LINE_END, text.split(name)[1:-1]), default=0) < 0
            for name in self._quoted
            if name in text
        )

    def _refuse_repeated(self, line: bytes) -> None:
        try:
            pairs: Any = json.loads(
                line.decode("utf-8-sig", "replace"),
                parse_int=str,
                parse_float=str,
                object_pairs_hook=lambda pairs: [name for name, _value in pairs],
            )
        except (ValueError, RecursionError):  # of this the decoder of the line says more
            return
        names = pairs if isinstance(pairs, list) else []
        for name in self._names:
            if names.count(name) > 1:
                raise BadLine(f"it has the member `{name}` {names.count(name)} times")


_BYTE = re.compile(r" ?\(byte (\d+)\)")
_HALF_A_PAIR = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
_INT64 = 1 << 63
_BOM = b"\xef\xbb\xbf"
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: for ``bad_json``."""


class _Line(msgspec.Struct):
    value: str | msgspec.UnsetType | None = msgspec.UNSET
    key: str | None = None
    headers: Sequence[Sequence[str | None]] | None = None
    timestamp: int | msgspec.UnsetType | None = msgspec.UNSET
    partition: int | None = None
    key_encoding: str | None = None
    value_encoding: str | None = None
    control: Any = None


_NULL = msgspec.Raw(b"null")


class _AnyLine(msgspec.Struct):
    """Like _Line, with keys and values of any type, as they are written."""

    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    key: msgspec.Raw = _NULL
    headers: Sequence[Sequence[str | None]] | None = None
    timestamp: int | msgspec.UnsetType | None = msgspec.UNSET
    partition: int | None = None
    key_encoding: str | None = None
    value_encoding: str | None = None
    control: Any = None


_BYTES = (None, "base64")


def ndjson_parser(blocks: HeaderBlocks, encoding: Encoding | None = None, *, longest: int) -> JsonLineParser:
    """The parser for ``-i ndjson``; blank lines are skipped."""
    read_all = None if encoding else _reader_of_all(blocks)
    return JsonLineParser(
        _reader(blocks, encoding), _Line.__struct_fields__, longest=longest, read_all=read_all
    )


def _reader_of_all(blocks: HeaderBlocks) -> ReadAll:
    """Reads objects on lines of their own, with keys and values that are strings, and without headers."""
    decode, none, unset = msgspec.json.Decoder(_Line).decode_lines, blocks.none, msgspec.UNSET

    def read(text: bytes, lines: Sequence[bytes], first: int) -> list[Item] | None:
        # The decoder takes an object over several lines, and several on one. No object can go on after a brace at
        # the end of a line with one at the beginning of the next.
        if text[:1] != b"{" or text[-1:] != b"}" or text.count(b"}\n{") != len(lines) - 1:
            return None
        items: list[Item] = []
        try:
            found = decode(text)
            if len(found) != len(lines):
                return None
            for number, line, one in zip(count(first), lines, found, strict=False):
                key, value, time, partition = one.key, one.value, one.timestamp, one.partition
                if (
                    value is unset
                    or one.key_encoding is not None
                    or one.value_encoding is not None
                    or one.control is not None
                    or one.headers
                ):
                    return None
                if time is not unset:
                    time = timestamp_of(time)
                if partition is not None:
                    check_partition(partition)
                fields = (
                    number,
                    None if key is None else key.encode(),
                    None if value is None else value.encode(),
                    none,
                    None if time is unset else time,
                    partition,
                    line,
                )
                items.append(make_row(fields))
        except (*NOT_JSON, BadLine, UnicodeEncodeError):
            return None  # which of them it is, and why, is found one by one
        return items

    return read


def _reader(blocks: HeaderBlocks, encoding: Encoding | None) -> ParseLine:
    decode = msgspec.json.Decoder(_Line).decode
    read_any = _any_reader(blocks, encoding or Encoding())
    if encoding:
        return read_any

    def parse(line: bytes, number: int) -> InputRow | None:
        if not line or line.isspace():
            return None
        try:
            found = decode(line)
        except msgspec.ValidationError:
            return read_any(line, number)
        except NOT_JSON as error:
            return _behind_mark(parse, line, number, error)
        if found.key_encoding not in _BYTES or found.value_encoding not in _BYTES:
            return read_any(line, number)
        return _row(found, data_of, blocks, number, line)

    return parse


def _any_reader(blocks: HeaderBlocks, encoding: Encoding) -> ParseLine:
    """Reads lines whose keys and values may be of any type."""
    decode: Callable[[bytes], _AnyLine] = msgspec.json.Decoder(_AnyLine).decode

    def data(raw: msgspec.Raw, named: str | None, part: str) -> bytes | None:
        return encoding.json(part, bytes(raw), named)

    def parse(line: bytes, number: int) -> InputRow | None:
        if not line or line.isspace():
            return None
        try:
            found = decode(line)
        except NOT_JSON as error:
            return _behind_mark(parse, line, number, error)
        return _row(found, data, blocks, number, line)

    return parse


def _behind_mark(parse: ParseLine, line: bytes, number: int, error: Exception) -> InputRow | None:
    """Skips one byte order mark, which some editors write at the start of a file; without it the line is wrong."""
    if not line.startswith(_BOM) or line.startswith(_BOM, len(_BOM)):
        raise bad_json(error, line) from None
    return parse(line[len(_BOM) :], number)


def _row(
    found: _Line | _AnyLine,
    data: Callable[[Any, str | None, str], bytes | None],
    blocks: HeaderBlocks,
    number: int,
    line: bytes,
) -> InputRow:
    """``data`` converts a key or value to bytes, given its encoding and which of the two it is."""
    if isinstance(found.control, str):
        raise BadLine(
            f"it is a transaction's marker ({found.control}), not a record: read without --print-control"
        )
    if found.value is msgspec.UNSET:
        raise BadLine("it has no `value`: is it a line of kcli consume -o ndjson?")
    key = data(found.key, found.key_encoding, "key")
    value = data(found.value, found.value_encoding, "value")
    headers = blocks.of([header_of(one) for one in found.headers]) if found.headers else blocks.none
    timestamp = None if found.timestamp is msgspec.UNSET else timestamp_of(found.timestamp)
    check_partition(found.partition)
    return InputRow(number, key, value, headers, timestamp, found.partition, line)


def data_of(text: str | None, encoding: str | None, what: str) -> bytes | None:
    """The bytes of a JSON string."""
    if text is None:
        return None
    if encoding is None:
        return text_bytes(text, what)
    if encoding != "base64":
        raise BadLine(f"the {what} is encoded as {encoding!r}; read are text and base64")
    return base64_bytes(text, what)


def timestamp_of(given: int | None) -> int:
    """The timestamp that an input names; null is Kafka's −1, no timestamp. Rejects what no record can have."""
    if given is None:
        return -1
    if not -1 <= given < _INT64:
        raise BadLine(f"the timestamp {str(given)[:40]} is not an int64 in ms since 1970")
    return given


def check_partition(partition: int | None) -> None:
    """Rejects a partition that no topic can have."""
    if partition is not None and not 0 <= partition < 1 << 31:
        raise BadLine(f"there is no partition {str(partition)[:40]}")


def bad_json(error: Exception, line: bytes) -> BadLine:
    """What is wrong with a line, in the decoder's words, with the column if it reports one."""
    if isinstance(error, UnicodeDecodeError):
        return BadLine("it is not UTF-8", error.start + 1)
    if isinstance(error, RecursionError):
        return BadLine("the JSON is nested too deeply")
    text = str(error)
    if "truncated" in text and (half := _HALF_A_PAIR.search(line)):
        return BadLine("JSON is malformed: half of a UTF-16 surrogate pair", half.end() - 5)
    if "truncated" in text:
        return BadLine("the JSON is cut off", len(line) + 1)
    found = _BYTE.search(text)
    reason = _BYTE.sub("", text).strip()
    behind = 0 if "trailing" in text else 1  # there the decoder reports the next byte
    column = int(found[1]) + behind if found else 0
    return BadLine(reason if reason[1:2].isupper() else reason[:1].lower() + reason[1:], column)


def header_of(parts: Sequence[Any]) -> Header:
    """A header from ``[name, value]``; a third element is the value's encoding, a fourth the name's."""
    if parts and parts[0] is None:
        raise BadLine("a header has null for its name")
    if not 2 <= len(parts) <= 4:
        raise BadLine(f"a header of {len(parts)} elements is not [name, value], optionally with encodings")
    encodings = [*parts[2:], None, None]
    value = data_of(parts[1], encodings[0], "value of a header")
    name = data_of(parts[0], encodings[1], "name of a header")
    assert name is not None
    return (name if encodings[1] else parts[0], value)
