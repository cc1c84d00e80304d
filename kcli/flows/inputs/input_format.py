"""The format of the input of ``produce``: which parser reads it, and how; and from its texts to the bytes of keys and
values, where ``-s`` or the input itself names a serde. Pure.

Text formats (lines, raw, file, patterns) and CSV give texts; NDJSON and kcat's lines give JSON. An input that names
``str``, ``hex`` or ``base64`` as encoding means the bytes themselves, whatever ``-s`` names: that is how ``consume``
writes what it could not decode. What a serde rejects is bad input.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.kernels.active import encode_headers
from kcli.core.types import Header
from kcli.flows.inputs.item import BadInput, BadLine, InputRow, Item, Parser
from kcli.flows.inputs.lines import LineFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from kcli.flows.filters.field_paths import FieldPath
    from kcli.serde.opening import Serdes
    from kcli.serde.serde import Serde


class Encoding:
    """For the records of ``topic``. Without ``serdes`` bytes are used unchanged, unless the input names an encoding."""

    def __init__(self, serdes: Serdes | None = None, topic: str = "") -> None:
        self._topic = topic
        self._asked: dict[str, Serde | None] = {"key": None, "value": None}
        if serdes is not None:
            self._asked = {"key": serdes.key, "value": serdes.value}
        self._named: dict[str, Serde] = {}

    def __bool__(self) -> bool:
        """Whether ``-s`` names any serde."""
        return any(self._asked.values())

    def asked(self, part: str) -> bool:
        """Whether ``-s`` names a serde for ``key`` or ``value``."""
        return self._asked[part] is not None

    def text(self, part: str, data: bytes | None) -> bytes | None:
        """The bytes of a text; raises BadLine."""
        serde = self._asked[part]
        if serde is None or data is None:
            return data
        return self._written(serde.encode_text, data, part)

    def field(self, part: str, data: bytes, encoding: str) -> bytes:
        """The bytes of a text whose encoding the input names; raises BadLine."""
        if encoding in _AS_BYTES:
            return _AS_BYTES[encoding](_utf8(data, part), part)
        return self._written(self._serde(part, encoding).encode_text, data, part)

    def json(self, part: str, data: bytes, encoding: str | None) -> bytes | None:
        """The bytes of a key or value given as JSON, in the encoding that the input names, if any; raises BadLine. Null
        is null unless one is named.
        """
        if encoding is not None and encoding not in _AS_BYTES:
            return self._written(self._serde(part, encoding).encode_json, data, part)
        if data == b"null":
            return None
        if encoding is not None:
            return _AS_BYTES[encoding](_string(data, part), part)
        serde = self._asked[part]
        if serde is None:
            return text_bytes(_string(data, part), part)
        return self._written(serde.encode_json, data, part)

    def _serde(self, part: str, encoding: str) -> Serde:
        """The serde of ``-s``, else the named one: data read with one serde may be written with another."""
        asked = self._asked[part]
        if asked is not None:
            return asked
        found = self._named.get(encoding)
        if found is None:
            found = self._named[encoding] = _fields().plain_serde(part, encoding)
        return found

    def _written(self, encode: Callable[..., bytes], data: bytes, part: str) -> bytes:
        written: bytes = _fields().encoded(encode, data, self._topic, part)
        return written


class EncodingParser:
    """The output of ``parser`` with the texts of its rows encoded. ``keys``: keys of the input are texts, too."""

    def __init__(self, parser: Parser, encoding: Encoding, *, keys: bool) -> None:
        self._parser = parser
        self._encoding = encoding
        self._keys = keys

    def feed(self, data: bytes) -> list[Item]:
        """See Parser."""
        return [self._encoded(item) for item in self._parser.feed(data)]

    def finish(self) -> list[Item]:
        """See Parser."""
        return [self._encoded(item) for item in self._parser.finish()]

    def _encoded(self, item: Item) -> Item:
        if isinstance(item, BadInput):
            return item
        try:
            return self._row(item)
        except BadLine as bad:
            return BadInput(item.line, bad.column, bad.reason, item.raw)

    def _row(self, row: InputRow) -> InputRow:
        key = self._encoding.text("key", row.key) if self._keys else row.key
        return row._replace(key=key, value=self._encoding.text("value", row.value))


def text_bytes(text: str, what: str) -> bytes:
    """A JSON string as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadLine(f"the {what} has half of a surrogate pair, which is no text") from None


def base64_bytes(text: str, what: str) -> bytes:
    """The bytes of a base64 string."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise BadLine(f"the {what} is not base64: {error}".lower()) from None


def _hex_bytes(text: str, what: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadLine(f"the {what} is not hexadecimal: {error}") from None


_AS_BYTES: dict[str, Callable[[str, str], bytes]] = {
    "str": text_bytes,
    "base64": base64_bytes,
    "hex": _hex_bytes,
}


def _string(data: bytes, what: str) -> str:
    if not data.startswith(b'"'):
        raise BadLine(f"the {what} is not a string: give -s {what}=json, or another serde that writes it")
    text: str = _fields().string_of(data, what)
    return text


def _fields() -> ModuleType:
    from kcli.flows.inputs import serde_fields  # serdes and json: plain lines need neither

    return serde_fields


def _utf8(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadLine(f"the {what} is not UTF-8") from None


class HeaderBlocks:
    """``of(own)`` returns the encoded block; the block of records without headers of their own is encoded once."""

    def __init__(self, common: Sequence[Header] = ()) -> None:
        self._common = list(common)
        self.none = encode_headers(self._common)

    def of(self, own: Sequence[Header]) -> bytes:
        """The block of a record that has ``own`` headers."""
        return encode_headers([*own, *self._common]) if own else self.none


FORMATS = ("lines", "ndjson", "kcat", "raw", "csv", "csv-objects", "file", "failed")
ENCODED = ("ndjson", "kcat", "csv", "csv-objects")
"""Those whose parsers encode keys and values themselves."""


class FromValue(NamedTuple):
    """Paths into the value of a record, which is JSON, to its key, headers and partition; None where it has none."""

    key: FieldPath | None = None
    headers: FieldPath | None = None
    partition: FieldPath | None = None


@dataclass(slots=True, eq=False, repr=False)
class InputFormat:
    """``kind`` is one of FORMATS, ``pattern``, or ``value``, a text that is one record; ``longest`` limits a record.

    ``keep``: keep the raw input in case it fails. ``encoding``: the encoding by ``-s``, ``serdes`` its argument.
    ``from_value``: what of a record its value names. ``headed`` is given the columns of a csv whose rows become objects.
    """

    kind: str = "lines"
    how: LineFormat = field(default_factory=LineFormat)
    blocks: HeaderBlocks = field(default_factory=HeaderBlocks)
    pattern: str = ""
    longest: int = 1 << 30
    keep: bool = False
    encoding: Encoding = field(default_factory=Encoding)
    serdes: str = ""
    from_value: FromValue | None = None
    headed: Callable[[Sequence[str]], object] = len

    @property
    def is_plain(self) -> bool:
        """Whether the records are lines that need not be parsed."""
        return self.kind == "lines" and not self.encoding and self.from_value is None
