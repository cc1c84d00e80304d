"""Keys and values decoded by ``-s``, for all output formats.

What a serde cannot decode keeps its bytes, is shown as without one, and is counted. JSON and CSV then name
``str`` or ``base64`` as its encoding, so that it can be read back exactly. Nulls are not decoded.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from kcli.core.classes import dataclass
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import decode_headers
from kcli.core.kernels.render_ops import Op
from kcli.core.types import Header, Record
from kcli.output.template import Extra, Part, Wanted
from kcli.serde.errors import DecodeError
from kcli.serde.json_text import dump_json
from kcli.serde.serde import Serde, SerdeContext

PARTS = {op.KEY: "key", op.VALUE: "value"}
TEXT = b"str"
"""The encoding of text that is shown undecoded."""


Entry = str | bytes | None
"""Of one record: what was decoded, as text or as JSON; the bytes of what could not be; None for nulls and for what is
not written.
"""


@dataclass(slots=True)
class Undecoded:
    """How many keys or values could not be decoded, and the first error."""

    count: int = 0
    first: str = ""

    def add(self, topic: str, partition: int, offset: int, error: DecodeError) -> None:
        """Counts an error."""
        if not self.count:
            self.first = f"{topic}-{partition}@{offset}: {error}" + (f"; {error.do}" if error.do else "")
        self.count += 1


class Decoders:
    """Serdes for keys and values, each optional. ``keys`` and ``values`` count what was shown undecoded."""

    def __init__(self, key: Serde | None = None, value: Serde | None = None) -> None:
        self.serdes = {op.KEY: key, op.VALUE: value}
        self.undecoded = {op.KEY: Undecoded(), op.VALUE: Undecoded()}
        self._last: dict[tuple[int, bool], tuple[Wanted, list[Entry]]] = {}

    def of(self, which: int) -> Serde | None:
        """The one for ``render_ops.KEY`` or ``VALUE``."""
        return self.serdes[which]

    def text(self, which: int, record: Record) -> bytes | None:
        """The text of a record's key or value; None: it is not decoded."""
        serde, data = self.of(which), record.key if which == op.KEY else record.value
        if serde is None or data is None:
            return None
        place = SerdeContext(record.topic, PARTS[which], record.headers, record.key)
        try:
            return serde.decode_text(data, place).encode()
        except DecodeError as error:
            self.undecoded[which].add(record.topic, record.partition, record.offset, error)
            return None

    def schema_id(self, which: int, record: Record) -> "int | UUID | None":
        """The id of the schema that the bytes of a record name; None where they name none."""
        serde, data = self.of(which), record.key if which == op.KEY else record.value
        if serde is None or data is None:
            return None
        return serde.schema_id(data, SerdeContext(record.topic, PARTS[which], record.headers, record.key))

    def columns(self, parts: Sequence[Part], extras: list[Extra]) -> list[Part]:
        """The parts with decoded keys and values, where there is a serde for them; their columns join ``extras``."""
        return [
            one
            for part in parts
            for one in (self._decoded(part, extras) if isinstance(part, tuple) else (part,))
        ]

    def _decoded(self, part: Op, extras: list[Extra]) -> list[Part]:
        if part[0] != op.BYTES or not isinstance(part[1], int):
            return [part]
        which, form = part[1], part[2]
        serde = self.of(which)
        write = _writer(part, serde.name) if serde is not None else None
        if serde is None or write is None:
            return [part]
        extras.append(self._column(which, form in _AS_TEXT, write))
        made: list[Part] = [(op.EXTRA, len(extras) - 1, part)]
        if form == op.JSON and serde.names_schemas:
            extras.append(_schema_ids(which, serde))
            made.append((op.EXTRA, len(extras) - 1))
        return made

    def _column(self, which: int, text: bool, write: Callable[[Entry], bytes | None]) -> Extra:
        def column(wanted: Wanted) -> list[bytes | None]:
            return [None if entry is None else write(entry) for entry in self._entries(which, text, wanted)]

        return column

    def _entries(self, which: int, text: bool, wanted: Wanted) -> list[Entry]:
        """Of a batch, as text or as JSON. Several columns may use them: each record is counted once."""
        known = self._last.get((which, text))
        if known is not None and known[0] is wanted:
            return known[1]
        other = self._last.get((which, not text))
        tally = self.undecoded[which] if other is None or other[0] is not wanted else Undecoded()
        found = self._decode(which, text, wanted, tally)
        self._last[which, text] = (wanted, found)
        return found

    def _decode(self, which: int, text: bool, wanted: Wanted, tally: Undecoded) -> list[Entry]:
        serde, tp, batch = self.of(which), wanted.fetched.tp, wanted.fetched.batch
        found: list[Entry] = [None] * len(wanted.columns.offset_deltas)
        if serde is None or batch.is_control:
            return found
        decode = serde.decode_text if text else serde.decode_json
        cells = _Cells(which, wanted)
        for index in wanted.indexes():
            data = cells.data(index)
            if data is None:
                continue
            try:
                found[index] = decode(data, cells.place(index))
            except DecodeError as error:
                found[index] = data
                offset = batch.base_offset + wanted.columns.offset_deltas[index]
                tally.add(tp.topic, tp.partition, offset, error)
        return found


