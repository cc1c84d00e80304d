"""``-i csv``: a header line, then records with any of the columns that ``consume -o csv`` writes, in any order; or rows
of a table, where the header line has none of these columns (``csv_objects.py``), as always with ``-i csv-objects``.

An empty key or value without quotes is null, ``""`` is empty; with a null marker only the marker is null. Where
``key_encoding`` or ``value_encoding`` is ``base64`` the data is decoded; serde names are handled by ``input_format.py``.
A missing column is null (no headers, the current time). A record whose ``timestamp`` is empty or −1 has none. ``headers``
holds JSON as in ndjson.
"""

import re
from collections.abc import Callable, Sequence
from itertools import count, repeat
from operator import methodcaller

import msgspec

from kcli.core.types import Header
from kcli.flows.inputs.csv_objects import Field, ObjectRows, check_heading
from kcli.flows.inputs.input_format import Encoding, HeaderBlocks
from kcli.flows.inputs.item import BadInput, BadLine, InputError, InputRow, Item, make_row
from kcli.flows.inputs.lines import LineFormat, Splitter, null_of
from kcli.flows.inputs.ndjson import NOT_JSON, bad_json, check_partition, header_of, timestamp_of

KNOWN = (
    "topic", "partition", "offset", "timestamp", "timestamp_type", "time", "key", "value", "headers",
    "leader_epoch", "key_encoding", "value_encoding",
)  # fmt: skip
_FIELD = re.compile(rb'"((?:[^"]|"")*)"|([^,"]*)')
_COMMA = ord(",")
_USED = frozenset({"key", "value", "headers"})
_KEY_AND_VALUE = ("key", "value")


class CsvParser:
    """A record may span several lines inside quotes; ``line`` is its first line.

    ``objects``: whether rows become JSON objects; None: unless the header line has columns of records. ``headed`` is
    given the columns of which objects are made.
    """

    def __init__(
        self,
        blocks: HeaderBlocks,
        how: LineFormat,
        *,
        longest: int = 1 << 30,
        encoding: Encoding | None = None,
        objects: bool | None = False,
        headed: Callable[[Sequence[str]], object] = len,
    ) -> None:
        self.header: bytes | None = None
        self._encoding = encoding or Encoding()
        self._blocks = blocks
        self._how = how
        self._longest = longest
        self._splitter = Splitter(b"\n", longest)
        self._objects = objects
        self._headed = headed
        self._rows: ObjectRows | None = None
        self._places: dict[str, int] = {}
        self._is_plain = False
        self._lines: list[bytes] = []
        self._quotes = self._size = 0
        self._line = 0

    def feed(self, data: bytes) -> list[Item]:
        """The records that ``data`` completes. InputError for an invalid header line."""
        lines = self._splitter.feed(data)
        if self._is_plain and not self._lines:
            items = self._read_all(lines)
            if items is not None:
                self._line += len(lines)
                return items
        return [item for line in lines for item in self._add(line)]

    def _read_all(self, lines: Sequence[bytes | None]) -> list[Item] | None:
        """The records of lines that are nothing but a key and a value; None where each needs a look."""
        whole = [line for line in lines if line]
        if len(whole) < len(lines) or not whole or max(map(len, whole)) > self._longest:
            return None
        text = b"\n".join(whole)
        if b'"' in text or b"\r" in text:
            return None
        fields = list(map(methodcaller("split", b","), whole))
        if set(map(len, fields)) != {len(self._places)}:  # also a line of white space
            return None
        columns = tuple(zip(*fields, strict=True))
        key, value = (
            repeat(None) if place is None else [field or None for field in columns[place]]
            for place in map(self._places.get, _KEY_AND_VALUE)
        )
        parts = (
            count(self._line + 1),
            key,
            value,
            repeat(self._blocks.none),
            repeat(None),
            repeat(None),
            whole,
        )
        return list(map(make_row, zip(*parts, strict=False)))

    def finish(self) -> list[Item]:
        """The last record; an unclosed quote is bad input."""
        items = [item for line in self._splitter.finish() for item in self._add(line)]
        if self._lines:
            raw = b"\n".join(self._lines)
            items.append(
                BadInput(self._line - len(self._lines) + 1, 0, "a quote is opened and never closed", raw)
            )
        return items

    def _add(self, line: bytes | None) -> list[Item]:
        self._line += 1
        if line is None or self._size + len(line) > self._longest:
            first = self._line - len(self._lines)
            self._lines, self._quotes, self._size = [], 0, 0
            return [BadInput(first, 0, f"it has more than {self._longest:,} bytes", None)]
        self._lines.append(line)
        self._size += len(line)
        self._quotes += line.count(b'"')
        if self._quotes % 2:
            return []
        raw, first = b"\n".join(self._lines), self._line - len(self._lines) + 1
        self._lines, self._quotes, self._size = [], 0, 0
        if self.header is None:
            self._begin(raw)
            self.header = raw
            return []
        if not raw.strip():
            return []
        try:
            return [self._row(raw, first)]
        except BadLine as bad:
            return [BadInput(first, bad.column, bad.reason, raw)]

    def _begin(self, raw: bytes) -> None:
        given = _names(raw)
        objects = self._objects
        if objects is None:
            objects = not any(name.lower() in KNOWN for name in given)
        if not objects:
            self._places = _columns(given, raw, may_be_objects=self._objects is None)
            self._is_plain = (
                len(self._places) > 1
                and self._places.keys() <= {*_KEY_AND_VALUE}
                and not self._encoding
                and self._how.null_marker is None
            )
            return
        check_heading(given)
        self._rows = ObjectRows(given, self._how, self._encoding.text)
        self._headed(given)

    def _row(self, raw: bytes, line: int) -> InputRow:
        fields, rows = fields_of(raw.removesuffix(b"\r")), self._rows
        width = len(self._places) if rows is None else len(rows.names)
        if len(fields) != width:
            raise BadLine(f"it has {len(fields)} fields, the header line names {width}")
        if rows is not None:
            return InputRow(line, None, rows.value(fields), self._blocks.none, None, None, raw)

        def field(name: str) -> bytes:
            place = self._places.get(name)
            return b"" if place is None else fields[place][1]

        def data(name: str) -> bytes | None:
            place = self._places.get(name)
            encoding = field(f"{name}_encoding")
            return None if place is None else self._data(fields[place], encoding, name)

        partition, timestamp = _number(field("partition"), "partition"), None
        check_partition(partition)
        if "timestamp" in self._places:
            timestamp = timestamp_of(_number(field("timestamp"), "timestamp"))
        headers = field("headers")
        return InputRow(
            line,
            data("key"),
            data("value"),
            self._blocks.of(_headers(headers)) if headers else self._blocks.none,
            timestamp,
            partition,
            raw,
        )

    def _data(self, field: Field, encoding: bytes, what: str) -> bytes | None:
        quoted, data = field
        if encoding:
            return self._encoding.field(what, data, encoding.decode("utf-8", "replace"))
        if not (data or quoted or self._how.null_marker):
            return None
        return self._encoding.text(what, null_of(data, self._how))


def fields_of(raw: bytes) -> list[Field]:
    """The fields of one record, as (quoted, bytes)."""
    fields, at, end = [], 0, len(raw)
    while True:
        found = _FIELD.match(raw, at)
        assert found is not None  # it also matches the empty string
        quoted = found[1] is not None
        fields.append((quoted, found[1].replace(b'""', b'"') if quoted else found[2]))
        at = found.end()
        if at == end:
            return fields
        if raw[at] != _COMMA:
            raise BadLine("there is a quote within a field, or text after a closing quote", at + 1)
        at += 1


def _names(raw: bytes) -> list[str]:
    try:
        fields = fields_of(raw.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r"))
    except BadLine as bad:
        raise InputError(
            "line 1 of the input is not a header line",
            why=bad.reason,
            do="begin with column names, as in key,value",
        ) from None
    return [name.strip().decode("utf-8", "replace") for _, name in fields]


def _columns(given: Sequence[str], raw: bytes, *, may_be_objects: bool) -> dict[str, int]:
    names = [name.lower() for name in given]
    unknown = [name for name in given if name.lower() not in KNOWN]
    if unknown or len(set(names)) < len(names) or not _USED & set(names):
        shown = raw[:80].decode("utf-8", "backslashreplace")
        raise InputError(
            f"line 1 of the input is not a header line: {shown}",
            why=f"there is no column {unknown[0]!r}" if unknown else "columns are missing, or named twice",
            do=f"the columns of records are {', '.join(KNOWN)}"
            + (
                "; -i csv-objects makes a JSON object of each row, whatever its columns"
                if may_be_objects
                else ""
            ),
        )
    return {name: place for place, name in enumerate(names)}


def _number(text: bytes, what: str) -> int | None:
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        shown = text[:40].decode("utf-8", "replace")
        raise BadLine(f"the {what} {shown!r} is not a whole number") from None


def _headers(text: bytes) -> list[Header]:
    try:
        found = msgspec.json.decode(text)
    except NOT_JSON as error:
        raise BadLine(f"the headers are no JSON: {bad_json(error, text).reason}") from None
    if not isinstance(found, list) or not all(isinstance(one, list) for one in found):
        raise BadLine("the headers are no list of [name, value]")
    return [header_of(one) for one in found]