class _Cells:
    """The bytes of one part of each record of a batch, and their place."""

    def __init__(self, which: int, wanted: Wanted) -> None:
        columns = wanted.columns
        keys, values = (columns.key_starts, columns.key_ends), (columns.value_starts, columns.value_ends)
        self._data = bytes(wanted.fetched.batch.payload())
        self._topic, self._part, self._columns = wanted.fetched.tp.topic, PARTS[which], columns
        self._keys, self._own = keys, keys if which == op.KEY else values

    def data(self, index: int) -> bytes | None:
        """The bytes; None for a null."""
        return self._cut(self._own, index)

    def place(self, index: int) -> SerdeContext:
        """What a serde needs to know about the record."""
        return SerdeContext(self._topic, self._part, self._headers(index), self._cut(self._keys, index))

    def _headers(self, index: int) -> tuple[Header, ...]:
        columns = self._columns
        if not columns.header_counts[index]:
            return ()
        return decode_headers(self._data, columns.header_starts[index], columns.header_ends[index])

    def _cut(self, ranges: tuple[list[int], list[int]], index: int) -> bytes | None:
        start = ranges[0][index]
        return self._data[start : ranges[1][index]] if start >= 0 else None


def _schema_ids(which: int, serde: Serde) -> Extra:
    """``,"value_schema_id":7`` after a value, decoded or not; a string for a GUID, null where none is named."""
    label = b',"%b_schema_id":' % PARTS[which].encode()

    def column(wanted: Wanted) -> list[bytes]:
        found = [label + b"null"] * len(wanted.columns.offset_deltas)
        if wanted.fetched.batch.is_control:
            return found
        cells = _Cells(which, wanted)
        for index in wanted.indexes():
            data = cells.data(index)
            number = None if data is None else serde.schema_id(data, cells.place(index))
            if number is not None:
                found[index] = label + as_json(str(number) if isinstance(number, UUID) else number)
        return found

    return column


def as_json(value: Any) -> bytes:
    """Compact UTF-8 JSON."""
    return dump_json(value).encode()


_AS_TEXT = frozenset((op.RAW, op.CSV, op.NOT_TEXT))


def _writer(part: Op, name: str) -> Callable[[Entry], bytes | None] | None:
    """How an entry is written by this operation; None: as without a serde. No writer: the operation is for bytes."""
    form, suffix = part[2], part[4]
    if form == op.JSON:
        assert isinstance(suffix, bytes)
        return _json_writer(suffix, as_json(name))
    if form in (op.JSON_AS_IS, op.JSON_ESCAPED, op.RAW):
        return lambda entry: entry.encode() if isinstance(entry, str) else None
    if form == op.CSV:
        return lambda entry: csv_field(entry.encode()) if isinstance(entry, str) else None
    if form == op.NOT_TEXT:
        encoded = name.encode()
        return lambda entry: encoded if isinstance(entry, str) else (None if _utf8(entry) is None else TEXT)
    return None


def _json_writer(suffix: bytes, name: bytes) -> Callable[[Entry], bytes | None]:
    decoded, text = (suffix.replace(b'"base64"', encoding) for encoding in (name, b'"%b"' % TEXT))

    def write(entry: Entry) -> bytes | None:
        if isinstance(entry, str):
            return entry.encode() + decoded
        found = _utf8(entry)
        return None if found is None else as_json(found) + text

    return write


def _utf8(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def csv_field(data: bytes) -> bytes:
    """Quotes a field where CSV needs it, as the kernel does."""
    special = not data or any(sign in data for sign in b',"\r\n')
    return b'"%b"' % data.replace(b'"', b'""') if special else data
